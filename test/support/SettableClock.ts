import { type Clock, type Duration, Effect, TestClock } from "effect"

/** The clock of the test, whose time of day `setBack` sets back by two hours, while its monotonic time goes on. `adjust`: moves both on. */
export const aSettableClock = Effect.map(Effect.clock, (clock) => {
  let step = 0
  const now = () => clock.unsafeCurrentTimeMillis() + step
  const settable: Clock.Clock = Object.assign(Object.create(clock), {
    unsafeCurrentTimeMillis: now,
    unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
    currentTimeMillis: Effect.sync(now),
    currentTimeNanos: Effect.sync(() => clock.unsafeCurrentTimeNanos())
  })
  const adjust = (duration: Duration.DurationInput) => Effect.withClock(TestClock.adjust(duration), clock)
  const setBack = () => {
    step = -2 * 3_600_000
  }
  return { withClock: Effect.withClock(settable), setBack, adjust }
})
