import { Effect, Option } from "effect"
import type { MerchantFilters } from "../catalog/MerchantLists.ts"
import { makeFindStore } from "./FindByName.ts"
import type { ListFilters } from "./ListFilters.ts"

/** Makes the function that finds the store of the filters. Refusal: no such store is linked. */
export const makeFiltersOf = Effect.map(
  makeFindStore,
  (findStore) =>
    ({ on, search, tag, type, vendor }: ListFilters) =>
      Effect.map(
        Effect.transposeMapOption(on, findStore),
        (store): MerchantFilters => ({
          search: Option.getOrUndefined(search),
          vendor: Option.getOrUndefined(vendor),
          productType: Option.getOrUndefined(type),
          tag: Option.getOrUndefined(tag),
          storeId: Option.getOrUndefined(store)?.id
        })
      )
)
