import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { BulkChange } from "../../src/bulk/BulkChange.ts"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { CatalogRepo } from "../../src/catalog/CatalogRepo.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId, nilUuid, StoreId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Stores
} from "../../src/testing/index.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

const nobody = EntityId.make(nilUuid)
const nowhere = StoreId.make(nilUuid)

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => Effect.orDie(service.apply(changes)))

const aPicture = (name: string) => anEntity("media", { url: `https://cdn.example/${name}.png` })

/** A product with two variants on the first of two stores. It was added to the second store, with `own` and `shared` of its gallery. */
const aShop = Effect.gen(function* () {
  const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const [a, b] = stores
  return yield* Effect.gen(function* () {
    const drafts = yield* Drafts
    const tent = yield* anEntity("product", { title: "Tent" }, { on: [a] })
    const stove = yield* anEntity("product", { title: "Stove" }, { on: [a, b] })
    const small = yield* anEntity("variant", { sku: "T-1" }, { on: [a], of: tent })
    const large = yield* anEntity("variant", { sku: "T-2" }, { on: [a], of: tent })
    const own = yield* aPicture("own")
    const shared = yield* aPicture("shared")
    const hidden = yield* aPicture("hidden")
    const entry = (mediaId: EntityId, ...storeIds: ReadonlyArray<StoreId>) => ({ mediaId, storeIds })
    yield* apply(
      ...[own, shared].map((entityId) => CatalogChange.AddToStore({ entityId, storeId: a.id })),
      CatalogChange.SetGallery({
        entityId: tent,
        entries: [entry(own, a.id), entry(hidden), entry(shared, a.id)]
      }),
      CatalogChange.AddToStore({ entityId: shared, storeId: b.id }),
      CatalogChange.SetGallery({ entityId: stove, entries: [entry(shared, b.id)] })
    )
    yield* drafts.addStoreVersion(tent, b.id)
    return { actor, a, b, tent, stove, small, large, own, shared, hidden }
  }).pipe(actingAs(actor))
})

type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

const storesOf = (...ids: ReadonlyArray<EntityId>) =>
  Effect.flatMap(Drafts, (drafts) =>
    Effect.forEach(ids, (id) => Effect.map(drafts.projections(id), (all) => all.map(({ store_id }) => store_id)))
  )

const galleryOf = (id: EntityId) =>
  Effect.flatMap(Drafts, (drafts) =>
    Effect.map(drafts.sheet(id), ({ gallery }) => gallery.map(({ mediaId, storeIds }) => [mediaId, storeIds]))
  )

/** The gallery with all stores that it names, also those that do not have the entity. */
const galleryRows = (id: EntityId) =>
  Effect.gen(function* () {
    const { accountId } = yield* CurrentActor
    const { aggregates } = yield* (yield* DraftsRepo).read(accountId, [id], [])
    return aggregates.get(id)?.gallery.map(({ mediaId, storeIds }) => [mediaId, storeIds])
  })

const remove = (id: EntityId, store: { readonly id: StoreId }) =>
  Effect.flatMap(Drafts, (drafts) => drafts.removeStoreVersion(id, store.id))

/** Everything that a refusal says: its issues, or the name of the error. */
const refused = (id: EntityId, store: { readonly id: StoreId }) =>
  Effect.map(Effect.flip(remove(id, store)), (error) =>
    error._tag === "ValidationFailed" ? error.issues : [error._tag]
  )

const atStore = (message: string) => [{ path: "store_id", message }]

/** Runs a bulk removal to its end. */
const removeAll = (kind: EntityKind, ids: ReadonlyArray<EntityId>, storeId: StoreId) =>
  Effect.gen(function* () {
    const change: BulkChange = { _tag: "RemoveFromStore", storeId }
    const { id } = yield* (yield* BulkJobs).begin({ kind, ids }, change)
    return yield* Effect.flatMap(
      (yield* JobWorker).settle(id, () => Effect.void),
      Effect.orDie
    )
  })

const error = { code: "REFUSED", message: "The shop refused it." } as const

