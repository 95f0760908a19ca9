import { Clock, Effect } from "effect"

const millisOf = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)

/**
 * Milliseconds by which durations are measured: a step of the system's clock does not move them. They say nothing of the time
 * of day. TestClock moves them together with the time of day.
 */
export const monotonicMillis: Effect.Effect<number> = Effect.map(Clock.currentTimeNanos, (nanos) =>
  Number(nanos / 1_000_000n)
)

/** A moment by which durations are measured, and what to add to it for unix milliseconds. */
export interface Moment {
  readonly millis: number
  readonly toUnix: number
}

/** How far both clocks may drift apart before the time that is shown follows: less would make it flicker. */
const driftMillis = 1_000

/** Reads the clock by which durations are measured; the difference to unix time changes only when the system's clock was set. */
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
