import { assert, describe, layer } from "@effect/vitest"
import { Chunk, Effect, Layer, Option, Stream } from "effect"
import { PublicationId } from "../../src/model/Ids.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { type ProductPublication, Publication } from "../../src/platform/Publication.ts"
import { again, aProduct, attributesOf, entity } from "../../src/testing/platform/Publications.ts"
import { adminSchema } from "./AdminSchema.ts"
import { layerServer, layerShopify, openShop, tokenOf } from "./PlatformShops.ts"
import type { Product } from "./ShopifyShop.ts"

const firstOption = { name: "Size", former: "S" }
const options = '[{"name":"Size","values":["S","L"]}]'
const key = () => PublicationId.make(crypto.randomUUID())

/** A product that is live without options, and publications of it and its variants after a variant gave it its first option. */
const aLiveProduct = Effect.gen(function* () {
  const { publish } = yield* PlatformClient
  const opened = yield* openShop
  const only = entity({ title: "Default Title", option1: "Default Title", price: "1.00" })
  const first = {
    ...aProduct(),
    attributes: attributesOf({ title: "Mug", handle: "mug" }),
    variants: [only],
    media: []
  }
  const { platformIds } = yield* publish(opened.store, first)
  const [live] = opened.shop.products.values()
  assert(live !== undefined)
  const [variant] = live.variantList
  assert(variant !== undefined)
  const sent = again(first, platformIds, { options, title: "Big mug" })
  const named = {
    ...only,
    platformId: variant.id,
    attributes: { ...only.attributes, ...attributesOf({ option1: "S" }) }
  }
  const aVariantOf = (own: typeof only) =>
    Publication.Variant({ key: key(), ...own, productPlatformId: live.id, firstOption })
  return {
    ...opened,
    first,
    live,
    formerId: variant.id,
    product: { ...sent, firstOption, variants: [named] },
    former: aVariantOf(named),
    added: aVariantOf(entity({ option1: "L", sku: "MUG-L" }))
  }
})

type Shop = Effect.Effect.Success<typeof aLiveProduct>

interface Options {
  readonly options: Product["optionList"]
  readonly variants: ReadonlyArray<readonly [string | undefined, VariantOptions]>
}
type VariantOptions = Product["variantList"][number]["options"]

const optionsIn = ({ live }: Shop): Options => ({
  options: live.optionList,
  variants: live.variantList.map(({ id, options: own }) => [id, own])
})

const named = ({ formerId }: Shop, ...others: ReadonlyArray<readonly [string | undefined, string]>): Options => {
  const variants = [[formerId, "S"] as const, ...others]
  return {
    options: [{ name: "Size", values: variants.map(([, value]) => value) }],
    variants: variants.map(([id, value]) => [id, [{ name: "Size", value }]])
  }
}

const calls = ({ asked }: Shop, name: string) => asked().filter((each) => each === name).length

