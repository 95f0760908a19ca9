import { Effect, Schema } from "effect"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import { type Parameters, parametersOf } from "../../connections/AuthorizationRequest.ts"
import { EntityKind } from "../../model/Attribute.ts"
import { NotFound } from "../../model/Errors.ts"
import { EntityId } from "../../model/Ids.ts"
import { PageRefused } from "../Browser.ts"
import { listPages } from "../entities/ListPages.ts"
import { type ListQuery, listAddress, listQueryOf } from "../lists/ListFilters.tsx"
import { idsOf } from "../PageHandlers.ts"
import { selectedPrefix } from "../stores/PublishStorePage.tsx"

/** Maximum number of entities that can be selected one by one. */
export const maxSelected = 100

/** Names of the fields of the forms. */
export const fields = {
  list: "list",
  query: "query",
  /** `all`: everything that the filters find; otherwise the selected entities. */
  of: "of",
  key: "key",
  store: "store_id",
  /** The store that is chosen beside the button of the list that publishes. */
  publishTo: "publish_to",
  value: "value",
  clears: "clears",
  withMedia: "with_media",
  /** The number of entities that the review showed. */
  seen: "seen",
  does: "do",
  /** `entity`: the form began on the page of its only entity. */
  from: "from"
} as const

/** The selected entities of a list, or all that its filters find. */
export interface Selection {
  readonly kind: EntityKind
  readonly query: ListQuery
  /** As ticked. The steps of a form keep them all, so that its job reports those that are gone. */
  readonly ids: ReadonlyArray<EntityId>
  /** The ticked entities of this kind that exist. */
  readonly existing: ReadonlyArray<EntityId>
  readonly isAll: boolean
  /** Whether the form began on the page of its only entity, and leads back there. */
  readonly isOne: boolean
}

/** The fields that name the list. */
export const listFieldsOf = (
  kind: EntityKind,
  query: ListQuery
): ReadonlyArray<readonly [name: string, value: string]> => [
  [fields.list, kind],
  [fields.query, listAddress("", query).slice(1)]
]

/** The fields that carry the selection through the steps of a form. */
export const hiddenFieldsOf = ({
  ids,
  isOne,
  kind,
  query
}: Selection): ReadonlyArray<readonly [name: string, value: string]> => [
  ...listFieldsOf(kind, query),
  ...ids.map((id) => [`${selectedPrefix}${id}`, "yes"] as const),
  ...(isOne ? [[fields.from, "entity"] as const] : [])
]

/** The selection that a form on the page of an entity begins with. */
export const selectionOfOne = (kind: EntityKind, id: EntityId): Selection => ({
  kind,
  query: listQueryOf(kind, parametersOf("")),
  ids: [id],
  existing: [id],
  isAll: false,
  isOne: true
})

/** The link back to the list. */
const nextOf = ({ kind, query }: Selection) => {
  const { backTo, path } = listPages[kind]
  return { path: listAddress(path, query), name: backTo }
}

const readKind = Schema.decodeUnknown(EntityKind)

/** More is selected than an action takes. Its form has an address with all ids. */
export const tooMany = (selection: Selection) =>
  new PageRefused({
    status: 400,
    title: "Too many are selected",
    message: selection.isAll
      ? "The filters of the list find more than {count, number}, and a drop starts with at most so many: narrow the filters."
      : "At most {count, number} can be selected one by one.",
    values: { count: maxSelected },
    next: nextOf(selection)
  })

/** Whether nothing that was ticked exists. */
export const isGone = ({ existing, isAll }: Selection) => !isAll && existing.length === 0

/** Refuses a selection of which nothing exists. Its ids may also be of another account or kind, which no message tells. */
export const allGone = (selection: Selection) =>
  new PageRefused({
    status: 404,
    title: "Nothing of the selection is left",
    message: "Everything that you selected was deleted meanwhile.",
    next: nextOf(selection)
  })

const parse = (form: Parameters) =>
  Effect.gen(function* () {
    const kind = yield* readKind(form.get(fields.list))
    const ids = yield* idsOf(EntityId, form, selectedPrefix)
    const query = listQueryOf(kind, parametersOf(form.get(fields.query) ?? ""))
    const isOne = form.get(fields.from) === "entity" && ids.length === 1
    const isAll = !isOne && form.get(fields.of) === "all"
    return { kind, query, ids, existing: ids, isAll, isOne } satisfies Selection
  }).pipe(Effect.mapError(() => new NotFound()))

/**
 * Makes the function that reads the selection of a form. PageRefused: nothing or too much is selected, or all of it is gone, unless the
 * form begins a job: it may have begun the job before, which then deleted the selection. A malformed id or an unknown list is NotFound.
 */
export const makeSelectionIn = Effect.map(
  MerchantLists,
  ({ rows }) =>
    (form: Parameters) =>
      Effect.gen(function* () {
        const typed = yield* parse(form)
        const { ids, isAll, kind } = typed
        if (ids.length === 0 && !isAll)
          return yield* new PageRefused({
            status: 400,
            title: "Nothing is selected",
            message: "Select something in the list first.",
            next: nextOf(typed)
          })
        if (ids.length > maxSelected) return yield* tooMany(typed)
        const found = ids.length === 0 ? [] : yield* rows(ids)
        const existing = found.filter((row) => row.kind === kind).map(({ id }) => id)
        const selection: Selection = { ...typed, existing }
        return isGone(selection) && form.get(fields.does) !== "begin" ? yield* allGone(selection) : selection
      })
)
