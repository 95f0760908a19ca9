import { Effect, Layer, Ref } from "effect"
import { MemoryStore } from "../database/MemoryStore.memory.ts"
import { titleOf } from "../model/Attribute.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { type EntityUse, EntityUsesRepo } from "./EntityUsesRepo.ts"
import { holdOf } from "./StoreMembership.ts"

/** The in-memory repository. It passes the same contract suite as `layer`. There are no imports in memory. */
export const layerEntityUsesRepoMemory = Layer.effect(
  EntityUsesRepo,
  Effect.map(MemoryStore, (store) => ({
    isImporting: () => Effect.succeed(false),
    storesOfHeldVariants: (accountId, productId) =>
      Effect.map(Ref.get(store), (state) => {
        const all = [...(state.get(accountId)?.entities.values() ?? [])].map(({ aggregate }) => aggregate)
        const versions = all.filter(({ parentId }) => parentId === productId).flatMap((variant) => variant.versions)
        return new Set(versions.filter((version) => holdOf(version) !== undefined).map(({ storeId }) => storeId))
      }),
    partsOf: (accountId, ids) =>
      Effect.map(Ref.get(store), (state) => {
        const all = [...(state.get(accountId)?.entities.values() ?? [])].map(({ aggregate }) => aggregate)
        const products = all.filter(({ id }) => ids.includes(id)).map(({ id, parentId }) => parentId ?? id)
        const variants = all.filter(({ parentId }) => parentId !== null && products.includes(parentId))
        const media = all
          .filter(({ id, parentId }) => ids.includes(id) || (parentId !== null && ids.includes(parentId)))
          .flatMap(({ gallery }) => gallery.map(({ mediaId }) => mediaId))
        const collections = all.filter(({ members }) => members.some((id) => ids.includes(id))).map(({ id }) => id)
        return [...new Set([...variants.map(({ id }) => id), ...media, ...collections])]
      }),
    usesOf: (accountId, ids) =>
      Effect.map(Ref.get(store), (state) => {
        const account = state.get(accountId)
        if (account === undefined) return []
        const all = [...account.entities.values()].map(({ aggregate }) => aggregate)
        const usesOfOne = (entityId: EntityId): ReadonlyArray<EntityUse> => {
          const use = (by: EntityUse["by"], name: string, id: EntityId | null = null) => ({ entityId, by, id, name })
          const showing = all.find(
            ({ gallery, id }) => !ids.includes(id) && gallery.some(({ mediaId }) => mediaId === entityId)
          )
          const drop = [...account.drops.values()].find(({ planned }) =>
            planned.changes.some((change) => change.entity_id === entityId)
          )
          const open = account.publications.find(
            ({ entityIds, state: ended }) => ended === "pending" && entityIds.includes(entityId)
          )
          const unlinked = account.entities
            .get(entityId)
            ?.aggregate.versions.find(
              ({ accepted, mayBeLive, platformId, storeId }) =>
                account.unlinkedStores.has(storeId) && (accepted !== null || platformId !== null || mayBeLive)
            )
          const domainOf = (storeId: StoreId) =>
            [...account.stores.values(), ...account.unlinkedStores.values()].find(({ id }) => id === storeId)?.domain ??
            ""
          return [
            ...(showing === undefined ? [] : [use("gallery", titleOf(showing.kind, showing.attributes), showing.id)]),
            ...all
              .filter(({ members }) => members.includes(entityId))
              .map((collection) => use("collection", "", collection.id)),
            ...(drop === undefined ? [] : [use("drop", drop.planned.name)]),
            ...(open === undefined ? [] : [use("publish", domainOf(open.storeId))]),
            ...(unlinked === undefined ? [] : [use("store", domainOf(unlinked.storeId))])
          ]
        }
        return ids.flatMap(usesOfOne)
      })
  }))
)
