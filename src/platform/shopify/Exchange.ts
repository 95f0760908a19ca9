import { type HttpClient, type HttpClientError, HttpClientRequest } from "@effect/platform"
import { Data, Effect, Either, Predicate, Redacted, Schema } from "effect"
import type { PlatformStore } from "../PlatformClient.ts"
import { type PlatformFailure, PlatformRefused } from "../PlatformErrors.ts"
import { apiVersion } from "./Documents.ts"

/** No usable answer. The cause is left out, because it contains the token. */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{
  readonly reason: PlatformFailure
  /** The store certainly did nothing. */
  readonly isHarmless: boolean
  /** No call should be sent earlier than after so many milliseconds, by `Retry-After`. Missing: the answer has no such header. */
  readonly retryAfterMillis?: number | undefined
}> {}

/** One call, including all its repetitions. */
export interface Call {
  readonly store: PlatformStore
  readonly document: string
  readonly variables: Readonly<Record<string, unknown>>
  /** When the call ends, including its repetitions. Milliseconds of the monotonic clock. */
  readonly deadlineMillis: number
  /** Whether the current attempt has sent its request. */
  isSent: boolean
}

const ThrottleStatus = Schema.Struct({
  maximumAvailable: Schema.Positive,
  currentlyAvailable: Schema.Number,
  restoreRate: Schema.Positive
})

const Answer = Schema.parseJson(
  Schema.Struct({
    data: Schema.optional(Schema.Unknown),
    errors: Schema.optional(
      Schema.Array(
        Schema.Struct({
          message: Schema.String,
          extensions: Schema.optional(Schema.Struct({ code: Schema.optional(Schema.String) }))
        })
      )
    ),
    extensions: Schema.optional(
      Schema.Struct({
        cost: Schema.optional(
          Schema.Struct({ requestedQueryCost: Schema.Number, throttleStatus: Schema.optional(ThrottleStatus) })
        )
      })
    )
  })
)
export type Answer = typeof Answer.Type
const decodeAnswer = Schema.decodeUnknownEither(Answer)

/** Node's error codes for connections that were never made, so nothing was sent. */
const neverConnected: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
  "UND_ERR_CONNECT_TIMEOUT"
])

const codesOf = (cause: unknown): ReadonlyArray<unknown> =>
  !Predicate.isRecord(cause)
    ? []
    : [cause.code, ...codesOf(cause.cause), ...(cause instanceof AggregateError ? cause.errors.flatMap(codesOf) : [])]

const isNotSent = (error: HttpClientError.HttpClientError) =>
  error._tag === "RequestError" &&
  (error.reason !== "Transport" || codesOf(error.cause).some((code) => neverConnected.has(code)))

const refuse = (code: string, message: string) => new PlatformRefused({ code, message, field: null })

/** HTTP statuses that a repetition cannot change. The messages are ours, because the body may be a proxy's HTML page. */
const refusals: Readonly<Record<number, PlatformRefused>> = {
  401: refuse("UNAUTHORIZED", "The store does not accept the access token: the token is wrong or was revoked."),
  402: refuse("SHOP_FROZEN", "The store is frozen until its bill is paid."),
  403: refuse("FORBIDDEN", "The access token does not allow this."),
  404: refuse("SHOP_NOT_FOUND", "There is no such store on the platform."),
  423: refuse("SHOP_LOCKED", "The store is locked by its platform.")
}

/** 430: Shopify sometimes takes a valid request for an attack. */
const busyStatuses: ReadonlySet<number> = new Set([429, 430])

/** A redirect or another 4xx. The call had no effect, and its repetition would be refused too. */
const refusedWith = (status: number) =>
  refuse(`HTTP_${status}`, `The store's platform refuses the request with the HTTP status ${status}.`)

const serverErrors: ReadonlySet<string> = new Set(["INTERNAL_SERVER_ERROR", "TIMEOUT"])

/**
 * Shopify's code for a field for which the token has no permission
 * (https://shopify.dev/changelog/new-error-messages-for-graphql-operations-without-necessary-access-scopes).
 */
export const accessDenied = "ACCESS_DENIED"

/** The platform's message on one line, at most 500 characters long. */
const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").trim().slice(0, 500)

/** `Retry-After` in seconds, as Shopify sends it (https://shopify.dev/docs/api/usage/limits). A date is ignored. */
const retryAfterMillis = (header: string | undefined): number | undefined => {
  const seconds = Number(header?.trim() || Number.NaN)
  return seconds >= 0 ? Math.ceil(seconds * 1_000) : undefined
}

interface Received {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly body: string
}

/** Parses the answer in a response, or returns why there is none. */
const readResponse = ({ body, retryAfter, status }: Received): Either.Either<Answer, NoAnswer | PlatformRefused> => {
  const refusal = refusals[status]
  if (refusal !== undefined) return Either.left(refusal)
  const later = { retryAfterMillis: retryAfterMillis(retryAfter) }
  if (busyStatuses.has(status)) return Either.left(new NoAnswer({ reason: "throttled", isHarmless: true, ...later }))
  if (status >= 500 || status === 408)
    return Either.left(new NoAnswer({ reason: "server", isHarmless: false, ...later }))
  const answer = Either.getOrNull(decodeAnswer(body))
  if (answer === null || (answer.data === undefined && answer.errors === undefined))
    return Either.left(status < 300 ? new NoAnswer({ reason: "nonsense", isHarmless: false }) : refusedWith(status))
  return Either.right(answer)
}

/** The failure that an answer reports; null: the call succeeded. */
export const failureOf = ({ errors = [] }: Answer): NoAnswer | PlatformRefused | null => {
  const [first] = errors
  if (first === undefined) return null
  const code = first.extensions?.code ?? "GRAPHQL_ERROR"
  if (code === "THROTTLED") return new NoAnswer({ reason: "throttled", isHarmless: true })
  if (serverErrors.has(code)) return new NoAnswer({ reason: "server", isHarmless: false })
  return refuse(code, oneLine(first.message))
}

/** Sends one request to the Admin API and reads the answer. */
export const exchange = (http: HttpClient.HttpClient, origin: string, call: Call) =>
  HttpClientRequest.post(`${origin}/admin/api/${apiVersion}/graphql.json`).pipe(
    HttpClientRequest.setHeader(
      "X-Shopify-Access-Token",
      Redacted.value(call.store.credentials.token ?? Redacted.make(""))
    ),
    HttpClientRequest.acceptJson,
    HttpClientRequest.bodyUnsafeJson({ query: call.document, variables: call.variables }),
    (request) =>
      Effect.suspend(() => {
        call.isSent = true
        return http.execute(request)
      }),
    Effect.flatMap(({ headers, status, text }) =>
      Effect.map(text, (body): Received => ({ status, retryAfter: headers["retry-after"], body }))
    ),
    Effect.scoped,
    Effect.mapError((error) => new NoAnswer({ reason: "transport", isHarmless: isNotSent(error) })),
    Effect.flatMap(readResponse)
  )
