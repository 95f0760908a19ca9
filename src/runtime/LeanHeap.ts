import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Effect } from "effect"

/** Sets how much garbage the heap may gain before a collection, in percent of the live size. 0: V8 decides, up to 300. */
const growth = (percent: number) => Effect.sync(() => setFlagsFromString(`--heap-growing-percent=${percent}`))

/** Collects garbage once, which takes about 0.1 s, because V8 reads the flag above only at a collection. */
const collect = Effect.sync(() => {
  setFlagsFromString("--expose-gc")
  runInNewContext("gc")()
})

let users = 0

/**
 * Runs work that allocates much and keeps little. By default V8 lets garbage grow to three times the live size, so an import of any
 * size would take 250 MB. During the work, V8 collects garbage when it reaches half the live size, which costs about a tenth of
 * the processor time.
 */
export const leanHeap = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.suspend(() => (users++ === 0 ? Effect.zipRight(growth(50), collect) : Effect.void)),
    () => work,
    () => Effect.suspend(() => (--users === 0 ? growth(0) : Effect.void))
  )
