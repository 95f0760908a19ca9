import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Option, Record, Runtime, Schema } from "effect"
import { type ApiError, connectorCodes, errorCodes } from "../api/ErrorCodes.ts"
import { MethodNotAllowed, PayloadTooLarge } from "../api/RequestErrors.ts"
import { messagesPerConnection, RateBudget, type Standing } from "../budgets/RateBudget.ts"
import type { ConnectionCredential } from "../connections/Connection.ts"
import { Connections } from "../connections/Connections.ts"
import { covers, scopeOf, type Tier, tierWords } from "../connections/Tier.ts"
import { BaseUrl, ownOrigins } from "../http/BaseUrl.ts"
import { chargeTo } from "../http/BodiesInFlight.ts"
import { decodeUtf8, isOfType, readBytes, shapeMisfit } from "../http/Body.ts"
import { etagOf } from "../http/Conditional.ts"
import { answerFailure, headersOf } from "../http/Envelope.ts"
import { rateHeaders } from "../http/RateHeaders.ts"
import { type Handler, passingOf, type Refuse, requestIdOf, surfaceOf } from "../http/Surface.ts"
import type { RateLimited } from "../model/Errors.ts"
import { JsonScan } from "../model/JsonScan.ts"
import { toolsByName } from "./Calls.ts"
import { makeMcpServer } from "./McpServer.ts"
import { isObject, pathOf, shown } from "./Vocabulary.ts"

export const mcpPath = "/mcp"

/** Largest call of a tool, in bytes. */
export const callLimitBytes = 4 * 1_048_576

/** Largest message of any other kind, in bytes. */
export const messageLimitBytes = 262_144

/** Codes of JSON-RPC. */
const rpc = {
  parseError: -32_700,
  invalidRequest: -32_600,
  invalidParams: -32_602,
  internalError: -32_603,
  refused: -32_000
} as const

const commonHeaders = { "cache-control": "private, no-cache", vary: "Authorization, Origin" }

const allowed = ["POST", "OPTIONS"]

/** What a browser may send, and read of the answer. */
const corsHeaders = {
  "access-control-allow-methods": allowed.join(", "),
  "access-control-allow-headers":
    "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id",
  "access-control-max-age": "600"
}
const exposed = { "access-control-expose-headers": "WWW-Authenticate" }

type Headers = Readonly<Record<string, string>>

/** An error in the envelope: what is said while no message has been read. */
const enveloped = (status: number, code: string, message: string, requestId: string, headers: Headers = {}) =>
  HttpServerResponse.unsafeJson({ error: { code, message, request_id: requestId } }, { status, headers })

const envelopeOf = (error: ApiError, requestId: string) => {
  const { code, status } = errorCodes[error._tag]
  return enveloped(status, code, error.message, requestId, headersOf(error))
}

/** Whatever the method: those that are answered with this very refusal have routes too. */
const notServed = (requestId: string) => envelopeOf(new MethodNotAllowed({ allow: allowed }), requestId)

type MessageId = string | number | null

/** An error that answers a message. */
const answered = (
  status: number,
  error: { readonly rpc: number; readonly code: string; readonly message: string },
  id: MessageId,
  requestId: string,
  headers: Headers = {}
) =>
  HttpServerResponse.unsafeJson(
    {
      jsonrpc: "2.0",
      id,
      error: { code: error.rpc, message: error.message, data: { code: error.code, request_id: requestId } }
    },
    { status, headers }
  )

/** The id of a message that waits for an answer. */
const idOf = (message: unknown): MessageId =>
  isObject(message) && (typeof message.id === "string" || typeof message.id === "number") ? message.id : null

const callMethod = "tools/call"

/** The tool that a message calls; undefined where it calls none. */
const calledBy = (message: unknown): string | undefined =>
  isObject(message) && message.method === callMethod && idOf(message) !== null
    ? isObject(message.params) && typeof message.params.name === "string"
      ? message.params.name
      : ""
    : undefined

const codeOfStatus = (status: number, rpcCode: number) => {
  const known = Object.values(errorCodes).find((row) => row.status === status)
  return rpcCode === -32_601 ? "not_found" : (known?.code ?? errorCodes.ValidationFailed.code)
}

/** Longest text in an error of the SDK, in characters: it repeats what it was sent, and some of that twice. */
const errorTextLimit = 1_000

/** The same with its texts fit to be repeated. */
const shownIn = (part: unknown): unknown => {
  if (typeof part === "string") return shown(part, errorTextLimit)
  if (Array.isArray(part)) return part.map(shownIn)
  return isObject(part) ? Record.map(part, shownIn) : part
}

