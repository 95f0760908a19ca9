import { SqlError } from "@effect/sql/SqlError"
import type { Statement } from "@effect/sql/Statement"
import { Context, Effect } from "effect"
import type pg from "pg"
import type { ServerPools } from "./ServerPools.ts"

/**
 * Runs a statement directly on the pool, outside any transaction. For statements that nearly every request runs: the
 * client of @effect/sql-pg needs about twice the processor time (it adds a span, reserves a connection and prepares a
 * cancellation). Interrupting the fiber does not cancel the statement.
 *
 * `accountId`: the statement reads only rows of this account, in tables that a cluster distributes. So the account's node may
 * answer it.
 */
export class DirectQuery extends Context.Tag("catalog/DirectQuery")<
  DirectQuery,
  (statement: Statement<object>, accountId?: string) => Effect.Effect<ReadonlyArray<unknown>, SqlError>
>() {
  static readonly onPool =
    (pool: Pick<pg.Pool, "query"> | Pick<ServerPools, "query">): Context.Tag.Service<DirectQuery> =>
    (statement) =>
      Effect.async((resume) => {
        const [text, values] = statement.compile()
        pool.query(text, [...values], (cause: Error | undefined, result: pg.QueryResult) => {
          resume(
            cause
              ? Effect.fail(new SqlError({ cause, message: "Failed to execute statement" }))
              : Effect.succeed(result.rows)
          )
        })
      })
}
