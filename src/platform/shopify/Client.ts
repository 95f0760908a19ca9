import { HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import { Data, Duration, Effect, Either, Predicate, Random, RcMap, Redacted, Schema, type Scope } from "effect"
import type { StoreId } from "../../model/Ids.ts"
import { monotonicMillis } from "../../runtime/MonotonicClock.ts"
import type { PlatformStore } from "../PlatformClient.ts"
import {
  type PlatformFailure,
  PlatformOutcomeUnknown,
  PlatformRefused,
  PlatformUnavailable
} from "../PlatformErrors.ts"
import { apiVersion } from "./Documents.ts"
import * as Pacing from "./Pacing.ts"

export interface ShopifyOptions {
  /** Where the Admin API of a domain is, without a trailing slash. */
  readonly originOf: (domain: string) => string
  /** Calls to one store at a time. */
  readonly permits: number
  /** A live read, everything included. */
  readonly liveLimit: Duration.Duration
  /** Any other call, its repetitions included. */
  readonly callLimit: Duration.Duration
  /** The most that the first repetition is delayed by; each further one by twice as much. */
  readonly firstDelay: Duration.Duration
  /** Between two looks at a bulk operation. */
  readonly pollEvery: Duration.Duration
}

export const defaultOptions: ShopifyOptions = {
  originOf: (domain) => `https://${domain}`,
  permits: 4,
  liveLimit: Duration.seconds(5),
  callLimit: Duration.seconds(30),
  firstDelay: Duration.millis(500),
  pollEvery: Duration.seconds(2)
}

/** No usable answer. `isHarmless`: the store certainly did nothing. Carries no cause: causes hold the request's token. */
class NoAnswer extends Data.TaggedError("NoAnswer")<{
  readonly reason: PlatformFailure
  readonly isHarmless: boolean
}> {}

/** Repetitions after the first attempt. */
const mostRepetitions = 4

/** What is asked of which store, over all repetitions. */
interface Call {
  readonly store: PlatformStore
  readonly document: string
  readonly variables: Readonly<Record<string, unknown>>
  /** The bound that no repetition passes. */
  readonly deadlineMillis: number
  /** The request is out and no answer is in. */
  isOut: boolean
}

/** What is kept of a store between calls. */
interface Line {
  readonly permits: Effect.Semaphore
  budget: Pacing.Budget | null
  breaker: Pacing.Breaker
  /** What each document cost when it was last asked, in points. */
  readonly costs: Map<string, number>
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
type Answer = typeof Answer.Type
const decodeAnswer = Schema.decodeUnknownEither(Answer)

/** Node's codes for connections that never came about: nothing was sent over them. */
const neverConnected: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN"
])

const codesOf = (cause: unknown): ReadonlyArray<unknown> =>
  !Predicate.isRecord(cause)
    ? []
    : [cause.code, ...codesOf(cause.cause), ...(cause instanceof AggregateError ? cause.errors.flatMap(codesOf) : [])]

const isNeverSent = (error: HttpClientError.HttpClientError) =>
  error._tag === "RequestError" &&
  (error.reason !== "Transport" || codesOf(error.cause).some((code) => neverConnected.has(code)))

const refused = (code: string, message: string) => new PlatformRefused({ code, message, field: null })

/** Statuses that say no for good, in our own words: bodies of proxies say nothing to a merchant. */
const refusals: Readonly<Record<number, PlatformRefused>> = {
  401: refused("UNAUTHORIZED", "The store does not accept the access token: it is wrong, or was revoked."),
  402: refused("SHOP_FROZEN", "The store is frozen until its bill is paid."),
  403: refused("FORBIDDEN", "The access token does not allow this."),
  404: refused("SHOP_NOT_FOUND", "There is no such store on the platform."),
  423: refused("SHOP_LOCKED", "The store is locked by its platform.")
}

const serverErrors: ReadonlySet<string> = new Set(["INTERNAL_SERVER_ERROR", "TIMEOUT"])

/** The first line of what the platform says, no longer than a person reads. */
const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").trim().slice(0, 500)

/** What a status and a body say; the data where they say something. */
const read = (status: number, body: string): Either.Either<Answer, NoAnswer | PlatformRefused> => {
  const refusal = refusals[status]
  if (refusal !== undefined) return Either.left(refusal)
  if (status === 429) return Either.left(new NoAnswer({ reason: "throttled", isHarmless: true }))
  if (status >= 500) return Either.left(new NoAnswer({ reason: "server", isHarmless: false }))
  const answer = Either.getOrNull(decodeAnswer(body))
  if (answer === null || (answer.data === undefined && answer.errors === undefined))
    return Either.left(new NoAnswer({ reason: "nonsense", isHarmless: false }))
  return Either.right(answer)
}

