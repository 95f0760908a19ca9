import { Effect } from "effect"
import { metrics, readBeforeExport } from "../telemetry/Metrics.ts"
import type { HealthDimension } from "./Health.ts"

let running = 0
readBeforeExport(() => metrics.scansRunning.of().add(running))

/** Measures a scan, and counts it while it runs. */
export const measureScan = <A, E, R>(
  dimension: HealthDimension,
  scan: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const began = performance.now()
    running++
    return Effect.ensuring(
      scan,
      Effect.sync(() => {
        running--
        metrics.scanSeconds.of(dimension).add((performance.now() - began) / 1_000)
      })
    )
  })
