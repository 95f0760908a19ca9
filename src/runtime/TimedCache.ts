import { Cache, Duration, Effect } from "effect"
import { monotonicMillis } from "./MonotonicClock.ts"

/**
 * A cache that keeps a value for a time of the monotonic clock. The limits of `Cache` are times of day: if the system's clock is set back,
 * it keeps values longer by as much. Callers of one key share a look-up. A failed one is not kept.
 */
export const makeTimedCache = <Key, Value, Error, R>(options: {
  readonly capacity: number
  readonly lookup: (key: Key) => Effect.Effect<Value, Error, R>
  readonly keptFor: (value: Value) => Duration.Duration
}): Effect.Effect<(key: Key) => Effect.Effect<Value, Error>, never, R> =>
  Effect.map(
    Cache.makeWith({
      capacity: options.capacity,
      lookup: (key: Key) =>
        Effect.flatMap(options.lookup(key), (value) =>
          Effect.map(monotonicMillis, (now) => ({ value, until: now + Duration.toMillis(options.keptFor(value)) }))
        ),
      timeToLive: ({ _tag }) => (_tag === "Success" ? Duration.infinity : Duration.zero)
    }),
    (cache) => (key) =>
      Effect.flatMap(monotonicMillis, (now) => cache.invalidateWhen(key, ({ until }) => now > until)).pipe(
        Effect.zipRight(cache.get(key)),
        Effect.map(({ value }) => value)
      )
  )
