import { HttpClient, type HttpClientResponse } from "@effect/platform"
import { Duration, Effect, Random, RcMap, Schema, type Scope } from "effect"
import type { StoreId } from "../../model/Ids.ts"
import { monotonicMillis } from "../../runtime/MonotonicClock.ts"
import { PlatformAnswers } from "../PlatformAnswers.ts"
import type { PlatformStore } from "../PlatformClient.ts"
import { PlatformOutcomeUnknown, type PlatformRefused, PlatformUnavailable } from "../PlatformErrors.ts"
import { WriteDeadline } from "../WriteDeadline.ts"
import { type Call, exchange, failureOf, NoAnswer } from "./Exchange.ts"
import { makeThrottle, pace, recordCost, type Throttle, throughBreaker } from "./Throttle.ts"

export interface ShopifyOptions {
  /** Returns the origin of the Admin API for a store's domain, without a trailing slash. */
  readonly originOf: (domain: string) => string
  /** Maximum number of concurrent calls to one store. */
  readonly permits: number
  /** Time limit of a live read, including repetitions. */
  readonly liveLimit: Duration.Duration
  /** Time limit of any other call, including repetitions. */
  readonly callLimit: Duration.Duration
  /** Maximum delay before the first repetition. It doubles with each further repetition. */
  readonly firstDelay: Duration.Duration
  /** Interval between two reads of a bulk operation's state. */
  readonly pollEvery: Duration.Duration
  /** How long to wait for other bulk operations to end. */
  readonly bulkStartLimit: Duration.Duration
}

export const defaultOptions: ShopifyOptions = {
  originOf: (domain) => `https://${domain}`,
  permits: 4,
  liveLimit: Duration.seconds(5),
  callLimit: Duration.seconds(30),
  firstDelay: Duration.millis(500),
  pollEvery: Duration.seconds(2),
  bulkStartLimit: Duration.minutes(5)
}

/** Shopify refuses a call whose input has an array with more elements (https://shopify.dev/docs/api/usage/limits). */
export const maxElements = 250

/** The answer is not what the API documents. */
export const nonsense = new PlatformUnavailable({ reason: "nonsense" })

/** Maximum number of repetitions after the first attempt. */
const maxRepetitions = 4

/** Calls the Admin API of stores. Each store has its own permits, cost budget and circuit breaker. */
export interface ShopifyClient {
  readonly options: ShopifyOptions
  /** Runs a query. Repeats calls that fail: throttled, 5xx, broken connections. */
  readonly read: <A, I>(
    store: PlatformStore,
    document: string,
    schema: Schema.Schema<A, I>,
    variables?: Readonly<Record<string, unknown>>,
    limit?: Duration.Duration
  ) => Effect.Effect<A, PlatformUnavailable | PlatformRefused>
  /** Runs a mutation. Repeats only calls that certainly had no effect. */
  readonly write: <A, I>(
    store: PlatformStore,
    document: string,
    schema: Schema.Schema<A, I>,
    variables: Readonly<Record<string, unknown>>
  ) => Effect.Effect<A, PlatformUnavailable | PlatformRefused | PlatformOutcomeUnknown>
  /** Opens a file that the platform has written. The URL itself grants access, so no token is sent. */
  readonly download: (
    url: string
  ) => Effect.Effect<HttpClientResponse.HttpClientResponse, PlatformUnavailable, Scope.Scope>
}

const isWorthRepeating = ({ isHarmless, reason }: NoAnswer, isWrite: boolean) =>
  (reason === "throttled" || reason === "server" || reason === "transport") && (isHarmless || !isWrite)

export const makeShopifyClient = (
  options: ShopifyOptions
): Effect.Effect<ShopifyClient, never, HttpClient.HttpClient | Scope.Scope> =>
  Effect.gen(function* () {
    // Tracing is off, because spans would contain the header with the access token.
    const http = HttpClient.withTracerDisabledWhen(yield* HttpClient.HttpClient, () => true)
    const throttles = yield* RcMap.make({
      lookup: (_: StoreId) => makeThrottle(options.permits),
      idleTimeToLive: "10 minutes"
    })

    /** Makes one attempt, within the time that is left for the call. */
    const attempt = (throttle: Throttle, call: Call, isWrite: boolean) =>
      throughBreaker(
        throttle,
        Effect.gen(function* () {
          call.isSent = false
          const now = yield* monotonicMillis
          return yield* Effect.gen(function* () {
            yield* pace(throttle, call.document)
            if (isWrite && (yield* monotonicMillis) >= (yield* WriteDeadline).millis)
              return yield* new NoAnswer({ reason: "timeout", isHarmless: true })
            const answer = yield* exchange(http, options.originOf(call.store.domain), call)
            yield* recordCost(throttle, call.document, answer)
            const failure = failureOf(answer)
            if (failure !== null) return yield* failure
            return answer.data
          }).pipe(
            throttle.permits.withPermits(1),
            Effect.timeoutFail({
              duration: Math.max(0, call.deadlineMillis - now),
              onTimeout: () => new NoAnswer({ reason: "timeout", isHarmless: !call.isSent })
            })
          )
        })
      )

    /** A random delay up to a maximum that doubles (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). */
    const delayMillis = (repetition: number) =>
      Random.nextIntBetween(0, Duration.toMillis(options.firstDelay) * 2 ** repetition)

    const repeated = (
      throttle: Throttle,
      call: Call,
      isWrite: boolean,
      repetition: number
    ): Effect.Effect<unknown, NoAnswer | PlatformRefused> =>
      Effect.catchTag(attempt(throttle, call, isWrite), "NoAnswer", (failure) =>
        Effect.gen(function* () {
          if (repetition >= maxRepetitions || !isWorthRepeating(failure, isWrite)) return yield* failure
          const delay = Math.max(yield* delayMillis(repetition), failure.retryAfterMillis ?? 0)
          if ((yield* monotonicMillis) + delay >= call.deadlineMillis) return yield* failure
          yield* Effect.sleep(delay)
          return yield* repeated(throttle, call, isWrite, repetition + 1)
        })
      )

    const request = <A, I>(
      store: PlatformStore,
      document: string,
      schema: Schema.Schema<A, I>,
      variables: Readonly<Record<string, unknown>>,
      isWrite: boolean,
      limit: Duration.Duration
    ): Effect.Effect<A, NoAnswer | PlatformRefused> =>
      Effect.gen(function* () {
        const throttle = yield* RcMap.get(throttles, store.storeId)
        const deadlineMillis = (yield* monotonicMillis) + Duration.toMillis(limit)
        const call: Call = { store, document, variables, deadlineMillis, isSent: false }
        const data = yield* repeated(throttle, call, isWrite, 0)
        const { note, noteWrite } = yield* PlatformAnswers
        yield* isWrite ? noteWrite : note
        return yield* Effect.mapError(
          Schema.decodeUnknown(schema)(data),
          () => new NoAnswer({ reason: "nonsense", isHarmless: false })
        )
      }).pipe(Effect.scoped)

    return {
      options,
      read: (store, document, schema, variables = {}, limit = options.callLimit) =>
        Effect.mapError(request(store, document, schema, variables, false, limit), (failure) =>
          failure._tag === "NoAnswer" ? new PlatformUnavailable({ reason: failure.reason }) : failure
        ),
      write: (store, document, schema, variables) =>
        Effect.mapError(request(store, document, schema, variables, true, options.callLimit), (failure) =>
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
