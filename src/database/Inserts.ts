import type { SqlError } from "@effect/sql/SqlError"
import type { Statement } from "@effect/sql/Statement"
import { Effect, Predicate } from "effect"

/**
 * Runs an INSERT that selects from `account_state` and must write `count` rows. Dies if it writes fewer: the account
 * then has no row in `account_state`, and the INSERT would silently lose rows.
 */
export const insertAll = (statement: Statement<object>, count: number): Effect.Effect<void, SqlError> =>
  Effect.flatMap(statement.raw, (result) => {
    const written = Predicate.hasProperty(result, "rowCount") ? result.rowCount : undefined
    return written === count
      ? Effect.void
      : Effect.dieMessage(`An INSERT of ${count} rows wrote ${written}: the account has no row in account_state.`)
  })
