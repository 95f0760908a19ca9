import { SqlClient } from "@effect/sql"
import { Context, Effect, Option } from "effect"
import { isSqlError } from "./SqlErrors.ts"

/**
 * Whether the calling fiber would get another connection at once. Undefined: never. The embedded engine has one connection, and a
 * pooler may have none left although this process does.
 *
 * @effect-leakable-service
 */
export class HasFreeConnection extends Context.Reference<HasFreeConnection>()("catalog/HasFreeConnection", {
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
 * Makes the function that runs a read in another transaction, on a connection of its own, if one is free at once. None: there is none,
 * and the read was not begun. A caller that waited for a second connection could wait for one that waits for its first. Undefined: there
 * never is one.
 */
export const makeRunSpare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const hasFreeConnection = yield* HasFreeConnection
  if (hasFreeConnection === undefined) return undefined
  return <A, E, R>(read: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    Effect.suspend(() => {
      if (!hasFreeConnection()) return Effect.succeedNone
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
