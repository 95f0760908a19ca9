import { Effect, Option } from "effect"
import type { BulkChange } from "../bulk/BulkChange.ts"
import { BulkJobs, maxBulkEntities } from "../bulk/BulkJobs.ts"
import { MerchantLists } from "../catalog/MerchantLists.ts"
import type { AttributeEdit } from "../model/AttributeRules.ts"
import type { StoreId } from "../model/Ids.ts"
import { BulkRpcs } from "./BulkRpcs.ts"
import { makeFiltersOf } from "./FiltersOf.ts"
import { makeFindStore } from "./FindByName.ts"
import { Refusal } from "./Refusal.ts"

const changeOf = (edit: AttributeEdit | null, storeId: StoreId | null): Effect.Effect<BulkChange, Refusal> => {
  if (edit !== null) return Effect.succeed({ _tag: "SetField", storeId, ...edit })
  return storeId === null
    ? new Refusal({ message: "Name the store to add to." })
    : Effect.succeed({ _tag: "AddToStore", storeId })
}

export const BulkHandlers = BulkRpcs.toLayer(
  Effect.gen(function* () {
    const bulk = yield* BulkJobs
    const filtersOf = yield* makeFiltersOf
    const findStore = yield* makeFindStore
    const lists = yield* MerchantLists

    const storeId = Option.match({
      onNone: () => Effect.succeed(null),
      onSome: (domain: string) => Effect.map(findStore(domain), ({ id }) => id)
    })

    return {
      beginBulk: ({ edit, kind, store, ...filters }) =>
        Effect.gen(function* () {
          const change = yield* changeOf(edit, yield* storeId(store))
          const found = yield* filtersOf(filters)
          yield* bulk.check(kind, change)
          const ids = yield* lists.ids(kind, found, maxBulkEntities)
          if (ids.length === 0) return yield* new Refusal({ message: `The filters find no ${kind}.` })
          return yield* bulk.begin({ kind, ids }, change)
        })
    }
  })
)
