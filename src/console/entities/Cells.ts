import { hash } from "node:crypto"
import type { Sheet } from "../../drafts/Drafts.ts"
import { type Attributes, typeOf, valueOf } from "../../model/Attribute.ts"
import { compareFields } from "../../model/FieldOrder.ts"
import type { StoreId } from "../../model/Ids.ts"
import { type KeyRule, misfitOf } from "../../model/KeyRule.ts"
import { isWritable } from "../../model/KeyRules.ts"

/** A field in the catalog (`storeId` null), or on one store. */
export interface Cell {
  readonly storeId: StoreId | null
  /** On a store: the value that a publish sends. */
  readonly value: string
  /** Whether the store has an override. Always true in the catalog. */
  readonly isOwn: boolean
  /** Whether a publish would change the value on the store. False if the store was never published to. */
  readonly isChanged: boolean
  /** Whether the last publish of a changed value failed. */
  readonly isFailed: boolean
  /** The value that the store accepted last, if it differs. */
  readonly live: string | undefined
  /** The rule that the value breaks. */
  readonly misfit: string | undefined
}

/** A row of the grid. `cells`: the catalog's, then one of each store, by domain. */
export interface FieldRow {
  readonly key: string
  readonly type: string
  readonly rule: KeyRule
  readonly isWritable: boolean
  readonly cells: readonly [Cell, ...ReadonlyArray<Cell>]
}

type OnStore = Sheet["stores"][number]

const storeCell = (key: string, { overrides, projection }: OnStore, rule: KeyRule): Cell => {
  const found = projection.attributes.find((each) => each.key === key)
  const value = found?.value ?? ""
  const live = found?.live
  return {
    storeId: projection.store_id,
    value,
    isOwn: Object.hasOwn(overrides, key),
    isChanged: live !== undefined,
    isFailed: projection.last_publish_status === "failed" && projection.pending_keys.includes(key),
    live,
    misfit: misfitOf(rule, value)
  }
}

const layersOf = ({ attributes, stores }: Sheet): ReadonlyArray<Attributes> => [
  attributes,
  ...stores.map(({ overrides }) => overrides)
]

/** The row of one field. Undefined: no layer has the key and it has no rule. */
export const rowOf = (sheet: Sheet, key: string): FieldRow | undefined => {
  const { attributes, kind, rules, stores } = sheet
  const rule = rules.find(kind, key)
  const layers = layersOf(sheet)
  const isStored = layers.some((layer) => Object.hasOwn(layer, key))
  const wasPublished = stores.some(({ projection }) => projection.attributes.some((each) => each.key === key))
  if (rule === undefined && !isStored && !wasPublished) return undefined
  const type = rule?.type ?? typeOf(kind, key, layers)
  const used = rule ?? { type }
  const value = valueOf(attributes, key)
  const canonical: Cell = {
    storeId: null,
    value,
    isOwn: true,
    isChanged: false,
    isFailed: false,
    live: undefined,
    misfit: misfitOf(used, value)
  }
  return {
    key,
    type,
    rule: used,
    isWritable: rule !== undefined && isWritable(kind, key),
    cells: [canonical, ...stores.map((store) => storeCell(key, store, used))]
  }
}

const isEmpty = ({ cells }: FieldRow) => cells.every(({ live, value }) => value === "" && (live ?? "") === "")

/** Whether a store has another value than the catalog. */
const differs = ({ cells: [canonical, ...others] }: FieldRow) =>
  others.some(({ isOwn, value }) => isOwn || value !== canonical.value)

/** `isDiffering`: only fields that differ between stores. `withEmpty`: also defined metafields that have no value anywhere. */
export interface RowChoice {
  readonly isDiffering: boolean
  readonly withEmpty: boolean
}

/** The rows of the grid: built-in fields, then metafields by key. `hidden`: the number of defined metafields without a value. */
export const rowsOf = (
  sheet: Sheet,
  { isDiffering, withEmpty }: RowChoice
): { readonly rows: ReadonlyArray<FieldRow>; readonly hidden: number } => {
  const keys = new Set([
    ...sheet.rules.ofKind(sheet.kind).keys(),
    ...layersOf(sheet).flatMap(Object.keys),
    ...sheet.stores.flatMap(({ projection }) => projection.attributes.map(({ key }) => key))
  ])
  const all = [...keys].sort(compareFields(sheet.kind)).flatMap((key) => rowOf(sheet, key) ?? [])
  const shown = all.filter((row) => withEmpty || !row.key.includes(".") || !isEmpty(row))
  return { rows: isDiffering ? shown.filter(differs) : shown, hidden: all.length - shown.length }
}

/** The value that a layer itself stores. null: a store inherits, or the catalog has none. */
export const storedIn = ({ attributes, stores }: Sheet, storeId: StoreId | null, key: string): string | null =>
  (storeId === null ? attributes : stores.find(({ projection }) => projection.store_id === storeId)?.overrides)?.[key]
    ?.value ?? null

/** Identifies the stored value that a form was opened with. */
export const digestOf = (stored: string | null): string => hash("sha256", JSON.stringify([stored]), "base64url")
