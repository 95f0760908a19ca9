import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Option, Runtime } from "effect"
import { errorCodes } from "../api/ErrorCodes.ts"
import { PayloadTooLarge } from "../api/RequestErrors.ts"
import { messagesPerConnection, RateBudget, type Standing } from "../budgets/RateBudget.ts"
import { Activity } from "../connections/Activity.ts"
import type { ConnectionCredential } from "../connections/Connection.ts"
import { Connections } from "../connections/Connections.ts"
import { covers, scopeOf, type Tier, tierWords } from "../connections/Tier.ts"
import { BaseUrl } from "../http/BaseUrl.ts"
import { chargeTo } from "../http/BodiesInFlight.ts"
import { rateHeaders } from "../http/CommonHeaders.ts"
import { etagOf } from "../http/Conditional.ts"
import { answerFailure } from "../http/Envelope.ts"
import { extendTime, passageOf, type Refuse } from "../http/Passage.ts"
import { type Handler, surfaceOf } from "../http/Surface.ts"
import type { RateLimited } from "../model/Errors.ts"
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
import { completed, isResult } from "./LibraryAnswers.ts"
import { makeMcpServer } from "./McpServer.ts"
import { calledBy, callLimitBytes, callMethod, idOf, readMessage } from "./Message.ts"
import { makeOrigins } from "./Origins.ts"
import { isObject } from "./Vocabulary.ts"

export const mcpPath = "/mcp"

const commonHeaders = { "cache-control": "private, no-cache", vary: "Authorization, Origin" }

const bearer = /^bearer(?: +(.*))?$/i
const oneToken = /^[^\s,]+$/

/** Headers that the protocol reads. */
const protocolHeaders = ["mcp-protocol-version", "mcp-method", "mcp-name"]

const tooLow = (tool: string, needed: Tier, granted: Tier) =>
  `insufficient_scope: ${tool} needs the tier "${tierWords[needed].name}" (${needed}), and this connection was granted "${tierWords[granted].name}". Nothing was done. To grant more, disconnect the catalog in this client, connect it again and choose "${tierWords[needed].name}" on the consent page.`

const overMessages = ({ retryAfterSeconds }: RateLimited) =>
  `This connection has sent ${messagesPerConnection} messages other than ${callMethod} within a minute; retry in ${retryAfterSeconds} s.`

const overBudget = ({ retryAfterSeconds, scope }: RateLimited) =>
  `The request budget of ${scope === "key" ? "this connection" : "all keys and connections of the account together"} is used up; retry in ${retryAfterSeconds} s.`

/** A refusal that answers a message. */
const refused = (
  tag: keyof typeof errorCodes,
  message: string,
  id: MessageId,
  requestId: string,
  headers: Headers = {}
) => answered(errorCodes[tag], rpc.refused, message, id, requestId, headers)

/** How the connector is set up. */
export interface McpSettings {
  /** Origins of browsers' pages that may use it, beside its own. */
  readonly allowedOrigins: ReadonlyArray<string>
}

/** What says where and how a client gets an access token, in `WWW-Authenticate`. */
const makeChallenges = (baseUrl: string) => {
  const metadata = `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource${mcpPath}"`
  const anyTier = `scope="${scopeOf("pim:publish")}"`
  return {
    unauthorized: (requestId: string, sent: boolean) =>
      enveloped(
        errorCodes.Unauthorized,
        sent
          ? "The access token is unknown, expired or revoked, or it is for something else (an API key opens the REST API alone): connect again."
          : "An access token of a connection is required: send it as `Authorization: Bearer pim_at_...`.",
        requestId,
        {
          "www-authenticate": sent
            ? `Bearer error="invalid_token", error_description="The access token opens nothing here", ${metadata}, ${anyTier}`
            : `Bearer ${metadata}, ${anyTier}`
        }
      ),
    insufficient: (needed: Tier): Headers => ({
      "www-authenticate": `Bearer error="insufficient_scope", scope="${needed}", ${metadata}`
    })
  }
}

/** Lets the SDK answer a message. The tag of the answer is the hash of its body. */
const makeAsk = (serve: Effect.Effect.Success<ReturnType<typeof makeMcpServer>>) =>
  Effect.fnUntraced(function* (
    message: unknown,
    { headers }: HttpServerRequest.HttpServerRequest,
    { accountId, connectionId }: ConnectionCredential,
    requestId: string
  ) {
    const sent = new Headers({ "content-type": "application/json", accept: "application/json, text/event-stream" })
    for (const name of protocolHeaders) {
      const value = headers[name]
      if (value !== undefined) sent.set(name, value)
    }
    const { contentType, status, text } = yield* serve(message, sent, {
      actor: { _tag: "Connection", accountId, connectionId },
      requestId,
      args: isObject(message) && isObject(message.params) ? message.params.arguments : undefined
    })
    if (status >= 500) yield* Effect.annotateLogs(Effect.logError("The protocol's library failed", text), { requestId })
    if (text === "") return HttpServerResponse.empty({ status })
    const body = Buffer.from(isResult(text) ? text : completed(text, status, requestId))
    return HttpServerResponse.raw(body, {
      status,
      contentType,
      contentLength: body.length,
      ...(status === 200 && { headers: { etag: etagOf(body) } })
    })
  })

interface Passed {
  readonly response: HttpServerResponse.HttpServerResponse
  /** The window of the connection, once it is known. */
  readonly standing: Effect.Effect<Standing>
}

