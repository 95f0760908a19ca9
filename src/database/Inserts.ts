import { SqlError } from "@effect/sql/SqlError"
import type { Statement } from "@effect/sql/Statement"
import { Effect, Predicate } from "effect"

/**
 * Runs an INSERT that selects from `account_state` and must write `count` rows. If it writes fewer, it did not find the account's
 * row, and the transaction fails as one that conflicts (40001): on a cluster the account may be moving to another shard, and the
 * repeated transaction finds the row there.
 */
export const insertAll = (statement: Statement<object>, count: number): Effect.Effect<void, SqlError> =>
  Effect.flatMap(statement.raw, (result) => {
    const written = Predicate.hasProperty(result, "rowCount") ? result.rowCount : undefined
    if (written === count) return Effect.void
    const message = `An INSERT of ${count} rows wrote ${written}: it did not find the account's row in account_state.`
    return Effect.fail(new SqlError({ message, cause: { code: "40001", message } }))
  })
