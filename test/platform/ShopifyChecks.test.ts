import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { EntityId } from "../../src/model/Ids.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { Publication } from "../../src/platform/Publication.ts"
import { again, aPicture, aProduct, attributesOf, aVariant, entity } from "../../src/testing/platform/Publications.ts"
import { adminSchema } from "./AdminSchema.ts"
import { layerServer, layerShopify, openShop } from "./PlatformShops.ts"
import { aCollection } from "./ShopifyCatalog.ts"

const withValues = <E extends { readonly attributes: object }>(
  one: E,
  values: Readonly<Record<string, string>>
): E => ({
  ...one,
  attributes: { ...one.attributes, ...attributesOf(values) }
})

const refusal = (code: string, message: string, field: string) => ({ _tag: "PlatformRefused", code, message, field })

const noColour = refusal(
  "OPTION_VALUE_MISSING",
  "The variant JUMPER-M has no value for the option Colour.",
  "optionValues"
)
const noSize = refusal("OPTION_VALUE_MISSING", "The variant THREE has no value for the option Size.", "optionValues")
const tooLong = refusal(
  "ADDRESS_TOO_LONG",
  "The address of the file front.jpg has more than 2048 characters, which stores do not take.",
  "url"
)
const longPicture = withValues(aPicture("front"), { url: `https://pictures.example/${"x".repeat(2_020)}.jpg` })

/** Products of which one variant has a colour and the other none, or a blank one. */
const colourful = (other: string) => {
  const product = withValues(aProduct(), {
    options: '[{"name":"Size","values":["S","M"]},{"name":"Colour","values":["Red"]}]'
  })
  return {
    ...product,
    variants: [withValues(aVariant("S"), { option2: "Red" }), withValues(aVariant("M"), { option2: other })]
  }
}

const refused: Readonly<Record<string, readonly [object, Publication]>> = {
  "a new product with a variant without a value of an option": [noColour, colourful("")],
  "a new product with a variant with a blank value of an option": [noColour, colourful(" ")],
  "a product with a picture whose address is too long": [tooLong, { ...aProduct(), media: [longPicture] }],
  "a picture whose address is too long": [tooLong, Publication.Media({ key: crypto.randomUUID(), ...longPicture })]
}

describe.skipIf(adminSchema === undefined)("what Shopify refuses, and redirects", () => {
  layer(layerShopify().pipe(Layer.provideMerge(layerServer)), { excludeTestServices: true })((it) => {
    for (const [name, [expected, publication]] of Object.entries(refused))
      it.effect(`${name} is refused before anything is sent`, () =>
        Effect.gen(function* () {
          const { publish } = yield* PlatformClient
          const { shop, store } = yield* openShop
          const error = yield* Effect.flip(publish(store, publication))
          assert.deepEqual({ ...error, message: error.message }, expected as never)
          assert.deepStrictEqual([shop.made, shop.products.size, shop.collections.size], [[], 0, 0])
        })
      )

    it.effect(
      "a variant without a value of an option is refused, unless it is live and keeps the one that it has",
      () =>
        Effect.gen(function* () {
          const { publish } = yield* PlatformClient
          const { asked, shop, store } = yield* openShop
          const product = aProduct()
          const { platformIds } = yield* publish(store, product)
          const productPlatformId = platformIds.get(product.entityId) ?? assert.fail("no id")
          const variant = (values: Readonly<Record<string, string>>) =>
            Publication.Variant({ key: crypto.randomUUID(), ...entity({ sku: "THREE", ...values }), productPlatformId })
          const error = yield* Effect.flip(publish(store, variant({})))
          assert.deepEqual({ ...error, message: error.message }, noSize as never)
          assert.notInclude(asked(), "CreateVariants")
          yield* publish(store, variant({ option1: "L" }))
          const [live] = product.variants
          assert(live !== undefined)
          yield* publish(
            store,
            Publication.Variant({
              key: crypto.randomUUID(),
              ...live,
              platformId: platformIds.get(live.entityId) ?? null,
              attributes: attributesOf({ sku: "NEW", price: "1.00" }),
              productPlatformId
            })
          )
          const [first] = [...shop.products.values()].flatMap(({ variantList }) => variantList)
          assert.deepStrictEqual([first?.sku, first?.options], ["NEW", [{ name: "Size", value: "S" }]])
        })
    )

    it.effect("the longest address is sent, and a picture that the store has is not checked", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const start = "https://pictures.example/"
        const longest = withValues(aPicture("front"), { url: `${start}${"x".repeat(2_048 - start.length - 4)}.jpg` })
        const product = { ...aProduct(), media: [longest] }
        const { platformIds } = yield* publish(store, product)
        assert.strictEqual(shop.files.size, 1)
        const next = again(product, platformIds)
        yield* publish(store, {
          ...next,
          media: next.media.map((one) => withValues(one, { url: longPicture.attributes.url?.value ?? "" }))
        })
        assert.strictEqual(shop.files.size, 1)
      })
    )

    const handles = {
      products: () => aProduct(),
      collections: () => aCollection([], { title: "Tents", handle: "keel-jumper" })
    }
    for (const [kind, make] of Object.entries(handles))
      it.effect(`the former address of ${kind} leads to the new one after their handle changed`, () =>
        Effect.gen(function* () {
          const { publish } = yield* PlatformClient
          const { script, shop, store } = yield* openShop
          const publication = make()
          const { platformIds } = yield* publish(store, publication)
          const next = (values: Readonly<Record<string, string>>) =>
            again<Publication>(publication, platformIds as ReadonlyMap<EntityId, string>, values)
          yield* publish(store, next({ title: "Renamed" }))
          // Shopify keeps the handle in this form already.
          yield* publish(store, next({ handle: "Keel Jumper" }))
          assert.deepStrictEqual(shop.redirects, [])
          const changed = next({ handle: "new-jumper" })
          script(kind === "products" ? "SetProduct" : "UpdateCollection", "lost")
          yield* Effect.flip(publish(store, changed))
          yield* publish(store, changed)
          assert.deepStrictEqual(shop.redirects, [{ path: `/${kind}/keel-jumper`, target: `/${kind}/new-jumper` }])
        })
      )
  })
})
