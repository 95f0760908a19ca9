import type { SqlError } from "@effect/sql/SqlError"
import type { Statement } from "@effect/sql/Statement"
import { Effect, Predicate } from "effect"

/**
 * Runs an INSERT that gets its account from `account_state` and must write `count` rows. It is a defect if it writes fewer: then
 * the account has no row there, and the statement would lose rows silently.
 */
export const insertAll = (statement: Statement<object>, count: number): Effect.Effect<void, SqlError> =>
  Effect.flatMap(statement.raw, (result) => {
    const written = Predicate.hasProperty(result, "rowCount") ? result.rowCount : undefined
    return written === count
      ? Effect.void
      : Effect.dieMessage(`An INSERT of ${count} rows wrote ${written}: the account has no row in account_state.`)
  })
