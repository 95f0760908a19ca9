import { getHeapStatistics, setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Effect } from "effect"

/** Sets how much garbage the heap may gain before a collection, in percent of the live size. 0: V8 decides, up to 300. */
const setGrowth = (percent: number) => setFlagsFromString(`--heap-growing-percent=${percent}`)

const collect = () => {
  setFlagsFromString("--expose-gc")
  runInNewContext("gc")()
}

const usedHeap = () => getHeapStatistics().used_heap_size

const lookMillis = 100
const maxGrowthBefore = 64_000_000

/**
 * V8 reads the flag only at a collection, and the first one may be far off. A collection takes about 0.1 s, so it waits until the heap
 * has grown: short work goes without.
 */
const collectOnceGrown = () => {
  const before = usedHeap()
  const timer = setInterval(() => {
    if (usedHeap() - before < maxGrowthBefore) return
    clearInterval(timer)
    collect()
  }, lookMillis).unref()
  return timer
}

let users = 0
let looks: NodeJS.Timeout | undefined

const begin = Effect.sync(() => {
  if (users++ > 0) return
  setGrowth(50)
  looks = collectOnceGrown()
})

const end = Effect.sync(() => {
  if (--users > 0) return
  clearInterval(looks)
  setGrowth(0)
})

/**
 * Runs work that may allocate much and keeps little. By default V8 lets garbage grow to three times the live size, so an import of any
 * size would take 250 MB. During the work, V8 collects garbage when it reaches half the live size, which costs about a tenth of
 * the processor time.
 */
export const leanHeap = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    begin,
    () => work,
    () => end
  )
