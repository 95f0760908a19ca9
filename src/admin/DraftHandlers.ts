import { Effect, Option } from "effect"
import type { BulkChange } from "../bulk/BulkChange.ts"
import { BulkJobs } from "../bulk/BulkJobs.ts"
import { MerchantLists } from "../catalog/MerchantLists.ts"
import { Drafts } from "../drafts/Drafts.ts"
import { OwnDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { Drops } from "../drops/Drops.ts"
import type { CurrentActor } from "../model/Actor.ts"
import { DropId, nilUuid } from "../model/Ids.ts"
import { StoreData } from "../storedata/StoreData.ts"
import { Stores } from "../stores/Stores.ts"
import { DraftRpcs, type NamedChange } from "./DraftRpcs.ts"
import { makeFiltersOf, makeFindEntity, makeFindStore, parseId } from "./FindByName.ts"
import { Refusal } from "./Refusal.ts"

const dropId = parseId(DropId)

export const DraftHandlers = DraftRpcs.toLayer(
  Effect.gen(function* () {
    const bulk = yield* BulkJobs
    const definitions = yield* OwnDefinitions
    const drafts = yield* Drafts
    const drops = yield* Drops
    const filtersOf = yield* makeFiltersOf
    const findEntity = yield* makeFindEntity
    const findStore = yield* makeFindStore
    const lists = yield* MerchantLists
    const storeData = yield* StoreData
    const stores = yield* Stores

    const storeId = (domain: string) => Effect.map(findStore(domain), ({ id }) => id)
    const storeIdOrNull = Option.match({ onNone: () => Effect.succeed(null), onSome: storeId })
    const changeOf = (namedChange: NamedChange): Effect.Effect<BulkChange, Refusal, CurrentActor> => {
      if (namedChange._tag === "Delete") return Effect.succeed(namedChange)
      if (namedChange._tag !== "SetField")
        return Effect.map(storeId(namedChange.store), (id) => ({ _tag: namedChange._tag, storeId: id }))
      const { store, ...edit } = namedChange
      return Effect.map(storeIdOrNull(store), (id) => ({ ...edit, storeId: id }))
    }

    return {
      showDraft: ({ entity, store }) =>
        Effect.flatMap(Effect.all([findEntity(entity), storeIdOrNull(store)]), ([id, on]) => drafts.get(id, on)),
      setDraft: ({ attributes, entity, revision, store }) =>
        Effect.all([findEntity(entity), storeIdOrNull(store)]).pipe(
          Effect.flatMap(([id, on]) => {
            const update = { draft_revision: revision, attributes }
            return on === null ? drafts.updateAttributes(id, update) : drafts.updateVersionAttributes(id, on, update)
          })
        ),
      addStoreVersion: ({ entity, store }) =>
        Effect.flatMap(Effect.all([findEntity(entity), storeId(store)]), ([id, on]) => drafts.addStoreVersion(id, on)),
      removeStoreVersion: ({ entity, store }) =>
        Effect.flatMap(Effect.all([findEntity(entity), storeId(store)]), ([id, on]) =>
          drafts.removeStoreVersion(id, on)
        ),
      showHistory: ({ entity, limit }) =>
        findEntity(entity).pipe(
          Effect.flatMap((id) => Effect.map(drafts.history(id, limit), (history) => ({ entity_id: id, history })))
        ),
      beginBulk: ({ change: named, kind, ...filters }) =>
        Effect.gen(function* () {
          const change = yield* changeOf(named)
          const found = yield* filtersOf(filters)
          yield* bulk.check(kind, change)
          const { chosen, count } = yield* lists.found([kind], found)
          if (count === 0) return yield* new Refusal({ message: `The filters find no ${kind}.` })
          return yield* bulk.begin({ kind, ...chosen }, change)
        }),
      createDefinition: ({ definition }) => definitions.create(definition),
      setDefinitionType: ({ key, owner, type }) => definitions.setType({ owner_type: owner, key, type }),
      deleteDefinition: ({ key, owner }) => definitions.delete({ owner_type: owner, key }),
      listDefinitions: ({ owner }) => storeData.metafieldDefinitions(owner),
      createDrop: ({ drop }) =>
        Effect.gen(function* () {
          const linked = yield* stores.list
          const storeId = (text: string) =>
            linked.find(({ domain, id }) => [domain, id as string].includes(text.trim().toLowerCase()))?.id ?? nilUuid
          const typed = [...new Set(drop.changes.map(({ entity_id }) => entity_id))]
          // The text of an unknown entity is passed on, so that `create` reports its path in the drop.
          const ids = yield* Effect.forEach(typed, (text) =>
            Effect.map(
              Effect.catchTag(findEntity(text), "NotFound", () => Effect.succeed(text)),
              (id) => [text, id] as const
            )
          )
          const entityIds = new Map<string, string>(ids)
          return yield* drops.create({
            ...drop,
            changes: drop.changes.map((change) => ({
              ...change,
              entity_id: entityIds.get(change.entity_id) ?? change.entity_id,
              store_id: change.store_id === null ? null : storeId(change.store_id)
            }))
          })
        }),
      listDrops: () => drops.list,
      showDrop: ({ id }) => Effect.flatMap(dropId(id), drops.get),
      cancelDrop: ({ id }) => Effect.flatMap(dropId(id), drops.cancel)
    }
  })
)
