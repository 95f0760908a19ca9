import { Effect } from "effect"

/** How much of its time long work leaves to others: a 25th. */
const share = 25

/**
 * Makes a pause for between the pieces of a long work, in proportion to how long the last piece took. The embedded engine
 * answers without the event loop: what came in meanwhile (requests, commands, signals) gets its turn here, several
 * exchanges of it. Not on Effect's clock, which a test may hold.
 */
export const makeBreath: Effect.Effect<Effect.Effect<void>> = Effect.sync(() => {
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
