import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, Layer, Stream } from "effect"
import type { EntityId, StoreId } from "../../src/model/Ids.ts"
import { demoPlatformId } from "../../src/platform/demo/DemoRecords.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Stores
} from "../../src/testing/index.ts"
import { publishingWith } from "../support/PublishingWith.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

const Quick = publishingWith({ pollEvery: Duration.millis(10) })

const leftOut = {
  code: "PICTURE_LEFT_OUT",
  message:
    "The picture of a variant was left out, because the store does not show it for the product. Add it to the product, publish the product, then publish the variant again."
}

/** An account with two demo stores, and a product with two variants and two pictures on the first. */
const aShop = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    const { link } = yield* Stores
    const { store } = yield* link({ domain: "tern.demo.example", platform: "demo" })
    const { store: other } = yield* link({ domain: "other.demo.example", platform: "demo" })
    const on = [store]
    const product = yield* anEntity("product", { title: "Tent" }, { on })
    const green = yield* anEntity("variant", { sku: "T-G" }, { on, of: product })
    const red = yield* anEntity("variant", { sku: "T-R" }, { on, of: product })
    const front = yield* anEntity("media", { url: "https://cdn.example/front.png" }, { on })
    const back = yield* anEntity("media", { url: "https://cdn.example/back.png" }, { on })
    return { accountId, actor, store, other, product, green, red, front, back }
  }).pipe(actingAs(actor), Effect.orDie)
})
type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

const show = ({ store }: Shop, entityId: EntityId, media: ReadonlyArray<EntityId>, storeIds = [store.id]) =>
  Effect.flatMap(CatalogChanges, ({ apply }) =>
    apply([CatalogChange.SetGallery({ entityId, entries: media.map((mediaId) => ({ mediaId, storeIds })) })])
  )

const publish = (id: EntityId, storeId: StoreId) =>
  Effect.gen(function* () {
    const { request, settle } = yield* Publishing
    const asked = yield* request(id, storeId)
    if (asked.outcome === "nothing_to_publish") return assert.fail(asked.outcome)
    const [record] = yield* settle([asked.publicationId], () => Effect.void)
    return { state: record?.state, error: record?.error ?? null }
  })

/** The picture that the shop shows of a variant. */
const shownOf = ({ accountId, store }: Shop, variant: EntityId) =>
  Effect.map(
    Effect.flatMap(DemoShops, (shops) => Stream.runCollect(shops.records({ accountId, storeId: store.id }))),
    (records) => [...records].find(({ entityId }) => entityId === variant)?.picture
  )

const picture = (id: EntityId) => demoPlatformId("media", id)

/** Whether a publish is pending, and the fields that wait for it. */
const pendingOf = (id: EntityId, storeId: StoreId) =>
  Effect.map(
    Effect.flatMap(Drafts, (drafts) => drafts.sheet(id)),
    ({ stores }) => {
      const { projection } = stores.find((each) => each.projection.store_id === storeId) ?? assert.fail("not there")
      return [projection.pending_publish, projection.pending_keys]
    }
  )

const published = { state: "published", error: null } as const
const withoutPicture = { state: "published", error: leftOut } as const