/** What an answer without usable data means. */
const failureOf = ({ errors = [] }: Answer): NoAnswer | PlatformRefused | null => {
  const [first] = errors
  if (first === undefined) return null
  const code = first.extensions?.code ?? "GRAPHQL_ERROR"
  if (code === "THROTTLED") return new NoAnswer({ reason: "throttled", isHarmless: true })
  if (serverErrors.has(code)) return new NoAnswer({ reason: "server", isHarmless: false })
  return refused(code, oneLine(first.message))
}

/** Asks the Admin API of stores, each over a line of its own: permits, pacing, breaker. */
export interface ShopifyClient {
  readonly options: ShopifyOptions
  /** Reads, and repeats what failed: throttled, 5xx, broken connections. */
  readonly read: <A, I>(
    store: PlatformStore,
    document: string,
    schema: Schema.Schema<A, I>,
    variables?: Readonly<Record<string, unknown>>,
    limit?: Duration.Duration
  ) => Effect.Effect<A, PlatformUnavailable | PlatformRefused>
  /** Writes, and repeats only what certainly had no effect. */
  readonly write: <A, I>(
    store: PlatformStore,
    document: string,
    schema: Schema.Schema<A, I>,
    variables: Readonly<Record<string, unknown>>
  ) => Effect.Effect<A, PlatformUnavailable | PlatformRefused | PlatformOutcomeUnknown>
  /** Opens a file that the platform wrote; its address is its own key, so no token goes with it. */
  readonly download: (
    url: string
  ) => Effect.Effect<HttpClientResponse.HttpClientResponse, PlatformUnavailable, Scope.Scope>
}

