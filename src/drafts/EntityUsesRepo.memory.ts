import { Array as Arr, Effect, Layer, Ref } from "effect"
import { MemoryStore } from "../database/MemoryStore.memory.ts"
import { titleOf } from "../model/Attribute.ts"
import type { EntityId } from "../model/Ids.ts"
import { type EntityUse, EntityUsesRepo, toHolders } from "./EntityUsesRepo.ts"
import { holdOf } from "./StoreMembership.ts"

/** The in-memory repository. It passes the same contract suite as `layer`. There are no imports in memory. */
export const layerEntityUsesRepoMemory = Layer.effect(
  EntityUsesRepo,
  Effect.map(MemoryStore, (store) => ({
    isImporting: () => Effect.succeed(false),
    holdersOf: (accountId, entityId) =>
      Effect.map(Ref.get(store), (state) => {
        const account = state.get(accountId)
        const rows = [...(account?.entities.values() ?? [])].flatMap(({ aggregate: { id, parentId, versions } }) =>
          versions.flatMap((version) => {
            const linked = account?.stores.get(version.storeId)
            const { domain } = linked ?? account?.unlinkedStores.get(version.storeId) ?? {}
            return (id === entityId || parentId === entityId) && holdOf(version) !== undefined && domain !== undefined
              ? [{ id: version.storeId, domain, isLinked: linked !== undefined, isVariant: id !== entityId }]
              : []
          })
        )
        return toHolders(rows)
      }),
    countOwnMedia: (accountId, ids) =>
      Effect.map(Ref.get(store), (state) => {
        const all = [...(state.get(accountId)?.entities.values() ?? [])].map(({ aggregate }) => aggregate)
        const [own, others] = Arr.partition(
          all,
          ({ id, parentId }) => !ids.includes(id) && (parentId === null || !ids.includes(parentId))
        ).map((aggregates) => new Set(aggregates.flatMap(({ gallery }) => gallery.map(({ mediaId }) => mediaId))))
        return [...(own ?? [])].filter((id) => !others?.has(id)).length
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
          const drop = [...account.drops.values()].find(
            ({ nextStep, planned }) =>
              nextStep !== null && planned.changes.some((change) => change.entity_id === entityId)
          )
          const open = account.publications.find(
            ({ entityIds, state: ended, storeId }) =>
              ended === "pending" && account.stores.has(storeId) && entityIds.includes(entityId)
          )
          return [
            ...(showing === undefined ? [] : [use("gallery", titleOf(showing.kind, showing.attributes), showing.id)]),
            ...all
              .filter(({ members }) => members.includes(entityId))
              .map((collection) => use("collection", "", collection.id)),
            ...(drop === undefined
              ? []
              : [use(drop.status === "scheduled" ? "scheduled_drop" : "live_drop", drop.planned.name)]),
            ...(open === undefined ? [] : [use("publish", account.stores.get(open.storeId)?.domain ?? "")])
          ]
        }
        return ids.flatMap(usesOfOne)
      })
  }))
)
