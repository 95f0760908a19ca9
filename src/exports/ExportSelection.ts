import { Effect } from "effect"
import { type MerchantFilters, MerchantLists } from "../catalog/MerchantLists.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import type { AccountId, EntityId } from "../model/Ids.ts"
import { ExportsRepo } from "./ExportsRepo.ts"

/** The entities of an export: these of a kind, or all that the filters of its list find. */
export type ExportSelection = { readonly kind: EntityKind } & (
  | { readonly ids: ReadonlyArray<EntityId> }
  | { readonly filters: MerchantFilters }
)

/** Maximum number of selected entities of an export, because their ids are kept in memory. */
export const maxSelected = 100_000

/** Makes the functions that read the ids of a selection. */
export const makeSelected = Effect.gen(function* () {
  const lists = yield* MerchantLists
  const repo = yield* ExportsRepo

  /** The ids of a selection, the entity that changed longest ago first. Of too many, it has more than `maxSelected`. */
  const idsOf = (accountId: AccountId, selection: ExportSelection) =>
    "ids" in selection
      ? Effect.filterOrFail(
          repo.known(accountId, selection.kind, selection.ids),
          (known) => known.length === new Set(selection.ids).size,
          () => new NotFound()
        )
      : lists.ids(selection.kind, selection.filters, maxSelected)

  /** As `idsOf`. ValidationFailed: none or too many are selected. */
  const chosenOf = (accountId: AccountId, selection: ExportSelection) =>
    Effect.filterOrElse(
      idsOf(accountId, selection),
      ({ length }) => length > 0 && length <= maxSelected,
      ({ length }) =>
        ValidationFailed.at(
          "",
          length === 0
            ? `The filters find no ${selection.kind}.`
            : `More than ${maxSelected.toLocaleString("en")} entities are selected, the most of one export: narrow the filters.`
        )
    )

  return { idsOf, chosenOf }
})
