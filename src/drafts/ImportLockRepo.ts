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
    /**
     * Takes the shared lock until the transaction ends. If an import keeps the account locked, it returns that import and does not
     * wait for its transaction, which may be long.
     */
    readonly share: (accountId: AccountId) => Effect.Effect<Option.Option<ImportId>>
    /** As `share`, with the exclusive lock. */
    readonly take: (accountId: AccountId) => Effect.Effect<Option.Option<ImportId>>
    /** Takes the shared lock until the transaction ends, also if an import keeps the account locked. Returns that import, if any. */
    readonly shareDuringImport: (accountId: AccountId) => Effect.Effect<Option.Option<ImportId>>
    /** As `shareDuringImport`, with the exclusive lock. */
    readonly takeDuringImport: (accountId: AccountId) => Effect.Effect<Option.Option<ImportId>>
    /** Sets the import that keeps the account locked (null: none). The transaction must hold the exclusive lock. */
    readonly keep: (accountId: AccountId, id: ImportId | null) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    ImportLockRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const queueOf = (accountId: string) => sql`hashtextextended('import_lock ' || ${accountId}, 0)`
      // Equal to `queueOf` while no import keeps the account locked. It depends on the row, so that the planner compares the account
      // first: with a constant, it took the lock for the rows of other accounts too, and waited.
      const freeQueueOf = (accountId: string) =>
        sql`hashtextextended('import_lock ' || ${accountId} || coalesce(l.run_id::text, ''), 0)`
      const Row = Schema.Struct({ runId: Schema.NullOr(ImportId) })
      const shared = { advisory: sql.literal("pg_advisory_xact_lock_shared"), row: sql.literal("FOR SHARE") }
      const exclusive = { advisory: sql.literal("pg_advisory_xact_lock"), row: sql.literal("FOR UPDATE") }
      // A row is locked after its conditions are evaluated, so the advisory lock comes first. One table without a WITH: every draft
      // write runs such a statement, and Citus keeps its plan.
      const lockUnlessKept = ({ advisory, row }: typeof shared) =>
        findOne(Row)(
          (accountId: AccountId) => sql`
            SELECT l.run_id AS "runId" FROM import_lock l
            WHERE l.account_id = ${accountId}
              AND CASE WHEN l.run_id IS NULL THEN ${advisory}(${freeQueueOf(accountId)}) IS NOT NULL END
            ${row}`
        )
      const lockDuringImport = ({ advisory, row }: typeof shared) =>
        findOne(Row)(
          (accountId: AccountId) => sql`
            SELECT l.run_id AS "runId" FROM import_lock l
            WHERE l.account_id = ${accountId} AND ${advisory}(${queueOf(accountId)}) IS NOT NULL
            ${row}`
        )
      const find = findOne(Row)(
        (accountId: AccountId) => sql`
          SELECT l.run_id AS "runId" FROM import_lock l WHERE l.account_id = ${accountId}`
      )
      const holder = Option.flatMapNullable(({ runId }: typeof Row.Type) => runId)
      /** Locks the account's row in import_lock. If an import keeps the account locked, it takes no lock and returns the import. */
      const unlessKept = (mode: typeof shared) => {
        const lock = lockUnlessKept(mode)
        return (accountId: AccountId): Effect.Effect<Option.Option<ImportId>> =>
          Effect.gen(function* () {
            for (;;) {
              if (Option.isSome(yield* lock(accountId))) return Option.none()
              const found = yield* find(accountId)
              // If the row names no import now, the import ended between the two statements: the lock is tried again.
              if (Option.isNone(found) || found.value.runId !== null) return holder(found)
            }
          })
      }
      const duringImport = (mode: typeof shared) => {
        const lock = lockDuringImport(mode)
        return (accountId: AccountId) => Effect.map(lock(accountId), holder)
      }
      return {
        share: unlessKept(shared),
        take: unlessKept(exclusive),
        shareDuringImport: duringImport(shared),
        takeDuringImport: duringImport(exclusive),
        keep: (accountId, id) =>
          sql`UPDATE import_lock SET run_id = ${id} WHERE account_id = ${accountId}`.pipe(discardRows)
      }
    })
  )
}
