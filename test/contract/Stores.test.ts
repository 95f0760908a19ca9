import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId, ImportId, type StoreId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  Catalog,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Programs,
  Stores
} from "../../src/testing/index.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => service.apply(changes))

interface Shop {
  readonly product: EntityId
  readonly variant: EntityId
  readonly collection: EntityId
  readonly media: EntityId
}

/** One entity of each kind on both stores, published there. The second store has an override of a searchable field. */
const aShop = (first: StoreId, second: StoreId) =>
  Effect.gen(function* () {
    const { list } = yield* Stores
    const on = yield* list
    const media = yield* anEntity("media", { file_name: "boots.jpg", url: "https://cdn.example/boots.jpg" }, { on })
    const product = yield* anEntity("product", { title: "Boots", vendor: "Fell" }, { on })
    const variant = yield* anEntity("variant", { title: "S", sku: "B-S" }, { on, of: product })
    const collection = yield* anEntity("collection", { title: "Winter" }, { on })
    const shop: Shop = { product, variant, collection, media }
    yield* apply(
      CatalogChange.SetGallery({ entityId: product, entries: [{ mediaId: media, storeIds: [second, first] }] }),
      CatalogChange.SetMembers({ collectionId: collection, productIds: [product] }),
      CatalogChange.SetOverrides({ entityId: product, storeId: second, values: { title: "Stiefel" } }),
      CatalogChange.SetOverrides({ entityId: variant, storeId: second, values: { sku: "STIEFEL-S", price: "9.00" } }),
      CatalogChange.SetOverrides({ entityId: collection, storeId: second, values: { title: "Kälte" } }),
      CatalogChange.SetOverrides({ entityId: media, storeId: second, values: { alt: "Zwei Stiefel" } })
    )
    yield* apply(
      ...Object.values(shop).map((entityId) => CatalogChange.AcceptPublish({ entityId, storeId: second })),
      CatalogChange.AcceptPublish({ entityId: media, storeId: first }),
      CatalogChange.RefusePublish({ entityId: collection, storeId: second, error: { code: "busy", message: "Busy" } })
    )
    return shop
  })

/** Every answer that names stores or depends on them. */
const answers = (shop: Shop) =>
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const stores = yield* (yield* Stores).list
    const kinds = ["product", "variant", "collection", "media"] as const
    const entities = yield* Effect.forEach(kinds, (kind) =>
      Effect.all({
        row: Effect.map(catalog.list(kind, { limit: 50 }), ({ text }) =>
          JSON.parse(text).data.find(({ id }: { readonly id: EntityId }) => id === shop[kind])
        ),
        record: catalog.get(kind, shop[kind]),
        versions: catalog.versions(kind, shop[kind])
      })
    )
    return { stores, entities }
  })

