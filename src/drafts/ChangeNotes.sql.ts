import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Schema } from "effect"
import { insertAll, insertRows, rowsAs } from "../database/Inserts.ts"
import type { AccountId } from "../model/Ids.ts"
import type { ChangeNote } from "./ChangeNote.ts"
import { slicesOf } from "./FeedChanges.ts"

/** The rows of a note, and the number of its changes. The first row has the parts that scans read. */
export interface NoteRows {
  readonly changes: number
  readonly rows: ReadonlyArray<{ readonly last: number }>
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

/** The key of the lock that a scan of a dimension of data health has. Meanwhile no notes are deleted that it may read. */
export const scanLockKey = (sql: SqlClient, dimension: Fragment, accountId: string) =>
  sql`hashtextextended('health ' || ${dimension} || ' ' || ${accountId}::text, 0)`

/** The account's counters after they were raised, for the note of the same transaction. */
export const RaisedCounters = Schema.Struct({ version: Schema.Int, feedBefore: Schema.Int })
export type RaisedCounters = typeof RaisedCounters.Type

const contents = { entities: "uuid[]", skus: "text[]", moved: "jsonb", groups: "jsonb", ids: "uuid[]" }

/**
 * Inserts the rows of a note in a statement with a WITH query `raised`, which raises the account's version and returns it as
 * `version`, with `feed_before`, the number of the last earlier change. So changes become visible in the order of their numbers.
 */
export const makeInsertNote =
  (sql: SqlClient) =>
  (accountId: AccountId, { rows }: NoteRows) =>
    sql`
    INSERT INTO change_note (account_id, last_seq, version, rows, at, entities, skus, moved, groups, ids)
    SELECT own.account_id, raised.feed_before + r.last, raised.version, r.rows, app_now(), r.entities, r.skus, r.moved, r.groups, r.ids
    FROM account_state own
    CROSS JOIN raised
    CROSS JOIN ${rowsAs(sql, { last: "bigint", rows: "integer", ...contents }, rows)}
    WHERE own.account_id = ${accountId}`

/** Inserts the rows of a note after the account was raised in the same transaction. */
export const makeInsertNoteAfter =
  (sql: SqlClient) =>
  (accountId: AccountId, { rows }: NoteRows, { feedBefore, version }: RaisedCounters) =>
    insertAll(
      insertRows(sql, accountId, {
        table: "change_note",
        columns: { last_seq: "bigint", rows: "integer", ...contents },
        rows: rows.map(({ last, ...row }) => ({ ...row, last_seq: feedBefore + last })),
        shared: { version: sql`${version}::bigint`, at: sql`app_now()` }
      }),
      rows.length
    )