/**
 * What every request to the connector passes, in this order: method, Host and Origin, declared size, token, streamed size,
 * content type, what it accepts, shape, JSON, batch, budget, tier; then the SDK. What stops it before a message is read is
 * answered in the envelope, afterwards as a JSON-RPC error.
 */
const makeGate = ({ allowedOrigins }: McpSettings) =>
  Effect.gen(function* () {
    const baseUrl = yield* BaseUrl
    const activity = yield* Activity
    const connections = yield* Connections
    const budget = yield* RateBudget
    const ask = makeAsk(yield* makeMcpServer(baseUrl))
    const origins = makeOrigins(baseUrl, allowedOrigins)
    const challenges = makeChallenges(baseUrl)

    /** From the token on. */
    const enter = (request: HttpServerRequest.HttpServerRequest, requestId: string): Effect.Effect<Passed> =>
      Effect.gen(function* () {
        const header = bearer.exec(request.headers.authorization ?? "")
        const token = header?.[1] ?? ""
        const found = oneToken.test(token)
          ? yield* connections.authenticate(token, `${baseUrl}${mcpPath}`)
          : Option.none()
        if (Option.isNone(found))
          return { response: challenges.unauthorized(requestId, header !== null), standing: budget.untouched }
        const { accountId, connectionId, tier } = found.value
        const spender = { accountId, credentialId: connectionId }
        const unspent = budget.look(spender)
        chargeTo(toIncomingMessage(request), connectionId)
        const message = yield* Effect.either(readMessage(request, requestId))
        const name = message._tag === "Left" ? undefined : calledBy(message.right)
        const tool = name === undefined ? undefined : toolsByName.get(name)
        // A body that is no message costs as much as one.
        const { refusal, standing: after } = yield* name === undefined
          ? budget.takeMessage(spender)
          : budget.take(spender)
        const standing = name === undefined && refusal === null ? unspent : Effect.succeed(after)
        if (name !== undefined && refusal === null) yield* activity.countCall({ accountId, connectionId })
        const id = message._tag === "Left" ? null : idOf(message.right)
        const passage = passageOf(request)
        extendTime(passage, tool?.bound ?? "usual")
        passage.refuse = (error) =>
          HttpServerResponse.setHeaders(refused(error._tag, error.message, id, requestId), {
            ...commonHeaders,
            ...origins.readable(request)
          })
        if (refusal !== null) {
          const words = name === undefined ? overMessages(refusal) : overBudget(refusal)
          const wait = { "retry-after": String(refusal.retryAfterSeconds) }
          return { response: refused("RateLimited", words, id, requestId, wait), standing }
        }
        if (message._tag === "Left") return { response: message.left, standing }
        if (tool !== undefined && !covers(tier, tool.tool.tier)) {
          const needed = tool.tool.tier
          const words = tooLow(tool.listed.name, needed, tier)
          return { response: refused("Forbidden", words, id, requestId, challenges.insufficient(needed)), standing }
        }
        return { response: yield* ask(message.right, request, found.value, requestId), standing }
      })

    const pass = (request: HttpServerRequest.HttpServerRequest, requestId: string): Effect.Effect<Passed> => {
      const { headers, method } = request
      const from = (response: HttpServerResponse.HttpServerResponse): Effect.Effect<Passed> =>
        Effect.succeed({ response, standing: budget.untouched })
      if (!allowedMethods.includes(method)) return from(notServed(requestId))
      const foreign = origins.refuse(request, requestId)
      if (foreign !== undefined) return from(foreign)
      if (method === "OPTIONS") return from(origins.preflight)
      if (Number(headers["content-length"] ?? 0) > callLimitBytes)
        return from(envelopeOf(new PayloadTooLarge({ limitBytes: callLimitBytes }), requestId))
      return enter(request, requestId)
    }

    const answer: Handler = (request) => {
      const { id: requestId } = passageOf(request)
      return Effect.suspend(() => pass(request, requestId)).pipe(
        Effect.catchAllCause((cause) =>
          Effect.map(
            answerFailure(requestId, envelopeOf)(cause),
            (response): Passed => ({ response, standing: budget.untouched })
          )
        ),
        Effect.flatMap(({ response, standing }) =>
          Effect.map(standing, (window) =>
            HttpServerResponse.setHeaders(response, {
              ...commonHeaders,
              ...rateHeaders(window),
              ...origins.readable(request)
            })
          )
        )
      )
    }
    return { call: answer, preflight: answer, stream: answer, end: answer, replace: answer, change: answer }
  })

/** The connector beside the API. */
export const makeMcpSurface = (settings: McpSettings) =>
  Effect.gen(function* () {
    const budget = yield* RateBudget
    const runtime = yield* Effect.runtime()
    const refuse: Refuse = (error, requestId) =>
      HttpServerResponse.setHeaders(
        error._tag === "MethodNotAllowed" ? notServed(requestId) : envelopeOf(error, requestId),
        { ...commonHeaders, ...rateHeaders(Runtime.runSync(runtime)(budget.untouched)) }
      )
    return surfaceOf(
      {
        call: ["POST", mcpPath, refuse],
        preflight: ["OPTIONS", mcpPath, refuse],
        // These are refused as all other methods are, but with the headers that let a page read the refusal: clients in browsers
        // ask for a stream by GET, and go on without one when they are told so.
        stream: ["GET", mcpPath, refuse],
        end: ["DELETE", mcpPath, refuse],
        replace: ["PUT", mcpPath, refuse],
        change: ["PATCH", mcpPath, refuse]
      },
      makeGate(settings)
    )
  })
