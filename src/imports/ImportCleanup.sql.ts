import { SqlClient } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { Effect } from "effect"
import { forgetByAccount, makeDeleteSome, untilNone } from "../database/Forgetting.ts"
import { allAccounts } from "../database/PlannerHints.ts"
import { countOf, discardRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { AccountId, ImportId } from "../model/Ids.ts"

/** How often the end of an import deletes `rowsAtOnce` rows of a table. The hourly sweep deletes the rest. */
const maxAtEnd = 10

type StagedTable = "import_record" | "import_conflict" | "import_item" | "mirror_item"

/** Staged rows `t` of imports `r` that can be deleted. */
interface Unneeded {
  readonly table: StagedTable
  readonly isUnneeded: Fragment
}

/** Deletes staged data of imports. */
export const makeImportCleanupStatements = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const isEnded = sql`r.phase IN ('applied', 'discarded', 'failed')`
  const isOld = sql`${isEnded} AND r.updated_at <= app_now() - interval '7 days'`
  const records: Unneeded = { table: "import_record", isUnneeded: sql`r.phase NOT IN ('fetching', 'applying')` }
  /** Items that will not be applied. Readers leave them out as soon as the import has ended. */
  const unapplied: Unneeded = {
    table: "import_item",
    isUnneeded: sql`r.phase IN ('discarded', 'failed') AND t.ordinal > r.done_through`
  }
  const mirrored: Unneeded = { table: "mirror_item", isUnneeded: isEnded }
  const atEnd = [records, unapplied, mirrored]
  const old: ReadonlyArray<Unneeded> = [
    { table: "import_conflict", isUnneeded: isOld },
    { table: "import_item", isUnneeded: isOld }
  ]

  const importIdOf = (table: StagedTable) => sql(table === "mirror_item" ? "import_id" : "run_id")
  const deleteSome = makeDeleteSome(sql)
  const deleteUnneeded = ({ isUnneeded, table }: Unneeded, accountId: string, id?: ImportId) =>
    deleteSome(
      table,
      accountId,
      sql`
        FROM import_run r JOIN ${sql(table)} t ON t.account_id = ${accountId} AND t.${importIdOf(table)} = r.id
        WHERE r.account_id = ${accountId} AND ${isUnneeded} ${id === undefined ? sql`` : sql`AND r.id = ${id}`}`
    )
  const forgetAll = (unneeded: Unneeded) =>
    orDie(
      forgetByAccount(
        sql<{ accountId: string }>`
          SELECT DISTINCT r.account_id AS "accountId" FROM import_run r
          WHERE EXISTS (
            SELECT FROM ${sql(unneeded.table)} t
            WHERE t.account_id = r.account_id AND t.${importIdOf(unneeded.table)} = r.id AND ${unneeded.isUnneeded}
          )
          ${sql.literal(allAccounts)}`,
        (accountId) => deleteUnneeded(unneeded, accountId)
      )
    )
  const clearSome = (accountId: AccountId, id: ImportId) =>
    countOf(
      deleteSome(
        "import_item",
        accountId,
        sql`
          FROM import_item t
          WHERE t.account_id = ${accountId} AND t.run_id = ${id} AND t.ordinal > (
              SELECT r.done_through FROM import_run r WHERE r.account_id = ${accountId} AND r.id = ${id}
            )`
      )
    )
  const clearConflicts = (accountId: AccountId, id: ImportId) =>
    sql`
      DELETE FROM import_conflict c USING import_run r
      WHERE c.account_id = ${accountId} AND c.run_id = ${id}
        AND r.account_id = ${accountId} AND r.id = c.run_id AND r.phase = 'fetching'`.pipe(discardRows)

  return {
    /** Deletes some of the items that are not applied yet. Returns their number. */
    clearSome,
    /** Deletes the conflicts of an import that is not under review yet. */
    clearConflicts,
    /** Deletes the items that are not applied yet, and before the review the conflicts too. Not in a transaction, because it may take minutes. */
    clear: (accountId: AccountId, id: ImportId) =>
      Effect.zipRight(untilNone(clearSome(accountId, id)), clearConflicts(accountId, id)),
    /** Deletes staged data that an import no longer needs in its phase, at most 100,000 rows of a table. Not in a transaction. */
    forgetUnneeded: (accountId: AccountId, id: ImportId) =>
      Effect.forEach(atEnd, (unneeded) => untilNone(countOf(deleteUnneeded(unneeded, accountId, id)), maxAtEnd), {
        discard: true
      }).pipe(
        // The import has ended or is under review whether or not its rows are deleted now.
        Effect.catchAllCause((cause) =>
          Effect.logWarning(`Staged rows of import ${id} are left to the hourly sweep`, cause)
        )
      ),
    /** Deletes what `forgetUnneeded` left, and the conflicts and items of imports that ended more than 7 days ago. Returns the number of items. */
    forgetStaged: Effect.forEach([...atEnd, ...old], (unneeded) =>
      Effect.map(forgetAll(unneeded), (count) => (unneeded.table === "import_item" ? count : 0))
    ).pipe(Effect.map((counts) => counts.reduce((sum, count) => sum + count, 0)))
  }
})