for (const engine of featureServiceEngines)
  describe.skipIf(engine.absent)(`pictures of variants on ${engine.name}`, () => {
    layer(Quick.pipe(Layer.provideMerge(engine.layer)), { excludeTestServices: true })((it) => {
      it.effect("come to the store with the first publish of the product", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { back, front, green, product, red, store } = shop
            yield* show(shop, product, [front, back])
            yield* show(shop, green, [back, front])
            assert.deepStrictEqual(yield* publish(product, store.id), published)
            assert.deepStrictEqual([yield* shownOf(shop, green), yield* shownOf(shop, red)], [picture(back), null])
            assert.deepStrictEqual(yield* pendingOf(green, store.id), [false, []])
          })
        )
      )

      it.effect("are drafts until the variant is published: another picture, the order, and none", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { back, front, product, red, store } = shop
            yield* show(shop, product, [front, back])
            assert.deepStrictEqual(yield* publish(product, store.id), published)
            for (const [media, after] of [
              [[front], picture(front)],
              [[back, front], picture(back)],
              [[], null]
            ] as const) {
              const before = yield* shownOf(shop, red)
              yield* show(shop, red, media)
              assert.deepStrictEqual(yield* pendingOf(red, store.id), [true, ["media_ids"]])
              assert.strictEqual(yield* shownOf(shop, red), before)
              assert.deepStrictEqual(yield* publish(red, store.id), published)
              assert.deepStrictEqual(yield* pendingOf(red, store.id), [false, []])
              assert.strictEqual(yield* shownOf(shop, red), after)
            }
            // Only the first picture is published.
            yield* show(shop, red, [front])
            yield* publish(red, store.id)
            yield* show(shop, red, [front, back])
            assert.deepStrictEqual(yield* pendingOf(red, store.id), [false, []])
          })
        )
      )

      it.effect("are left out while the store does not show them for the product, and the publish says so", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { back, front, green, product, red, store } = shop
            yield* show(shop, product, [front])
            yield* show(shop, green, [back])
            assert.deepStrictEqual(yield* publish(product, store.id), withoutPicture)
            assert.deepStrictEqual(yield* pendingOf(green, store.id), [true, ["media_ids"]])
            yield* show(shop, red, [front])
            assert.deepStrictEqual(yield* publish(red, store.id), published)
            yield* show(shop, red, [back])
            assert.deepStrictEqual(yield* publish(red, store.id), withoutPicture)
            assert.strictEqual(yield* shownOf(shop, red), picture(front))
            assert.deepStrictEqual(yield* pendingOf(red, store.id), [true, ["media_ids"]])
            yield* show(shop, product, [front, back])
            assert.deepStrictEqual(yield* publish(product, store.id), published)
            for (const variant of [green, red]) {
              assert.deepStrictEqual(yield* publish(variant, store.id), published)
              assert.strictEqual(yield* shownOf(shop, variant), picture(back))
              assert.deepStrictEqual(yield* pendingOf(variant, store.id), [false, []])
            }
          })
        )
      )

      it.effect("leave the store with a publish of the product without them, and the variant has a draft then", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { back, front, green, product, red, store } = shop
            yield* show(shop, product, [front, back])
            yield* show(shop, green, [back])
            yield* show(shop, red, [front])
            assert.deepStrictEqual(yield* publish(product, store.id), published)
            const stateOf = (id: EntityId) =>
              Effect.map(
                Effect.flatMap(Drafts, (drafts) => drafts.projections(id, store.id)),
                ([each]) => [each?.last_publish_status, each?.published_at, each?.last_publish_error]
              )
            // The store refused the last publish of one variant.
            yield* (yield* CatalogChanges).apply([
              CatalogChange.RefusePublish({
                entityId: green,
                storeId: store.id,
                error: { code: "TAKEN", message: "The SKU is taken." }
              })
            ])
            const before = yield* Effect.forEach([green, red], stateOf)
            assert.strictEqual(before[0]?.[0], "failed")
            const pictures = Effect.forEach([green, red], (variant) => shownOf(shop, variant))
            const pending = Effect.forEach([green, red], (variant) => pendingOf(variant, store.id))

            yield* show(shop, product, [front])
            assert.deepStrictEqual(yield* pictures, [picture(back), picture(front)])
            assert.deepStrictEqual(yield* publish(product, store.id), published)
            assert.deepStrictEqual(yield* pictures, [null, picture(front)])
            assert.deepStrictEqual(yield* pending, [
              [true, ["media_ids"]],
              [false, []]
            ])
            assert.deepStrictEqual(yield* Effect.forEach([green, red], stateOf), before)
            assert.deepStrictEqual(yield* publish(green, store.id), withoutPicture)

            // With the product the picture comes back to the gallery only.
            yield* show(shop, product, [front, back])
            assert.deepStrictEqual(yield* publish(product, store.id), published)
            assert.deepStrictEqual(yield* pictures, [null, picture(front)])
            assert.deepStrictEqual(yield* publish(green, store.id), published)
            assert.deepStrictEqual(yield* pictures, [picture(back), picture(front)])

            // A variant that shows the picture no longer has no draft.
            yield* show(shop, green, [])
            yield* show(shop, product, [])
            assert.deepStrictEqual(yield* publish(product, store.id), published)
            assert.deepStrictEqual(yield* pictures, [null, null])
            assert.deepStrictEqual(yield* pending, [
              [false, []],
              [true, ["media_ids"]]
            ])
          })
        )
      )

      it.effect("differ between stores, and a publish of the product leaves those of live variants alone", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { back, front, green, other, product, store } = shop
            yield* show(shop, product, [front, back])
            yield* show(shop, green, [front])
            yield* publish(product, store.id)
            yield* (yield* CatalogChanges).apply(
              [product, green, front, back].map((entityId) => CatalogChange.AddToStore({ entityId, storeId: other.id }))
            )
            yield* show(shop, product, [front, back], [store.id, other.id])
            yield* (yield* CatalogChanges).apply([
              CatalogChange.SetGallery({
                entityId: green,
                entries: [
                  { mediaId: back, storeIds: [other.id] },
                  { mediaId: front, storeIds: [store.id] }
                ]
              })
            ])
            assert.deepStrictEqual(yield* publish(product, other.id), published)
            assert.strictEqual(yield* shownOf({ ...shop, store: other }, green), picture(back))
            yield* show(shop, green, [back])
            yield* show(shop, product, [back, front])
            assert.deepStrictEqual(yield* publish(product, store.id), published)
            assert.strictEqual(yield* shownOf(shop, green), picture(front))
            assert.deepStrictEqual(yield* pendingOf(green, store.id), [true, ["media_ids"]])
          })
        )
      )
    })
  })
