import type { SqlClient } from "@effect/sql/SqlClient"
import type { AccountId } from "../model/Ids.ts"
import type { ChangeNote } from "./ChangeNote.ts"
import { slicesOf } from "./FeedChanges.ts"

/** The rows of a note, and the number of its changes. What scans read is in the first row. */
export interface NoteRows {
  readonly changes: number
  readonly rows: ReadonlyArray<unknown>
}

export const noteRows = ({ changes, entities, moved, skus }: ChangeNote): NoteRows => {
  const slices = slicesOf(changes)
  let last = 0
  const rows = (slices.length === 0 && entities.length + moved.length > 0 ? [{ groups: [], ids: [] }] : slices).map(
    ({ groups, ids }, index) => {
      last += ids.length
      const forScans = index === 0 ? { entities, skus, moved } : { entities: [], skus: [], moved: [] }
      return { last, rows: ids.length, groups, ids, ...forScans }
    }
  )
  return { changes: last, rows }
}

/**
 * Inserts the rows of a note. `raised`: a WITH query that returns `version` of the account, which the same statement has raised,
 * and `feed_before`, the number of the last change before. So changes become visible in the order of their numbers.
 */
export const makeInsertNote =
  (sql: SqlClient) =>
  (accountId: AccountId, { rows }: NoteRows) =>
    sql`
    INSERT INTO change_note (account_id, last_seq, version, rows, at, entities, skus, moved, groups, ids)
    SELECT own.account_id, raised.feed_before + r.last, raised.version, r.rows, t.now, r.entities, r.skus, r.moved, r.groups, r.ids
    FROM account_state own
    CROSS JOIN raised
    CROSS JOIN (SELECT app_now() AS now) t
    CROSS JOIN jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS r (
      last bigint, rows integer, entities uuid[], skus text[], moved jsonb, groups jsonb, ids uuid[]
    )
    WHERE own.account_id = ${accountId}`
