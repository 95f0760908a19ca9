import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Option } from "effect"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { EntityId, type StoreId } from "../../src/model/Ids.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { PublishJobs } from "../../src/publishing/PublishJobs.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, CatalogChange, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { again, aProduct } from "../../src/testing/platform/Publications.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { adminSchema } from "./AdminSchema.ts"
import { layerServer, layerShopify, openShop, ShopifyTestServer, tokenOf } from "./PlatformShops.ts"
import { scopesWithout } from "./ShopifyAccess.ts"
import { aCollection } from "./ShopifyCatalog.ts"
import { aMerchant, layerMerchants, publishDraft, quiet, refreshed, token } from "./ShopifyMerchant.ts"
import type { ShopifyShop } from "./ShopifyShop.ts"

const publicationNamed = (name: string, number: number) => ({
  id: `gid://shopify/Publication/${number}`,
  autoPublish: name === "Fair",
  supportsFuturePublishing: false,
  catalog: { __typename: "AppCatalog", id: name, title: name },
  channels: { nodes: [{ name, handle: name.toLowerCase().replaceAll(" ", "_") }] }
})
const online = publicationNamed("Online Store", 1)
const till = publicationNamed("Point of Sale", 2)
const fair = publicationNamed("Fair", 3)

const openPlaces = (shop: ShopifyShop) => {
  shop.sections.publications = [online, till, fair]
  return (id: string | undefined) => [...(shop.places.get(id ?? "") ?? [])].sort()
}

/** A shop with three sales channels. New products are on the last one by themselves. */
const aShop = Effect.map(openShop, (opened) => ({
  ...opened,
  places: openPlaces(opened.shop),
  count: (operation: string) => opened.asked().filter((name) => name === operation).length
}))

/** A new product on a store, with one variant. */
const aNewProduct = (storeId: StoreId) =>
  Effect.gen(function* () {
    const [id, variantId] = [yield* mintId(EntityId), yield* mintId(EntityId)]
    const attributes = [{ key: "title", value: "Mug" }]
    const variant = [{ key: "price", value: "1.00" }]
    yield* (yield* Drafts).create(NewEntity.Product({ id, attributes, variantId, variant, storeIds: [storeId] }))
    return { id, variantId }
  })

/** Changes the title of a product and a metafield, which Shopify gets in a call of its own. */
const rename = (entityId: EntityId, title: string) =>
  Effect.flatMap(CatalogChanges, ({ apply }) =>
    apply([
      CatalogChange.SetAttributes({
        entityId,
        values: { title, "specs.name": title },
        types: { "specs.name": "single_line_text_field" }
      })
    ])
  )

const onlyId = (ids: ReadonlyMap<EntityId, string>, entity: { readonly entityId: EntityId }) =>
  ids.get(entity.entityId) ?? ""

const denied = {
  code: "SALES_CHANNELS",
  message:
    "It was put on no sales channel, because the access token lacks the permission write_publications. Put it on its sales channels in the store."
}

const kinds = {
  product: { make: () => aProduct(), before: [fair.id], after: [online.id, fair.id], create: "SetProduct" },
  collection: { make: () => aCollection([]), before: [], after: [online.id], create: "CreateCollection" }
} as const

