import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Catalog } from "../../src/catalog/Catalog.ts"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { DefinitionsRepo } from "../../src/drafts/DefinitionsRepo.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import { EntityId, nilUuid, RecordId, type StoreId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Drafts,
  definedAs,
  Publishing,
  Stores
} from "../../src/testing/index.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

const nobody = EntityId.make(nilUuid)

const copyWith = (
  id: EntityId,
  productId: EntityId,
  storeIds: ReadonlyArray<StoreId>,
  title: string | null = "Copy of Tent"
) =>
  Effect.flatMap(Drafts, (drafts) =>
    drafts.create(NewEntity.Copy({ id, productId, storeIds, attributes: [{ key: "title", value: title }] }))
  )

/** Copies a product. Returns the id of the copy. */
const copy = (productId: EntityId, storeIds: ReadonlyArray<StoreId> = []) =>
  Effect.tap(mintId(EntityId), (id) => copyWith(id, productId, storeIds))

const textsOf = (attributes: Readonly<Record<string, { readonly value: string }>>) =>
  Object.fromEntries(Object.entries(attributes).map(([key, { value }]) => [key, value]))

/** The values of an entity, those of each store by domain, and its pictures. */
const contentOf = (id: EntityId) =>
  Effect.map(
    Effect.flatMap(Drafts, (drafts) => drafts.sheet(id)),
    ({ attributes, gallery, stores }) => ({
      values: textsOf(attributes),
      gallery,
      stores: Object.fromEntries(
        stores.map(({ overrides, projection }) => [projection.store_domain, textsOf(overrides)])
      )
    })
  )

const variantsOf = (id: EntityId) =>
  Effect.map(
    Effect.flatMap(Catalog, (catalog) => catalog.get("product", id)),
    ({ variantIds }) => variantIds
  )

/** A product with two variants, values of its stores, a metafield and pictures; the second variant is on the first store only. */
const aTent = ([a, b]: readonly [Store, Store]) =>
  Effect.gen(function* () {
    const drafts = yield* Drafts
    const values = {
      title: "Tent",
      handle: "tent",
      vendor: "Hill",
      status: "active",
      seo_title: "Tent",
      "custom.fabric": "Cotton"
    }
    const options = '[{"name":"Size","values":["S","L"]}]'
    const product = yield* anEntity("product", { ...values, options }, { on: [a, b] })
    const small = yield* anEntity(
      "variant",
      { title: "S", option1: "S", sku: "T-1", barcode: "40", price: "10" },
      { on: [a, b], of: product }
    )
    const large = yield* anEntity("variant", { title: "L", option1: "L", sku: "T-2" }, { on: [a], of: product })
    const [front, inside] = [
      yield* anEntity("media", { url: "https://cdn.example/front.png" }, { on: [a, b] }),
      yield* anEntity("media", { url: "https://cdn.example/inside.png" }, { on: [b] })
    ]
    yield* (yield* CatalogChanges).apply([
      CatalogChange.SetGallery({
        entityId: product,
        entries: [
          { mediaId: inside, storeIds: [b.id] },
          { mediaId: front, storeIds: [a.id, b.id] }
        ]
      }),
      CatalogChange.SetGallery({ entityId: small, entries: [{ mediaId: inside, storeIds: [b.id] }] })
    ])
    const override = (id: EntityId, overrides: Readonly<Record<string, string>>) =>
      Effect.flatMap(drafts.get(id, b.id), ({ draft_revision }) =>
        drafts.updateVersionAttributes(id, b.id, {
          draft_revision,
          attributes: Object.entries(overrides).map(([key, value]) => ({ key, value }))
        })
      )
    yield* override(product, { title: "Zelt", handle: "zelt", vendor: "" })
    yield* override(small, { sku: "Z-1", price: "12" })
    return { product, small, large, front, inside }
  })

