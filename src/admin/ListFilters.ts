import { Effect, Option, Schema } from "effect"
import type { MerchantFilters } from "../catalog/MerchantLists.ts"
import { makeFindStore } from "./FindByName.ts"

export const text = Schema.optionalWith(Schema.String, { as: "Option" })

/** The filters of a list. `on`: only entities on this store. */
export const listFilters = { search: text, vendor: text, type: text, tag: text, on: text }

const ListFilters = Schema.Struct(listFilters)
type ListFilters = typeof ListFilters.Type

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