/** The issues in what the SDK says of a message that its schemas refuse, alone or after a few words. */
const listOfIssues = /^(?:Invalid \S+ request: )?(\[.*\])$/s

const decodeIssues = Schema.decodeUnknownOption(
  Schema.parseJson(
    Schema.Array(
      Schema.Struct({ path: Schema.Array(Schema.Union(Schema.String, Schema.Number)), message: Schema.String })
    )
  )
)

/**
 * The SDK says of parameters of a wrong shape what its schema says, as JSON, and calls some of them its own failure: they are
 * the client's, and it is told in a sentence.
 */
const corrected = (error: Readonly<Record<string, unknown>>) =>
  Option.match(decodeIssues(listOfIssues.exec(String(error.message))?.[1]), {
    onNone: () => error,
    onSome: (issues) => ({
      ...error,
      code: rpc.invalidParams,
      message: `Invalid params: ${issues.map(({ message, path }) => `${pathOf(path)}: ${message}`).join("; ")}`
    })
  })

const eventOf = /^(event: message\ndata: )([^\n]*)(\n\n)$/

/**
 * Whether an answer of the SDK is a result, which is never opened: it begins with that. Whatever begins otherwise may be an
 * error, after an id of any length.
 */
const isResult = (text: string) => /^(?:event: message\ndata: )?\{"result":/.test(text)

/** An error of the SDK, short, that says the code and the request too; any other answer as it is. */
const completed = (text: string, status: number, requestId: string): string => {
  const [, before = "", json = text, after = ""] = eventOf.exec(text) ?? []
  // Several events, as a subscription begins and ends.
  if (!json.startsWith("{")) return text
  const message: unknown = JSON.parse(json)
  if (!isObject(message) || !isObject(message.error)) return text
  const { code, data, message: said }: Readonly<Record<string, unknown>> = corrected(message.error)
  const error = {
    code,
    message: shownIn(said),
    data: {
      ...(isObject(data) && Record.map(data, shownIn)),
      code: codeOfStatus(status, Number(code)),
      request_id: requestId
    }
  }
  return before + JSON.stringify({ ...message, error }) + after
}

const bearer = /^bearer(?: +(.*))?$/i
const oneToken = /^[^\s,]+$/

/** What an Accept header names, without parameters. */
const namesBoth = (accept: string | undefined) => {
  const named = new Set((accept ?? "").split(",").map((range) => (range.split(";")[0] ?? "").trim().toLowerCase()))
  return named.has("application/json") && named.has("text/event-stream")
}

/** Headers that the protocol reads. */
const protocolHeaders = ["mcp-protocol-version", "mcp-method", "mcp-name"]

const tooLow = (tool: string, needed: Tier, granted: Tier) =>
  `insufficient_scope: ${tool} needs the tier "${tierWords[needed].name}" (${needed}), and this connection was granted "${tierWords[granted].name}". Nothing was done. To grant more, disconnect the catalog in this client, connect it again and choose "${tierWords[needed].name}" on the consent page.`

const overMessages = ({ retryAfterSeconds }: RateLimited) =>
  `This connection has sent ${messagesPerConnection} messages other than ${callMethod} within a minute; retry in ${retryAfterSeconds} s.`

const overBudget = ({ retryAfterSeconds, scope }: RateLimited) =>
  `The request budget of ${scope === "key" ? "this connection" : "all keys and connections of the account together"} is used up; retry in ${retryAfterSeconds} s.`

/** Hosts of origins, with and without the port that goes without saying. */
const hostsOf = (origins: Iterable<string>) =>
  new Set(
    [...origins].flatMap((origin) => {
      const { host, hostname, port, protocol } = new URL(origin)
      return port === "" ? [host, `${hostname}:${protocol === "https:" ? 443 : 80}`] : [host]
    })
  )

/** How the connector is set up. */
export interface McpSettings {
  /** Origins of browsers' pages that may use it, beside its own. */
  readonly allowedOrigins: ReadonlyArray<string>
}

/**
 * What every request to the connector passes, in this order: method, Host and Origin, declared size, token, streamed size,
 * content type, what it accepts, shape, JSON, batch, budget, tier; then the SDK. What stops it before a message is read is answered in the
 * envelope, afterwards as a JSON-RPC error.
 */
const makeGate = ({ allowedOrigins }: McpSettings) =>
  Effect.gen(function* () {
    const baseUrl = yield* BaseUrl
    const connections = yield* Connections
    const budget = yield* RateBudget
    const serve = yield* makeMcpServer(baseUrl)
    const own = ownOrigins(baseUrl)
    const hosts = hostsOf(own)
    const origins = new Set([...own, ...allowedOrigins])
    const resource = `${baseUrl}${mcpPath}`
    const metadata = `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource${mcpPath}"`
    const anyTier = `scope="${scopeOf("pim:publish")}"`

    const unauthorized = (requestId: string, sent: boolean) =>
      enveloped(
        errorCodes.Unauthorized.status,
        errorCodes.Unauthorized.code,
        sent
          ? "The access token is unknown, expired or revoked, or it is for something else (an API key opens the REST API alone): connect again."
          : "An access token of a connection is required: send it as `Authorization: Bearer pim_at_...`.",
        requestId,
        {
          "www-authenticate": sent
            ? `Bearer error="invalid_token", error_description="The access token opens nothing here", ${metadata}, ${anyTier}`
            : `Bearer ${metadata}, ${anyTier}`
        }
      )

    /** A message that is no call of a tool, and larger than those may be. */
    const tooLarge = (requestId: string) =>
      enveloped(
        errorCodes.PayloadTooLarge.status,
        errorCodes.PayloadTooLarge.code,
        `The body is larger than ${messageLimitBytes} bytes: only ${callMethod} takes more, up to ${callLimitBytes} bytes.`,
        requestId,
        { connection: "close" }
      )

    /**
     * The message of a request, or why there is none. Its method is looked for as it comes in: of a message that is no call, no
     * more is read or parsed than those may have.
     */
    const read = (request: HttpServerRequest.HttpServerRequest, requestId: string) =>
      Effect.gen(function* () {
        const source = toIncomingMessage(request)
        const scan = new JsonScan("method")
        const declared = Number(request.headers["content-length"] ?? 0)
        const isTooLarge = (length: number) => length > messageLimitBytes && scan.found !== callMethod
        const bytes = yield* readBytes(source, callLimitBytes, (chunk, length) => {
          scan.read(chunk)
          return scan.found !== undefined && isTooLarge(Math.max(declared, length)) ? tooLarge(requestId) : undefined
        }).pipe(Effect.mapError((error) => ("_tag" in error ? envelopeOf(error, requestId) : error)))
        if (isTooLarge(bytes.length)) return yield* Effect.fail(tooLarge(requestId))
        if (!isOfType(request.headers, "application/json"))
          return yield* Effect.fail(
            enveloped(
              errorCodes.UnsupportedMediaType.status,
              errorCodes.UnsupportedMediaType.code,
              "Send one JSON-RPC message as UTF-8 JSON with `Content-Type: application/json`.",
              requestId
            )
          )
        if (!namesBoth(request.headers.accept))
          return yield* Effect.fail(
            enveloped(
              connectorCodes.NotAcceptable.status,
              connectorCodes.NotAcceptable.code,
              "Send `Accept: application/json, text/event-stream`: the protocol answers in either.",
              requestId
            )
          )
        const invalid = (code: number, message: string) =>
          answered(
            errorCodes.ValidationFailed.status,
            { rpc: code, code: errorCodes.ValidationFailed.code, message },
            null,
            requestId
          )
        const text = yield* decodeUtf8(bytes).pipe(
          Effect.mapError(() => invalid(rpc.parseError, "Parse error: the body is not UTF-8."))
        )
        const misfit = shapeMisfit(scan)
        if (misfit !== undefined) return yield* Effect.fail(invalid(rpc.invalidRequest, `Invalid request: ${misfit}.`))
        const message = yield* Effect.try({
          try: () => JSON.parse(text) as unknown,
          catch: () => invalid(rpc.parseError, "Parse error: the body is not JSON.")
        })
        if (Array.isArray(message))
          return yield* Effect.fail(
            invalid(rpc.invalidRequest, "Invalid request: batches are not served; send one message.")
          )
        // A notification of that name calls nothing.
        if (bytes.length > messageLimitBytes && calledBy(message) === undefined)
          return yield* Effect.fail(tooLarge(requestId))
        return message
      })

    /** What the SDK answers: its body's hash is its tag. */
    const ask = (
      message: unknown,
      { headers }: HttpServerRequest.HttpServerRequest,
      { accountId, connectionId }: ConnectionCredential,
      requestId: string
    ) =>
      Effect.gen(function* () {
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
        if (status >= 500)
          yield* Effect.annotateLogs(Effect.logError("The protocol's library failed", text), { requestId })
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

    /** From the token on. */
    const enter = (request: HttpServerRequest.HttpServerRequest, requestId: string): Effect.Effect<Passed> =>
      Effect.gen(function* () {
        const header = bearer.exec(request.headers.authorization ?? "")
        const token = header?.[1] ?? ""
        const found = oneToken.test(token) ? yield* connections.authenticate(token, resource) : Option.none()
        if (Option.isNone(found))
          return { response: unauthorized(requestId, header !== null), standing: budget.untouched }
        const { accountId, connectionId, tier } = found.value
        const spender = { accountId, credentialId: connectionId }
        const unspent = budget.look(spender)
        chargeTo(toIncomingMessage(request), connectionId)
        const message = yield* Effect.either(read(request, requestId))
        const name = message._tag === "Left" ? undefined : calledBy(message.right)
        const tool = name === undefined ? undefined : toolsByName.get(name)
        // A body that is no message costs as much as one.
        const taken = yield* name === undefined ? budget.takeMessage(spender) : budget.take(spender)
        const standing = name === undefined && taken.refusal === null ? unspent : Effect.succeed(taken.standing)
        const id = message._tag === "Left" ? null : idOf(message.right)
        const passing = passingOf(request)
        if (passing !== undefined) {
          passing.extend(tool?.bound ?? "usual")
          passing.refuse = (error) => {
            const { code, status } = errorCodes[error._tag]
            return HttpServerResponse.setHeaders(
              answered(status, { rpc: rpc.refused, code, message: error.message }, id, requestId),
              { ...commonHeaders, ...readable(request.headers) }
            )
          }
        }
        if (taken.refusal !== null)
          return {
            response: answered(
              errorCodes.RateLimited.status,
              {
                rpc: rpc.refused,
                code: errorCodes.RateLimited.code,
                message: name === undefined ? overMessages(taken.refusal) : overBudget(taken.refusal)
              },
              id,
              requestId,
              { "retry-after": String(taken.refusal.retryAfterSeconds) }
            ),
            standing
          }
        if (message._tag === "Left") return { response: message.left, standing }
        if (tool !== undefined && !covers(tier, tool.tool.tier))
          return {
            response: answered(
              errorCodes.Forbidden.status,
              {
                rpc: rpc.refused,
                code: errorCodes.Forbidden.code,
                message: tooLow(tool.listed.name, tool.tool.tier, tier)
              },
              id,
              requestId,
              {
                "www-authenticate": `Bearer error="insufficient_scope", scope="${tool.tool.tier}", ${metadata}`
              }
            ),
            standing
          }
        return { response: yield* ask(message.right, request, found.value, requestId), standing }
      })

    const pass = (request: HttpServerRequest.HttpServerRequest, requestId: string): Effect.Effect<Passed> => {
      const { headers, method } = request
      const { origin } = headers
      const from = (response: HttpServerResponse.HttpServerResponse): Effect.Effect<Passed> =>
        Effect.succeed({ response, standing: budget.untouched })
      if (!allowed.includes(method)) return from(notServed(requestId))
      const foreign = (what: string) =>
        enveloped(connectorCodes.ForeignPage.status, connectorCodes.ForeignPage.code, what, requestId)
      if (!hosts.has((headers.host ?? "").toLowerCase()))
        return from(foreign("The Host header names another service than this one."))
      if (origin !== undefined && !origins.has(origin))
        return from(foreign("Pages of this origin may not use the connector; ALLOWED_ORIGINS names those that may."))
      if (method === "OPTIONS")
        return from(HttpServerResponse.empty({ status: 204, headers: { ...corsHeaders, ...exposed } }))
      if (Number(headers["content-length"] ?? 0) > callLimitBytes)
        return from(envelopeOf(new PayloadTooLarge({ limitBytes: callLimitBytes }), requestId))
      return enter(request, requestId)
    }

    /** What lets a page of an allowed origin read an answer, whatever that says: without it, a browser only tells of a failure. */
    const readable = ({ origin }: Headers): Headers =>
      origin !== undefined && origins.has(origin) ? { "access-control-allow-origin": origin, ...exposed } : {}

    const answer: Handler = (request) => {
      const requestId = requestIdOf(request)
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
              ...readable(request.headers)
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
        // Refused as all others are, but where it is known which pages may read that: clients in browsers ask for a stream by
        // GET and go on without one when they are told so.
        stream: ["GET", mcpPath, refuse],
        end: ["DELETE", mcpPath, refuse],
        replace: ["PUT", mcpPath, refuse],
        change: ["PATCH", mcpPath, refuse]
      },
      makeGate(settings)
    )
  })
