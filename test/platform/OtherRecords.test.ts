import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { EntityId, type StoreId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, Drafts } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { adminSchema } from "./AdminSchema.ts"
import { ShopifyTestServer } from "./PlatformShops.ts"
import { aMerchant, firstProduct, layerMerchants, publishDraft, refreshed, token } from "./ShopifyMerchant.ts"

const newId = mintId(EntityId)

/** A shop with two products and a collection, which the catalog has from a refresh. */
const aRefreshedShop = Effect.gen(function* () {
  const { actor, stores } = yield* aMerchant
  const shop = (yield* ShopifyTestServer).open(token)
  shop.productSet({
    identifier: { handle: "mug" },
    input: {
      title: "Mug",
      handle: "mug",
      productOptions: [{ name: "Size", values: [{ name: "S" }] }],
      variants: [
        {
          price: 5,
          optionValues: [{ optionName: "Size", name: "S" }],
          inventoryItem: { sku: "MUG", requiresShipping: true }
        }
      ]
    }
  })
  shop.productSet({ identifier: { handle: "bowl" }, input: { title: "Bowl", handle: "bowl" } })
  shop.collectionCreate({ collection: { title: "Sale", handle: "sale" } })
  yield* actingAs(actor)(refreshed)
  const [{ id: storeId }] = stores
  return { actor, shop, storeId }
})

type RefreshedShop = Effect.Effect.Success<typeof aRefreshedShop>

const inShop = <E, R>(body: (shop: RefreshedShop) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aRefreshedShop, (shop) => actingAs(shop.actor)(body(shop)))

/** Creates a product with one variant in the catalog. */
const newProduct = (storeId: StoreId, handle: string, sku: string) =>
  Effect.gen(function* () {
    const [id, variantId] = [yield* newId, yield* newId]
    yield* (yield* Drafts).create(
      NewEntity.Product({
        id,
        attributes: [
          { key: "title", value: "Another" },
          { key: "handle", value: handle }
        ],
        variantId,
        variant: [{ key: "sku", value: sku }],
        storeIds: [storeId]
      })
    )
    return id
  })

const titlesOf = ({ shop }: RefreshedShop) => [...shop.products.values()].map(({ values }) => values.title)

describe.skipIf(!serverAnswers || adminSchema === undefined)(
  "a shop's record that belongs to an entity of the catalog",
  () => {
    layer(layerMerchants, { excludeTestServices: true })((it) => {
      it.effect("is not replaced by a new product with the same SKU, which becomes another product", () =>
        inShop((merchant) =>
          Effect.gen(function* () {
            const { storeId } = merchant
            assert.strictEqual(yield* publishDraft(yield* newProduct(storeId, "another", "MUG"), storeId), "published")
            assert.deepStrictEqual(titlesOf(merchant), ["Mug", "Bowl", "Another"])
          })
        )
      )

      it.effect("is not replaced by a new product with the same handle, which the shop refuses", () =>
        inShop((merchant) =>
          Effect.gen(function* () {
            const { storeId } = merchant
            assert.strictEqual(yield* publishDraft(yield* newProduct(storeId, "bowl", "OTHER"), storeId), "failed")
            assert.deepStrictEqual(titlesOf(merchant), ["Mug", "Bowl"])
          })
        )
      )

      it.effect("is not replaced by a new variant of its product with the same SKU", () =>
        inShop(({ shop, storeId }) =>
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const [live] = firstProduct(shop).variantList
            const [product] = yield* sql<{ readonly id: EntityId }>`
            SELECT entity_id AS id FROM store_version WHERE store_id = ${storeId} AND platform_id = ${firstProduct(shop).id}`
            assert(live !== undefined && product !== undefined)
            const id = yield* newId
            yield* (yield* Drafts).create(
              NewEntity.Variant({
                id,
                productId: product.id,
                attributes: [
                  { key: "sku", value: "MUG" },
                  { key: "price", value: "9.00" }
                ],
                optionValues: ["L"],
                firstOption: null
              })
            )
            assert.strictEqual(yield* publishDraft(id, storeId), "published")
            assert.deepInclude(live, { price: "5.00", options: [{ name: "Size", value: "S" }] })
            assert.lengthOf(firstProduct(shop).variantList, 2)
          })
        )
      )

      it.effect("is not replaced by a new collection with the same handle", () =>
        inShop(({ shop, storeId }) =>
          Effect.gen(function* () {
            const id = yield* newId
            const attributes = ["title", "handle"].map((key) => ({ key, value: key === "title" ? "Our sale" : "sale" }))
            yield* (yield* Drafts).create(NewEntity.Collection({ id, attributes, storeIds: [storeId] }))
            yield* publishDraft(id, storeId)
            const titles = [...shop.collections.values()].map(({ values }) => values.title)
            assert.strictEqual(titles[0], "Sale")
          })
        )
      )
    })
  }
)
