import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, ImportId } from "../model/Ids.ts"

/**
 * The lock between imports and every other write of an account: one row an account, in a table of its own (on the account's
 * row the same scheme deadlocked 103 of 200). It is the first lock of a transaction. An advisory lock before it makes it
 * fair: whoever shares a row's lock joins those who have it and passes who waits to take it, so under steady writes an
 * import waited for it until the time of its statement was over.
 */
export class ImportLockRepo extends Context.Tag("catalog/ImportLockRepo")<
  ImportLockRepo,
  {
    /** Shares the lock until the transaction ends; the import that keeps the account locked, if there is one. */
    readonly share: (accountId: AccountId) => Effect.Effect<Option.Option<ImportId>>
    /** Takes the lock alone until the transaction ends; the import that keeps the account locked, if there is one. */
    readonly take: (accountId: AccountId) => Effect.Effect<Option.Option<ImportId>>
    /** Writes which import keeps the account locked from now on; null: none. The lock must have been taken. */
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