const held = (id: EntityId) =>
  Effect.flatMap(Drafts, (drafts) => Effect.map(drafts.holdersOf(id), ({ ofVariants }) => [...ofVariants].sort()))

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`entities are taken off a store, on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect(
        "the stores that a product cannot leave because of its variants are those that have or may have one",
        () =>
          inShop(({ a, b, large, small, stove, tent }) =>
            Effect.gen(function* () {
              const on = (entityId: EntityId, store: { readonly id: StoreId }) => ({ entityId, storeId: store.id })
              assert.deepStrictEqual(yield* held(tent), [])
              yield* apply(CatalogChange.AcceptPublish(on(tent, a)), CatalogChange.AcceptPublish(on(stove, a)))
              assert.deepStrictEqual(yield* held(tent), [])
              yield* apply(CatalogChange.RefusePublish({ ...on(small, a), error }))
              assert.deepStrictEqual(yield* held(tent), [])
              yield* apply(CatalogChange.RequestPublish(on(small, a)))
              assert.deepStrictEqual(yield* held(tent), [a.id])
              yield* apply(CatalogChange.RefusePublish({ ...on(small, a), error }))
              assert.deepStrictEqual(yield* held(tent), [])
              yield* apply(CatalogChange.Identify({ ...on(large, b), platformId: "9" }))
              assert.deepStrictEqual(yield* held(tent), [b.id])
              yield* apply(CatalogChange.MarkMayBeLive(on(small, a)))
              assert.deepStrictEqual(yield* held(tent), [a.id, b.id].sort())
              yield* apply(CatalogChange.AcceptPublish(on(small, a)))
              assert.deepStrictEqual(yield* held(tent), [a.id, b.id].sort())
              for (const id of [stove, small, nobody]) assert.deepStrictEqual(yield* held(id), [])
            })
          )
      )
      it.effect("a product leaves with its variants and the pictures that no other gallery shows there", () =>
        inShop(({ a, b, hidden, large, own, shared, small, stove, tent }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            assert.deepStrictEqual(yield* storesOf(tent, small, large, own, shared, hidden), [
              ...[tent, small, large, own, shared].map(() => [a.id, b.id]),
              []
            ])
            const { draft_revision } = yield* drafts.get(tent, null)
            const state = yield* remove(tent, b)
            assert.deepStrictEqual(state, {
              entity_id: tent,
              entity_type: "product",
              draft_revision: draft_revision + 1,
              pending_publish: true,
              stores: [{ store_id: a.id, pending_publish: true }]
            })
            assert.deepStrictEqual(yield* storesOf(tent, small, large, own, shared, stove), [
              [a.id],
              [a.id],
              [a.id],
              [a.id],
              [a.id, b.id],
              [a.id, b.id]
            ])
            const [newest] = yield* drafts.history(tent, 1)
            assert.deepInclude(newest, {
              action: "removed_from_store",
              store_id: b.id,
              draft_revision: draft_revision + 1
            })
            assert.deepStrictEqual(yield* refused(tent, b), ["NotFound"])

            // No gallery names the store any more. Added again, the product shows there what another store shows.
            assert.deepStrictEqual(yield* galleryRows(tent), [
              [own, [a.id]],
              [hidden, []],
              [shared, [a.id]]
            ])
            yield* drafts.addStoreVersion(tent, b.id)
            assert.deepStrictEqual(yield* galleryOf(tent), [
              [own, [a.id, b.id]],
              [hidden, []],
              [shared, [a.id, b.id]]
            ])
            assert.deepStrictEqual(yield* storesOf(small, own), [
              [a.id, b.id],
              [a.id, b.id]
            ])
          })
        )
      )

      it.effect("what was published there, or is being published, stays", () =>
        inShop(({ b, large, own, small, stove, tent }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const on = (entityId: EntityId) => ({ entityId, storeId: b.id })
            const fails = (id: EntityId) =>
              apply(CatalogChange.MarkMayBeLive(on(id)), CatalogChange.RefusePublish({ ...on(id), error }))
            const stays = (id: EntityId, message: string) =>
              Effect.gen(function* () {
                const { draft_revision } = yield* drafts.get(id, null)
                assert.deepStrictEqual(yield* refused(id, b), atStore(message))
                assert.strictEqual((yield* drafts.get(id, null)).draft_revision, draft_revision)
              })
            yield* apply(CatalogChange.RequestPublish(on(large)))
            yield* stays(tent, `its variant ${large} is being published to this store`)
            yield* apply(CatalogChange.AcceptPublish(on(large)))
            yield* stays(
              tent,
              `its variant ${large} was published to this store, or imported from it, so it cannot be taken off`
            )
            yield* stays(
              large,
              "the variant was published to this store, or imported from it, so it cannot be taken off"
            )
            yield* apply(CatalogChange.RequestPublish(on(tent)))
            yield* stays(tent, "the product is being published to this store")
            // A platform id is enough: the store has the entity.
            yield* apply(CatalogChange.Identify({ ...on(stove), platformId: "9" }))
            yield* stays(
              stove,
              "the product was published to this store, or imported from it, so it cannot be taken off"
            )
            yield* stays(own, "a gallery shows the media file on this store: take it out of that gallery first")
            // Another variant of the product can leave.
            yield* remove(small, b)
            assert.deepStrictEqual((yield* storesOf(small))[0]?.length, 1)
            const lamp = yield* anEntity("product", { title: "Lamp" }, { on: [b] })
            yield* fails(lamp)
            const failed = "failed to be published to this store, but may have reached it, so it cannot be taken off"
            yield* stays(lamp, `the product ${failed}`)
            const bulb = yield* anEntity("variant", { sku: "L-1" }, { on: [b], of: lamp })
            yield* stays(bulb, "its product would have no variant on this store: take the product off instead")
            yield* anEntity("variant", { sku: "L-2" }, { on: [b], of: lamp })
            yield* fails(bulb)
            yield* stays(bulb, `the variant ${failed}`)
            yield* fails(own)
            yield* stays(own, `the media file ${failed}`)
            assert.deepStrictEqual(yield* refused(tent, { id: nowhere }), ["NotFound"])
            assert.deepStrictEqual(yield* refused(nobody, b), ["NotFound"])
          })
        )
      )

      it.effect(
        "a picture that was published there stays when its product leaves, and leaves with the last gallery otherwise",
        () =>
          inShop(({ a, b, own, shared, stove, tent }) =>
            Effect.gen(function* () {
              // The picture is live there, so it stays.
              yield* apply(CatalogChange.AcceptPublish({ entityId: own, storeId: b.id }))
              yield* remove(tent, b)
              assert.deepStrictEqual(yield* storesOf(tent, own), [[a.id], [a.id, b.id]])
              yield* remove(stove, b)
              assert.deepStrictEqual(yield* storesOf(stove, shared), [[a.id], [a.id]])
            })
          )
      )

      it.effect("an entity of another account, or on an unlinked store, is not found", () =>
        inShop(({ a, b, tent }) =>
          Effect.gen(function* () {
            const theirs = yield* aShop
            assert.deepStrictEqual(yield* refused(theirs.tent, theirs.b), ["NotFound"])
            assert.deepStrictEqual(yield* refused(tent, theirs.b), ["NotFound"])
            yield* (yield* Stores).unlink(b.domain)
            assert.deepStrictEqual(yield* refused(tent, b), ["NotFound"])
            assert.deepStrictEqual(yield* storesOf(tent), [[a.id]])
          })
        )
      )

      it.effect("a product leaves with the variants and pictures that it has when it is locked", () =>
        inShop(({ a, actor, b, tent }) =>
          Effect.gen(function* () {
            const catalog = yield* CatalogRepo
            const late = yield* aPicture("late")
            const variant = yield* anEntity("variant", { sku: "T-3" }, { of: tent })
            const writes = [
              CatalogChange.AddToStore({ entityId: late, storeId: b.id }),
              CatalogChange.SetGallery({ entityId: tent, entries: [{ mediaId: late, storeIds: [a.id, b.id] }] }),
              CatalogChange.AddToStore({ entityId: variant, storeId: b.id })
            ]
            const changes = yield* CatalogChanges
            let reads = 0
            // Somebody changes the product after the first read of its parts.
            const meanwhile = {
              ...catalog,
              partsOnStore: (...request: Parameters<typeof catalog.partsOnStore>) =>
                Effect.tap(catalog.partsOnStore(...request), () =>
                  reads++ === 0 ? Effect.orDie(changes.apply(writes).pipe(actingAs(actor))) : Effect.void
                )
            }
            yield* remove(tent, b).pipe(
              Effect.provide(Layer.fresh(Drafts.layer)),
              Effect.provideService(CatalogRepo, meanwhile)
            )
            assert.strictEqual(reads, 2)
            assert.deepStrictEqual(yield* storesOf(tent, variant, late), [[a.id], [], []])
          })
        )
      )

      it.effect("pictures of the galleries of variants and collections leave with them", () =>
        inShop(({ a, b, tent, small, own }) =>
          Effect.gen(function* () {
            const collection = yield* anEntity("collection", { title: "Tents" }, { on: [a, b] })
            const [ofVariant, ofCollection] = [yield* aPicture("variant"), yield* aPicture("collection")]
            const show = (entityId: EntityId, mediaId: EntityId) => [
              CatalogChange.AddToStore({ entityId: mediaId, storeId: b.id }),
              CatalogChange.SetGallery({ entityId, entries: [{ mediaId, storeIds: [b.id] }] })
            ]
            yield* apply(...show(small, ofVariant), ...show(collection, ofCollection))
            assert.deepStrictEqual(
              yield* refused(ofVariant, b),
              atStore("a gallery shows the media file on this store: take it out of that gallery first")
            )
            yield* remove(tent, b)
            yield* remove(collection, b)
            assert.deepStrictEqual(yield* storesOf(ofVariant, ofCollection, own), [[], [], [a.id]])
            assert.deepStrictEqual(yield* galleryRows(small), [[ofVariant, []]])
          })
        )
      )

      it.effect("a bulk removal of all variants of a product is refused", () =>
        inShop(({ a, b, large, small }) =>
          Effect.gen(function* () {
            const { errors, result } = yield* removeAll("variant", [small, large], b.id)
            const message = "its product would have no variant on this store: take the product off instead"
            assert.deepStrictEqual(errors, [
              { item: "variant Tent, T-1", message },
              { item: "variant Tent, T-2", message }
            ])
            assert.deepStrictEqual(result, { changed: 0, unchanged: 0, refused: 2 })
            assert.deepStrictEqual(yield* storesOf(small, large), [
              [a.id, b.id],
              [a.id, b.id]
            ])
          })
        )
      )

      it.effect("a bulk removal takes off what it can, and names what stays", () =>
        inShop(({ a, b, own, shared, small, stove, tent }) =>
          Effect.gen(function* () {
            const lamp = yield* anEntity("product", { title: "Lamp" }, { on: [b] })
            const elsewhere = yield* anEntity("product", { title: "Peg" }, { on: [a] })
            yield* apply(CatalogChange.AcceptPublish({ entityId: lamp, storeId: b.id }))
            const job = yield* removeAll("product", [lamp, tent, elsewhere, stove], b.id)
            assert.deepInclude(job, {
              kind: "bulk_change",
              title: "Take 4 products off b.example",
              state: "done",
              done: 4,
              total: 4,
              result: { changed: 2, unchanged: 1, refused: 1 },
              errors: [
                {
                  item: "product Lamp",
                  message: "the product was published to this store, or imported from it, so it cannot be taken off"
                }
              ]
            })
            // Both products showed the picture there, and both have left.
            assert.deepStrictEqual(yield* storesOf(tent, stove, small, own, shared, lamp), [
              [a.id],
              [a.id],
              [a.id],
              [a.id],
              [a.id],
              [b.id]
            ])
          })
        )
      )

      it.effect("a bulk removal keeps what somebody changed after it was begun", () =>
        inShop(({ a, b, own, tent }) =>
          Effect.gen(function* () {
            const change: BulkChange = { _tag: "RemoveFromStore", storeId: b.id }
            const { id } = yield* (yield* BulkJobs).begin({ kind: "product", ids: [tent] }, change)
            const drafts = yield* Drafts
            const { draft_revision } = yield* drafts.get(tent, null)
            yield* drafts.updateVersionAttributes(tent, b.id, {
              draft_revision,
              attributes: [{ key: "title", value: "Zelt" }]
            })
            const job = yield* Effect.flatMap(
              (yield* JobWorker).settle(id, () => Effect.void),
              Effect.orDie
            )
            assert.deepStrictEqual(job.errors, [
              {
                item: "product Tent",
                message: `somebody changed the draft after the job was begun, so it was not overwritten: its revision is ${draft_revision + 1}, not ${draft_revision}`
              }
            ])
            assert.deepStrictEqual(yield* storesOf(tent, own), [
              [a.id, b.id],
              [a.id, b.id]
            ])
          })
        )
      )
    })
  })
}
