import { SqlClient } from "@effect/sql"
import { Cause, Effect } from "effect"
import { describe, isSqlError } from "../../src/database/SqlErrors.ts"

/** Why the database refused the transaction, in its own words, at a statement or at the commit; "" when it did not. */
export const refusalOf = <E, R>(statements: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return yield* sql.withTransaction(statements(sql)).pipe(
      Effect.as(""),
      Effect.catchAllCause((cause) => {
        const error = Cause.squash(cause)
        return isSqlError(error) ? Effect.succeed(describe(error)) : Effect.failCause(cause)
      })
    )
  })