const finds = (kind: EntityKind, search: string) =>
  Effect.gen(function* () {
    const { text } = yield* (yield* Catalog).list(kind, { limit: 50, search })
    return JSON.parse(text).data.length as number
  })

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`stores on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("an unlinked store is in no answer; linking it again restores everything", () =>
        Effect.gen(function* () {
          const { accountId, actor, stores } = yield* anAccount({ domains: ["b.example", "a.example"] })
          const [first, second] = [stores[0].id, stores[1].id]
          yield* Effect.gen(function* () {
            const { link, list, unlink } = yield* Stores
            const catalog = yield* Catalog
            const programs = yield* Programs
            const shop = yield* aShop(first, second)
            const before = yield* answers(shop)
            assert.deepStrictEqual(
              before.entities.map(({ row }) => [row.store_ids, row.pending_publish, row.last_publish_status]),
              [
                [[second, first], true, "published"],
                [[second, first], true, "published"],
                [[second, first], true, "failed"],
                [[second, first], false, "published"]
              ]
            )

            assert.deepStrictEqual(yield* unlink(" A.example "), { store: stores[1], entities: 4 })

            const during = yield* answers(shop)
            assert.deepStrictEqual(during.stores, [stores[0]])
            assert.deepStrictEqual(
              during.entities.map(({ row }) => [row.store_ids, row.pending_publish, row.last_publish_status]),
              [
                [[first], true, "never_published"],
                [[first], true, "never_published"],
                [[first], true, "never_published"],
                [[first], false, "published"]
              ]
            )
            for (const [index, { record, row, versions }] of during.entities.entries()) {
              assert.deepStrictEqual(
                [record.stores.map(({ store_id }) => store_id), versions.map(({ store_id }) => store_id)],
                [[first], [first]]
              )
              assert.deepStrictEqual(
                [record.pendingPublish, record.lastPublishStatus],
                [row.pending_publish, row.last_publish_status]
              )
              // No draft changed: revisions and positions in the change order are the same.
              const was = before.entities[index]?.row
              assert.deepStrictEqual([row.draft_revision, row.updated_at], [was.draft_revision, was.updated_at])
            }
            assert.deepStrictEqual(
              yield* Effect.all([
                finds("product", "stiefel"),
                finds("variant", "stiefel"),
                finds("collection", "kälte"),
                finds("media", "zwei")
              ]),
              [0, 0, 0, 0]
            )
            assert.isTrue((yield* (yield* StoresRepo).find(accountId, second))._tag === "None")
            assert.deepStrictEqual(yield* programs.listStores(), { data: [stores[0]], next_cursor: null })
            const gone = { entityId: shop.product, storeId: second }
            for (const refused of [
              catalog.version("product", shop.product, second),
              apply(CatalogChange.AddToStore(gone)),
              apply(CatalogChange.RemoveFromStore(gone)),
              apply(CatalogChange.AcceptPublish(gone)),
              apply(CatalogChange.SetOverrides({ ...gone, values: { title: "x" } })),
              apply(
                CatalogChange.SetGallery({
                  entityId: shop.product,
                  entries: [{ mediaId: shop.media, storeIds: [second] }]
                })
              )
            ])
              assert.deepInclude(yield* Effect.flip(refused), { _tag: "NotFound", message: "No such record." })

            assert.deepStrictEqual(yield* link({ domain: "a.example" }), { store: stores[1], entities: 4 })
            assert.deepStrictEqual(yield* answers(shop), before)
            assert.deepStrictEqual(yield* list, [stores[1], stores[0]])
            assert.deepStrictEqual(
              yield* Effect.all([finds("product", "stiefel"), finds("variant", "stiefel"), finds("media", "zwei")]),
              [1, 1, 1]
            )
          }).pipe(actingAs(actor))
        })
      )

      it.effect("changes while a store was unlinked are pending there when it is linked again", () =>
        Effect.gen(function* () {
          const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
          const [first, second] = [stores[0].id, stores[1].id]
          yield* Effect.gen(function* () {
            const { link, unlink } = yield* Stores
            const shop = yield* aShop(first, second)
            const states = Effect.map(answers(shop), ({ entities }) =>
              entities.map(({ versions }) => versions.find(({ store_id }) => store_id === second)?.pending_publish)
            )
            const shows = Effect.map(
              answers(shop),
              ({ entities }) => entities[0]?.versions.find(({ store_id }) => store_id === second)?.attributes[0]?.value
            )
            assert.deepStrictEqual(yield* states, [false, false, false, false])
            yield* unlink("b.example")
            yield* link({ domain: "b.example" })
            assert.deepStrictEqual(yield* states, [false, false, false, false])

            // An entity without an override: only the change itself shows that it must be checked.
            const plain = yield* anEntity("product", { title: "Plain" }, { on: stores })
            yield* apply(CatalogChange.AcceptPublish({ entityId: plain, storeId: second }))
            const plainIsPending = Effect.map(
              Effect.flatMap(Catalog, (catalog) => catalog.version("product", plain, second)),
              (version) => version.pending_publish
            )
            assert.isFalse(yield* plainIsPending)

            yield* unlink("b.example")
            yield* apply(CatalogChange.SetAttributes({ entityId: plain, values: { vendor: "Fell" } }))
            const other = yield* anEntity("media", { alt: "Another" })
            yield* apply(
              CatalogChange.SetAttributes({ entityId: shop.variant, values: { price: "12.00", weight: "2" } }),
              CatalogChange.SetAttributes({ entityId: shop.product, values: { title: "Boots, new" } }),
              CatalogChange.SetMembers({ collectionId: shop.collection, productIds: [] })
            )
            yield* link({ domain: "b.example" })
            assert.isTrue(yield* plainIsPending)
            // The product's new title does not apply there, because the store overrides it.
            assert.deepStrictEqual(yield* states, [false, true, true, false])
            assert.strictEqual(yield* shows, "Stiefel")
            assert.strictEqual(yield* finds("variant", "new stiefel"), 1)

            // A write of the gallery while the store is unlinked does not remove the store's entries.
            yield* unlink("b.example")
            const gallery = (...entries: ReadonlyArray<readonly [EntityId, ReadonlyArray<StoreId>]>) =>
              apply(
                CatalogChange.SetGallery({
                  entityId: shop.product,
                  entries: entries.map(([mediaId, storeIds]) => ({ mediaId, storeIds }))
                })
              )
            const revision = Effect.map(answers(shop), ({ entities }) => entities[0]?.row.draft_revision)
            const was = yield* revision
            yield* gallery([shop.media, [first]])
            assert.strictEqual(yield* revision, was)
            yield* gallery([other, [first]], [shop.media, [first]])
            assert.strictEqual(yield* revision, was + 1)
            yield* link({ domain: "b.example" })
            assert.deepStrictEqual(yield* states, [false, true, true, false])
            yield* unlink("b.example")
            yield* gallery([other, [first]])
            yield* gallery([other, [first]], [shop.media, [first]])
            yield* link({ domain: "b.example" })
            assert.deepStrictEqual(yield* states, [true, true, true, false])
          }).pipe(actingAs(actor))
        })
      )

      it.effect(
        "a variant that is created while a store of its product is unlinked is there when it is linked again",
        () =>
          Effect.gen(function* () {
            const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example", "c.example"] })
            const [first, second] = [stores[0].id, stores[1].id]
            yield* Effect.gen(function* () {
              const { link, unlink } = yield* Stores
              const { create } = yield* Drafts
              const catalog = yield* Catalog
              const [id, variantId, large, imported] = yield* Effect.all(
                Array.from({ length: 4 }, () => mintId(EntityId))
              )
              assert(id !== undefined && variantId !== undefined && large !== undefined && imported !== undefined)
              const attributes = [{ key: "title", value: "Boots" }]
              const storeIds = [first, second]
              yield* create(NewEntity.Product({ id, attributes, variantId, variant: [], storeIds }))
              yield* unlink("b.example")
              const firstOption = { name: "Size", former: "S" }
              const variant = { id: large, productId: id, attributes: [], optionValues: ["L"], firstOption }
              yield* create(NewEntity.Variant(variant))
              // An import of another store says nothing about this one.
              yield* apply(
                CatalogChange.CreateEntity({ id: imported, kind: "variant", parentId: id, values: { option1: "M" } }),
                CatalogChange.AddToStore({ entityId: imported, storeId: first })
              )
              const storesOf = (variant: EntityId) =>
                Effect.map(catalog.list("variant", { limit: 50 }), ({ text }) =>
                  JSON.parse(text).data.find(({ id }: { readonly id: EntityId }) => id === variant)
                )
              assert.deepInclude(yield* storesOf(large), { store_ids: [first] })
              yield* link({ domain: "b.example" })
              assert.deepInclude(yield* storesOf(large), { store_ids: [first, second], pending_publish: true })
              assert.deepInclude(yield* storesOf(imported), { store_ids: [first] })
              const { last_publish_status, pending_publish } = yield* catalog.version("variant", large, second)
              assert.deepStrictEqual([last_publish_status, pending_publish], ["never_published", true])
            }).pipe(actingAs(actor))
          })
      )

      it.effect("linking again keeps the store's name, unless a new one is given", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const { link, unlink } = yield* Stores
            const { store } = yield* link({
              domain: "shop.example",
              name: "Shop",
              platform: "demo",
              primaryLocale: "de",
              currency: "CHF"
            })
            assert.deepInclude(store, { name: "Shop", platform: "demo", locales: ["de"], currency: "CHF" })
            yield* unlink("shop.example")
            assert.deepStrictEqual(yield* link({ domain: "shop.example", name: " " }), { store, entities: 0 })
            yield* unlink("shop.example")
            const renamed = { ...store, name: "New", platform: "none", currency: "EUR" }
            assert.deepStrictEqual(
              yield* link({ domain: "shop.example", name: "New", platform: "none", currency: "EUR" }),
              { store: renamed, entities: 0 } as never
            )
            const { id: _, ...others } = (yield* link({ domain: "other.example" })).store
            assert.deepStrictEqual(others, {
              domain: "other.example",
              name: "other.example",
              platform: "none",
              status: "linked",
              primary_locale: "en",
              locales: ["en"],
              currency: "USD",
              last_imported_at: null
            })
            const message = <A, E extends { readonly message: string }, R>(refused: Effect.Effect<A, E, R>) =>
              Effect.map(Effect.flip(refused), (error) => error.message)
            assert.strictEqual(
              yield* message(link({ domain: "Shop.example" })),
              "domain: shop.example is already linked"
            )
            const unknown = "domain: no store gone.example is linked; see `catalog store list`"
            assert.strictEqual(yield* message(unlink("gone.example")), unknown)
            yield* link({ domain: "gone.example" })
            yield* unlink("gone.example")
            assert.strictEqual(yield* message(unlink("gone.example")), unknown)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("an import that locks the account prevents changes of its stores, but new stores can be linked", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* anAccount({ domains: ["a.example", "b.example"] })
          yield* Effect.gen(function* () {
            const { link, list, unlink } = yield* Stores
            const { keep } = yield* ImportLockRepo
            yield* unlink("b.example")
            yield* keep(accountId, ImportId.make("00000000-0000-4000-8000-000000000002"))
            for (const refused of [unlink("a.example"), link({ domain: "b.example" })])
              assert.deepInclude(yield* Effect.flip(refused), {
                _tag: "PimLocked",
                message: "An import or refresh has locked the catalog; retry after it has ended."
              })
            yield* link({ domain: "c.example" })
            assert.deepStrictEqual(
              (yield* list).map(({ domain }) => domain),
              ["a.example", "c.example"]
            )
            yield* keep(accountId, null)
            yield* link({ domain: "b.example" })
          }).pipe(actingAs(actor))
        })
      )

      it.effect("an invalid name, language or currency is refused, and nothing is linked", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const { link, list } = yield* Stores
            const refused = yield* Effect.flip(
              link({ domain: "a.example", name: "two\nlines", primaryLocale: "x".repeat(300), currency: "euro" })
            )
            assert.deepStrictEqual("issues" in refused && refused.issues, [
              { path: "name", message: "must be one line of valid text" },
              { path: "locale", message: "must be a language such as en, pt-BR or zh-Hans" },
              { path: "currency", message: "must be an ISO 4217 code such as EUR" }
            ])
            assert.deepStrictEqual(yield* list, [])
            const { store } = yield* link({ domain: "a.example", primaryLocale: "zh-Hans", currency: "CNY" })
            assert.deepInclude(store, { primary_locale: "zh-Hans", currency: "CNY" })
          }).pipe(actingAs(actor))
        })
      )

      it.effect("keep the time zone of a linked store, also while it is unlinked; other accounts do not see it", () =>
        Effect.gen(function* () {
          const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
          const [first, second] = stores
          const stranger = yield* anAccount({ domains: ["a.example"] })
          yield* Effect.gen(function* () {
            const { keepTimeZone, link, timeZones, unlink } = yield* Stores
            assert.deepStrictEqual(yield* timeZones, new Map())
            yield* keepTimeZone(first.id, "Asia/Tokyo")
            yield* keepTimeZone(first.id, "Europe/Berlin")
            yield* keepTimeZone(stranger.stores[0].id, "Europe/Lisbon")
            assert.deepStrictEqual(yield* timeZones, new Map([[first.id, "Europe/Berlin"]]))
            yield* keepTimeZone(second.id, "UTC")
            yield* unlink("a.example")
            assert.deepStrictEqual(yield* timeZones, new Map([[second.id, "UTC"]]))
            yield* link({ domain: "a.example" })
            assert.strictEqual((yield* timeZones).get(first.id), "Europe/Berlin")
          }).pipe(actingAs(actor))
          const theirs = yield* Effect.flatMap(Stores, ({ timeZones }) => timeZones).pipe(actingAs(stranger.actor))
          assert.deepStrictEqual(theirs, new Map())
        })
      )

      it.effect("counts versions by publish state; unlinked stores and other accounts do not count", () =>
        Effect.gen(function* () {
          const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example", "empty.example"] })
          const [first, second] = stores
          const stranger = yield* anAccount({ domains: ["a.example"] })
          yield* Effect.gen(function* () {
            const { link, publishCounts, unlink } = yield* Stores
            const shop = yield* aShop(first.id, second.id)
            yield* apply(
              CatalogChange.RequestPublish({ entityId: shop.product, storeId: first.id }),
              CatalogChange.SetAttributes({ entityId: shop.variant, values: { price: "1.00", barcode: "7" } })
            )
            const counts = new Map([
              [first.id, { neverPublished: 2, pending: 1, published: 1, failed: 0, pendingPublish: 3 }],
              [second.id, { neverPublished: 0, pending: 0, published: 3, failed: 1, pendingPublish: 1 }]
            ])
            const here = new Map([...(yield* publishCounts)].filter(([id]) => counts.has(id)))
            assert.deepStrictEqual(here, counts)
            assert.strictEqual((yield* publishCounts).get(stores[2].id)?.neverPublished, 4)
            yield* unlink("b.example")
            assert.isFalse((yield* publishCounts).has(second.id))
            yield* link({ domain: "b.example" })
            assert.deepStrictEqual((yield* publishCounts).get(second.id), counts.get(second.id))
          }).pipe(actingAs(actor))
          const theirs = yield* Effect.flatMap(Stores, ({ publishCounts }) => publishCounts).pipe(
            actingAs(stranger.actor)
          )
          assert.deepStrictEqual(theirs, new Map())
        })
      )

      it.effect("unlinking a store does not affect stores of other accounts with the same domain", () =>
        Effect.gen(function* () {
          const ours = yield* anAccount({ domains: ["a.example"] })
          const theirs = yield* anAccount({ domains: ["a.example", "b.example"] })
          const product = yield* anEntity("product", { title: "theirs" }, { on: theirs.stores }).pipe(
            actingAs(theirs.actor)
          )
          yield* Effect.gen(function* () {
            const { unlink } = yield* Stores
            assert.strictEqual((yield* unlink("a.example")).entities, 0)
            assert.strictEqual((yield* Effect.flip(unlink("b.example")))._tag, "ValidationFailed")
          }).pipe(actingAs(ours.actor))
          const { stores } = yield* (yield* Catalog).get("product", product).pipe(actingAs(theirs.actor))
          assert.deepStrictEqual(
            stores.map(({ store_domain }) => store_domain),
            ["a.example", "b.example"]
          )
        })
      )
    })
  })
}
