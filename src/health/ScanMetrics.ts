import { Effect } from "effect"
import { metrics, readBeforeExport } from "../telemetry/Metrics.ts"
import type { HealthDimension } from "./Health.ts"

let running = 0
readBeforeExport(() => metrics.scansRunning.of().add(running))

/**
 * Counts a scan as running during a step, and records its duration if this step finishes it. `earlier`: milliseconds since its first step
 * began.
 */
export const measureScan = <A extends { readonly isFinished: boolean }, E, R>(
  dimension: HealthDimension,
  step: Effect.Effect<A, E, R>,
  earlier: number
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const began = performance.now()
    running++
    return step.pipe(
      Effect.tap(({ isFinished }) => {
        if (isFinished) metrics.scanSeconds.of(dimension).add((performance.now() - began + earlier) / 1_000)
        return Effect.void
      }),
      Effect.ensuring(Effect.sync(() => running--))
    )
  })
