import { Effect } from "effect"
import { monotonicMillis } from "../../runtime/MonotonicClock.ts"
import type { PlatformRefused } from "../PlatformErrors.ts"
import { type Answer, NoAnswer } from "./Exchange.ts"
import * as Pacing from "./Pacing.ts"

/** The state that limits the calls to one store. */
export interface Throttle {
  readonly permits: Effect.Semaphore
  budget: Pacing.Budget | null
  breaker: Pacing.Breaker
  /** The last known cost of each GraphQL document, in points. */
  readonly costs: Map<string, number>
}

export const makeThrottle = (permits: number): Effect.Effect<Throttle> =>
  Effect.map(Effect.makeSemaphore(permits), (permits) => ({
    permits,
    budget: null,
    breaker: Pacing.noFailures,
    costs: new Map()
  }))

/** Waits until the store's budget allows the call, then subtracts its cost. */
export const pace = (throttle: Throttle, document: string) =>
  Effect.gen(function* () {
    const cost = throttle.costs.get(document) ?? 10
    for (;;) {
      const now = yield* monotonicMillis
      const wait = throttle.budget === null ? 0 : Pacing.waitMillis(throttle.budget, cost, now)
      if (wait === 0) {
        if (throttle.budget !== null) throttle.budget = Pacing.spend(throttle.budget, cost, now)
        return
      }
      yield* Effect.sleep(wait)
    }
  })

/** Remembers the document's cost and the store's budget from an answer. */
export const recordCost = (throttle: Throttle, document: string, { extensions }: Answer) =>
  Effect.map(monotonicMillis, (atMillis) => {
    const cost = extensions?.cost
    if (cost === undefined) return
    throttle.costs.set(document, cost.requestedQueryCost)
    if (cost.throttleStatus !== undefined)
      throttle.budget = {
        maximum: cost.throttleStatus.maximumAvailable,
        available: cost.throttleStatus.currentlyAvailable,
        restorePerSecond: cost.throttleStatus.restoreRate,
        atMillis
      }
  })

/** Makes the call unless the circuit breaker has paused calls. Reports the result to the breaker. */
export const throughBreaker = <A>(throttle: Throttle, call: Effect.Effect<A, NoAnswer | PlatformRefused>) =>
  Effect.gen(function* () {
    const now = yield* monotonicMillis
    if (!Pacing.allowsCalls(throttle.breaker, now))
      return yield* new NoAnswer({ reason: "suspended", isHarmless: true })
    throttle.breaker = Pacing.afterStart(throttle.breaker, now)
    return yield* Effect.tapBoth(call, {
      onSuccess: () => Effect.sync(() => (throttle.breaker = Pacing.noFailures)),
      onFailure: (failure) =>
        Effect.map(monotonicMillis, (then) => {
          // A refusal or throttling shows that the store is available.
          throttle.breaker =
            failure._tag === "PlatformRefused" || failure.reason === "throttled"
              ? Pacing.noFailures
              : Pacing.afterFailure(throttle.breaker, then)
        })
    })
  })
