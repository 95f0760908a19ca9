import { SqlError } from "@effect/sql/SqlError"
import type { Statement } from "@effect/sql/Statement"
import { Context, Effect } from "effect"
import type pg from "pg"
import type { ServerPools } from "./ServerPools.ts"

/**
 * Runs a statement on the pool with nothing in between, outside any transaction: for the statements that nearly every
 * request runs. (Through the client the same statement costs about twice the processor time: a span, a reserved
 * connection and its cancellation.) It is not cancelled when its fiber is interrupted.
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
