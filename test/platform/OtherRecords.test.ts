import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { EntityId, type StoreId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anEntity, CatalogChange, CatalogChanges, Drafts, Publishing } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { adminSchema } from "./AdminSchema.ts"
import { ShopifyTestServer } from "./PlatformShops.ts"
import {
  aMerchant,
  domain,
  firstProduct,
  layerMerchants,
  publishDraft,
  quiet,
  refreshed,
  token
} from "./ShopifyMerchant.ts"
import type { ShopifyShop } from "./ShopifyShop.ts"

const newId = mintId(EntityId)

/** A product that the shop's staff creates. */
const aProductOfStaff = (shop: ShopifyShop) =>
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
  }).product ?? assert.fail("no product")

/** A shop with two products and a collection, which the catalog has from a refresh. */
const aRefreshedShop = Effect.gen(function* () {
  const { actor, stores } = yield* aMerchant
  const shop = (yield* ShopifyTestServer).open(token)
  aProductOfStaff(shop)
  shop.productSet({ identifier: { handle: "bowl" }, input: { title: "Bowl", handle: "bowl" } })
  shop.collectionCreate({ collection: { title: "Sale", handle: "sale" } })
  yield* actingAs(actor)(refreshed)
  const [{ id: storeId }] = stores
  return { actor, shop, storeId, stores }
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

/** An empty shop, which the catalog has refreshed. */
const inUnreadShop = <E, R>(body: (shop: RefreshedShop) => Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const { actor, stores } = yield* aMerchant
    const shop = (yield* ShopifyTestServer).open(token)
    const [{ id: storeId }] = stores
    yield* Effect.zipRight(refreshed, body({ actor, shop, storeId, stores })).pipe(actingAs(actor))
  })

/** Publishes the draft of an entity. Returns the outcome with its error. */
const outcomeOf = (id: EntityId, storeId: StoreId) =>
  Effect.gen(function* () {
    const { request, settle } = yield* Publishing
    const asked = yield* request(id, storeId)
    if (asked.outcome === "nothing_to_publish") return assert.fail(asked.outcome)
    const [record] = yield* settle([asked.publicationId], quiet)
    return { state: record?.state, error: record?.error }
  })

const unread = (name: string, key: string) => ({
  state: "failed" as const,
  error: {
    code: "RECORD_NOT_READ",
    message: `In the store, ${name} has the same ${key}, and no refresh has read it. Nothing was changed there. Refresh the store, then decide which values stay, or change the ${key}.`
  }
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

describe.skipIf(!serverAnswers || adminSchema === undefined)("a record of a shop that no refresh has read", () => {
  layer(layerMerchants, { excludeTestServices: true })((it) => {
    for (const [key, handle, sku] of [
      ["handle", "mug", "OTHER"],
      ["SKU", "other", "MUG"]
    ] as const)
      it.effect(
        `refuses a new product with its ${key}, and becomes one with it by a refresh that asks for conflicts`,
        () =>
          inUnreadShop((merchant) =>
            Effect.gen(function* () {
              const { shop, storeId } = merchant
              const imports = yield* Imports
              const { id: platformId } = aProductOfStaff(shop)
              const before = structuredClone(firstProduct(shop))
              const id = yield* newProduct(storeId, handle, sku)
              for (const _ of [1, 2])
                assert.deepStrictEqual(yield* outcomeOf(id, storeId), unread(`Mug (${platformId})`, key))
              assert.deepStrictEqual([[...shop.products.keys()], firstProduct(shop)], [[platformId], before])
              const { id: run, summary } = yield* imports.refresh(domain, quiet)
              assert.isAbove(summary.conflicts, 0)
              const conflicts = yield* imports.conflicts(run, 0, 50)
              assert.deepInclude(
                conflicts.map(({ draft_value, field, store_value }) => ({ draft_value, field, store_value })),
                { draft_value: "Another", field: "title", store_value: "Mug" }
              )
              yield* imports.accept(run, quiet, { rest: "keep_draft" })
              assert.deepStrictEqual(yield* outcomeOf(id, storeId), { state: "published", error: null })
              assert.deepStrictEqual(titlesOf(merchant), ["Another"])
            })
          )
      )

    it.effect("refuses a new variant with its SKU or option values", () =>
      inUnreadShop(({ shop, storeId }) =>
        Effect.gen(function* () {
          aProductOfStaff(shop)
          yield* refreshed
          const sql = yield* SqlClient.SqlClient
          const { id: shopId } = firstProduct(shop)
          const [product] = yield* sql<{ readonly id: EntityId }>`
            SELECT entity_id AS id FROM store_version WHERE store_id = ${storeId} AND platform_id = ${shopId}`
          assert(product !== undefined)
          shop.variantsBulkCreate({
            productId: shopId,
            variants: ["L", "XL"].map((name) => ({
              price: 7,
              optionValues: [{ optionName: "Size", name }],
              inventoryItem: { sku: `MUG-${name}` }
            }))
          })
          const before = structuredClone(firstProduct(shop).variantList)
          const [, large, larger] = before
          const publishNew = (sku: string, size: string) =>
            Effect.gen(function* () {
              const id = yield* newId
              yield* (yield* Drafts).create(
                NewEntity.Variant({
                  id,
                  productId: product.id,
                  attributes: [
                    { key: "sku", value: sku },
                    { key: "price", value: "9.00" }
                  ],
                  optionValues: [size],
                  firstOption: null
                })
              )
              return yield* outcomeOf(id, storeId)
            })
          assert.deepStrictEqual(yield* publishNew("MUG-L", "M"), unread(`L (${large?.id})`, "SKU"))
          assert.deepStrictEqual(yield* publishNew("OTHER", "XL"), unread(`XL (${larger?.id})`, "option values"))
          assert.deepStrictEqual(firstProduct(shop).variantList, before)
        })
      )
    )

    it.effect("refuses a new collection with its handle, and becomes one with it by a refresh", () =>
      inUnreadShop(({ shop, storeId }) =>
        Effect.gen(function* () {
          const { collection } = shop.collectionCreate({ collection: { title: "Sale", handle: "sale" } })
          const id = yield* newId
          const attributes = ["title", "handle"].map((key) => ({ key, value: key === "title" ? "Our sale" : "sale" }))
          yield* (yield* Drafts).create(NewEntity.Collection({ id, attributes, storeIds: [storeId] }))
          assert.deepStrictEqual(yield* outcomeOf(id, storeId), unread(`Sale (${collection?.id})`, "handle"))
          const titles = () => [...shop.collections.values()].map(({ values }) => values.title)
          assert.deepStrictEqual(titles(), ["Sale"])
          const imports = yield* Imports
          const { id: run, summary } = yield* imports.refresh(domain, quiet)
          assert.isAbove(summary.conflicts, 0)
          yield* imports.accept(run, quiet, { rest: "keep_draft" })
          assert.deepStrictEqual(yield* outcomeOf(id, storeId), { state: "published", error: null })
          assert.deepStrictEqual(titles(), ["Our sale"])
        })
      )
    )

    it.effect("refuses a video of another site with another alt text at its address, alone and in a gallery", () =>
      inUnreadShop(({ shop, storeId, stores }) =>
        Effect.gen(function* () {
          const url = "https://video.example/knitting"
          const file = shop.makeFile({ contentType: "EXTERNAL_VIDEO", originalSource: url, alt: "Of the shop" })
          const on = { on: stores }
          const video = yield* anEntity("media", { url, mime_type: "text/html", alt: "Ours" }, on)
          const product = yield* anEntity("product", { title: "Wool", handle: "wool" }, on)
          const entries = [{ mediaId: video, storeIds: [storeId] }]
          yield* (yield* CatalogChanges).apply([CatalogChange.SetGallery({ entityId: product, entries })])
          for (const each of [video, product])
            assert.deepStrictEqual(yield* outcomeOf(each, storeId), unread(`Of the shop (${file.id})`, "address"))
          assert.deepStrictEqual([...shop.files.values()], [file])
          assert.strictEqual(file.alt, "Of the shop")
          assert.strictEqual(shop.products.size, 0)
          const same = yield* anEntity("media", { url, mime_type: "text/html", alt: "Of the shop" }, on)
          assert.strictEqual((yield* outcomeOf(same, storeId)).state, "published")
          assert.strictEqual(shop.files.size, 1)
          // The catalog has the file now, so another entity at the address gets a file of its own.
          assert.strictEqual((yield* outcomeOf(product, storeId)).state, "published")
          assert.deepStrictEqual([...shop.files.values()].map(({ alt }) => alt).sort(), ["Of the shop", "Ours"])
        })
      )
    )
  })
})
