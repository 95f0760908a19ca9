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
  setGrowth(150)
  looks = collectOnceGrown()
})

const end = Effect.sync(() => {
  if (--users > 0) return
  clearInterval(looks)
  setGrowth(0)
})

/**
 * Runs work that may allocate much and keeps little. By default V8 lets garbage grow to three times the live size: an import of 20,000
 * products then holds 310 MB at most. With one and a half times it holds 245 MB and takes as long; with half it holds 195 MB and takes a
 * tenth longer.
 */
export const leanHeap = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    begin,
    () => work,
    () => end
  )
