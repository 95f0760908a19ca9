import { Effect } from "effect"
import { Catalog } from "../catalog/Catalog.ts"
import { details } from "../catalog/Entity.ts"
import type { CurrentActor } from "../model/Actor.ts"
import { CurrentBounds, includes } from "../model/ConnectionBounds.ts"
import { NotFound, NotOnStore } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { Stores } from "../stores/Stores.ts"

/** Fails with NotFound if the account has no linked store with this id. Without an id, there is nothing to check. */
export const makeMustBeLinked = Effect.map(
  Stores,
  ({ list }) =>
    (id: StoreId | undefined): Effect.Effect<void, NotFound, CurrentActor> =>
      id === undefined
        ? Effect.void
        : Effect.flatMap(list, (stores) => (stores.some((store) => store.id === id) ? Effect.void : new NotFound()))
)

/**
 * Explains a NotFound of a program that takes an entity and stores. If the account has all of them, but the entity is not on one
 * of the stores, the error becomes NotOnStore. For an unknown id, or one of another account, it stays NotFound.
 */
export const makeExplainAbsence = Effect.gen(function* () {
  const catalog = yield* Catalog
  const stores = yield* Stores

  const explain = (entityId: EntityId, storeIds: ReadonlyArray<StoreId>) =>
    Effect.gen(function* () {
      const kind = yield* catalog.kindOf(entityId)
      const entity = details[kind](yield* catalog.get(kind, entityId))
      const bounds = yield* CurrentBounds
      const linked = yield* stores.list
      const chosen = storeIds.map((id) => linked.find((store) => store.id === id))
      const missing = chosen.find(
        (store) => store !== undefined && !entity.stores.some((on) => on.store_id === store.id)
      )
      if (missing === undefined || chosen.includes(undefined)) return yield* new NotFound()
      return yield* new NotOnStore({
        entityId,
        store: { id: missing.id, domain: missing.domain },
        stores: entity.stores
          .filter(({ store_id }) => includes(bounds, store_id))
          .map(({ store_domain, store_id }) => ({ id: store_id, domain: store_domain }))
      })
    })

  return (entityId: EntityId, storeIds: ReadonlyArray<StoreId>) =>
    <A, E, R>(program: Effect.Effect<A, E | NotFound, R>) =>
      Effect.catchIf(
        program,
        (error): error is NotFound => error instanceof NotFound,
        () => explain(entityId, storeIds)
      )
})
