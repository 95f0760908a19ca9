import type { MerchantFilters } from "../catalog/MerchantLists.ts"
import type { EntityKind } from "../model/Attribute.ts"
import type { EntityId } from "../model/Ids.ts"

/** The entities of an export: these of a kind, or all that the filters of its list find. */
export type ExportSelection = { readonly kind: EntityKind } & (
  | { readonly ids: ReadonlyArray<EntityId> }
  | { readonly filters: MerchantFilters }
)
