import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Effect } from "effect"

/** How much garbage, in percent of what is live, the heap may gain before it is collected; 0: V8 decides, up to 300. */
const growth = (percent: number) => Effect.sync(() => setFlagsFromString(`--heap-growing-percent=${percent}`))

/** Collects once, for about 0.1 s: V8 reads the flag at a collection, and has set its limit until the next one already. */
const collect = Effect.sync(() => {
  setFlagsFromString("--expose-gc")
  runInNewContext("gc")()
})

let users = 0

/**
 * Runs work that allocates without end and keeps nearly nothing. V8 by itself lets garbage grow to three times of what is
 * live: an import of any size would take 250 MB. While this runs it collects at half of it, for about a tenth of processor
 * time.
 */
export const leanHeap = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.suspend(() => (users++ === 0 ? Effect.zipRight(growth(50), collect) : Effect.void)),
    () => work,
    () => Effect.suspend(() => (--users === 0 ? growth(0) : Effect.void))
  )
