import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { isAmongFirst } from "../database/FirstItems.ts"
import { forgetByAccount, makeDeleteSome } from "../database/Forgetting.ts"
import { insertAll } from "../database/Inserts.ts"
import { allAccounts } from "../database/PlannerHints.ts"
import { findAll, findSingle } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { AccountId, ExportId } from "../model/Ids.ts"
import { ExportItem } from "./ExportItem.ts"

/** The exported products and their revisions, until they count as published. */
export class ExportItemsRepo extends Context.Tag("catalog/ExportItemsRepo")<
  ExportItemsRepo,
  {
    /** Adds items after the first `after` items. */
    readonly stage: (
      accountId: AccountId,
      id: ExportId,
      after: number,
      items: ReadonlyArray<ExportItem>
    ) => Effect.Effect<void>
    /** Returns the next items of an export, and removes them. */
    readonly take: (accountId: AccountId, id: ExportId, limit: number) => Effect.Effect<ReadonlyArray<ExportItem>>
    /** Number of remaining items. */
    readonly count: (accountId: AccountId, id: ExportId) => Effect.Effect<number>
    /** Deletes items that are older than 30 days, of all accounts. Returns their number. */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    ExportItemsRepo,
    Effect.map(SqlClient.SqlClient, (sql) => {
      const deleteSome = makeDeleteSome(sql)
      const take = findAll(Schema.Struct({ content: ExportItem }))(
        (accountId: AccountId, id: ExportId, limit: number) => sql`
          WITH taken AS (
            DELETE FROM export_item d
            WHERE ${isAmongFirst(sql, { table: "export_item", owner: "export_id" }, { accountId, id, limit })}
            RETURNING d.place, d.content
          )
          SELECT t.content FROM taken t ORDER BY t.place`
      )
      const count = findSingle(Schema.Struct({ count: Schema.Int }))(
        (accountId: AccountId, id: ExportId) => sql`
          SELECT count(*)::integer AS count FROM export_item i
          WHERE i.account_id = ${accountId} AND i.export_id = ${id}`
      )
      return {
        stage: (accountId, id, after, items) =>
          orDie(
            insertAll(
              sql`
                INSERT INTO export_item (account_id, export_id, place, content)
                SELECT own.account_id, ${id}::uuid, ${after}::integer + r.number::integer, r.content
                FROM account_state own
                CROSS JOIN jsonb_array_elements(${JSON.stringify(items)}::jsonb) WITH ORDINALITY AS r (content, number)
                WHERE own.account_id = ${accountId}`,
              items.length
            )
          ),
        take: (accountId, id, limit) =>
          Effect.map(take(accountId, id, limit), (rows) => rows.map(({ content }) => content)),
        count: (accountId, id) => Effect.map(count(accountId, id), ({ count }) => count),
        forget: orDie(
          forgetByAccount(
            sql<{ accountId: string }>`
              SELECT DISTINCT i.account_id AS "accountId" FROM export_item i
              WHERE i.staged_at <= app_now() - interval '30 days' ${sql.literal(allAccounts)}`,
            (accountId) =>
              deleteSome(
                "export_item",
                accountId,
                sql`FROM export_item t WHERE t.account_id = ${accountId} AND t.staged_at <= app_now() - interval '30 days'`
              )
          )
        )
      }
    })
  )
}