describe.skipIf(adminSchema === undefined)("the sales channels of new records on Shopify", () => {
  layer(layerShopify().pipe(Layer.provideMerge(layerServer)), { excludeTestServices: true })((it) => {
    for (const [kind, { after, before, create, make }] of Object.entries(kinds)) {
      it.effect(`the first publish puts a ${kind} on the Online Store; later ones leave its channels alone`, () =>
        Effect.gen(function* () {
          const { publish, readBack } = yield* PlatformClient
          const { count, places, shop, store } = yield* aShop
          const publication = make()
          const { notDone, platformIds } = yield* publish(store, publication)
          const id = onlyId(platformIds, publication)
          assert.deepStrictEqual([places(id), notDone], [after, undefined])
          shop.places.clear()
          const next = again(publication, platformIds, { title: "Renamed" })
          yield* publish(store, next)
          assert.isTrue(Option.isSome(yield* readBack(store, next)))
          assert.deepStrictEqual([places(id), count("PutOnChannels"), count("SalesChannels")], [[], 1, 1])
        })
      )

      it.effect(`a store can have other channels for a new ${kind}, or none`, () =>
        Effect.gen(function* () {
          const { publish } = yield* PlatformClient
          for (const [newRecordChannels, added, said] of [
            [[till.id, online.id], [online.id, till.id], undefined],
            [[], [], undefined],
            [
              [till.id, "gid://shopify/Publication/9"],
              [till.id],
              {
                code: "SALES_CHANNELS",
                message: "The store no longer has all sales channels that were chosen for new products and collections."
              }
            ]
          ] as const) {
            const { places, store } = yield* aShop
            const publication = make()
            const { notDone, platformIds } = yield* publish({ ...store, newRecordChannels }, publication)
            const id = onlyId(platformIds, publication)
            assert.deepStrictEqual([places(id), notDone], [[...added, ...before].sort(), said])
          }
        })
      )

      it.effect(`without the permission, the publish of a ${kind} succeeds and says that it is on no channel`, () =>
        Effect.gen(function* () {
          const { publish, readBack } = yield* PlatformClient
          for (const more of ["read_publications", "read_products"]) {
            const { places, shop, store } = yield* aShop
            shop.scopes = new Set([...scopesWithout("write_publications"), more])
            const publication = make()
            const { notDone, platformIds } = yield* publish(store, publication)
            assert.deepStrictEqual([places(onlyId(platformIds, publication)), notDone], [before, denied])
            const read = yield* readBack(store, publication)
            // Where the record is can be read with one of the tokens only.
            assert.deepStrictEqual(
              Option.map(read, (published) => published.notDone),
              more === "read_publications" ? Option.none() : Option.some(denied)
            )
          }
        })
      )

      it.effect(`a store that refuses its channels takes the ${kind}`, () =>
        Effect.gen(function* () {
          const { publish } = yield* PlatformClient
          const { shop, store } = yield* aShop
          shop.refusesPlaces = true
          const { notDone } = yield* publish({ ...store, newRecordChannels: [till.id, online.id] }, make())
          assert.deepStrictEqual(notDone, {
            code: "SALES_CHANNELS",
            message:
              "It was not put on the sales channels Online Store, Point of Sale. The store says: Products sold only on subscription can only be published to online stores."
          })
        })
      )

      for (const [operation, fault] of [
        [create, "lost"],
        ["PutOnChannels", "server"],
        ["PutOnChannels", "lost"],
        ["EntityPublications", "server"]
      ] as const)
        it.effect(`a new ${kind} is on its channels after repeated attempts: ${operation} ${fault}`, () =>
          Effect.gen(function* () {
            const { publish, readBack } = yield* PlatformClient
            const { count, places, script, server, shop, store } = yield* aShop
            const publication = make()
            // A read is repeated within the call.
            script(operation, fault, operation === "EntityPublications" ? 5 : 1)
            assert.strictEqual((yield* Effect.flip(publish(store, publication)))._tag, "PlatformOutcomeUnknown")
            server.repair(tokenOf(store))
            const [created] = [...shop.products.keys(), ...shop.collections.keys()]
            const isDone = operation === "PutOnChannels" && fault === "lost"
            const read = yield* readBack(store, publication)
            assert.strictEqual(Option.isSome(read), isDone)
            assert.deepStrictEqual(places(created), isDone ? [...after] : [...before])
            const { notDone, platformIds } = yield* publish(store, publication)
            assert.deepStrictEqual(
              [onlyId(platformIds, publication), places(created), notDone],
              [created, after, undefined]
            )
            assert.isTrue(Option.isSome(yield* readBack(store, publication)))
            assert.isAtMost(count("PutOnChannels"), 2)
            assert.deepStrictEqual(shop.products.size + shop.collections.size, 1)
          })
        )
    }

    for (const [kind, { after, before, make }] of Object.entries(kinds))
      it.effect(`a ${kind} that a failed publish has created, and a refresh has read, is put on its channels`, () =>
        Effect.gen(function* () {
          const { publish, readBack } = yield* PlatformClient
          for (const mayBeCreated of [false, true]) {
            const { places, script, server, shop, store } = yield* aShop
            const publication = make()
            script("PutOnChannels", "server", 9)
            yield* Effect.flip(publish(store, publication))
            server.repair(tokenOf(store))
            const [created = ""] = [...shop.products.keys(), ...shop.collections.keys()]
            const next = again(publication, new Map([[publication.entityId, created]]), { title: "Renamed" })
            const sent = { ...next, ...(mayBeCreated && { mayBeCreated }) }
            const { notDone } = yield* publish(store, sent)
            assert.deepStrictEqual([places(created), notDone], [mayBeCreated ? [...after] : [...before], undefined])
            // Reading back, too, finds it done only when it is on its channels.
            assert.isTrue(Option.isSome(yield* readBack(store, sent)))
            shop.places.clear()
            assert.strictEqual(Option.isSome(yield* readBack(store, sent)), !mayBeCreated)
          }
        })
      )

    it.effect("a product that the shop had before stays where it is, also if an answer is lost", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        for (const lost of ["", "SetProduct", "SetMetafields"]) {
          const { count, places, script, shop, store } = yield* aShop
          const { product } = shop.productSet({
            identifier: { handle: "keel-jumper" },
            input: {
              title: "Old",
              handle: "keel-jumper",
              productOptions: [{ name: "Size", values: [{ name: "S" }] }],
              variants: [{ optionValues: [{ optionName: "Size", name: "S" }] }]
            }
          })
          if (product === null) return assert.fail("no product")
          product.createdAt = "2026-11-20T10:00:00Z"
          const publication = { ...aProduct(), isAccepted: true }
          if (lost !== "") {
            script(lost, "lost")
            yield* Effect.flip(publish(store, publication))
            yield* readBack(store, publication)
          }
          assert.strictEqual(onlyId((yield* publish(store, publication)).platformIds, publication), product.id)
          assert.isTrue(Option.isSome(yield* readBack(store, publication)))
          assert.deepStrictEqual([places(product.id), count("PutOnChannels")], [[fair.id], 0], lost)
        }
      })
    )

    it.effect("a collection that the shop had before stays where it is, also if an answer is lost", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        for (const lost of ["", "UpdateCollection", "SetMetafields"]) {
          const { count, script, shop, store } = yield* aShop
          const { product } = shop.productSet({ identifier: { handle: "p" }, input: { title: "P", handle: "p" } })
          const { collection } = shop.collectionCreate({ collection: { title: "Tents", handle: "tents" } })
          if (collection === null || product === null) return assert.fail("no collection")
          collection.conditionIds = [product.id]
          const publication = { ...aCollection([product.id], { title: "Tents", handle: "tents" }), isAccepted: true }
          if (lost !== "") {
            script(lost, "lost")
            yield* Effect.flip(publish(store, publication))
            yield* readBack(store, publication)
          }
          assert.strictEqual(onlyId((yield* publish(store, publication)).platformIds, publication), collection.id)
          assert.strictEqual(count("PutOnChannels"), 0, lost)
        }
      })
    )
  })

  describe.skipIf(!serverAnswers)("in the service", () => {
    layer(layerMerchants, { excludeTestServices: true })((it) => {
      it.effect("a publish without the permission is published, and says so where its outcome is shown", () =>
        Effect.gen(function* () {
          const { actor, stores } = yield* aMerchant
          const shop = (yield* ShopifyTestServer).open(token)
          const places = openPlaces(shop)
          shop.scopes = scopesWithout("write_publications")
          const [{ id: storeId }] = stores
          yield* Effect.gen(function* () {
            const drafts = yield* Drafts
            const { request, settle } = yield* Publishing
            const { id, variantId } = yield* aNewProduct(storeId)
            const asked = yield* request(id, storeId)
            if (asked.outcome === "nothing_to_publish") return assert.fail(asked.outcome)
            const [record] = yield* settle([asked.publicationId], quiet)
            assert.deepStrictEqual([record?.state, record?.error], ["published", denied])
            const told = Effect.forEach([id, variantId], (each) =>
              Effect.map(drafts.history(each, 9), (entries) =>
                entries.flatMap(({ action, error }) => (action === "published" ? [error] : []))
              )
            )
            assert.deepStrictEqual(yield* told, [[denied], [null]])
            assert.deepStrictEqual(places([...shop.products.keys()][0]), [fair.id])
            // A job counts it.
            const other = yield* aNewProduct(storeId)
            const { selected, withOutcomes } = yield* PublishJobs
            const job = yield* selected(storeId, [other.id])
            const ended = Option.getOrThrow(yield* (yield* JobWorker).settle(job.id, quiet))
            assert.deepStrictEqual((yield* withOutcomes(ended)).result, { requested: 1, refused: 0 })
            assert.strictEqual(yield* publishDraft(other.id, storeId), "published")
            assert.deepStrictEqual((yield* withOutcomes(ended)).result, { requested: 1, refused: 0, incomplete: 1 })
          }).pipe(actingAs(actor))
        })
      )

      for (const isWaiting of [false, true])
        it.effect(
          `a product that a refresh has read ${isWaiting ? "while its first publish waits" : "after its first publish failed"} is put on its channels, once`,
          () =>
            Effect.gen(function* () {
              const { actor, stores } = yield* aMerchant
              const server = yield* ShopifyTestServer
              const shop = server.open(token)
              const places = openPlaces(shop)
              const [{ id: storeId }] = stores
              yield* Effect.gen(function* () {
                const { id } = yield* aNewProduct(storeId)
                server.asked.delete(token)
                server.script(token, "PutOnChannels", isWaiting ? "server" : "frozen", 999)
                const first = yield* Effect.fork(publishDraft(id, storeId))
                if (!isWaiting) assert.strictEqual(yield* Fiber.join(first), "failed")
                else
                  yield* Effect.repeat(
                    Effect.delay(
                      Effect.sync(() => server.asked.get(token)?.includes("PutOnChannels") === true),
                      "20 millis"
                    ),
                    { until: (isAsked) => isAsked }
                  )
                yield* refreshed
                server.repair(token)
                if (isWaiting) assert.strictEqual(yield* Fiber.join(first), "published")
                else {
                  // The refresh has found the draft in the store, so only a later change is published.
                  yield* rename(id, "Cup")
                  assert.strictEqual(yield* publishDraft(id, storeId), "published")
                }
                const [created = ""] = [...shop.products.keys()]
                assert.deepStrictEqual(places(created), [online.id, fair.id])
                // A merchant takes it off a channel: no later publish puts it there again, not even after one that failed.
                shop.places.set(created, new Set([fair.id]))
                yield* rename(id, "Bowl")
                server.script(token, "SetMetafields", "frozen", 999)
                assert.strictEqual(yield* publishDraft(id, storeId), "failed")
                server.repair(token)
                assert.strictEqual(yield* publishDraft(id, storeId), "published")
                assert.deepStrictEqual(places(created), [fair.id])
              }).pipe(actingAs(actor))
            })
        )
    })
  })
})
