import { performance } from "node:perf_hooks"
import { Effect } from "effect"

/** Gives the event loop to others for one turn, between short steps of work that a statement must not wait for. */
export const giveWay: Effect.Effect<void> = Effect.async((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

/** The event loop is idle for a 25th of the time at least. */
const share = 25

/**
 * Makes an effect to run between the steps of long work. It pauses if the event loop was idle for less than its share of the time since the
 * last pause. The embedded database runs in this thread and blocks the event loop, so requests, commands and signals are handled only
 * in the pauses; work that waits for a database server needs none. It does not use Effect's clock, which a test may stop.
 */
export const makePause: Effect.Effect<Effect.Effect<void>> = Effect.sync(() => {
  let since = performance.eventLoopUtilization()
  return Effect.async((resume) => {
    const { active, idle } = performance.eventLoopUtilization(since)
    const done = () => {
      since = performance.eventLoopUtilization()
      resume(Effect.void)
    }
    const missing = (active + idle) / share - idle
    if (missing <= 0) return done()
    // A timer gives the event loop to others for all of the time that is missing; a yield would give it for one turn.
    const timer = setTimeout(done, missing)
    return Effect.sync(() => clearTimeout(timer))
  })
})
