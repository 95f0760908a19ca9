import { setFlagsFromString } from "node:v8"
import { Effect } from "effect"

/** How much garbage, in percent of what is live, the heap may gain before it is collected; 0: V8 decides, up to 300. */
const growth = (percent: number) => Effect.sync(() => setFlagsFromString(`--heap-growing-percent=${percent}`))

let users = 0

/**
 * Runs work that allocates without end and keeps nearly nothing. V8 by itself lets garbage grow to three times of what is
 * live: an import of any size would take 250 MB. While this runs it collects at half of it, for about a tenth of processor
 * time. V8 reads this flag anew at every collection, so it need not be given when the process starts.
 */
export const leanHeap = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.suspend(() => (users++ === 0 ? growth(50) : Effect.void)),
    () => work,
    () => Effect.suspend(() => (--users === 0 ? growth(0) : Effect.void))
  )
