import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, CatalogChange, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { adminSchema } from "./AdminSchema.ts"
import { ShopifyTestServer } from "./PlatformShops.ts"
import { aMerchant, firstProduct, layerMerchants, publishDraft, quiet, refreshed, token } from "./ShopifyMerchant.ts"

const newId = mintId(EntityId)

/** A product that is live without options. `former`: its only variant. */
const aLiveProduct = Effect.gen(function* () {
  const { actor, stores } = yield* aMerchant
  const shop = (yield* ShopifyTestServer).open(token)
  const [{ id: storeId }] = stores
  const [product, former, added] = [yield* newId, yield* newId, yield* newId]
  yield* Effect.gen(function* () {
    yield* (yield* Drafts).create(
      NewEntity.Product({
        id: product,
        attributes: [{ key: "title", value: "Mug" }],
        variantId: former,
        variant: [{ key: "price", value: "1.00" }],
        storeIds: [storeId]
      })
    )
    assert.strictEqual(yield* publishDraft(product, storeId), "published")
  }).pipe(actingAs(actor))
  return { actor, storeId, product, former, added, live: firstProduct(shop) }
})

type LiveProduct = Effect.Effect.Success<typeof aLiveProduct>

/** The draft gets a second variant, and with it the option "Size". */
const addVariant = ({ added, product }: LiveProduct) =>
  Effect.flatMap(Drafts, (drafts) =>
    drafts.create(
      NewEntity.Variant({
        id: added,
        productId: product,
        attributes: [],
        optionValues: ["L"],
        firstOption: { name: "Size", former: "S" }
      })
    )
  )

/** Publishes an option value of the live variant, as a drop does. `override`: the store's draft; the end of a drop has none. */
const dropValue = ({ former, storeId }: LiveProduct, option1: string, override: string | null = option1) =>
  Effect.gen(function* () {
    const { requestValues, settle } = yield* Publishing
    yield* (yield* CatalogChanges).apply([
      CatalogChange.SetOverrides({ entityId: former, storeId, values: { option1: override } })
    ])
    const asked = yield* requestValues(former, storeId, { option1 }, { isTakenBack: true })
    assert(asked.outcome === "requested")
    const [record] = yield* settle([asked.publicationId], quiet)
    assert.strictEqual(record?.state, "published")
  })

const inProduct = <E, R>(body: (product: LiveProduct) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aLiveProduct, (product) => actingAs(product.actor)(body(product)))

describe.skipIf(!serverAnswers || adminSchema === undefined)("the first option of a live product", () => {
  layer(layerMerchants, { excludeTestServices: true })((it) => {
    it.effect("has its name also if a drop sends its value first, and later variants come under it", () =>
      inProduct((product) =>
        Effect.gen(function* () {
          const { added, live, storeId } = product
          const [before] = live.variantList.map(({ id }) => id)
          yield* addVariant(product)
          yield* dropValue(product, "M")
          assert.deepStrictEqual(live.optionList, [{ name: "Size", values: ["M"] }])
          assert.strictEqual(yield* publishDraft(added, storeId), "published")
          assert.deepStrictEqual(live.optionList, [{ name: "Size", values: ["M", "L"] }])
          assert.deepStrictEqual(
            live.variantList.map(({ id, options }) => [id === before, options]),
            [
              [true, [{ name: "Size", value: "M" }]],
              [false, [{ name: "Size", value: "L" }]]
            ]
          )
        })
      )
    )

    for (const name of ["product", "added"] as const)
      it.effect(
        `has its live variant's value also for a refresh after the publish (${name}), so a new value is no conflict`,
        () =>
          inProduct((product) =>
            Effect.gen(function* () {
              const { former, live, storeId } = product
              const drafts = yield* Drafts
              const option1 = Effect.map(
                drafts.get(former, storeId),
                ({ attributes }) => attributes.find(({ key }) => key === "option1")?.value
              )
              yield* addVariant(product)
              assert.strictEqual(yield* publishDraft(product[name], storeId), "published")
              yield* (yield* CatalogChanges).apply([
                CatalogChange.SetAttributes({ entityId: former, values: { option1: "XS", title: "XS" } })
              ])
              assert.deepInclude((yield* refreshed).summary, { created: 0, conflicts: 0, unlinked: 0 })
              assert.strictEqual(yield* option1, "XS")
              assert.strictEqual(yield* publishDraft(former, storeId), "published")
              assert.deepStrictEqual(live.variantList[0]?.options, [{ name: "Size", value: "XS" }])
            })
          )
      )

    it.effect("is no conflict of a refresh if its new variant was taken off the store again", () =>
      inProduct((product) =>
        Effect.gen(function* () {
          const { added, former, live, storeId } = product
          const drafts = yield* Drafts
          yield* addVariant(product)
          yield* drafts.removeStoreVersion(added, storeId)
          assert.strictEqual(yield* publishDraft(former, storeId), "published")
          assert.deepStrictEqual(live.optionList, [{ name: "Size", values: ["S"] }])
          const options = Effect.map(
            drafts.get(product.product, null),
            ({ attributes }) => attributes.find(({ key }) => key === "options")?.value
          )
          for (const publishes of [[], [product.product]]) {
            for (const id of publishes) assert.strictEqual(yield* publishDraft(id, storeId), "nothing_to_publish")
            assert.deepInclude((yield* refreshed).summary, { created: 0, conflicts: 0, unlinked: 0 })
            assert.strictEqual(yield* options, '[{"name":"Size","values":["S","L"]}]')
          }
          // An option value that no variant of the catalog has is an edit in the store.
          live.optionList = [{ name: "Size", values: ["S", "M"] }]
          yield* refreshed
          assert.strictEqual(yield* options, '[{"name":"Size","values":["S","M"]}]')
        })
      )
    )

    it.effect("keeps its name when that drop has ended", () =>
      inProduct((product) =>
        Effect.gen(function* () {
          const { added, former, live, storeId } = product
          yield* addVariant(product)
          yield* dropValue(product, "M")
          yield* dropValue(product, "Default Title", null)
          for (const id of [added, former]) assert.strictEqual(yield* publishDraft(id, storeId), "published")
          assert.deepStrictEqual(
            live.variantList.map(({ options }) => options),
            ["S", "L"].map((value) => [{ name: "Size", value }])
          )
        })
      )
    )
  })
})
