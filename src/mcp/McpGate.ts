import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, identity, Option, Runtime, Stream } from "effect"
import { errorCodes } from "../api/ErrorCodes.ts"
import { PayloadTooLarge } from "../api/RequestErrors.ts"
import { messagesPerConnection, RateBudget } from "../budgets/RateBudget.ts"
import { Activity } from "../connections/Activity.ts"
import { resourceOf } from "../connections/AuthorizationRequest.ts"
import type { ConnectionCredential } from "../connections/Connection.ts"
import { Connections } from "../connections/Connections.ts"
import { scopeOf, shortName, type Tier, tierOfQuery } from "../connections/Tier.ts"
import { HasReplica } from "../database/Replica.ts"
import { BaseUrl } from "../http/BaseUrl.ts"
import { chargeTo } from "../http/BodiesInFlight.ts"
import { rateHeaders } from "../http/CommonHeaders.ts"
import { etagOf } from "../http/Conditional.ts"
import { answerFailure, headersOf } from "../http/Envelope.ts"
import { makeNoteRefusal } from "../http/RefusalLog.ts"
import { splitTarget } from "../http/RequestHead.ts"
import { extendTime, type Refuse, requestStateOf } from "../http/RequestState.ts"
import { type Handler, surfaceOf } from "../http/Surface.ts"
import type { RateLimited } from "../model/Errors.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { toolsByName } from "./Calls.ts"
import {
  allowedMethods,
  answered,
  enveloped,
  envelopeOf,
  type Headers,
  type MessageId,
  notServed,
  rpc
} from "./GateAnswers.ts"
import { completeError, isResult } from "./LibraryAnswers.ts"
import { type Caller, makeMcpServer } from "./McpServer.ts"
import { calledBy, callLimitBytes, callMethod, idOf, readMessage } from "./Message.ts"
import { makeOrigins } from "./Origins.ts"
import { makeTierRefusals } from "./TierRefusals.ts"
import { type DerivedTool, readsVersion } from "./Tools.ts"
import { isObject } from "./Vocabulary.ts"

/** The number of requests that a call takes from the budget. An empty or too long list costs one: the schema refuses it later. */
const costOf = ({ input, tool }: DerivedTool, message: unknown): number => {
  const name = tool.costsPerItemOf
  if (name === undefined || !isObject(message) || !isObject(message.params)) return 1
  const { arguments: args } = message.params
  const items = isObject(args) ? args[name] : undefined
  const maxItems = Number((input.properties[name] as { readonly maxItems?: number } | undefined)?.maxItems)
  return Array.isArray(items) && items.length > 0 && items.length <= maxItems ? items.length : 1
}

const mcpPath = "/mcp"

const refusedTokens = metrics.credentialRefusals.of("mcp")

const commonHeaders = { "cache-control": "private, no-cache", vary: "Authorization, Origin" }

const bearer = /^bearer(?: +(.*))?$/i
const oneToken = /^[^\s,]+$/

/** Query parameters in which some clients send a token. */
const tokenNames = ["access_token", "token"]

const namesToken = (query: string) => tokenNames.some((name) => new URLSearchParams(query).has(name))

const badAddress = (baseUrl: string, requestId: string) =>
  enveloped(
    errorCodes.ValidationFailed,
    `The URL ${resourceOf(baseUrl)} accepts only the query parameter \`tier\`, with the value read, write or publish (default).`,
    requestId
  )

const overMessages = ({ retryAfterSeconds }: RateLimited) =>
  `This connection has sent ${messagesPerConnection} messages other than ${callMethod} within a minute; retry in ${retryAfterSeconds} s.`

const overBudget = ({ retryAfterSeconds, scope }: RateLimited, units: number) => {
  const owner = scope === "key" ? "this connection" : "all keys and connections of the account together"
  return units === 1
    ? `The request budget of ${owner} is used up; retry in ${retryAfterSeconds} s.`
    : `This call costs ${units} requests, but the budget of ${owner} has fewer left; retry in ${retryAfterSeconds} s, or split the call. Nothing was done.`
}

/** A refusal as a JSON-RPC error. */
const toRefusal = (
  tag: keyof typeof errorCodes,
  message: string,
  id: MessageId,
  requestId: string,
  headers: Headers = {}
) => {
  const rpcCode = tag === "InternalError" ? rpc.internalError : rpc.refused
  return answered(errorCodes[tag], rpcCode, message, id, requestId, headers)
}

/** Settings of the connector. */
interface McpSettings {
  /** Origins whose pages may use the connector from a browser, in addition to its own origin. */
  readonly allowedOrigins: ReadonlyArray<string>
}

