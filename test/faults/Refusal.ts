import { SqlClient } from "@effect/sql"
import { Cause, Effect } from "effect"
import { describe, isSqlError } from "../../src/database/SqlErrors.ts"

/** The database's error message for a transaction, at a statement or at the commit; "" if there was none. */
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
