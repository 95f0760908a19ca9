import { Option, Schema } from "effect"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { EntityId, StoreId } from "../../model/Ids.ts"
import { paths } from "../Paths.ts"
import type { RowChoice } from "./Cells.ts"

/**
 * The part of the grid that the page of an entity shows. `on`: the column that a narrow screen shows; undefined: the catalog's.
 * `variants`: the page of the variants, from 1.
 */
export interface GridView extends RowChoice {
  readonly id: EntityId
  readonly variants: number
  readonly on: StoreId | undefined
}

/** A cell by its field and store; `storeId` null: of the catalog. `of`: the variant, for a cell of the table of variants. */
export interface CellPlace {
  readonly of?: EntityId | undefined
  readonly key: string
  readonly storeId: StoreId | null
}

const readStoreId = Schema.decodeOption(StoreId)
const readEntityId = Schema.decodeOption(EntityId)

export const samePlace = (one: CellPlace | undefined, other: CellPlace | undefined): boolean =>
  one !== undefined && one.of === other?.of && one.key === other?.key && one.storeId === other.storeId

/** The store that a parameter names. Undefined: none. */
export const storeIdIn = (given: Parameters, name: string): StoreId | undefined =>
  Option.getOrUndefined(readStoreId(given.get(name) ?? ""))

/** The entity that a parameter names. Undefined: none. */
export const entityIdIn = (given: Parameters, name: string): EntityId | undefined =>
  Option.getOrUndefined(readEntityId(given.get(name) ?? ""))

export const viewOf = (id: EntityId, given: Parameters): GridView => ({
  id,
  isDiffering: given.get("only") === "differences",
  withEmpty: given.get("fields") === "all",
  on: storeIdIn(given, "on"),
  variants: /^[1-9]\d{0,3}$/.test(given.get("variants") ?? "") ? Number(given.get("variants")) : 1
})

/** The parameters of a view, for a link or for hidden fields. */
export const parametersOfView = ({
  id,
  isDiffering,
  on,
  variants,
  withEmpty
}: GridView): Readonly<Record<string, string>> => ({
  id,
  ...(isDiffering && { only: "differences" }),
  ...(withEmpty && { fields: "all" }),
  ...(on !== undefined && { on }),
  ...(variants > 1 && { variants: String(variants) })
})

/** The id of a cell's element. Keys are ASCII, so it is the same in a fragment. */
export const cellId = ({ key, of, storeId }: CellPlace): string =>
  `cell-${of === undefined ? "" : `${of}-`}${storeId ?? "catalog"}-${key}`

export const viewPath = (view: GridView, more: Readonly<Record<string, string>> = {}): string =>
  `${paths.entity}?${new URLSearchParams({ ...parametersOfView(view), ...more })}`

/** The id of the link that opens a cell. */
export const linkId = (place: CellPlace): string => `${cellId(place)}-edit`

/** The page, at a cell. Browsers focus the link that the fragment names. */
export const cellPath = (view: GridView, place: CellPlace, more: Readonly<Record<string, string>> = {}): string =>
  `${viewPath(view, more)}#${linkId(place)}`

/** The id of the control in the form of a cell. */
export const inputId = (place: CellPlace): string => `${cellId(place)}-input`

/** The note of a saved form. `revision`: the revision that an undo takes back; 0: nothing was written. */
export const noteOfCell = (does: string, revision: number, { key, of, storeId }: CellPlace) => ({
  note: `${does} ${revision} ${of === undefined ? "" : `${of}/`}${storeId ?? "catalog"} ${key}`
})

/** The page with the form of a cell open. Browsers focus the control that the fragment names. */
export const editPath = (view: GridView, place: CellPlace, more: Readonly<Record<string, string>> = {}): string => {
  const open = {
    edit: place.key,
    ...(place.of !== undefined && { of: place.of }),
    ...(place.storeId !== null && { store: place.storeId }),
    ...more
  }
  return `${viewPath(view, open)}#${inputId(place)}`
}
