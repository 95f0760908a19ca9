import { Array as Arr, Effect } from "effect"
import { type Comparison, disagreeingGroups } from "../../drafts/Divergence.ts"
import { Drafts, type Sheet } from "../../drafts/Drafts.ts"
import type { HealthIssue } from "../../health/Health.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import { isEmptyValue } from "../../model/Emptiness.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import { type FieldRow, rowOf } from "../entities/Cells.ts"

/** The draft of an entity as a form shows it. */
export interface SheetOf {
  readonly revision: number
  readonly title: string
  readonly sheet: Sheet
}
export type Sheets = ReadonlyMap<EntityId, SheetOf>

/** Reads the drafts of the entities of issues. Entities that are gone are left out. */
export const makeReadSheets = Effect.map(
  Drafts,
  (drafts) => (issues: ReadonlyArray<HealthIssue>) =>
    Effect.map(
      Effect.forEach(Object.values(Arr.groupBy(issues, ({ entity_type }) => entity_type)), ([first, ...others]) =>
        drafts.sheets(first.entity_type, [...new Set([first, ...others].map(({ entity_id }) => entity_id))])
      ),
      (sheets): Sheets =>
        new Map(sheets.flat().map((sheet) => [sheet.id, { revision: sheet.draftRevision, title: sheet.title, sheet }]))
    )
)

/** The field of an entity that a row repairs. */
export interface RepairTarget {
  readonly entityId: EntityId
  readonly kind: EntityKind
  readonly field: string
}

/** A row as a form sent it. `refusal`: why it was not repaired. */
export interface SentRow {
  readonly target: RepairTarget
  readonly typed: string
  readonly where: string
  readonly refusal: string | undefined
}

interface CommonRow extends RepairTarget {
  readonly title: string
  readonly revision: number
  readonly row: FieldRow
  readonly refusal: string | undefined
}

/** A row of the table of empty fields. `storeIds`: the stores where the field is empty. */
export interface FillRow extends CommonRow {
  readonly storeIds: ReadonlyArray<StoreId>
  /** Whether the catalog's value is empty too and can be filled for all these stores. */
  readonly fitsCatalog: boolean
  readonly where: string
  readonly typed: string
}

/** The value of `where` for the catalog. */
export const inCatalog = "catalog"

const sameTarget = (one: RepairTarget, other: RepairTarget) =>
  one.entityId === other.entityId && one.field === other.field

/** Rows of fields that are still empty. A field that the catalog lacks is one row for all its stores. */
export const fillRowsOf = (
  issues: ReadonlyArray<HealthIssue>,
  sheets: Sheets,
  sentRows: ReadonlyArray<SentRow> = []
): ReadonlyArray<FillRow> => {
  const rows = new Map<string, FillRow>()
  for (const { entity_id, entity_type, fields, store_id } of issues)
    for (const field of fields) {
      const found = sheets.get(entity_id)
      const row = found === undefined ? undefined : rowOf(found.sheet, field)
      const cell = row?.cells.find(({ storeId }) => storeId === store_id)
      if (found === undefined || row === undefined || cell === undefined || !row.isWritable) continue
      if (!isEmptyValue(row.type, cell.value)) continue
      const canonical = row.cells[0].value
      const fitsCatalog = isEmptyValue(row.type, canonical) && !cell.isOwn
      const key = `${entity_id} ${field} ${fitsCatalog ? "" : store_id}`
      const before = rows.get(key)
      const target = { entityId: entity_id, kind: entity_type, field }
      const where = fitsCatalog ? inCatalog : store_id
      // The row of the catalog may have been sent with one of its stores. A store with a value of its own has another row.
      const isSent = ({ where }: SentRow) =>
        fitsCatalog ? !row.cells.some(({ isOwn, storeId }) => storeId === where && isOwn) : where === store_id
      const sent = sentRows.find((each) => sameTarget(each.target, target) && isSent(each))
      rows.set(key, {
        ...target,
        title: found.title,
        revision: found.revision,
        row,
        storeIds: [...(before?.storeIds ?? []), store_id],
        fitsCatalog,
        where: sent?.where ?? where,
        typed: sent?.typed ?? "",
        refusal: sent?.refusal
      })
    }
  return [...rows.values()]
}

/** A row of the table of values that differ. `choosable`: the stores that are compared and disagree. */
export interface EqualRow extends CommonRow {
  readonly choosable: ReadonlyArray<StoreId>
  readonly winner: string
}

/** Rows of fields that still differ, one for each entity and field. */
export const equalRowsOf = (
  issues: ReadonlyArray<HealthIssue>,
  sheets: Sheets,
  comparison: Comparison,
  sentRows: ReadonlyArray<SentRow> = []
): ReadonlyArray<EqualRow> => {
  const rows = new Map<string, EqualRow>()
  for (const { entity_id, entity_type, fields } of issues)
    for (const field of fields) {
      const found = sheets.get(entity_id)
      const row = found === undefined ? undefined : rowOf(found.sheet, field)
      if (found === undefined || row === undefined || rows.has(`${entity_id} ${field}`)) continue
      const { attributes, kind, stores } = found.sheet
      const versions = stores.map(({ overrides, projection }) => ({ storeId: projection.store_id, overrides }))
      const choosable = disagreeingGroups({ kind, attributes, versions }, field, comparison)
        .flat()
        .map(({ storeId }) => storeId)
      if (choosable.length === 0) continue
      const target = { entityId: entity_id, kind: entity_type, field }
      const sent = sentRows.find((each) => sameTarget(each.target, target))
      rows.set(`${entity_id} ${field}`, {
        ...target,
        title: found.title,
        revision: found.revision,
        row,
        choosable,
        winner: sent?.where ?? "",
        refusal: sent?.refusal
      })
    }
  return [...rows.values()]
}
