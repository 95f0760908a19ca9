import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"

/** The items of a job or of an export, which are taken in the order of `place`. */
interface Items {
  readonly table: "bulk_item" | "export_item"
  /** The column that names the job or the export. */
  readonly owner: "job_id" | "export_id"
}

/** The condition of a DELETE FROM the table as `d`: the item is one of the first `limit` items of its owner. */
export const isAmongFirst = (
  sql: SqlClient,
  { owner, table }: Items,
  { accountId, id, limit }: { readonly accountId: string; readonly id: string; readonly limit: number }
): Fragment => {
  const ownerColumn = sql.literal(owner)
  return sql`d.account_id = ${accountId} AND d.${ownerColumn} = ${id} AND d.place <= (
              SELECT max(n.place) FROM (
                SELECT i.place FROM ${sql.literal(table)} i
                WHERE i.account_id = ${accountId} AND i.${ownerColumn} = ${id}
                ORDER BY i.place LIMIT ${limit}
              ) n
            )`
}
