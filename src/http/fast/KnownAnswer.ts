import { Cookies, type HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import type { Standing } from "../../budgets/RateBudget.ts"
import { commonHeaders } from "../CommonHeaders.ts"
import { etagOf, isKnown } from "../Conditional.ts"

/** A 200 without what belongs to one request, and the account's version that was read before it. */
export interface KnownAnswer {
  readonly version: number
  readonly body: Buffer
  readonly etag: string
  readonly contentType: string
  /** What a browser may load for a page. */
  readonly contentSecurityPolicy: string | undefined
}

/** The body of an answer; undefined where it has none or is still being made. */
export const bytesOf = ({ body }: HttpServerResponse.HttpServerResponse): Buffer | undefined => {
  switch (body._tag) {
    case "Raw":
      return body.body instanceof Buffer ? body.body : undefined
    case "Uint8Array":
      return Buffer.from(body.body.buffer, body.body.byteOffset, body.body.byteLength)
    default:
      return undefined
  }
}

/** The known answer in a 200; undefined for any other answer. */
export const knownAnswerOf = (
  response: HttpServerResponse.HttpServerResponse,
  version: number
): KnownAnswer | undefined => {
  const body = response.status === 200 ? bytesOf(response) : undefined
  return body === undefined
    ? undefined
    : {
        version,
        body,
        etag: etagOf(body),
        contentType: response.headers["content-type"] ?? "",
        contentSecurityPolicy: response.headers["content-security-policy"]
      }
}

/** Sends a known answer, or its 304, on Node's own response. Does nothing where the request was answered for being late. */
export const sendKnown = (
  request: HttpServerRequest.HttpServerRequest,
  requestId: string,
  { body, contentSecurityPolicy, contentType, etag }: KnownAnswer,
  { limit, remaining, resetAtSeconds, scope }: Standing
): void => {
  const isFresh = isKnown(request, etag)
  const headers = [
    "etag",
    etag,
    "cache-control",
    commonHeaders["cache-control"],
    "vary",
    commonHeaders.vary,
    "x-ratelimit-limit",
    String(limit),
    "x-ratelimit-remaining",
    String(remaining),
    "x-ratelimit-reset",
    String(resetAtSeconds),
    "x-ratelimit-scope",
    scope,
    "x-request-id",
    requestId
  ]
  if (!isFresh) headers.push("content-type", contentType, "content-length", String(body.length))
  if (!isFresh && contentSecurityPolicy !== undefined) headers.push("content-security-policy", contentSecurityPolicy)
  const response = toServerResponse(request)
  if (response.writableEnded) return
  response.writeHead(isFresh ? 304 : 200, headers)
  response.end(isFresh ? undefined : body)
}

/**
 * Sends an answer of a surface beside the API on Node's own response. Returns whether it did: the library sends answers with
 * cookies, without a body, and those whose body is still being made.
 */
export const sendWhole = (
  request: HttpServerRequest.HttpServerRequest,
  answer: HttpServerResponse.HttpServerResponse
): boolean => {
  const body = bytesOf(answer)
  if (body === undefined || !Cookies.isEmpty(answer.cookies)) return false
  const response = toServerResponse(request)
  if (response.writableEnded) return true
  response.writeHead(answer.status, answer.headers)
  response.end(body)
  return true
}
