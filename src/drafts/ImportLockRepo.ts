import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, ImportId } from "../model/Ids.ts"

/**
 * The lock between imports and all other writes of an account: one row per account, in a table of its own (on the account's row
 * the same scheme deadlocked 103 of 200 transactions). It is the first lock of a transaction. An advisory lock before it makes
 * it fair: a shared row lock is granted although another transaction waits for the exclusive one, so under steady writes an
 * import waited until its statement timed out.
 */
export class ImportLockRepo extends Context.Tag("catalog/ImportLockRepo")<
  ImportLockRepo,
  {
    /** Takes the lock shared until the transaction ends. Returns the import that locks the account, if any. */
    readonly share: (accountId: AccountId) => Effect.Effect<Option.Option<ImportId>>
    /** Takes the lock exclusively until the transaction ends. Returns the import that locks the account, if any. */
    readonly take: (accountId: AccountId) => Effect.Effect<Option.Option<ImportId>>
    /** Sets the import that locks the account from now on, null for none. The lock must be taken exclusively. */
    readonly keep: (accountId: AccountId, id: ImportId | null) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    ImportLockRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const queueOf = (accountId: string) => sql`hashtextextended('import_lock ' || ${accountId}, 0)`
      const Row = Schema.Struct({ runId: Schema.NullOr(ImportId) })
      const share = SqlSchema.findOne({
        Request: AccountId,
        Result: Row,
        execute: (accountId) => sql`
          WITH queue AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(${queueOf(accountId)}))
          SELECT l.run_id AS "runId" FROM queue, import_lock l WHERE l.account_id = ${accountId} FOR SHARE OF l`
      })
      const take = SqlSchema.findOne({
        Request: AccountId,
        Result: Row,
        execute: (accountId) => sql`
          WITH queue AS MATERIALIZED (SELECT pg_advisory_xact_lock(${queueOf(accountId)}))
          SELECT l.run_id AS "runId" FROM queue, import_lock l WHERE l.account_id = ${accountId} FOR UPDATE OF l`
      })
      const holder = Option.flatMapNullable(({ runId }: typeof Row.Type) => runId)
      return {
        share: (accountId) => Effect.map(orDie(share(accountId)), holder),
        take: (accountId) => Effect.map(orDie(take(accountId)), holder),
        keep: (accountId, id) =>
          sql`UPDATE import_lock SET run_id = ${id} WHERE account_id = ${accountId}`.pipe(Effect.asVoid, orDie)
      }
    })
  )
}
