import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { forgetByAccount } from "../database/Forgetting.ts"
import { allAccounts } from "../database/PlannerHints.ts"
import { discardRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { AccountId, ImportId } from "../model/Ids.ts"

/** Deletes staged data of imports. */
export const makeImportCleanupStatements = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Each statement deletes at most 10,000 rows to stay short. It selects rows by ctid: a join would scan the whole table.
  const forgetAll = (table: string) =>
    orDie(
      forgetByAccount(
        sql<{ accountId: string }>`
          SELECT DISTINCT r.account_id AS "accountId" FROM import_run r
          WHERE r.phase IN ('applied', 'discarded', 'failed') AND r.updated_at <= app_now() - interval '7 days'
            AND EXISTS (SELECT FROM ${sql(table)} t WHERE t.account_id = r.account_id AND t.run_id = r.id)
          ${sql.literal(allAccounts)}`,
        (accountId) => sql`
          DELETE FROM ${sql(table)} d
          WHERE d.account_id = ${accountId} AND d.ctid = ANY(ARRAY(
            SELECT t.ctid
            FROM import_run r JOIN ${sql(table)} t ON t.account_id = ${accountId} AND t.run_id = r.id
            WHERE r.account_id = ${accountId} AND r.phase IN ('applied', 'discarded', 'failed')
              AND r.updated_at <= app_now() - interval '7 days'
            LIMIT 10000
          ))
          RETURNING d.ordinal`
      )
    )

  return {
    /** Deletes the items that are not applied yet, and before the review the conflicts too. */
    clear: (accountId: AccountId, id: ImportId) =>
      sql`
        DELETE FROM import_item
        WHERE account_id = ${accountId} AND run_id = ${id} AND ordinal > (
            SELECT r.done_through FROM import_run r WHERE r.account_id = ${accountId} AND r.id = ${id}
          )`.pipe(
        Effect.zipRight(sql`
          DELETE FROM import_conflict c USING import_run r
          WHERE c.account_id = ${accountId} AND c.run_id = ${id}
            AND r.account_id = ${accountId} AND r.id = c.run_id AND r.phase = 'fetching'`),
        discardRows
      ),
    /** Deletes the records, conflicts and items of imports that ended more than 7 days ago. Returns the number of items. */
    forgetStaged: Effect.forEach(["import_record", "import_conflict"], forgetAll).pipe(
      Effect.zipRight(forgetAll("import_item"))
    )
  }
})
