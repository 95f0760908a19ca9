import { SqlClient } from "@effect/sql"
import { Context, Effect, Option } from "effect"
import { isSqlError } from "./SqlErrors.ts"

/**
 * Whether work in the background would get another connection at once, and leave one to others. Undefined: never. The embedded engine
 * has one connection, and a pooler may have none left although this process does.
 *
 * @effect-leakable-service
 */
export class HasSpareConnection extends Context.Reference<HasSpareConnection>()("catalog/HasSpareConnection", {
  defaultValue: (): (() => boolean) | undefined => undefined
}) {}

/** Runs the effect outside the open transaction, on a connection of its own. */
export const withoutTransaction = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapInputContext(
    effect,
    (context: Context.Context<R>) =>
      Context.omit(SqlClient.TransactionConnection)(
        context as Context.Context<R | SqlClient.TransactionConnection>
      ) as Context.Context<R>
  )

/**
 * Makes a function that runs a read in another transaction, on a spare connection. It never waits for a connection: callers that hold one
 * each could wait for one another. None: no connection was spare, and the read was not begun. Undefined: this database never has a spare
 * connection.
 */
export const makeRunSpare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const hasSpareConnection = yield* HasSpareConnection
  if (hasSpareConnection === undefined) return undefined
  return <A, E, R>(read: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    Effect.suspend(() => {
      if (!hasSpareConnection()) return Effect.succeedNone
      let hasBegun = false
      const begun = Effect.suspend(() => {
        hasBegun = true
        return read
      })
      return sql.withTransaction(begun).pipe(
        withoutTransaction,
        Effect.asSome,
        Effect.catchIf(isSqlError, (error) => (hasBegun ? Effect.die(error) : Effect.succeed(Option.none<A>())))
      )
    })
})