/** Makes answers and headers with `WWW-Authenticate`, which tells a client where to get an access token. */
const makeChallenges = (baseUrl: string) => {
  const metadataOf = (allowed: Tier) =>
    `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource${mcpPath}${allowed === "pim:publish" ? "" : `?tier=${shortName(allowed)}`}"`
  return {
    unauthorized: (requestId: string, hasToken: boolean, allowed: Tier) => {
      const metadata = metadataOf(allowed)
      const scope = `scope="${scopeOf(allowed)}"`
      return enveloped(
        errorCodes.Unauthorized,
        hasToken
          ? "The access token is unknown, expired or revoked, or it is not a token of this connector (API keys work only for the REST API): connect again."
          : "An access token of a connection is required: send it as `Authorization: Bearer pim_at_...`.",
        requestId,
        {
          "www-authenticate": hasToken
            ? `Bearer error="invalid_token", error_description="The access token is not valid for this resource", ${metadata}, ${scope}`
            : `Bearer ${metadata}, ${scope}`
        }
      )
    },
    insufficient: (needed: Tier, allowed: Tier): Headers => ({
      "www-authenticate": `Bearer error="insufficient_scope", scope="${needed}", ${metadataOf(allowed)}`
    })
  }
}

/** Passes a message to the SDK. The ETag of a 200 is the hash of its body. */
const makeServeMessage = (serve: Effect.Effect.Success<typeof makeMcpServer>) =>
  Effect.fnUntraced(function* (
    message: unknown,
    { headers }: HttpServerRequest.HttpServerRequest,
    { accountId, confirmPublish, connectionId, stores }: ConnectionCredential,
    requestId: string,
    /** The account's version that a replica needs to answer reads. Undefined: the primary answers. */
    version: number | undefined,
    refused: Caller["refused"]
  ) {
    const { body, contentType, status } = yield* serve(message, headers, {
      actor: { _tag: "Connection", accountId, connectionId },
      bounds: { stores, confirmPublish },
      requestId,
      version,
      refused,
      args: isObject(message) && isObject(message.params) ? message.params.arguments : undefined
    })
    // The status of a stream is sent first, so a later failure is an event of the stream.
    if (typeof body !== "string")
      return HttpServerResponse.stream(Stream.fromReadableStream({ evaluate: () => body, onError: identity }), {
        status,
        contentType
      })
    if (status >= 500) yield* Effect.annotateLogs(Effect.logError("The protocol's library failed", body), { requestId })
    if (body === "") return HttpServerResponse.empty({ status })
    const text = isResult(body) ? body : completeError(body, status, requestId)
    return HttpServerResponse.raw(text, {
      status,
      contentType,
      contentLength: Buffer.byteLength(text),
      ...(status === 200 && { headers: { etag: etagOf(text) } })
    })
  })

/**
 * Checks every request to the connector in this order: method, Host and Origin, query, declared size, token, streamed size,
 * content type, Accept, shape, JSON, batch, budget, tier; then the SDK answers. Refusals up to Accept have REST's envelope,
 * later ones are JSON-RPC errors. If the budget is used up, 429 replaces any refusal from the streamed size on.
 */
