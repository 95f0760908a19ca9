import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Clock, Effect, Stream } from "effect"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { countUnnamed, maxJobItems } from "../../src/jobs/Job.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId, nilUuid, type StoreId } from "../../src/model/Ids.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  Catalog,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Stores
} from "../../src/testing/index.ts"
import { feedPage } from "../support/FeedMirror.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

const anEntityId = mintId(EntityId)

const nobody = EntityId.make(nilUuid)

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => Effect.orDie(service.apply(changes)))

const aPicture = (name: string) =>
  anEntity("media", { url: `https://cdn.example/${name}.png`, file_name: `${name}.png` })

const options = (...values: ReadonlyArray<string>) => JSON.stringify([{ name: "Size", values }])

/** A product with two variants and two pictures on a store, in a collection. Another product shows one of the pictures. */
const aShop = Effect.gen(function* () {
  const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const [a, b] = stores
  return yield* Effect.gen(function* () {
    const tent = yield* anEntity("product", { title: "Tent", options: options("S", "L") }, { on: [a] })
    const stove = yield* anEntity("product", { title: "Stove" }, { on: [a] })
    const small = yield* anEntity("variant", { sku: "T-1", option1: "S" }, { on: [a], of: tent })
    const large = yield* anEntity("variant", { sku: "T-2", option1: "L" }, { on: [a], of: tent })
    const own = yield* aPicture("own")
    const shared = yield* aPicture("shared")
    const summer = yield* anEntity("collection", { title: "Summer" })
    const entry = (mediaId: EntityId) => ({ mediaId, storeIds: [a.id] })
    yield* apply(
      ...[own, shared].map((entityId) => CatalogChange.AddToStore({ entityId, storeId: a.id })),
      CatalogChange.SetGallery({ entityId: tent, entries: [entry(own), entry(shared)] }),
      CatalogChange.SetGallery({ entityId: stove, entries: [entry(shared)] }),
      CatalogChange.SetMembers({ collectionId: summer, productIds: [tent, stove] })
    )
    return { actor, a, b, tent, stove, small, large, own, shared, summer }
  }).pipe(actingAs(actor))
})

type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

const begin = (kind: EntityKind, ids: ReadonlyArray<EntityId>) =>
  Effect.flatMap(BulkJobs, (bulk) => bulk.begin({ kind, ids }, { _tag: "Delete" }))

const settle = ({ id }: Effect.Effect.Success<ReturnType<typeof begin>>) =>
  Effect.flatMap(JobWorker, (worker) => Effect.orDie(Effect.flatten(worker.settle(id, () => Effect.void))))

/** Runs a deletion to its end. */
const remove = (kind: EntityKind, ...ids: ReadonlyArray<EntityId>) => Effect.flatMap(begin(kind, ids), settle)

/** As `remove`, with the pictures that nothing else shows. */
const removeWithMedia = (kind: EntityKind, ...ids: ReadonlyArray<EntityId>) =>
  Effect.flatMap(BulkJobs, (bulk) => bulk.begin({ kind, ids }, { _tag: "Delete", withMedia: true })).pipe(
    Effect.flatMap(settle)
  )

const countOwnMedia = (...ids: ReadonlyArray<EntityId>) => Effect.flatMap(Drafts, (drafts) => drafts.countOwnMedia(ids))

/** Runs a deletion to its end, and returns why it refuses entities. */
const refusalsOf = (kind: EntityKind, ...ids: ReadonlyArray<EntityId>) =>
  Effect.map(remove(kind, ...ids), ({ errors }) => errors.map(({ message }) => message))

/** Which of these entities exist. */
const existing = (...ids: ReadonlyArray<EntityId>) =>
  Effect.flatMap(Catalog, (catalog) =>
    Effect.filter(ids, (id) => Effect.isSuccess(Effect.flatMap(catalog.kindOf(id), (kind) => catalog.get(kind, id))))
  )

const storesOf = (id: EntityId) =>
  Effect.flatMap(Drafts, (drafts) => Effect.map(drafts.projections(id), (all) => all.map(({ store_id }) => store_id)))

const valueOf = (id: EntityId, key: string) =>
  Effect.flatMap(Drafts, (drafts) =>
    Effect.map(drafts.get(id, null), ({ attributes }) => attributes.find((each) => each.key === key)?.value)
  )

