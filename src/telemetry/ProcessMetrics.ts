import { monitorEventLoopDelay, performance } from "node:perf_hooks"
import { Effect, Layer } from "effect"
import { metrics, readBeforeExport } from "./Metrics.ts"

const windowMillis = 10_000
const percentiles = { p50: 50, p99: 99, max: 100 } as const

/**
 * Reads the event loop delay at the end of each window, so that the values do not depend on how often they are read.
 */
const watchEventLoop = () => {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let before = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    for (const [at, percent] of Object.entries(percentiles))
      metrics.eventLoopDelay.of(at).add(delay.count === 0 ? 0 : delay.percentile(percent) / 1e9)
    delay.reset()
    const now = performance.eventLoopUtilization()
    metrics.eventLoopUtilization.of().add(performance.eventLoopUtilization(now, before).utilization)
    before = now
  }, windowMillis).unref()
  metrics.eventLoopDelay.preset(...Object.keys(percentiles))
  return () => {
    clearInterval(timer)
    delay.disable()
  }
}

let cpuSecondsBefore = 0

const readProcess = () => {
  const { external, heapUsed, rss } = process.memoryUsage()
  metrics.heapUsed.of().add(heapUsed)
  metrics.externalMemory.of().add(external)
  metrics.residentMemory.of().add(rss)
  metrics.startTime.of().add(Math.round(performance.timeOrigin / 1_000))
  const { system, user } = process.cpuUsage()
  const cpuSeconds = (system + user) / 1e6
  metrics.cpuSeconds.of().add(cpuSeconds - cpuSecondsBefore)
  cpuSecondsBefore = cpuSeconds
}

/** Memory, processor time and event loop of this process. */
export const layerProcessMetrics: Layer.Layer<never> = Layer.scopedDiscard(
  Effect.acquireRelease(
    Effect.sync(() => [watchEventLoop(), readBeforeExport(readProcess)]),
    (stops) =>
      Effect.sync(() => {
        for (const stop of stops) stop()
      })
  )
)
