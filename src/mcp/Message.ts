import type { HttpServerRequest } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import { connectorCodes, errorCodes } from "../api/ErrorCodes.ts"
import { decodeUtf8, isOfType, readBytes, shapeMisfit } from "../http/Body.ts"
import { JsonScan } from "../model/JsonScan.ts"
import { answered, enveloped, envelopeOf, type MessageId, rpc } from "./GateAnswers.ts"
import { isObject } from "./Vocabulary.ts"

/** Maximum size of a tool call, in bytes. */
export const callLimitBytes = 4 * 1_048_576

/** Maximum size of any other message, in bytes. */
export const messageLimitBytes = 262_144

export const callMethod = "tools/call"

/** The id of a request. Null for a notification, which has none. */
export const idOf = (message: unknown): MessageId =>
  isObject(message) && (typeof message.id === "string" || typeof message.id === "number") ? message.id : null

/** The name of the tool that a message calls: empty if the name is missing, undefined if the message is not a tool call. */
export const calledBy = (message: unknown): string | undefined =>
  isObject(message) && message.method === callMethod && idOf(message) !== null
    ? isObject(message.params) && typeof message.params.name === "string"
      ? message.params.name
      : ""
    : undefined

/** The token that the client wants in progress notifications. */
export const progressTokenOf = (message: unknown): unknown =>
  isObject(message) && isObject(message.params) && isObject(message.params._meta)
    ? message.params._meta.progressToken
    : undefined

/** Maximum characters of a progress token, because every notification repeats it. */
const maxTokenLength = 200

/** Whether an Accept header has both media types of the protocol. Parameters such as `q` are ignored. */
const namesBoth = (accept: string | undefined) => {
  const types = new Set((accept ?? "").split(",").map((range) => (range.split(";")[0] ?? "").trim().toLowerCase()))
  return types.has("application/json") && types.has("text/event-stream")
}

/** The refusal of a message that is not a tool call and larger than `messageLimitBytes`. */
const tooLarge = (requestId: string) =>
  enveloped(
    errorCodes.PayloadTooLarge,
    `The body is larger than ${messageLimitBytes} bytes: only ${callMethod} takes more, up to ${callLimitBytes} bytes.`,
    requestId,
    { connection: "close" }
  )

const invalid = (code: number, message: string, requestId: string) =>
  answered(errorCodes.ValidationFailed, code, message, null, requestId)

/** The refusal of a wrong Content-Type or Accept header. Undefined: both are right. */
const headersMisfit = ({ headers }: HttpServerRequest.HttpServerRequest, requestId: string) => {
  if (!isOfType(headers, "application/json"))
    return enveloped(
      errorCodes.UnsupportedMediaType,
      "Send one JSON-RPC message as UTF-8 JSON with `Content-Type: application/json`.",
      requestId
    )
  if (!namesBoth(headers.accept))
    return enveloped(
      connectorCodes.NotAcceptable,
      "Send `Accept: application/json, text/event-stream`: the server can respond with either type.",
      requestId
    )
  return undefined
}

/**
 * Reads and parses the message of a request, or fails with the refusal. The scan looks for `method` while the body arrives, so
 * that a message other than a tool call is neither read nor parsed beyond its smaller limit.
 */
export const readMessage = (request: HttpServerRequest.HttpServerRequest, requestId: string) =>
  Effect.gen(function* () {
    const scan = new JsonScan("method")
    const declared = Number(request.headers["content-length"] ?? 0)
    const isTooLarge = (length: number) => length > messageLimitBytes && scan.found !== callMethod
    const bytes = yield* readBytes(toIncomingMessage(request), callLimitBytes, (chunk, length) => {
      scan.read(chunk)
      return scan.found !== undefined && isTooLarge(Math.max(declared, length)) ? tooLarge(requestId) : undefined
    }).pipe(Effect.mapError((error) => ("_tag" in error ? envelopeOf(error, requestId) : error)))
    if (isTooLarge(bytes.length)) return yield* Effect.fail(tooLarge(requestId))
    const refused = headersMisfit(request, requestId)
    if (refused !== undefined) return yield* Effect.fail(refused)
    const text = yield* decodeUtf8(bytes).pipe(
      Effect.mapError(() => invalid(rpc.parseError, "Parse error: the body is not UTF-8.", requestId))
    )
    const misfit = shapeMisfit(scan)
    if (misfit !== undefined)
      return yield* Effect.fail(invalid(rpc.invalidRequest, `Invalid request: ${misfit}.`, requestId))
    const message = yield* Effect.try({
      try: () => JSON.parse(text) as unknown,
      catch: () => invalid(rpc.parseError, "Parse error: the body is not JSON.", requestId)
    })
    if (Array.isArray(message))
      return yield* Effect.fail(
        invalid(rpc.invalidRequest, "Invalid request: batches are not served; send one message.", requestId)
      )
    const token = progressTokenOf(message)
    if (typeof token === "string" && token.length > maxTokenLength)
      return yield* Effect.fail(
        answered(
          errorCodes.ValidationFailed,
          rpc.invalidParams,
          `Invalid params: _meta.progressToken must have at most ${maxTokenLength} characters.`,
          idOf(message),
          requestId
        )
      )
    // `tools/call` without an id is a notification, which runs no tool, so the smaller limit applies.
    if (bytes.length > messageLimitBytes && calledBy(message) === undefined)
      return yield* Effect.fail(tooLarge(requestId))
    return message
  })
