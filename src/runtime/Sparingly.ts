import { Effect } from "effect"
import { monotonicMillis } from "./MonotonicClock.ts"

/**
 * Makes an effect that takes at most this share of the time when it is run again and again: after a run, the result is kept until the
 * share is reached. For results that may be out of date, whose cost grows with the data. A failed run is not kept.
 */
export const sparingly = <A, E, R>(share: number, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  let last: { readonly result: A; readonly until: number } | undefined
  return Effect.gen(function* () {
    const start = yield* monotonicMillis
    if (last !== undefined && start < last.until) return last.result
    const result = yield* effect
    last = { result, until: start + ((yield* monotonicMillis) - start) / share }
    return result
  })
}