export const makeShopifyClient = (
  options: ShopifyOptions
): Effect.Effect<ShopifyClient, never, HttpClient.HttpClient | Scope.Scope> =>
  Effect.gen(function* () {
    // Spans would show the header that carries the token.
    const http = HttpClient.withTracerDisabledWhen(yield* HttpClient.HttpClient, () => true)
    const lines = yield* RcMap.make({
      lookup: (_: StoreId): Effect.Effect<Line> =>
        Effect.map(Effect.makeSemaphore(options.permits), (permits) => ({
          permits,
          budget: null,
          breaker: Pacing.untroubled,
          costs: new Map()
        })),
      idleTimeToLive: "10 minutes"
    })

    const pace = (line: Line, document: string) =>
      Effect.gen(function* () {
        const cost = line.costs.get(document) ?? 10
        for (;;) {
          const now = yield* monotonicMillis
          const wait = line.budget === null ? 0 : Pacing.waitMillis(line.budget, cost, now)
          if (wait === 0) {
            if (line.budget !== null) line.budget = Pacing.spent(line.budget, cost, now)
            return
          }
          yield* Effect.sleep(wait)
        }
      })

    const note = (line: Line, document: string, { extensions }: Answer) =>
      Effect.map(monotonicMillis, (atMillis) => {
        const cost = extensions?.cost
        if (cost === undefined) return
        line.costs.set(document, cost.requestedQueryCost)
        if (cost.throttleStatus !== undefined)
          line.budget = {
            maximum: cost.throttleStatus.maximumAvailable,
            available: cost.throttleStatus.currentlyAvailable,
            restorePerSecond: cost.throttleStatus.restoreRate,
            atMillis
          }
      })

    const exchange = (call: Call) =>
      HttpClientRequest.post(`${options.originOf(call.store.domain)}/admin/api/${apiVersion}/graphql.json`).pipe(
        HttpClientRequest.setHeader(
          "X-Shopify-Access-Token",
          call.store.token === null ? "" : Redacted.value(call.store.token)
        ),
        HttpClientRequest.acceptJson,
        HttpClientRequest.bodyUnsafeJson({ query: call.document, variables: call.variables }),
        (request) =>
          Effect.suspend(() => {
            call.isOut = true
            return http.execute(request)
          }),
        Effect.flatMap((response) => Effect.map(response.text, (body) => ({ status: response.status, body }))),
        Effect.scoped,
        Effect.mapError((error) => new NoAnswer({ reason: "transport", isHarmless: isNeverSent(error) })),
        Effect.flatMap(({ body, status }) => read(status, body))
      )

    const attempt = (line: Line, call: Call) =>
      Effect.gen(function* () {
        yield* pace(line, call.document)
        const answer = yield* exchange(call)
        yield* note(line, call.document, answer)
        const failure = failureOf(answer)
        if (failure !== null) return yield* failure
        return answer.data
      }).pipe(line.permits.withPermits(1))

    /** An attempt within what is left of the call's time, known to the breaker. */
    const guarded = (line: Line, call: Call) =>
      Effect.gen(function* () {
        const now = yield* monotonicMillis
        if (!Pacing.isOpen(line.breaker, now)) return yield* new NoAnswer({ reason: "suspended", isHarmless: true })
        line.breaker = Pacing.afterStart(line.breaker, now)
        call.isOut = false
        return yield* attempt(line, call).pipe(
          Effect.timeoutFail({
            duration: Math.max(0, call.deadlineMillis - now),
            onTimeout: () => new NoAnswer({ reason: "timeout", isHarmless: !call.isOut })
          }),
          Effect.tapBoth({
            onSuccess: () => Effect.sync(() => (line.breaker = Pacing.untroubled)),
            onFailure: (failure) =>
              Effect.map(monotonicMillis, (then) => {
                // Who refuses or asks for patience is there.
                line.breaker =
                  failure._tag === "PlatformRefused" || failure.reason === "throttled"
                    ? Pacing.untroubled
                    : Pacing.afterFailure(line.breaker, then)
              })
          })
        )
      })

    const isWorthRepeating = ({ isHarmless, reason }: NoAnswer, isWrite: boolean) =>
      (reason === "throttled" || reason === "server" || reason === "transport") && (isHarmless || !isWrite)

    /** Full jitter (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). */
    const delayMillis = (repetition: number) =>
      Random.nextIntBetween(0, Duration.toMillis(options.firstDelay) * 2 ** repetition)

    const ask = <A, I>(
      store: PlatformStore,
      document: string,
      schema: Schema.Schema<A, I>,
      variables: Readonly<Record<string, unknown>>,
      isWrite: boolean,
      limit: Duration.Duration
    ): Effect.Effect<A, NoAnswer | PlatformRefused> =>
      Effect.gen(function* () {
        const line = yield* RcMap.get(lines, store.storeId)
        const call: Call = {
          store,
          document,
          variables,
          deadlineMillis: (yield* monotonicMillis) + Duration.toMillis(limit),
          isOut: false
        }
        const decode = Schema.decodeUnknown(schema)
        const repeated = (repetition: number): Effect.Effect<unknown, NoAnswer | PlatformRefused> =>
          Effect.catchTag(guarded(line, call), "NoAnswer", (failure) =>
            Effect.gen(function* () {
              if (repetition >= mostRepetitions || !isWorthRepeating(failure, isWrite)) return yield* failure
              const delay = yield* delayMillis(repetition)
              if ((yield* monotonicMillis) + delay >= call.deadlineMillis) return yield* failure
              yield* Effect.sleep(delay)
              return yield* repeated(repetition + 1)
            })
          )
        return yield* Effect.mapError(
          decode(yield* repeated(0)),
          () => new NoAnswer({ reason: "nonsense", isHarmless: false })
        )
      }).pipe(Effect.scoped)

    return {
      options,
      read: (store, document, schema, variables = {}, limit = options.callLimit) =>
        Effect.mapError(ask(store, document, schema, variables, false, limit), (failure) =>
          failure._tag === "NoAnswer" ? new PlatformUnavailable({ reason: failure.reason }) : failure
        ),
      write: (store, document, schema, variables) =>
        Effect.mapError(ask(store, document, schema, variables, true, options.callLimit), (failure) =>
          failure._tag === "PlatformRefused"
            ? failure
            : failure.isHarmless
              ? new PlatformUnavailable({ reason: failure.reason })
              : new PlatformOutcomeUnknown({ reason: failure.reason })
        ),
      download: (url) =>
        http.get(url).pipe(
          Effect.mapError(() => new PlatformUnavailable({ reason: "transport" })),
          Effect.timeoutFail({
            duration: options.callLimit,
            onTimeout: () => new PlatformUnavailable({ reason: "timeout" })
          }),
          Effect.filterOrFail(
            ({ status }) => status === 200,
            () => new PlatformUnavailable({ reason: "server" })
          )
        )
    }
  })
