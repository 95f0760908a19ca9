import { Effect, Schema } from "effect"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { EntityKind } from "../../model/Attribute.ts"
import { EntityId, StoreId } from "../../model/Ids.ts"
import { PageRefused } from "../Browser.ts"
import { inCatalog } from "./RepairRows.ts"
import type { CommonTarget } from "./Repairs.ts"

/** Names of the fields of the forms that repair. Those of a row end with its number. */
export const repairFields = {
  row: "row-",
  value: "value-",
  where: "where-",
  retry: "retry-",
  common: "common",
  does: "do"
} as const

/** The action of a button: repair the rows of the page, put the common value into the empty rows, or repair the whole list. */
type RepairAction = "rows" | "spread" | "all"

export const actionOf = (form: Parameters): RepairAction => {
  const action = form.get(repairFields.does)
  return action === "spread" || action === "all" ? action : "rows"
}

/** The hidden text that tells which field of which draft a row repairs. */
export const rowText = ({ entityId, field, kind, revision, type }: Omit<CommonTarget, "typed" | "where">): string =>
  [entityId, kind, revision, type, field].join("|")

const RowText = Schema.Struct({
  entityId: EntityId,
  kind: EntityKind,
  revision: Schema.NumberFromString.pipe(Schema.int()),
  type: Schema.String,
  field: Schema.NonEmptyString
})

const notUnderstood = () =>
  new PageRefused({
    status: 400,
    title: "Not understood",
    message: "A row of the form is malformed. Open the list again."
  })

const readRow = (text: string) => {
  const [entityId, kind, revision, type, ...field] = text.split("|")
  return Effect.mapError(
    Schema.decodeUnknown(RowText)({ entityId, kind, revision, type, field: field.join("|") }),
    notUnderstood
  )
}

/** The rows of a form, in their order. */
export const rowsOfForm = (form: Parameters): Effect.Effect<ReadonlyArray<CommonTarget>, PageRefused> =>
  Effect.forEach(
    form.names.filter((name) => name.startsWith(repairFields.row)),
    (name) =>
      Effect.map(readRow(form.get(name) ?? ""), (target) => {
        const number = name.slice(repairFields.row.length)
        return {
          ...target,
          typed: form.get(`${repairFields.value}${number}`) ?? "",
          where: form.get(`${repairFields.where}${number}`) ?? ""
        }
      })
  )

const isStoreId = Schema.is(StoreId)

/** The rows in which something was typed. PageRefused: one of them names neither the catalog nor a store. */
export const filledRowsOf = (
  rows: ReadonlyArray<CommonTarget>
): Effect.Effect<ReadonlyArray<CommonTarget>, PageRefused> =>
  Effect.filterOrFail(
    Effect.succeed(rows.filter(({ typed }) => typed.trim() !== "")),
    (filled) => filled.every(({ where }) => where === inCatalog || isStoreId(where)),
    notUnderstood
  )
