import { Context, Effect, Layer, Option } from "effect"
import { CatalogRepo } from "../catalog/CatalogRepo.ts"
import { Drafts } from "../drafts/Drafts.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { PlatformClient } from "../platform/PlatformClient.ts"
import { StoreAccess } from "./StoreAccess.ts"

const make = Effect.gen(function* () {
  const access = yield* StoreAccess
  const catalog = yield* CatalogRepo
  const drafts = yield* Drafts
  const platforms = yield* PlatformClient
  return {
    /**
     * Reads the store's record of an entity, even if the entity is not on that store in the catalog. None: the store has no such record.
     * NotFound: no such entity or store; the platform was not called. PlatformReadError: the platform gave no usable answer.
     */
    find: Effect.fn("StoreRecords.find")(function* (entityId: EntityId, storeId: StoreId) {
      const { accountId } = yield* CurrentActor
      const { attributes, entity_type: kind } = yield* drafts.get(entityId, null)
      const store = yield* access.open(accountId, storeId)
      const version = yield* catalog.onStore(accountId, kind, entityId, storeId)
      return yield* platforms.find(store, kind, {
        entityId,
        platformId: Option.match(version, { onNone: () => null, onSome: ({ platformId }) => platformId }),
        attributes: Object.fromEntries(attributes.map(({ key, type, value }) => [key, { type, value }]))
      })
    })
  }
})

/** Reads records from the stores' platforms. Nothing is stored. */
export class StoreRecords extends Context.Tag("catalog/StoreRecords")<
  StoreRecords,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(StoreRecords, make)
}
