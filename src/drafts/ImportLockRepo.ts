import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { discardRows, findOne } from "../database/Rows.ts"
import { type AccountId, ImportId } from "../model/Ids.ts"

/**
 * The lock between imports and all other writes of an account. It is one row per account, in a separate table: on the account's
 * own row, the same scheme deadlocked 103 of 200 transactions. A transaction takes it before any other lock. An advisory lock
 * before the row lock makes it fair: PostgreSQL grants a shared row lock even if another transaction waits for the exclusive
 * one. Without the advisory lock, an import waited under steady writes until its statement timed out.
 */
export class ImportLockRepo extends Context.Tag("catalog/ImportLockRepo")<
  ImportLockRepo,
  {
    /** Takes the shared lock until the transaction ends. Returns the import that keeps the account locked, if any. */
    readonly share: (accountId: AccountId) => Effect.Effect<Option.Option<ImportId>>
    /** Takes the exclusive lock until the transaction ends. Returns the import that keeps the account locked, if any. */
    readonly take: (accountId: AccountId) => Effect.Effect<Option.Option<ImportId>>
    /** Sets the import that keeps the account locked (null: none). The transaction must hold the exclusive lock. */
    readonly keep: (accountId: AccountId, id: ImportId | null) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    ImportLockRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const queueOf = (accountId: string) => sql`hashtextextended('import_lock ' || ${accountId}, 0)`
      const Row = Schema.Struct({ runId: Schema.NullOr(ImportId) })
      // A row is locked after its conditions are evaluated, so the advisory lock comes first. One table without a WITH: every draft
      // write runs this statement, and Citus keeps the plan of such a statement.
      const share = findOne(Row)(
        (accountId: AccountId) => sql`
          SELECT l.run_id AS "runId" FROM import_lock l
          WHERE l.account_id = ${accountId} AND pg_advisory_xact_lock_shared(${queueOf(accountId)}) IS NOT NULL
          FOR SHARE`
      )
      const take = findOne(Row)(
        (accountId: AccountId) => sql`
          SELECT l.run_id AS "runId" FROM import_lock l
          WHERE l.account_id = ${accountId} AND pg_advisory_xact_lock(${queueOf(accountId)}) IS NOT NULL
          FOR UPDATE`
      )
      const holder = Option.flatMapNullable(({ runId }: typeof Row.Type) => runId)
      return {
        share: (accountId) => Effect.map(share(accountId), holder),
        take: (accountId) => Effect.map(take(accountId), holder),
        keep: (accountId, id) =>
          sql`UPDATE import_lock SET run_id = ${id} WHERE account_id = ${accountId}`.pipe(discardRows)
      }
    })
  )
}