/** Runs an effect, and returns the changes that the feed shows of it. */
const changesBy = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { next_cursor } = yield* feedPage("latest", 1)
    yield* effect
    const { data } = yield* feedPage(next_cursor, 250)
    return data.map(({ entity, store_id, type, what }) => [type, entity.id, store_id ?? null, what.join(" ")] as const)
  })

const error = { code: "REFUSED", message: "The shop refused it." } as const

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`entities are deleted, on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect(
        "a product is deleted with its variants, leaves its collections, and takes its own picture off the store",
        () =>
          inShop(({ a, large, own, shared, small, stove, summer, tent }) =>
            Effect.gen(function* () {
              const catalog = yield* Catalog
              const changes = yield* changesBy(
                Effect.map(remove("product", tent), (job) =>
                  assert.deepInclude(job, {
                    title: "Delete 1 product",
                    state: "done",
                    done: 1,
                    result: { changed: 1, unchanged: 0, refused: 0 },
                    errors: [],
                    deleted: [{ id: tent, kind: "product", name: "Tent" }]
                  })
                )
              )
              assert.sameDeepMembers(changes.slice(-3), [
                ["entity.deleted", tent, null, ""],
                ["entity.deleted", small, null, ""],
                ["entity.deleted", large, null, ""]
              ])
              assert.sameDeepMembers(changes.slice(0, -3), [
                ["relationships.updated", summer, null, "members"],
                ["relationships.updated", tent, null, "collection_ids"],
                ["store_version.removed", own, a.id, ""],
                ["relationships.updated", own, null, "product_ids"],
                ["relationships.updated", shared, null, "product_ids"]
              ])
              assert.deepStrictEqual(yield* existing(tent, small, large, own, shared, stove, summer), [
                own,
                shared,
                stove,
                summer
              ])
              assert.deepStrictEqual(yield* storesOf(own), [])
              assert.deepStrictEqual(yield* storesOf(shared), [a.id])
              assert.strictEqual((yield* Effect.flip((yield* Drafts).history(tent, 10)))._tag, "NotFound")
              const { text } = yield* catalog.related(summer, { limit: 10 })
              assert.deepStrictEqual(
                (JSON.parse(text) as { products: ReadonlyArray<{ id: string }> }).products.map(({ id }) => id),
                [stove]
              )
              const [newest] = yield* (yield* Drafts).history(summer, 1)
              assert.deepInclude(newest, { action: "members" })
              const list = yield* catalog.list("variant", { limit: 10 })
              assert.notInclude(list.text, "T-1")
            })
          )
      )
      it.effect(
        "a deleted variant removes the option value that only it had; the last variant of a product is not deleted",
        () =>
          inShop(({ large, small, tent }) =>
            Effect.gen(function* () {
              const { draft_revision } = yield* (yield* Drafts).get(tent, null)
              yield* remove("variant", large)
              assert.deepStrictEqual(yield* existing(small, large), [small])
              assert.strictEqual(yield* valueOf(tent, "options"), options("S"))
              const { variantIds } = yield* (yield* Catalog).get("product", tent)
              assert.deepStrictEqual(variantIds, [small])
              assert.strictEqual((yield* (yield* Drafts).get(tent, null)).draft_revision, draft_revision + 1)
              const { errors } = yield* remove("variant", small)
              assert.deepStrictEqual(errors, [
                {
                  item: "variant Tent, T-1",
                  message: "its product would have no variant: delete the product instead"
                }
              ])
              assert.deepStrictEqual(yield* existing(small), [small])
            })
          )
      )
      it.effect("all variants of a product stay, and so does an option value that another variant has", () =>
        inShop(({ large, small, tent }) =>
          Effect.gen(function* () {
            const other = yield* anEntity("variant", { sku: "T-3", option1: "L" }, { of: tent })
            const all = yield* remove("variant", small, large, other)
            assert.deepStrictEqual(all.result, { changed: 0, unchanged: 0, refused: 3 })
            yield* remove("variant", large)
            assert.strictEqual(yield* valueOf(tent, "options"), options("S", "L"))
          })
        )
      )
      it.effect("a collection and a picture that nothing shows are deleted; a picture of a gallery stays", () =>
        inShop(({ own, stove, summer, tent }) =>
          Effect.gen(function* () {
            const loose = yield* aPicture("loose")
            const ofSummer = yield* aPicture("summer")
            yield* apply(CatalogChange.SetGallery({ entityId: summer, entries: [{ mediaId: ofSummer, storeIds: [] }] }))
            const { errors } = yield* remove("media", loose, own)
            assert.deepStrictEqual(errors, [
              {
                item: "media own.png",
                message: 'the gallery of "Tent" has it: take it out of that gallery first'
              }
            ])
            const changes = yield* changesBy(remove("collection", summer))
            assert.deepStrictEqual(changes, [
              ["relationships.updated", ofSummer, null, "collection_ids"],
              ["relationships.updated", tent, null, "collection_ids"],
              ["relationships.updated", stove, null, "collection_ids"],
              ["entity.deleted", summer, null, ""]
            ])
            assert.deepStrictEqual(yield* existing(loose, own, summer, tent, ofSummer), [own, tent, ofSummer])
            yield* remove("media", ofSummer)
            assert.deepStrictEqual(yield* existing(ofSummer), [])
          })
        )
      )
      it.effect("a product is deleted with the pictures that nothing else shows", () =>
        inShop(({ large, own, shared, small, stove, tent }) =>
          Effect.gen(function* () {
            const ofSmall = yield* aPicture("small")
            yield* apply(CatalogChange.SetGallery({ entityId: small, entries: [{ mediaId: ofSmall, storeIds: [] }] }))
            const changes = yield* changesBy(
              Effect.map(removeWithMedia("product", tent), (job) => {
                assert.deepInclude(job, {
                  done: 1,
                  result: { changed: 3, unchanged: 0, refused: 0 },
                  errors: []
                })
                const [first, ...media] = job.deleted
                assert.deepStrictEqual(first, { id: tent, kind: "product", name: "Tent" })
                assert.sameDeepMembers(media, [
                  { id: own, kind: "media", name: "own.png" },
                  { id: ofSmall, kind: "media", name: "small.png" }
                ])
              })
            )
            assert.sameMembers(
              changes.flatMap(([type, id]) => (type === "entity.deleted" ? [id] : [])),
              [tent, small, large, own, ofSmall]
            )
            assert.notInclude(
              changes.flatMap(([type, id]) => (type === "entity.deleted" ? [] : [id])),
              own
            )
            assert.deepStrictEqual(yield* existing(tent, own, ofSmall, shared, stove), [shared, stove])
            yield* removeWithMedia("product", stove)
            assert.deepStrictEqual(yield* existing(shared, stove), [])
          })
        )
      )
      it.effect("a picture of a refused product stays; a picture of a variant is deleted with the variant", () =>
        inShop(({ a, large, own, shared, stove, tent }) =>
          Effect.gen(function* () {
            const ofLarge = yield* aPicture("large")
            yield* apply(
              CatalogChange.SetGallery({
                entityId: large,
                entries: [ofLarge, own].map((mediaId) => ({ mediaId, storeIds: [] }))
              }),
              CatalogChange.AcceptPublish({ entityId: stove, storeId: a.id })
            )
            assert.deepStrictEqual((yield* removeWithMedia("variant", large)).errors, [])
            assert.deepStrictEqual(yield* existing(large, ofLarge, own), [own])
            const { errors, result } = yield* removeWithMedia("product", tent, stove)
            assert.deepStrictEqual(
              errors.map(({ item }) => item),
              ["product Stove"]
            )
            assert.deepStrictEqual(result, { changed: 2, unchanged: 0, refused: 1 })
            assert.deepStrictEqual(yield* existing(tent, stove, own, shared), [stove, shared])
          })
        )
      )
      it.effect("a picture that a store or a drop needs stays, with the reason, and its product is deleted", () =>
        inShop(({ a, stove, tent }) =>
          Effect.gen(function* () {
            const [live, failed, dropped] = yield* Effect.forEach(["live", "failed", "dropped"], aPicture)
            assert(live !== undefined && failed !== undefined && dropped !== undefined)
            const { store: shop } = yield* (yield* Stores).link({ domain: "demo.example", platform: "demo" })
            const on = (entityId: EntityId) => ({ entityId, storeId: a.id })
            yield* apply(
              ...[live, failed, dropped].map((id) => CatalogChange.AddToStore(on(id))),
              CatalogChange.AddToStore({ entityId: dropped, storeId: shop.id }),
              CatalogChange.SetGallery({
                entityId: stove,
                entries: [live, failed, dropped].map((mediaId) => ({ mediaId, storeIds: [a.id] }))
              }),
              CatalogChange.AcceptPublish(on(live)),
              CatalogChange.MarkMayBeLive(on(failed)),
              CatalogChange.RefusePublish({ ...on(failed), error })
            )
            const now = yield* Clock.currentTimeMillis
            yield* (yield* Drops).create({
              name: "Sale",
              starts_at: fromMillis(now + 3_600_000),
              ends_at: null,
              timezone: "UTC",
              changes: [{ entity_id: dropped, store_id: null, field: "alt", value: "A stove" }]
            })
            const job = yield* removeWithMedia("product", stove)
            assert.deepInclude(job, {
              result: { changed: 1, unchanged: 0, refused: 3 },
              error_count: 3,
              deleted: [{ id: stove, kind: "product", name: "Stove" }]
            })
            assert.sameDeepMembers(
              [...job.errors],
              [
                {
                  item: "media live.png",
                  message:
                    "the media file was published to a store, or imported from one: delete it in that store, then refresh the store"
                },
                {
                  item: "media failed.png",
                  message:
                    "the media file failed to be published to a store, but may have reached it, so it cannot be deleted"
                },
                {
                  item: "media dropped.png",
                  message: 'the drop "Sale" will change it: cancel the drop first, or wait until the drop has ended'
                }
              ]
            )
            assert.deepStrictEqual(yield* existing(stove, live, failed, dropped, tent), [live, failed, dropped, tent])
          })
        )
      )
      it.effect("a deletion counts the pictures that only its entities show, and touches none of another account", () =>
        inShop(({ large, own, shared, small, stove, summer, tent }) =>
          Effect.gen(function* () {
            const theirs = yield* aShop
            const ofSmall = yield* aPicture("small")
            yield* apply(
              CatalogChange.SetGallery({
                entityId: small,
                entries: [ofSmall, own].map((mediaId) => ({ mediaId, storeIds: [] }))
              })
            )
            assert.deepStrictEqual(
              yield* Effect.all([
                countOwnMedia(tent),
                countOwnMedia(stove),
                countOwnMedia(tent, stove),
                countOwnMedia(small),
                countOwnMedia(large, summer),
                countOwnMedia(tent, small, theirs.tent),
                countOwnMedia(theirs.tent, nobody),
                countOwnMedia()
              ]),
              [2, 0, 3, 1, 0, 2, 0, 0]
            )
            yield* removeWithMedia("product", tent, theirs.tent)
            assert.deepStrictEqual(yield* existing(tent, own, ofSmall, shared), [shared])
            assert.deepStrictEqual(
              yield* existing(theirs.tent, theirs.own, theirs.shared).pipe(actingAs(theirs.actor)),
              [theirs.tent, theirs.own, theirs.shared]
            )
          })
        )
      )
      it.effect("an entity that a store has, or may have, is not deleted", () =>
        inShop(({ a, large, stove, tent }) =>
          Effect.gen(function* () {
            const on = (entityId: EntityId) => ({ entityId, storeId: a.id })
            const stays = (id: EntityId, message: string) =>
              Effect.gen(function* () {
                const before = yield* (yield* Drafts).get(id, null)
                const { errors, result } = yield* remove("product", id)
                assert.deepStrictEqual(
                  errors.map((each) => each.message),
                  [message]
                )
                assert.deepStrictEqual(result, { changed: 0, unchanged: 0, refused: 1 })
                assert.deepStrictEqual(yield* (yield* Drafts).get(id, null), before)
              })
            yield* apply(CatalogChange.RequestPublish(on(large)))
            const open = "is being published to a store: wait until the publish has ended"
            yield* stays(tent, `its variant ${large}: the variant ${open}`)
            yield* apply(CatalogChange.AcceptPublish(on(large)))
            const live =
              "was published to a store, or imported from one: delete it in that store, then refresh the store"
            yield* stays(tent, `its variant ${large}: the variant ${live}`)
            yield* apply(CatalogChange.RequestPublish(on(stove)))
            yield* stays(stove, `the product ${open}`)
            yield* apply(CatalogChange.MarkMayBeLive(on(stove)), CatalogChange.RefusePublish({ ...on(stove), error }))
            yield* stays(
              stove,
              "the product failed to be published to a store, but may have reached it, so it cannot be deleted"
            )
            yield* apply(CatalogChange.Identify({ ...on(stove), platformId: "9" }))
            yield* stays(stove, `the product ${live}`)
          })
        )
      )
      it.effect("an entity that a store has only refused is deleted with its publishes", () =>
        inShop(({ a, stove }) =>
          Effect.gen(function* () {
            yield* apply(CatalogChange.RefusePublish({ entityId: stove, storeId: a.id, error }))
            assert.deepStrictEqual((yield* remove("product", stove)).errors, [])
            assert.deepStrictEqual(yield* existing(stove), [])
          })
        )
      )
      it.effect("an entity that a drop will change, or that an open publish includes, is not deleted", () =>
        inShop(({ large, small, stove, tent }) =>
          Effect.gen(function* () {
            const { store: shop } = yield* (yield* Stores).link({ domain: "demo.example", platform: "demo" })
            const onShop = (entityId: EntityId) => ({ entityId, storeId: shop.id })
            yield* apply(CatalogChange.AddToStore(onShop(stove)), CatalogChange.AcceptPublish(onShop(stove)))
            const now = yield* Clock.currentTimeMillis
            const { cancel, create } = yield* Drops
            const drop = yield* create({
              name: "Sale",
              starts_at: fromMillis(now + 3_600_000),
              ends_at: fromMillis(now + 7_200_000),
              timezone: "UTC",
              changes: [{ entity_id: stove, store_id: shop.id, field: "title", value: "Oven" }]
            })
            // As if the shop had deleted the product, and a refresh had found that out.
            yield* apply(CatalogChange.RemoveFromStore(onShop(stove)))
            assert.deepStrictEqual(yield* refusalsOf("product", stove), [
              'the drop "Sale" will change it: cancel the drop first, or wait until the drop has ended'
            ])
            yield* cancel(drop.id)
            assert.deepStrictEqual(yield* refusalsOf("product", stove), [])
            yield* (yield* Drafts).addStoreVersion(tent, shop.id)
            yield* (yield* Publishing).request(tent, shop.id)
            // The outcome of an earlier publish came after the request.
            yield* apply(...[tent, small, large].map((id) => CatalogChange.RefusePublish({ ...onShop(id), error })))
            assert.deepStrictEqual(yield* refusalsOf("product", tent), [
              "it is being published to demo.example: wait until the publish has ended"
            ])
          })
        )
      )
      it.effect(
        "an entity that an unlinked store has is deleted, and is not on the store when it is linked again",
        () =>
          inShop(({ a, b, own, stove, tent }) =>
            Effect.gen(function* () {
              const { link, unlink } = yield* Stores
              const lamp = yield* anEntity("product", { title: "Lamp" }, { on: [b] })
              const bulb = yield* anEntity("variant", { sku: "L-1" }, { on: [b], of: lamp })
              const asked = yield* anEntity("product", { title: "Asked" }, { on: [b] })
              const onB = (entityId: EntityId) => ({ entityId, storeId: b.id })
              yield* apply(
                ...[lamp, bulb].map((id) => CatalogChange.AcceptPublish(onB(id))),
                CatalogChange.Identify({ ...onB(lamp), platformId: "7" }),
                CatalogChange.AddToStore(onB(own)),
                CatalogChange.AcceptPublish(onB(own)),
                CatalogChange.RequestPublish(onB(asked)),
                CatalogChange.MarkMayBeLive(onB(asked))
              )
              const holders = Effect.flatMap(Drafts, (drafts) =>
                Effect.forEach([lamp, bulb, own, asked, stove], drafts.holdersOf)
              )
              const live =
                "the product was published to a store, or imported from one: delete it in that store, then refresh the store"
              assert.deepStrictEqual(yield* refusalsOf("product", lamp, asked), [
                live,
                "the product is being published to a store: wait until the publish has ended"
              ])
              assert.deepStrictEqual(
                (yield* holders).map(({ unlinked }) => unlinked),
                [[], [], [], [], []]
              )
              yield* unlink(b.domain)
              const none = new Set<StoreId>()
              assert.deepStrictEqual(
                yield* holders,
                [[b.domain], [b.domain], [b.domain], [b.domain], []].map((unlinked) => ({ ofVariants: none, unlinked }))
              )
              yield* remove("product", tent)
              assert.deepStrictEqual(yield* refusalsOf("product", lamp, asked), [])
              assert.deepStrictEqual(yield* refusalsOf("media", own), [])
              assert.deepStrictEqual(yield* existing(lamp, bulb, asked, own, stove), [stove])
              yield* link({ domain: b.domain })
              assert.deepStrictEqual(yield* existing(lamp, bulb, asked, own, stove), [stove])
              assert.deepStrictEqual(yield* storesOf(stove), [a.id])
              assert.isFalse((yield* (yield* Stores).publishCounts).has(b.id))
            })
          )
      )
      it.effect(
        "a job that was begun while the store was unlinked refuses what the store has when it is linked again",
        () =>
          inShop(({ b, stove }) =>
            Effect.gen(function* () {
              const { link, unlink } = yield* Stores
              const on = { entityId: stove, storeId: b.id }
              yield* apply(CatalogChange.AddToStore(on), CatalogChange.AcceptPublish(on))
              yield* unlink(b.domain)
              const job = yield* begin("product", [stove])
              yield* link({ domain: b.domain })
              assert.deepStrictEqual((yield* settle(job)).errors, [
                {
                  item: "product Stove",
                  message:
                    "the product was published to a store, or imported from one: delete it in that store, then refresh the store"
                }
              ])
              assert.deepStrictEqual(yield* existing(stove), [stove])
            })
          )
      )
      it.effect(
        "a product and a collection that an unlinked store accepted have no draft there because of a deletion",
        () =>
          inShop(({ a, b, large, small, stove, summer, tent }) =>
            Effect.gen(function* () {
              const { link, unlink } = yield* Stores
              const all = [tent, small, large, stove, summer]
              yield* apply(...all.map((entityId) => CatalogChange.AddToStore({ entityId, storeId: b.id })))
              const own = CatalogChange.SetOverrides({
                entityId: tent,
                storeId: b.id,
                values: { options: options("S", "L", "XL") }
              })
              yield* apply(own, ...all.map((entityId) => CatalogChange.AcceptPublish({ entityId, storeId: b.id })))
              const pendingOn = (id: EntityId) =>
                Effect.map(
                  Effect.flatMap(Drafts, (drafts) => drafts.projections(id)),
                  (versions) => versions.map(({ pending_publish, store_id }) => [store_id, pending_publish])
                )
              yield* unlink(b.domain)
              assert.deepStrictEqual(yield* refusalsOf("variant", large), [])
              assert.deepStrictEqual(yield* refusalsOf("product", stove), [])
              assert.strictEqual(yield* valueOf(tent, "options"), options("S"))
              yield* link({ domain: b.domain })
              assert.deepStrictEqual(yield* pendingOn(summer), [[b.id, false]])
              assert.deepStrictEqual(yield* pendingOn(tent), [
                [a.id, true],
                [b.id, false]
              ])
            })
          )
      )
      it.effect.each([
        { isRefused: false, title: "is sent without what was deleted meanwhile" },
        { isRefused: true, title: "can be refused after something of it was deleted" }
      ])("a publish that waits for an unlinked store $title", ({ isRefused }) =>
        inShop(({ large, own, shared, small, stove, tent }) =>
          Effect.gen(function* () {
            const { link, unlink } = yield* Stores
            const publishing = yield* Publishing
            const { store: shop } = yield* link({ domain: "demo.example", platform: "demo" })
            yield* (yield* Drafts).addStoreVersion(tent, shop.id)
            yield* (yield* Drafts).addStoreVersion(stove, shop.id)
            const waiting = yield* publishing.request(tent, shop.id)
            const gone = yield* publishing.request(stove, shop.id)
            assert(waiting.outcome === "requested" && gone.outcome === "requested")
            yield* unlink(shop.domain)
            yield* apply(CatalogChange.SetGallery({ entityId: tent, entries: [] }))
            assert.deepStrictEqual(yield* refusalsOf("product", stove), [])
            assert.deepStrictEqual(yield* refusalsOf("variant", large), [])
            assert.deepStrictEqual(yield* refusalsOf("media", own), [])
            const { accountId } = yield* CurrentActor
            const { fail, records } = yield* DemoShops
            const place = { accountId, storeId: shop.id }
            if (isRefused) yield* fail(place, { kind: "refuse", percent: 100, delayMillis: 0 })
            yield* link({ domain: shop.domain, platform: "demo" })
            const ended = yield* publishing.settle([waiting.publicationId, gone.publicationId], () => Effect.void)
            assert.deepStrictEqual(
              ended.map(({ entityId, state }) => [entityId, state]),
              [[tent, isRefused ? "failed" : "published"]]
            )
            const sent = yield* Stream.runCollect(records(place))
            assert.sameMembers(
              [...sent].map(({ entityId }) => entityId),
              isRefused ? [] : [tent, small, shared]
            )
            for (const id of [tent, small]) {
              const [newest] = yield* (yield* Drafts).history(id, 1)
              assert.deepInclude(newest, { action: isRefused ? "publish_failed" : "published", store_id: shop.id })
            }
          })
        )
      )
      it.effect("a draft that somebody changed after the begin stays, and one that was deleted is listed", () =>
        inShop(({ stove, tent }) =>
          Effect.gen(function* () {
            const drafts = yield* Drafts
            const job = yield* begin("product", [tent, stove])
            const { draft_revision } = yield* drafts.get(tent, null)
            yield* drafts.updateAttributes(tent, { draft_revision, attributes: [{ key: "title", value: "Zelt" }] })
            yield* remove("product", stove)
            const { errors, result } = yield* settle(job)
            assert.deepStrictEqual(errors, [
              {
                item: "product Zelt",
                message: `somebody changed the draft after the job was begun, so it was not overwritten: its revision is ${draft_revision + 1}, not ${draft_revision}`
              },
              { item: `product ${stove}`, message: "it no longer exists" }
            ])
            assert.deepStrictEqual(result, { changed: 0, unchanged: 0, refused: 2 })
            assert.deepStrictEqual(yield* existing(tent, stove), [tent])
          })
        )
      )
      it.effect("another job that comes to a deleted entity says so", () =>
        inShop(({ b, large, tent, stove }) =>
          Effect.gen(function* () {
            const bulk = yield* BulkJobs
            const jobs = [
              yield* bulk.begin(
                { kind: "product", ids: [stove] },
                { _tag: "SetField", key: "vendor", value: "Fell", storeId: null }
              ),
              yield* bulk.begin({ kind: "product", ids: [stove] }, { _tag: "AddToStore", storeId: b.id }),
              yield* bulk.begin(
                { kind: "variant", ids: [large] },
                { _tag: "SetField", key: "barcode", value: "1", storeId: b.id }
              )
            ]
            yield* remove("product", stove)
            yield* remove("product", tent)
            const ended = yield* Effect.forEach(jobs, settle)
            assert.deepStrictEqual(
              ended.map(({ errors }) => errors),
              [
                [{ item: `product ${stove}`, message: "it no longer exists" }],
                [{ item: `product ${stove}`, message: "it no longer exists" }],
                [{ item: `variant ${large}`, message: "it no longer exists" }]
              ]
            )
          })
        )
      )
      it.effect("an option value stays that another variant has on a store, and options that do not change", () =>
        inShop(({ a, large, small, tent }) =>
          Effect.gen(function* () {
            yield* apply(
              CatalogChange.SetOverrides({ entityId: small, storeId: a.id, values: { option1: "L" } }),
              CatalogChange.SetAttributes({
                entityId: tent,
                values: { options: '[{"name": "Size", "values": ["S", "L"]}]' }
              })
            )
            assert.deepStrictEqual((yield* remove("variant", large)).errors, [])
            assert.strictEqual(yield* valueOf(tent, "options"), '[{"name": "Size", "values": ["S", "L"]}]')
          })
        )
      )
      it.effect("an option value also leaves the options that a store has of its own", () =>
        inShop(({ a, large, small, tent }) =>
          Effect.gen(function* () {
            const own = (...values: ReadonlyArray<string>) => JSON.stringify([{ name: "Größe", values }])
            yield* apply(
              CatalogChange.SetOverrides({ entityId: tent, storeId: a.id, values: { options: own("S", "L", "XL") } }),
              CatalogChange.SetOverrides({ entityId: large, storeId: a.id, values: { option1: "XL" } })
            )
            const ofStore = Effect.map(
              Effect.flatMap(Drafts, (drafts) => drafts.get(tent, a.id)),
              ({ attributes }) => attributes.find(({ key }) => key === "options")?.value
            )
            assert.deepStrictEqual((yield* remove("variant", large)).errors, [])
            assert.strictEqual(yield* valueOf(tent, "options"), options("S"))
            assert.strictEqual(yield* ofStore, own("S"))
            // The value of the last variant stays, because the variant does.
            assert.lengthOf((yield* remove("variant", small)).errors, 1)
            assert.strictEqual(yield* ofStore, own("S"))
          })
        )
      )
      it.effect("a variant can be created again with the option value of a deleted one", () =>
        inShop(({ large, small, tent }) =>
          Effect.gen(function* () {
            yield* remove("variant", small)
            const again = yield* anEntityId
            yield* (yield* Drafts).create(
              NewEntity.Variant({
                id: again,
                productId: tent,
                attributes: [],
                optionValues: ["S"],
                firstOption: null
              })
            )
            assert.strictEqual(yield* valueOf(tent, "options"), options("L", "S"))
            assert.deepStrictEqual((yield* (yield* Catalog).get("product", tent)).variantIds, [large, again])
          })
        )
      )
      it.effect("a job names what it deleted as lists do, in its order, and not what it refused", () =>
        inShop(({ large, own, small, stove, summer, tent }) =>
          Effect.gen(function* () {
            const untitled = yield* anEntity("product", { title: " ", handle: "lamp" })
            const medium = yield* anEntity("variant", { title: "Medium", sku: "T-3" }, { of: tent })
            const bare = yield* anEntity("variant", {}, { of: untitled })
            yield* anEntity("variant", { sku: "L-1" }, { of: untitled })
            const described = yield* anEntity("media", { url: "https://cdn.example/a.png", alt: "A tent" })
            const plain = yield* anEntity("media", { url: "https://cdn.example/b.png" })
            const names = (kind: EntityKind, ...ids: ReadonlyArray<EntityId>) =>
              Effect.map(remove(kind, ...ids), ({ deleted }) => deleted)
            assert.deepStrictEqual(yield* names("variant", medium, bare, nobody, large), [
              { id: medium, kind: "variant", name: "Tent: Medium, T-3" },
              { id: bare, kind: "variant", name: "" },
              { id: large, kind: "variant", name: "Tent, T-2" }
            ])
            assert.deepStrictEqual(yield* names("variant", small), [])
            assert.deepStrictEqual(yield* names("media", plain, own, described), [
              { id: plain, kind: "media", name: "https://cdn.example/b.png" },
              { id: described, kind: "media", name: "A tent" }
            ])
            assert.deepStrictEqual(yield* names("collection", summer), [
              { id: summer, kind: "collection", name: "Summer" }
            ])
            assert.deepStrictEqual(yield* names("product", untitled, stove), [
              { id: untitled, kind: "product", name: "lamp" },
              { id: stove, kind: "product", name: "Stove" }
            ])
          })
        )
      )
      it.effect("a job names the first hundred deleted entities, and counts the others", () =>
        inShop(({ own }) =>
          Effect.gen(function* () {
            const count = maxJobItems + 7
            const pictures = yield* Effect.forEach(Arr.range(1, count), (index) => aPicture(`${index}`))
            const job = yield* remove("media", own, ...pictures)
            assert.deepStrictEqual(job.result, { changed: count, unchanged: 0, refused: 1 })
            assert.deepStrictEqual(
              job.deleted,
              pictures
                .slice(0, maxJobItems)
                .map((id, index) => ({ id, kind: "media" as const, name: `${index + 1}.png` }))
            )
            assert.strictEqual(countUnnamed(job), 7)
          })
        )
      )
      it.effect("an entity of another account or kind stays, and is listed as a deleted one", () =>
        inShop(({ stove, summer }) =>
          Effect.gen(function* () {
            const theirs = yield* aShop
            const { errors, result } = yield* remove("product", theirs.tent, stove, nobody, summer)
            assert.deepStrictEqual(
              errors,
              [theirs.tent, nobody, summer].map((id) => ({ item: `product ${id}`, message: "it no longer exists" }))
            )
            assert.deepStrictEqual(result, { changed: 1, unchanged: 0, refused: 3 })
            assert.deepStrictEqual(yield* existing(stove, summer), [summer])
            assert.deepStrictEqual(yield* existing(theirs.tent).pipe(actingAs(theirs.actor)), [theirs.tent])
          })
        )
      )
    })
  })
}