const makeGate = ({ allowedOrigins }: McpSettings) =>
  Effect.gen(function* () {
    const baseUrl = yield* BaseUrl
    const activity = yield* Activity
    const connections = yield* Connections
    const budget = yield* RateBudget
    const hasReplica = yield* HasReplica
    const serveMessage = makeServeMessage(yield* makeMcpServer)
    const origins = makeOrigins(baseUrl, allowedOrigins)
    const challenges = makeChallenges(baseUrl)
    const refuseTier = makeTierRefusals(baseUrl)
    const noteRefusal = yield* makeNoteRefusal

    /** The checks from the token on. `allowed`: the highest tier that the query of the URL allows. */
    const enter = (
      request: HttpServerRequest.HttpServerRequest,
      requestId: string,
      allowed: Tier
    ): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
      Effect.gen(function* () {
        const header = bearer.exec(request.headers.authorization ?? "")
        const token = header?.[1] ?? ""
        const found = oneToken.test(token)
          ? yield* connections.authenticate(token, `${baseUrl}${mcpPath}`)
          : Option.none()
        if (Option.isNone(found)) {
          if (header !== null) {
            refusedTokens.add(1)
            yield* noteRefusal("credential", request, { kind: "token" })
          }
          return challenges.unauthorized(requestId, header !== null, allowed)
        }
        const { accountId, connectionId, role, tier } = found.value
        const requestState = requestStateOf(request)
        requestState.caller = { _tag: "Connection", accountId, connectionId }
        const spender = { accountId, credentialId: connectionId }
        chargeTo(toIncomingMessage(request), connectionId)
        const message = yield* Effect.either(readMessage(request, requestId))
        const name = message._tag === "Left" ? undefined : calledBy(message.right)
        const tool = name === undefined ? undefined : toolsByName.get(name)
        const units = tool === undefined || message._tag === "Left" ? 1 : costOf(tool, message.right)
        // An unreadable body costs as much as a message that is not a tool call.
        const { refusal, rateStatus: after } = yield* name === undefined
          ? budget.takeMessage(spender)
          : budget.take(spender, units)
        const rateStatus = name === undefined && refusal === null ? yield* budget.peek(spender) : after
        requestState.rateStatus = rateStatus
        const id = message._tag === "Left" ? null : idOf(message.right)
        extendTime(requestState, tool?.bound ?? "usual")
        requestState.refuse = (error) =>
          HttpServerResponse.setHeaders(toRefusal(error._tag, error.message, id, requestId, headersOf(error)), {
            ...commonHeaders,
            ...rateHeaders(rateStatus),
            ...origins.readable(request)
          })
        if (name !== undefined && refusal === null) yield* activity.countCall({ accountId, connectionId })
        if (refusal !== null) {
          const words = name === undefined ? overMessages(refusal) : overBudget(refusal, units)
          const wait = { "retry-after": String(refusal.retryAfterSeconds) }
          return toRefusal("RateLimited", words, id, requestId, wait)
        }
        if (message._tag === "Left") return message.left
        const tooLow =
          tool === undefined ? undefined : refuseTier(tool, { allowed, granted: tier, role }, message.right, request)
        if (tooLow?._tag === "Status") {
          const challenge = challenges.insufficient(tooLow.needed, allowed)
          return toRefusal("Forbidden", tooLow.text, id, requestId, challenge)
        }
        const version =
          hasReplica && tool !== undefined && readsVersion(tool)
            ? Option.getOrUndefined(yield* connections.versionOf(found.value))
            : undefined
        return yield* serveMessage(message.right, request, found.value, requestId, version, tooLow?.called)
      })

    const pass = (
      request: HttpServerRequest.HttpServerRequest,
      requestId: string
    ): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
      const { headers, method, originalUrl } = request
      const { query } = splitTarget(originalUrl)
      if (!allowedMethods.includes(method)) return Effect.succeed(notServed(requestId))
      const foreign = origins.refuse(request, requestId)
      if (foreign !== undefined) return Effect.succeed(foreign)
      if (method === "OPTIONS") return Effect.succeed(origins.preflight)
      const allowed = tierOfQuery(query)
      if (Option.isNone(allowed))
        return Effect.succeed(
          namesToken(query) ? challenges.unauthorized(requestId, false, "pim:publish") : badAddress(baseUrl, requestId)
        )
      if (Number(headers["content-length"] ?? 0) > callLimitBytes)
        return Effect.succeed(envelopeOf(new PayloadTooLarge({ limitBytes: callLimitBytes }), requestId))
      return enter(request, requestId, allowed.value)
    }

    const answer: Handler = (request) => {
      const requestState = requestStateOf(request)
      return Effect.suspend(() => pass(request, requestState.id)).pipe(
        Effect.catchAllCause((cause) => answerFailure(requestState, requestState.refuse)(cause)),
        Effect.flatMap((response) =>
          Effect.map(
            requestState.rateStatus ? Effect.succeed(requestState.rateStatus) : budget.fullBudget,
            (rateStatus) =>
              HttpServerResponse.setHeaders(response, {
                ...commonHeaders,
                ...rateHeaders(rateStatus),
                ...origins.readable(request)
              })
          )
        )
      )
    }
    return { call: answer, preflight: answer, stream: answer, end: answer, replace: answer, change: answer }
  })

/** The HTTP surface of the connector. */
export const makeMcpSurface = (settings: McpSettings) =>
  Effect.gen(function* () {
    const budget = yield* RateBudget
    const runtime = yield* Effect.runtime()
    const refuse: Refuse = (error, requestId) =>
      HttpServerResponse.setHeaders(
        error._tag === "MethodNotAllowed" ? notServed(requestId) : envelopeOf(error, requestId),
        { ...commonHeaders, ...rateHeaders(Runtime.runSync(runtime)(budget.fullBudget)) }
      )
    return surfaceOf(
      {
        call: ["POST", mcpPath, refuse, "open"],
        preflight: ["OPTIONS", mcpPath, refuse, "open"],
        // Routes for methods that are refused, so that the refusal has the CORS headers: clients in browsers request a stream by
        // GET, and continue without one only if they can read the 405.
        stream: ["GET", mcpPath, refuse, "open"],
        end: ["DELETE", mcpPath, refuse, "open"],
        replace: ["PUT", mcpPath, refuse, "open"],
        change: ["PATCH", mcpPath, refuse, "open"]
      },
      makeGate(settings)
    )
  })
