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

/** A range of rows for one statement: `after` < key <= `last`. */
export interface Span extends MergedImport {
  readonly after: string
  readonly last: string
}

export type MirrorKind = MirrorItem["kind"]

/** SQL expressions by column name. A string is inserted as SQL text without escaping. */
type Columns = Readonly<Record<string, string | Fragment>>

/** The rows of `source` (FROM and WHERE) that are missing in the table or have other values there. */
interface MergeSet {
  readonly accountId: AccountId
  readonly table: string
  /** The columns of the key after `account_id`. */
  readonly keys: Columns
  readonly values: Columns
  /** Columns that an insert sets and an update does not change. */
  readonly insertOnly?: Columns
  readonly source: Fragment
}

/** SQL fragments that the merge statements share. `i` is a staged item (table `mirror_item`). */
export const makeMirrorItems = (sql: SqlClient) => {
  // Each statement is planned when it runs: the planner has no statistics of tables that an import has just filled.
  const planned = sql.literal(planCustom)

  const ofKind = ({ accountId, importId }: MergedImport, kind: MirrorKind) =>
    sql`i.account_id = ${accountId} AND i.import_id = ${importId} AND i.kind = ${kind}`

  const inSpan = (span: Span, kind: MirrorKind) =>
    sql`${ofKind(span, kind)} AND i.name > ${span.after} AND i.name <= ${span.last}`

  const list = (texts: ReadonlyArray<string | Fragment>) => sql.csv([...texts])

  /**
   * Inserts missing rows and updates rows that differ. Equal rows are filtered out before the conflict clause, because
   * DO UPDATE locks every row that conflicts, and locking a row writes it.
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

/** SQL expressions that read text members of a staged item's content. Columns and members have the same names. */
export const textsOf = (...columns: ReadonlyArray<string>): Columns =>
  Object.fromEntries(columns.map((column) => [column, `i.content ->> '${column}'`]))

/** SQL expressions that read JSON members of a staged item's content. Columns and members have the same names. */
export const jsonOf = (...columns: ReadonlyArray<string>): Columns =>
  Object.fromEntries(columns.map((column) => [column, `i.content -> '${column}'`]))
