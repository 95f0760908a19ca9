import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { again, aPicture, aProduct } from "../../src/testing/platform/Publications.ts"
import { adminSchema } from "./AdminSchema.ts"
import { aStore, layerServer, layerShopify, ShopifyTestServer, tokenOf } from "./PlatformShops.ts"

/** A store and its shop. */
const open = Effect.map(ShopifyTestServer, (server) => {
  const store = aStore("shopify", crypto.randomUUID())
  return { store, shop: server.open(tokenOf(store)) }
})

describe.skipIf(adminSchema === undefined)("products, variants and pictures on Shopify", () => {
  layer(layerShopify().pipe(Layer.provideMerge(layerServer)), { excludeTestServices: true })((it) => {
    it.effect("a picture that replaces another is read back only after it was sent", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { shop, store } = yield* open
        const product = aProduct()
        const { platformIds } = yield* publish(store, product)
        const before = again(product, platformIds)
        assert.isTrue(Option.isSome(yield* readBack(store, before)))
        const replaced = { ...before, media: [aPicture("sleeve")] }
        assert.isTrue(Option.isNone(yield* readBack(store, replaced)))
        const published = yield* publish(store, replaced)
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, replaced)), published)
        const [sleeve] = replaced.media
        const file = shop.files.get(published.platformIds.get(sleeve?.entityId ?? product.entityId) ?? "")
        assert.strictEqual(file?.alt, "The sleeve")
      })
    )

    it.effect("pictures without platform ids are read back only in the order of the gallery", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { store } = yield* open
        const product = { ...aProduct(), media: [aPicture("front"), aPicture("back")] }
        const published = yield* publish(store, product)
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, product)), published)
        const reordered = { ...product, media: product.media.toReversed() }
        assert.isTrue(Option.isNone(yield* readBack(store, reordered)))
      })
    )
  })
})
