import { SqlError } from "@effect/sql/SqlError"
import type { Statement } from "@effect/sql/Statement"
import { Context, Effect } from "effect"
import type pg from "pg"
import type { ServerPools } from "./ServerPools.ts"

/**
 * Runs a statement directly on the pool, outside any transaction. For statements of nearly every request: the client takes
 * about twice the processor time (a span, a reserved connection and its cancellation). The statement is not cancelled when its
 * fiber is interrupted.
 */
export class DirectQuery extends Context.Tag("catalog/DirectQuery")<
  DirectQuery,
  (statement: Statement<object>) => Effect.Effect<ReadonlyArray<unknown>, SqlError>
>() {
  static readonly onPool =
    (pool: Pick<pg.Pool, "query"> | ServerPools): Context.Tag.Service<DirectQuery> =>
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
