import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { planCustom } from "../database/PlannerHints.ts"
import type { AccountId, ImportId, StoreId } from "../model/Ids.ts"
import type { MirrorItem } from "./MirrorRecords.ts"

/** The import whose staged items are merged, and its store. */
export interface MergedImport {
  readonly accountId: AccountId
  readonly importId: ImportId
  readonly storeId: StoreId
}

/** The part of the rows with `after` < key <= `last`. */
export interface Span extends MergedImport {
  readonly after: string
  readonly last: string
}

export type MirrorKind = MirrorItem["kind"]

/** Column names and the SQL expressions of their values. A text is SQL as it stands. */
type Columns = Readonly<Record<string, string | Fragment>>

/** Rows to write: those of `source` (FROM and WHERE) that the table does not have with these values. */
interface MergeSet {
  readonly accountId: AccountId
  readonly table: string
  /** The columns of the key after `account_id`. */
  readonly keys: Columns
  readonly values: Columns
  /** Columns that are set when a row is inserted and never changed. */
  readonly insertOnly?: Columns
  readonly source: Fragment
}

/** The parts that the statements of a merge share. `i` is a staged item (`mirror_item`). */
export const makeMirrorItems = (sql: SqlClient) => {
  // The planner has no statistics of tables that an import has just filled: each statement is planned when it runs.
  const planned = sql.literal(planCustom)

  const ofKind = ({ accountId, importId }: MergedImport, kind: MirrorKind) =>
    sql`i.account_id = ${accountId} AND i.import_id = ${importId} AND i.kind = ${kind}`

  const inSpan = (span: Span, kind: MirrorKind) =>
    sql`${ofKind(span, kind)} AND i.name > ${span.after} AND i.name <= ${span.last}`

  const list = (texts: ReadonlyArray<string | Fragment>) => sql.csv([...texts])

  /**
   * Inserts and updates the rows that differ. Rows that are as they should be are left out before the conflict, because a row
   * that DO UPDATE looks at is locked, and locking writes it.
   */
  const mergeSet = ({ accountId, insertOnly = {}, keys, source, table, values }: MergeSet) => {
    const inserted = { account_id: "i.account_id", ...keys, ...insertOnly, ...values }
    const names = Object.keys(values)
    const isSame = Object.entries(keys).map(([name, value]) => sql`${sql.literal(`o.${name} =`)} ${list([value])}`)
    return sql`
      INSERT INTO ${sql(table)} (${list(Object.keys(inserted))})
      SELECT ${list(Object.values(inserted))}
      ${source}
        AND NOT EXISTS (
          SELECT FROM ${sql(table)} o
          WHERE o.account_id = ${accountId} AND ${sql.and(isSame)}
            AND (${list(names.map((name) => `o.${name}`))}) IS NOT DISTINCT FROM (${list(Object.values(values))})
          OFFSET 0
        )
      ON CONFLICT (account_id, ${list(Object.keys(keys))}) DO UPDATE
      SET ${list(names.map((name) => `${name} = excluded.${name}`))}
      RETURNING ${sql.literal("entity_id" in keys ? "entity_id" : "account_id")} ${planned}`
  }

  return { planned, ofKind, inSpan, mergeSet }
}

export type MirrorItems = ReturnType<typeof makeMirrorItems>

/** The values of text members of a staged item's content, by column: the members have the columns' names. */
export const textsOf = (...columns: ReadonlyArray<string>): Columns =>
  Object.fromEntries(columns.map((column) => [column, `i.content ->> '${column}'`]))

/** As `textsOf`, for members that are JSON. */
export const jsonOf = (...columns: ReadonlyArray<string>): Columns =>
  Object.fromEntries(columns.map((column) => [column, `i.content -> '${column}'`]))
