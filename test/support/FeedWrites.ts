import { Effect } from "effect"
import { Transaction } from "../../src/database/Transaction.ts"
import type { CatalogChange as Change } from "../../src/drafts/CatalogChange.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId, ImportId, type StoreId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { CatalogChange, CatalogChanges, OwnDefinitions, Stores } from "../../src/testing/index.ts"
import type { Dice } from "../faults/Dice.ts"

/** The entities that random writes can use, and the stores that they link and unlink. */
export interface Known {
  readonly ids: Record<EntityKind, Array<EntityId>>
  /** The product of each variant. */
  readonly productOf: Map<EntityId, EntityId>
  readonly stores: ReadonlyArray<{ readonly id: StoreId; readonly domain: string }>
}

const kinds = ["product", "variant", "collection", "media"] as const

/** Some changes of the catalog: created entities, values, stores, relationships and publish states. */
const someChanges = (dice: Dice, { ids, productOf, stores }: Known, nonce: string) =>
  Effect.gen(function* () {
    const kind = dice.pick(kinds)
    const storeId = dice.pick(stores).id
    const entityId = ids[kind].length > 0 ? dice.pick(ids[kind]) : undefined
    const values = { [kind === "media" ? "alt" : "title"]: nonce }
    const chance = dice.next()
    if (chance < 0.2 || entityId === undefined) {
      const id = yield* mintId(EntityId)
      const parentId = kind === "variant" ? (ids.product[0] === undefined ? undefined : dice.pick(ids.product)) : null
      if (parentId === undefined) return []
      ids[kind].push(id)
      if (parentId !== null) productOf.set(id, parentId)
      return [
        CatalogChange.CreateEntity({ id, kind, parentId, values }),
        ...dice.some(stores, 2).map((store) => CatalogChange.AddToStore({ entityId: id, storeId: store.id }))
      ]
    }
    const onStore = { entityId, storeId }
    const publishing: ReadonlyArray<Change> = [
      CatalogChange.RequestPublish(onStore),
      CatalogChange.AcceptPublish({ ...onStore, platformId: `gid://${entityId}` }),
      CatalogChange.RefusePublish({ ...onStore, error: { code: "invalid", message: nonce } }),
      CatalogChange.AcceptImported({ ...onStore, values, media: [], variants: [] })
    ]
    if (chance < 0.35) return [CatalogChange.SetAttributes({ entityId, values })]
    if (chance < 0.45)
      return [CatalogChange.SetOverrides({ ...onStore, values: dice.next() < 0.3 ? { title: null } : values })]
    if (chance < 0.52) return [CatalogChange.AddToStore(onStore)]
    if (chance < 0.57) return [CatalogChange.RemoveFromStore(onStore)]
    // Two stay, so that later writes find something to change.
    if (chance < 0.6 && (kind === "product" || kind === "collection") && ids[kind].length > 2) {
      ids[kind].splice(ids[kind].indexOf(entityId), 1)
      ids.variant = ids.variant.filter((id) => productOf.get(id) !== entityId)
      return [
        ...ids.collection
          .filter((collectionId) => collectionId !== entityId)
          .map((collectionId) => CatalogChange.ChangeMembers({ collectionId, add: [], remove: [entityId] })),
        CatalogChange.DeleteEntity({ entityId })
      ]
    }
    if (chance < 0.75) return [dice.pick(publishing)]
    if (chance < 0.85 && kind !== "media")
      return [
        CatalogChange.SetGallery({
          entityId,
          entries:
            ids.media.length === 0 ? [] : dice.some(ids.media, 3).map((mediaId) => ({ mediaId, storeIds: [storeId] }))
        })
      ]
    const [collectionId] = ids.collection.length === 0 ? [] : [dice.pick(ids.collection)]
    if (collectionId === undefined || ids.product.length === 0) return []
    return [CatalogChange.SetMembers({ collectionId, productIds: dice.some(ids.product, 4) })]
  })

/**
 * One random write of any kind that the feed covers. A write that is not possible in the current state changes
 * nothing.
 */
export const randomWrite = (dice: Dice, known: Known, nonce: string) =>
  Effect.gen(function* () {
    const changes = yield* CatalogChanges
    const stores = yield* Stores
    const chance = dice.next()
    if (chance < 0.03) {
      const { domain } = dice.pick(known.stores)
      return yield* Effect.ignore(dice.next() < 0.5 ? stores.unlink(domain) : stores.link({ domain }))
    }
    if (chance < 0.06) {
      const { create, delete: remove, setType } = yield* OwnDefinitions
      const given = { owner_type: "product" as const, key: `care.k${dice.below(5)}`, type: "multi_line_text_field" }
      return yield* Effect.ignore(dice.pick([create, setType, remove])(given))
    }
    const many: Array<Change> = []
    const before = Object.fromEntries(kinds.map((kind) => [kind, [...known.ids[kind]]])) as Known["ids"]
    for (let count = dice.next() < 0.2 ? 1 + dice.below(20) : 1; count > 0; count--)
      many.push(...(yield* someChanges(dice, known, `${nonce}.${count}`)))
    const write =
      chance < 0.2
        ? Effect.flatMap(mintId(ImportId), (id) =>
            Effect.flatMap(Transaction, ({ run }) => run(changes.applyImported(id, many)))
          )
        : changes.apply(many)
    // One impossible change refuses all of them, so the known entities are those from before.
    yield* Effect.catchAll(write, () =>
      Effect.sync(() => {
        for (const kind of kinds) known.ids[kind] = [...before[kind]]
      })
    )
  })