describe.skipIf(adminSchema === undefined)("the first option of a product that is live on Shopify", () => {
  layer(layerShopify().pipe(Layer.provideMerge(layerServer)), { excludeTestServices: true })((it) => {
    it.effect("is given by the publish of the product, once, and its variant stays the same", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const shop = yield* aLiveProduct
        const published = yield* publish(shop.store, shop.product)
        assert.deepStrictEqual(optionsIn(shop), named(shop))
        assert.strictEqual(shop.live.values.title, "Big mug")
        assert.deepStrictEqual(yield* publish(shop.store, shop.product), published)
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(shop.store, shop.product)), published)
        assert.strictEqual(calls(shop, "UpdateOption"), 1)
        assert.deepStrictEqual(optionsIn(shop), named(shop))
      })
    )

    it.effect("is given by the publish of the new variant alone", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const shop = yield* aLiveProduct
        const published = yield* publish(shop.store, shop.added)
        const id = published.platformIds.get(shop.added.entityId)
        assert.deepStrictEqual(optionsIn(shop), named(shop, [id, "L"]))
        assert.deepStrictEqual(yield* publish(shop.store, shop.added), published)
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(shop.store, shop.added)), published)
        assert.deepStrictEqual([calls(shop, "UpdateOption"), calls(shop, "CreateVariants")], [1, 1])
        assert.deepStrictEqual(optionsIn(shop), named(shop, [id, "L"]))
        assert.strictEqual(shop.live.values.title, "Mug")
      })
    )

    const orders = [
      ["product", "former", "added"],
      ["product", "added", "former"],
      ["former", "product", "added"],
      ["former", "added", "product"],
      ["added", "product", "former"],
      ["added", "former", "product"]
    ] as const
    for (const order of orders)
      it.effect(`is the same after publishes in the order ${order.join(", ")}`, () =>
        Effect.gen(function* () {
          const { publish } = yield* PlatformClient
          const shop = yield* aLiveProduct
          for (const name of order) yield* publish(shop.store, shop[name])
          const id = shop.live.variantList.find(({ sku }) => sku === "MUG-L")?.id
          assert.deepStrictEqual(optionsIn(shop), named(shop, [id, "L"]))
          assert.strictEqual(calls(shop, "UpdateOption"), 1)
        })
      )

    for (const [part, operation] of [
      ["product", "SetProduct"],
      ["former", "UpdateVariants"],
      ["added", "CreateVariants"]
    ] as const)
      it.effect(`is not given again if the publish (${part}) ended after it, and the rest follows`, () =>
        Effect.gen(function* () {
          const { publish, readBack } = yield* PlatformClient
          const shop = yield* aLiveProduct
          const changed = {
            ...shop[part],
            attributes: { ...shop[part].attributes, ...attributesOf({ price: "3.00" }) }
          }
          shop.script(operation, "server", 9)
          assert.strictEqual((yield* Effect.flip(publish(shop.store, changed)))._tag, "PlatformOutcomeUnknown")
          assert.deepStrictEqual(optionsIn(shop), named(shop))
          assert.isTrue(Option.isNone(yield* readBack(shop.store, changed)))
          shop.server.repair(tokenOf(shop.store))
          const published = yield* publish(shop.store, changed)
          assert.deepStrictEqual(Option.getOrNull(yield* readBack(shop.store, changed)), published)
          assert.strictEqual(calls(shop, "UpdateOption"), 1)
        })
      )

    it.effect("is missing in the store if its call did not arrive, so the product is sent again", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const shop = yield* aLiveProduct
        // Nothing but the option differs from what the store has.
        const { firstOption: _, ...rest } = again(shop.product, new Map([[shop.product.entityId, shop.live.id]]), {
          title: "Mug"
        })
        const without = { ...rest, variants: shop.product.variants } satisfies ProductPublication
        const product = { ...without, firstOption }
        shop.script("UpdateOption", "cut")
        assert.strictEqual((yield* Effect.flip(publish(shop.store, product)))._tag, "PlatformOutcomeUnknown")
        assert.isTrue(Option.isSome(yield* readBack(shop.store, without)))
        assert.isTrue(Option.isNone(yield* readBack(shop.store, product)))
        const published = yield* publish(shop.store, product)
        assert.deepStrictEqual(optionsIn(shop), named(shop))
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(shop.store, product)), published)
      })
    )

    it.effect(
      "is not given to a product that has another option in the store, and no variant is added under that option",
      () =>
        Effect.gen(function* () {
          const { publish } = yield* PlatformClient
          const shop = yield* aLiveProduct
          shop.live.optionList = [{ name: "Color", values: ["Red"] }]
          for (const variant of shop.live.variantList) variant.options = [{ name: "Color", value: "Red" }]
          const before = optionsIn(shop)
          for (const variant of [shop.former, shop.added]) {
            const refused = yield* Effect.flip(publish(shop.store, variant))
            assert.deepEqual({ ...refused, message: refused.message }, {
              _tag: "PlatformRefused",
              code: "OTHER_OPTIONS",
              message: "The product has other options in the store. Refresh the store, then publish again.",
              field: null
            } as never)
          }
          assert.deepStrictEqual([calls(shop, "UpdateVariants"), calls(shop, "CreateVariants")], [0, 0])
          yield* publish(shop.store, shop.product)
          assert.strictEqual(shop.live.values.title, "Big mug")
          assert.strictEqual(calls(shop, "UpdateOption"), 0)
          assert.deepStrictEqual(optionsIn(shop), before)
        })
    )

    it.effect("stays if an earlier publish request of its variant is sent after it", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const shop = yield* aLiveProduct
        yield* publish(shop.store, shop.product)
        const { firstOption: _, ...rest } = shop.former
        const earlier = { ...rest, attributes: attributesOf({ option1: "Default Title", price: "3.00" }) }
        const published = yield* publish(shop.store, earlier)
        assert.deepStrictEqual(optionsIn(shop), named(shop))
        assert.strictEqual(shop.live.variantList[0]?.price, "3.00")
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(shop.store, earlier)), published)
      })
    )

    it.effect("may be named Title, and stays if an earlier publish request of its variant is sent after it", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const shop = yield* aLiveProduct
        yield* publish(shop.store, { ...shop.added, firstOption: { name: "Title", former: "S" } })
        const { firstOption: _, ...rest } = shop.former
        const earlier = { ...rest, attributes: attributesOf({ option1: "Default Title", price: "3.00" }) }
        yield* publish(shop.store, earlier)
        assert.deepStrictEqual(shop.live.optionList, [{ name: "Title", values: ["S", "L"] }])
        assert.deepStrictEqual(
          shop.live.variantList.map(({ options: own, price }) => [own, price]),
          [
            [[{ name: "Title", value: "S" }], "3.00"],
            [[{ name: "Title", value: "L" }], "0.00"]
          ]
        )
      })
    )

    it.effect("is given to a product that is known from a file only, whose variant has neither our id nor a SKU", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const shop = yield* aLiveProduct
        for (const owner of [shop.live, ...shop.live.variantList]) owner.metafieldValues = []
        const [variant] = shop.product.variants
        assert(variant !== undefined)
        const product = {
          ...shop.product,
          platformId: null,
          isAccepted: true,
          variants: [{ ...variant, platformId: null }]
        }
        const published = yield* publish(shop.store, product)
        assert.deepStrictEqual(published.platformIds.get(variant.entityId), shop.formerId)
        assert.deepStrictEqual(optionsIn(shop), {
          options: [{ name: "Size", values: ["S", "L"] }],
          variants: named(shop).variants
        })
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(shop.store, product)), published)
      })
    )

    it.effect("is given by the next publish if the store took only a part of the first one", () =>
      Effect.gen(function* () {
        const { publish, pull } = yield* PlatformClient
        const { script, shop, store } = yield* openShop
        const only = entity({ title: "Default Title", option1: "Default Title", sku: "MUG" })
        const first = { ...aProduct(), variants: [only], media: [] }
        script("SetMetafields", "refused")
        assert.strictEqual((yield* Effect.flip(publish(store, first)))._tag, "PlatformRefused")
        const [before] = [...shop.products.values()].flatMap(({ variantList }) => variantList)
        const small = { ...only, attributes: { ...only.attributes, ...attributesOf({ option1: "S" }) } }
        const attributes = { ...first.attributes, ...attributesOf({ options }) }
        yield* publish(store, { ...first, key: key(), attributes, variants: [small, entity({ option1: "L" })] })
        const records = Chunk.toReadonlyArray(yield* Stream.runCollect(pull(store)))
        assert.deepStrictEqual(
          records.map(({ attributes: { option1, options: all } }) => (all ?? option1)?.value),
          [options, "S", "L"]
        )
        assert.strictEqual(records[1]?.platformId, before?.id)
      })
    )
  })
})
