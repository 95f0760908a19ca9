import { Clock, Effect } from "effect"

const millisOf = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)

/**
 * Milliseconds of the monotonic clock, which is not affected if the system's clock is set, and is unrelated to the time of day.
 * In tests, TestClock moves both clocks together.
 */
export const monotonicMillis: Effect.Effect<number> = Effect.map(Clock.currentTimeNanos, (nanos) =>
  Number(nanos / 1_000_000n)
)

/** A time of the monotonic clock, and the milliseconds to add to get Unix time (`toUnix`). */
export interface Moment {
  readonly millis: number
  readonly toUnix: number
}

/** Smaller drifts between the two clocks are ignored, so that times in headers do not flicker. */
const driftMillis = 1_000

/** Reads the monotonic clock. The difference to Unix time changes only after the system's clock was set. */
export const makeMoments = (): Effect.Effect<Moment> => {
  let toUnix = Number.NaN
  return Clock.clockWith((clock) =>
    Effect.sync(() => {
      const millis = millisOf(clock)
      const difference = clock.unsafeCurrentTimeMillis() - millis
      if (!(Math.abs(difference - toUnix) <= driftMillis)) toUnix = difference
      return { millis, toUnix }
    })
  )
}
