import { Effect } from "effect"
import { metrics, readBeforeExport } from "../telemetry/Metrics.ts"
import type { HealthDimension } from "./Health.ts"

let running = 0
readBeforeExport(() => metrics.scansRunning.of().add(running))

/** Counts a scan as running, and records its duration if this process finished it. `earlier`: milliseconds before this step. */
export const measureScan = <A extends { readonly isFinished: boolean }, E, R>(
  dimension: HealthDimension,
  scan: Effect.Effect<A, E, R>,
  earlier = 0
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const began = performance.now()
    running++
    return scan.pipe(
      Effect.tap(({ isFinished }) => {
        if (isFinished) metrics.scanSeconds.of(dimension).add((performance.now() - began + earlier) / 1_000)
        return Effect.void
      }),
      Effect.ensuring(Effect.sync(() => running--))
    )
  })
