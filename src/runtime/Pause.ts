import { Effect } from "effect"

/** A pause takes a 25th of the time since the last one. */
const share = 25

/**
 * Makes an effect that pauses between the steps of long work, in proportion to the time of the last step. The embedded engine
 * answers without the event loop, so requests, commands and signals are handled only in these pauses. It does not use
 * Effect's clock, which a test may stop.
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