const inAccount = <E, R>(body: (stores: readonly [Store, Store]) => Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
    yield* actingAs(actor)(body([stores[0], stores[1]]))
  })

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`products are copied, on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect(
        "a copy has the values, variants and pictures of the original, and values that name it of its own",
        () =>
          inAccount((stores) =>
            Effect.gen(function* () {
              const [a, b] = stores
              const { front, inside, product, small } = yield* aTent(stores)
              const before = yield* Effect.forEach([product, small], contentOf)
              const id = yield* mintId(EntityId)
              const state = yield* copyWith(id, product, [a.id, b.id])
              assert.deepStrictEqual(state, {
                entity_id: id,
                entity_type: "product",
                draft_revision: 1,
                pending_publish: true,
                stores: [
                  { store_id: a.id, pending_publish: true },
                  { store_id: b.id, pending_publish: true }
                ]
              })
              assert.deepStrictEqual(yield* contentOf(id), {
                values: {
                  title: "Copy of Tent",
                  handle: "copy-of-tent",
                  vendor: "Hill",
                  status: "active",
                  "custom.fabric": "Cotton",
                  options: '[{"name":"Size","values":["S","L"]}]'
                },
                gallery: [
                  { mediaId: inside, storeIds: [b.id] },
                  { mediaId: front, storeIds: [a.id, b.id] }
                ],
                stores: { "a.example": {}, "b.example": { vendor: "" } }
              })
              const [first = nobody, second = nobody, ...more] = yield* variantsOf(id)
              assert.deepStrictEqual(more, [])
              assert.deepStrictEqual(yield* contentOf(first), {
                values: { title: "S", option1: "S", price: "10" },
                gallery: [{ mediaId: inside, storeIds: [b.id] }],
                stores: { "a.example": {}, "b.example": { price: "12" } }
              })
              assert.deepStrictEqual(yield* contentOf(second), {
                values: { title: "L", option1: "L" },
                gallery: [],
                stores: { "a.example": {} }
              })
              assert.deepStrictEqual(yield* Effect.forEach([product, small], contentOf), before)
              const history = yield* (yield* Drafts).history(id, 1)
              assert.deepStrictEqual(
                history.map(({ draft_revision }) => draft_revision),
                [1]
              )
            })
          )
      )
      it.effect("a copy is on the chosen stores only, and a second one gets another handle", () =>
        inAccount((stores) =>
          Effect.gen(function* () {
            const [a] = stores
            const { front, inside, product } = yield* aTent(stores)
            const there = yield* contentOf(yield* copy(product, [a.id]))
            assert.deepStrictEqual(there.stores, { "a.example": {} })
            assert.deepStrictEqual(there.gallery, [
              { mediaId: inside, storeIds: [] },
              { mediaId: front, storeIds: [a.id] }
            ])
            const nowhere = yield* contentOf(yield* copy(product))
            assert.deepStrictEqual([nowhere.stores, nowhere.values.handle], [{}, "copy-of-tent-2"])
          })
        )
      )
      it.effect("a copy of a live product, and a copy of that, are published as products of their own", () =>
        inAccount(() =>
          Effect.gen(function* () {
            const { store } = yield* (yield* Stores).link({ domain: "a.demo.example", platform: "demo" })
            const on = [store]
            const original = yield* anEntity("product", { title: "Tent", handle: "tent" }, { on })
            const picture = yield* anEntity("media", { url: "https://cdn.example/front.png" }, { on })
            for (const option1 of ["S", "L"])
              yield* anEntity("variant", { title: option1, option1, sku: option1, price: "10" }, { on, of: original })
            yield* (yield* CatalogChanges).apply([
              CatalogChange.SetGallery({ entityId: original, entries: [{ mediaId: picture, storeIds: [store.id] }] })
            ])
            const { request, settle } = yield* Publishing
            const publish = (id: EntityId) =>
              Effect.gen(function* () {
                const asked = yield* request(id, store.id)
                assert(asked.outcome === "requested")
                const [record] = yield* settle([asked.publicationId], () => Effect.void)
                assert.strictEqual(record?.state, "published")
              })
            const { accountId } = yield* CurrentActor
            const versionsOf = (id: EntityId) =>
              Effect.gen(function* () {
                const ids = [id, ...(yield* variantsOf(id))]
                const { aggregates } = yield* (yield* DraftsRepo).read(accountId, ids, [])
                return ids.map((each) => aggregates.get(each)?.versions[0])
              })
            yield* publish(original)
            const first = yield* copy(original, [store.id])
            const second = yield* copy(first, [store.id])
            const never = {
              accepted: null,
              platformId: null,
              lastPublishStatus: "never_published",
              publishedAt: null,
              mayBeLive: false,
              pendingPublish: true
            } as const
            for (const version of [...(yield* versionsOf(first)), ...(yield* versionsOf(second))])
              assert.deepInclude(version, never)
            for (const id of [first, second]) yield* publish(id)
            const live = yield* Effect.map(Effect.forEach([original, first, second], versionsOf), (all) => all.flat())
            assert.lengthOf([...new Set(live.map((version) => version?.platformId))], 9)
            for (const version of live)
              assert.deepInclude(version, { lastPublishStatus: "published", pendingPublish: false })
            const values = yield* contentOf(second)
            assert.deepStrictEqual(values.gallery, [{ mediaId: picture, storeIds: [store.id] }])
            assert.strictEqual(values.values.handle, "copy-of-tent-2")
          })
        )
      )
      it.effect(
        "metafields of the type id, and those with unique values, are not copied, because a shop refuses a second one with the same value",
        () =>
          inAccount(([a]) =>
            Effect.gen(function* () {
              const types = { "custom.number": "id", "custom.fabric": "single_line_text_field" }
              const { accountId } = yield* CurrentActor
              const definitions = yield* DefinitionsRepo
              for (const kind of ["product", "variant"] as const) {
                yield* definedAs(kind, types)
                yield* definitions.define(accountId, yield* mintId(RecordId), {
                  owner_type: kind,
                  namespace: "custom",
                  key: "serial",
                  name: "Serial",
                  description: null,
                  type: "single_line_text_field",
                  // As a refresh reads it from Shopify.
                  validations: [{ name: "unique_values", type: "boolean", value: "true" }]
                })
              }
              const values = { "custom.number": "4711", "custom.serial": "S-1", "custom.fabric": "Cotton" }
              const product = yield* anEntity("product", { title: "Tent", ...values }, { on: [a] })
              const variant = yield* anEntity("variant", { title: "S", ...values }, { on: [a], of: product })
              for (const entityId of [product, variant])
                yield* (yield* CatalogChanges).apply([
                  CatalogChange.SetOverrides({
                    entityId,
                    storeId: a.id,
                    values: { "custom.number": "4712", "custom.serial": "S-2", "custom.fabric": "Wool" }
                  })
                ])
              const id = yield* copy(product, [a.id])
              const stores = { "a.example": { "custom.fabric": "Wool" } }
              assert.deepInclude(yield* contentOf(id), {
                values: { title: "Copy of Tent", handle: "copy-of-tent", "custom.fabric": "Cotton" },
                stores
              })
              const [first = nobody] = yield* variantsOf(id)
              assert.deepInclude(yield* contentOf(first), { values: { title: "S", "custom.fabric": "Cotton" }, stores })
            })
          )
      )
      it.effect("a refused copy writes nothing", () =>
        inAccount((stores) =>
          Effect.gen(function* () {
            const [a, b] = stores
            const { product, small } = yield* aTent(stores)
            const onOne = yield* anEntity("product", { title: "Map" }, { on: [a] })
            const refusal = (write: ReturnType<typeof copyWith>) =>
              Effect.map(Effect.flip(write), (error) => ("issues" in error ? error.issues : error._tag))
            const at = (
              productId: EntityId,
              storeIds: ReadonlyArray<StoreId> = [],
              title: string | null = "Copy of Tent"
            ) =>
              Effect.gen(function* () {
                const id = yield* mintId(EntityId)
                const refused = yield* refusal(copyWith(id, productId, storeIds, title))
                assert.strictEqual((yield* Effect.flip((yield* Drafts).get(id, null)))._tag, "NotFound")
                return refused
              })
            assert.deepStrictEqual(yield* at(nobody), "NotFound")
            assert.deepStrictEqual(yield* at(small), "NotFound")
            assert.deepStrictEqual(yield* at(onOne, [b.id]), [
              { path: "store_ids", message: "the product is not on one of these stores" }
            ])
            for (const title of ["", "\u200b ", null])
              assert.deepStrictEqual(yield* at(product, [], title), [
                { path: "attributes.title", message: "must not be empty" }
              ])
            assert.deepStrictEqual(yield* at(product, [], "x".repeat(256)), [
              { path: "attributes.title", message: "must have at most 255 characters" }
            ])
            const made = yield* copy(product)
            assert.deepStrictEqual(yield* refusal(copyWith(made, product, [])), [
              { path: "id", message: "an entity with this id exists already" }
            ])
            const others = yield* anAccount({ domains: ["d.example"] })
            assert.deepStrictEqual(yield* actingAs(others.actor)(at(product)), "NotFound")
          })
        )
      )
      it.effect("a copy has the variants of one moment, while variants are added", () =>
        inAccount((stores) =>
          Effect.gen(function* () {
            const { product } = yield* aTent(stores)
            const drafts = yield* Drafts
            const add = (value: string) =>
              Effect.flatMap(mintId(EntityId), (id) =>
                drafts.create(
                  NewEntity.Variant({
                    id,
                    productId: product,
                    attributes: [],
                    optionValues: [value],
                    firstOption: null
                  })
                )
              )
            const copies = yield* Effect.forEach(
              Array.from({ length: 10 }, (_, index) => `Size ${index}`),
              (value) => Effect.map(Effect.all([copy(product), add(value)], { concurrency: 2 }), ([id]) => id)
            )
            assert.lengthOf(yield* variantsOf(product), 12)
            for (const [index, id] of copies.entries()) {
              const { values } = yield* contentOf(id)
              const sizes = yield* Effect.forEach(yield* variantsOf(id), (variant) =>
                Effect.map(contentOf(variant), (content) => content.values.option1)
              )
              assert.include([index + 2, index + 3], sizes.length)
              assert.deepStrictEqual(JSON.parse(values.options ?? ""), [{ name: "Size", values: sizes }])
            }
          })
        )
      )
    })
  })
}
