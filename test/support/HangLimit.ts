import { Duration, Effect } from "effect"

/**
 * Ends a wait of a test that hangs, so that the failure says what never happened. It is shorter than vitest's own limit, and far longer than
 * any wait on a busy machine: no test depends on its length.
 */
export const hangLimit = Duration.minutes(9)

/** The limit of a test that takes minutes by itself. It only ends a test that hangs. */
export const hangLimitOfLongTest = Duration.toMillis(Duration.hours(3))

/** Fails with this message if the effect is still running after the hang limit. */
export const orHangs =
  (message: () => string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, never, R> =>
    self.pipe(Effect.timeoutFail({ duration: hangLimit, onTimeout: () => new Error(message()) }), Effect.orDie)
