import { Duration, Effect, Layer, Predicate } from "effect"
import * as Migrations from "../database/Migrations.ts"

/** Interval between looks at the schema. */
const betweenLooks = Duration.seconds(5)

/**
 * Runs workers until the schema is newer than this code. A newer version may write rows that this code cannot read (the input of a job),
 * and may not expect what this code writes. The workers do not start again, because a schema only goes forward.
 */
export const workUntilNewer = <R>(
  workers: Layer.Layer<never, never, R>,
  every: Duration.DurationInput = betweenLooks
): Effect.Effect<void, never, R | Effect.Effect.Context<typeof Migrations.newer>> =>
  Effect.gen(function* () {
    const untilNewer = Effect.repeat(Effect.delay(Migrations.newer, every), { until: Predicate.isNotUndefined })
    const reason = (yield* Migrations.newer) ?? (yield* Effect.raceFirst(untilNewer, Layer.launch(workers)))
    yield* Effect.logWarning(`No background work in this process: ${reason}`)
  })
