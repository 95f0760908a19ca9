import { Effect } from "effect"

/** A pause takes a 25th of the time since the last pause. */
const share = 25

/**
 * Makes an effect to run between the steps of long work. It pauses in proportion to the time since the last pause. The embedded
 * database runs in this thread and blocks the event loop, so requests, commands and signals are handled only in the pauses. It
 * does not use Effect's clock, which a test may stop.
 */
export const makePause: Effect.Effect<Effect.Effect<void>> = Effect.sync(() => {
  let since = performance.now()
  return Effect.async((resume) => {
    const timer = setTimeout(
      () => {
        since = performance.now()
        resume(Effect.void)
      },
      (performance.now() - since) / share
    )
    return Effect.sync(() => clearTimeout(timer))
  })
})
