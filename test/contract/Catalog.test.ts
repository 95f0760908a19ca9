import { setTimeout } from "node:timers/promises"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import type { ListQuery } from "../../src/catalog/Catalog.ts"
import {
  Collection,
  CollectionRow,
  Media,
  MediaRow,
  Product,
  ProductRow,
  StoreVersion,
  Variant,
  VariantRow
} from "../../src/catalog/Entity.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { CurrentBounds } from "../../src/model/ConnectionBounds.ts"
import { EntityId, ImportId, nilUuid, StoreId } from "../../src/model/Ids.ts"
import { makeConnectorPrograms } from "../../src/programs/ConnectorPrograms.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  Catalog,
  CatalogChange,
  CatalogChanges,
  Programs,
  Stores
} from "../../src/testing/index.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

const rowOf = { product: ProductRow, variant: VariantRow, collection: CollectionRow, media: MediaRow } as const

const nothing = EntityId.make(nilUuid)
const unused = EntityId.make("00000000-0000-4000-8000-000000000001")

/** A page, decoded with the schema of the endpoint's definition. */
const pageOf = <Kind extends EntityKind>(kind: Kind, query: Partial<ListQuery> = {}) =>
  Effect.gen(function* () {
    const { text } = yield* (yield* Catalog).list(kind, { limit: 50, ...query })
    const Page = Schema.Struct({
      data: Schema.Array(rowOf[kind] as Schema.Schema<(typeof rowOf)[Kind]["Type"], unknown>),
      next_cursor: Schema.NullOr(Schema.String)
    })
    return yield* Effect.orDie(
      Schema.decodeUnknown(Schema.parseJson(Page), { onExcessProperty: "error", errors: "all" })(text)
    )
  })

const titles = (page: { readonly data: ReadonlyArray<{ readonly title: string }> }) =>
  page.data.map(({ title }) => title)

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => service.apply(changes))

const exactly = <A, I>(schema: Schema.Schema<A, I>, value: unknown) =>
  Schema.validateSync(schema, { onExcessProperty: "error" })(value)

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`catalog on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("a product with variants, media and a collection reads as defined", () =>
        Effect.gen(function* () {
          const { actor, stores } = yield* anAccount({ domains: ["b.example", "a.example"] })
          yield* Effect.gen(function* () {
            const programs = yield* Programs
            const media = yield* anEntity(
              "media",
              { url: "https://cdn.example/boots.jpg", file_name: "boots.jpg", alt: "Boots", mime_type: "image/jpeg" },
              { on: stores }
            )
            const product = yield* anEntity(
              "product",
              { title: "Boots", vendor: "Fell", tags: '["winter","boots"]', "care.washing": "by hand" },
              { on: stores }
            )
            const small = yield* anEntity("variant", { title: "S", sku: "B-S" }, { on: stores, of: product })
            const large = yield* anEntity("variant", { title: "L", sku: "B-L" }, { on: stores, of: product })
            const collection = yield* anEntity("collection", { title: "Winter", handle: "winter" }, { on: stores })
            const [first, second] = stores
            assert(first !== undefined && second !== undefined)
            yield* apply(
              CatalogChange.SetGallery({ entityId: product, entries: [{ mediaId: media, storeIds: [first.id] }] }),
              CatalogChange.SetMembers({ collectionId: collection, productIds: [product] }),
              CatalogChange.SetOverrides({ entityId: product, storeId: first.id, values: { title: "Stiefel" } })
            )

            const detail = exactly(Product, yield* programs.getProduct({ path: { id: product } }))
            assert.deepInclude(detail, {
              id: product,
              type: "product",
              title: "Boots",
              variant_ids: [small, large],
              media_ids: [media],
              collection_ids: [collection],
              pending_publish: true,
              last_publish_status: "never_published"
            })
            assert.deepStrictEqual(
              detail.attributes.map(({ key }) => key),
              [
                "title",
                "handle",
                "description_html",
                "vendor",
                "product_type",
                "tags",
                "status",
                "options",
                "seo_title",
                "seo_description",
                "care.washing"
              ]
            )
            assert.deepStrictEqual(
              detail.stores.map(({ store_domain }) => store_domain),
              ["a.example", "b.example"]
            )

            const variant = exactly(Variant, yield* programs.getVariant({ path: { id: large } }))
            assert.deepInclude(variant, { type: "variant", product_id: product, media_ids: [] })
            const group = exactly(Collection, yield* programs.getCollection({ path: { id: collection } }))
            assert.deepInclude(group, { type: "collection", products_count: 1, media_ids: [] })
            const file = exactly(Media, yield* programs.getMedia({ path: { id: media } }))
            assert.deepInclude(file, {
              title: "boots.jpg",
              product_ids: [product],
              variant_ids: [],
              collection_ids: []
            })

            const versions = yield* programs.listProductVersions({ path: { id: product } })
            assert.deepStrictEqual(
              versions.data.map((version) => [
                version.store_domain,
                exactly(StoreVersion, version).attributes[0]?.value
              ]),
              [
                ["a.example", "Boots"],
                ["b.example", "Stiefel"]
              ]
            )
            assert.isNull(versions.next_cursor)
            const version = yield* programs.getProductVersion({ path: { id: product, store_id: first.id } })
            assert.deepStrictEqual(version, versions.data[1])

            const [row] = (yield* pageOf("variant", { search: "b-l" })).data
            assert.deepInclude(row, { id: large, sku: "B-L", product_id: product })
            assert.deepInclude((yield* pageOf("collection")).data[0], { id: collection, handle: "winter" })
            assert.deepInclude((yield* pageOf("media")).data[0], {
              id: media,
              title: "boots.jpg",
              url: "https://cdn.example/boots.jpg",
              media_type: "image",
              alt: "Boots"
            })
            const store_ids = [second.id, first.id]
            assert.deepInclude((yield* pageOf("product")).data[0], { id: product, title: "Boots", store_ids })
          }).pipe(actingAs(actor))
        })
      )

      it.effect("media types follow the MIME type", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            for (const mime_type of ["image/png", "video/mp4", "model/gltf-binary", "text/html", ""])
              yield* anEntity("media", { url: "https://cdn.example/x", mime_type })
            assert.deepStrictEqual(
              (yield* pageOf("media")).data.map(({ media_type, title }) => [media_type, title]),
              ["image", "video", "model_3d", "external_video", "image"].map((type) => [type, "https://cdn.example/x"])
            )
          }).pipe(actingAs(actor))
        })
      )

      it.effect(
        "a walk is in the order of canonical changes; a changed entity moves to the end with a newer revision",
        () =>
          Effect.gen(function* () {
            const { actor, stores } = yield* anAccount({ domains: ["a.example"] })
            yield* Effect.gen(function* () {
              const [store] = stores
              assert(store !== undefined)
              const ids = yield* Effect.forEach(["1", "2", "3", "4", "5"], (title) =>
                anEntity("product", { title }, { on: stores })
              )
              const [first, second] = ids
              assert(first !== undefined && second !== undefined)
              const before = (yield* pageOf("product")).data
              assert.deepStrictEqual(titles({ data: before }), ["1", "2", "3", "4", "5"])

              yield* apply(CatalogChange.SetAttributes({ entityId: second, values: { vendor: "Fell" } }))
              yield* apply(
                CatalogChange.SetOverrides({ entityId: first, storeId: store.id, values: { title: "eins" } })
              )
              const page = yield* pageOf("product", { limit: 3 })
              assert.deepStrictEqual(titles(page), ["1", "3", "4"])
              const rest = yield* pageOf("product", { limit: 250, cursor: page.next_cursor ?? "" })
              assert.deepStrictEqual(titles(rest), ["5", "2"])
              assert.isNull(rest.next_cursor)
              const rows = [...page.data, ...rest.data]
              const revision = (id: EntityId) => rows.find((row) => row.id === id)?.draft_revision ?? 0
              const was = (id: EntityId) => before.find((row) => row.id === id)
              assert.strictEqual(revision(second), (was(second)?.draft_revision ?? 0) + 1)
              assert.strictEqual(revision(first), (was(first)?.draft_revision ?? 0) + 1)
              const moved = rows.find((row) => row.id === second)?.updated_at ?? ""
              assert.isAbove(Number(moved > (before.at(-1)?.updated_at ?? "")), 0)
              assert.strictEqual(rows.find((row) => row.id === first)?.updated_at, was(first)?.updated_at)
            }).pipe(actingAs(actor))
          })
      )

      it.effect("N unchanged rows take ceil(N / limit) pages, the last without a cursor", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            for (const title of ["1", "2", "3", "4"]) yield* anEntity("collection", { title })
            for (const limit of [1, 2, 3, 4, 5]) {
              const sizes: Array<number> = []
              let cursor: string | undefined
              do {
                const page = yield* pageOf("collection", { limit, cursor })
                sizes.push(page.data.length)
                cursor = page.next_cursor ?? undefined
              } while (cursor !== undefined)
              assert.strictEqual(sizes.length, Math.ceil(4 / limit))
              assert.strictEqual(
                sizes.reduce((sum, size) => sum + size, 0),
                4
              )
            }
            assert.deepStrictEqual(yield* pageOf("media"), { data: [], next_cursor: null })
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a cursor is valid only for its list, account and filters", () =>
        Effect.gen(function* () {
          const ours = yield* anAccount()
          const theirs = yield* anAccount()
          const seed = Effect.forEach(["1", "2"], (title) => anEntity("product", { title }))
          yield* Effect.zipRight(seed, seed).pipe(actingAs(theirs.actor))
          yield* Effect.gen(function* () {
            yield* seed
            const { next_cursor } = yield* pageOf("product", { limit: 1, search: "1 1", status: "never_published" })
            assert.isNull(next_cursor)
            const cursor = (yield* pageOf("product", { limit: 1 })).next_cursor ?? ""
            assert.deepStrictEqual(titles(yield* pageOf("product", { limit: 1, cursor })), ["2"])
            const message = (query: Partial<ListQuery>, kind: EntityKind = "product") =>
              Effect.map(Effect.flip(pageOf(kind, query)), (error) => error.message)
            const refusal =
              "cursor: is not a cursor of this list with these filters; send next_cursor unchanged and repeat the filters of the first page, or start again without a cursor"
            assert.strictEqual(yield* message({ cursor }, "variant"), refusal)
            assert.strictEqual(yield* message({ cursor, search: "x" }), refusal)
            assert.strictEqual(yield* message({ cursor, status: "failed" }), refusal)
            assert.strictEqual(yield* message({ cursor: `${cursor}A` }), refusal)
            assert.strictEqual(yield* message({ cursor: "" }), refusal)
            assert.strictEqual(yield* message({ cursor }).pipe(actingAs(theirs.actor)), refusal)
          }).pipe(actingAs(ours.actor))
        })
      )

      it.effect("search covers name, store titles, vendor, tags and SKUs; every term must match", () =>
        Effect.gen(function* () {
          const { actor, stores } = yield* anAccount({ domains: ["a.example"] })
          yield* Effect.gen(function* () {
            const [store] = stores
            assert(store !== undefined)
            const café = yield* anEntity(
              "product",
              { title: "Café 100% Ünïcödé_x", vendor: "Fell & Field", tags: '["Outdoor 🏔️"]' },
              { on: stores }
            )
            yield* anEntity("variant", { title: "XL", sku: "TEE-XL\\9" }, { of: café })
            yield* apply(
              CatalogChange.SetOverrides({ entityId: café, storeId: store.id, values: { title: "手机壳 قهوة" } })
            )
            yield* anEntity("product", { title: "Something else" })
            const finds = (search: string) => Effect.map(pageOf("product", { search }), ({ data }) => data.length)
            for (const search of [
              "cafe",
              "CAFÉ",
              "afé",
              "100%",
              "unicode_",
              "fell field",
              "outdoor",
              "🏔",
              "tee-xl",
              "XL",
              "L\\9",
              "手机",
              "机",
              "قهوة",
              "fe field 手"
            ])
              assert.strictEqual(yield* finds(search), 1, search)
            for (const search of ["af", "nicode%", "1_0", "cafe missing", "壳机"])
              assert.strictEqual(yield* finds(search), 0, search)
            assert.strictEqual(yield* finds("   "), 2)
            yield* apply(CatalogChange.SetAttributes({ entityId: café, values: { title: "Kaffee" } }))
            assert.strictEqual(yield* finds("unicode"), 0)
            assert.deepStrictEqual(titles(yield* pageOf("variant", { search: "kaff tee" })), ["XL"])
          }).pipe(actingAs(actor))
        })
      )

      it.effect("updated_since is inclusive to the microsecond, and store edits do not count", () =>
        Effect.gen(function* () {
          const { actor, stores } = yield* anAccount({ domains: ["a.example"] })
          yield* Effect.gen(function* () {
            const [store] = stores
            assert(store !== undefined)
            const ids = yield* Effect.forEach(["1", "2", "3"], (title) =>
              anEntity("product", { title }, { on: stores })
            )
            yield* anEntity("collection", { title: "later" })
            const rows = (yield* pageOf("product")).data
            const second = rows[1]?.updated_at
            assert(second !== undefined && ids[0] !== undefined)
            assert.deepStrictEqual(titles(yield* pageOf("product", { updated_since: second })), ["2", "3"])
            yield* apply(CatalogChange.SetOverrides({ entityId: ids[0], storeId: store.id, values: { title: "x" } }))
            assert.deepStrictEqual(titles(yield* pageOf("product", { updated_since: second })), ["2", "3"])
            const after = (yield* pageOf("collection")).data[0]?.updated_at
            assert.deepStrictEqual(titles(yield* pageOf("product", { updated_since: after })), [])
          }).pipe(actingAs(actor))
        })
      )

      it.effect(
        "publish states roll up, and pending says whether a store lacks a value that a publish would send",
        () =>
          Effect.gen(function* () {
            const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
            yield* Effect.gen(function* () {
              const [a, b] = stores
              assert(a !== undefined && b !== undefined)
              const entityId = yield* anEntity("product", { title: "1" }, { on: [a, b] })
              const state = Effect.map(pageOf("product"), ({ data }) => [
                data[0]?.last_publish_status,
                data[0]?.pending_publish
              ])
              assert.deepStrictEqual(yield* state, ["never_published", true])
              yield* apply(CatalogChange.AcceptPublish({ entityId, storeId: a.id }))
              assert.deepStrictEqual(yield* state, ["published", true])
              yield* apply(CatalogChange.RequestPublish({ entityId, storeId: b.id }))
              assert.deepStrictEqual(yield* state, ["pending", true])
              yield* apply(
                CatalogChange.RefusePublish({ entityId, storeId: b.id, error: { code: "busy", message: "Busy" } })
              )
              assert.deepStrictEqual(yield* state, ["failed", true])
              assert.deepStrictEqual(
                (yield* (yield* Catalog).get("product", entityId)).stores.map(
                  ({ last_publish_error }) => last_publish_error
                ),
                [null, { code: "busy", message: "Busy" }]
              )
              yield* apply(CatalogChange.AcceptPublish({ entityId, storeId: b.id }))
              assert.deepStrictEqual(yield* state, ["published", false])
              const revision = (yield* pageOf("product")).data[0]?.draft_revision ?? 0

              yield* apply(CatalogChange.SetOverrides({ entityId, storeId: a.id, values: { title: "2" } }))
              assert.deepStrictEqual(yield* state, ["published", true])
              yield* apply(CatalogChange.SetOverrides({ entityId, storeId: a.id, values: { title: null } }))
              assert.deepStrictEqual(yield* state, ["published", false])
              assert.strictEqual((yield* pageOf("product")).data[0]?.draft_revision, revision + 2)

              const variant = yield* anEntity("variant", { title: "S" }, { of: entityId })
              assert.deepStrictEqual(yield* state, ["published", false])
              yield* apply(CatalogChange.AddToStore({ entityId: variant, storeId: a.id }))
              assert.deepStrictEqual(yield* state, ["published", true])
              const filtered = (status: ListQuery["status"]) =>
                Effect.map(pageOf("product", { status }), ({ data }) => data.length)
              assert.deepStrictEqual([yield* filtered("published"), yield* filtered("failed")], [1, 0])
              yield* apply(
                CatalogChange.RemoveFromStore({ entityId, storeId: a.id }),
                CatalogChange.RemoveFromStore({ entityId, storeId: b.id })
              )
              assert.deepStrictEqual(yield* state, ["never_published", false])
            }).pipe(actingAs(actor))
          })
      )

      it.effect("lists filter by store, status and pending; with a store, by the states on that store", () =>
        Effect.gen(function* () {
          const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example", "c.example"] })
          const [a, b, c] = stores
          yield* Effect.gen(function* () {
            yield* anEntity("product", { title: "nowhere" })
            const live = yield* anEntity("product", { title: "live on a and b" }, { on: [a, b] })
            const half = yield* anEntity("product", { title: "live on a" }, { on: [a, b] })
            yield* anEntity("variant", { title: "variant" }, { of: half })
            const failed = yield* anEntity("product", { title: "failed on a" }, { on: [a] })
            yield* anEntity("product", { title: "new on b" }, { on: [b] })
            yield* apply(
              ...[a, b].map(({ id }) => CatalogChange.AcceptPublish({ entityId: live, storeId: id })),
              CatalogChange.AcceptPublish({ entityId: half, storeId: a.id }),
              CatalogChange.RefusePublish({ entityId: failed, storeId: a.id, error: { code: "busy", message: "Busy" } })
            )
            const finds = (query: Partial<ListQuery>) => Effect.map(pageOf("product", query), titles)
            const cases: ReadonlyArray<readonly [Partial<ListQuery>, ReadonlyArray<string>]> = [
              [{ store_id: a.id }, ["live on a and b", "live on a", "failed on a"]],
              [{ store_id: b.id }, ["live on a and b", "live on a", "new on b"]],
              [{ store_id: c.id }, []],
              [{ pending: true }, ["live on a", "failed on a", "new on b"]],
              [{ pending: false }, ["nowhere", "live on a and b"]],
              [{ store_id: a.id, pending: true }, ["failed on a"]],
              [{ store_id: a.id, pending: false }, ["live on a and b", "live on a"]],
              [{ store_id: b.id, pending: true }, ["live on a", "new on b"]],
              [{ status: "published" }, ["live on a and b", "live on a"]],
              [{ store_id: a.id, status: "published" }, ["live on a and b", "live on a"]],
              [{ store_id: b.id, status: "published" }, ["live on a and b"]],
              [{ store_id: b.id, status: "never_published" }, ["live on a", "new on b"]],
              [{ status: "never_published" }, ["nowhere", "new on b"]],
              [{ store_id: b.id, status: "never_published", pending: false }, []],
              [{ status: "published", pending: true }, ["live on a"]],
              [{ store_id: a.id, status: "failed", pending: true, search: "fail" }, ["failed on a"]],
              [{ store_id: a.id, search: "new" }, []]
            ]
            for (const [query, found] of cases)
              assert.deepStrictEqual(yield* finds(query), found, JSON.stringify(query))
            assert.deepStrictEqual(titles(yield* pageOf("variant", { pending: true })), [])
            assert.deepStrictEqual(titles(yield* pageOf("variant", { pending: false })), ["variant"])
            const { text } = yield* (yield* Catalog).list(null, { limit: 50, store_id: b.id, pending: false })
            assert.deepStrictEqual(titles(JSON.parse(text)), ["live on a and b"])

            // Pages with these filters: changes of a store's values do not move rows, and each row comes once.
            const query = { store_id: a.id, pending: false, limit: 1 } as const
            const first = yield* pageOf("product", query)
            assert.deepStrictEqual(titles(first), ["live on a and b"])
            const cursor = first.next_cursor ?? ""
            const last = yield* pageOf("product", { ...query, cursor })
            assert.deepStrictEqual([titles(last), last.next_cursor], [["live on a"], null])
            for (const other of [
              { pending: false },
              { store_id: a.id },
              { store_id: b.id, pending: false },
              { store_id: a.id, pending: true },
              { store_id: a.id, pending: false, status: "published" }
            ] as const)
              assert.strictEqual((yield* Effect.flip(pageOf("product", { ...other, cursor })))._tag, "ValidationFailed")

            yield* (yield* Stores).unlink("a.example")
            assert.deepStrictEqual(yield* finds({ store_id: a.id }), [])
          }).pipe(actingAs(actor))
        })
      )

      it.effect(
        "a caller that is limited to some stores gets states, filters and search results of these stores alone",
        () =>
          Effect.gen(function* () {
            const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example", "c.example"] })
            const [a, b, c] = stores
            const seenBy = (stores: ReadonlyArray<StoreId>) =>
              Effect.provideService(CurrentBounds, { stores, confirmPublish: false })
            yield* Effect.gen(function* () {
              yield* anEntity("product", { title: "nowhere" })
              const both = yield* anEntity("product", { title: "both" }, { on: [a, b] })
              yield* anEntity("product", { title: "only b" }, { on: [b] })
              const shirt = yield* anEntity("product", { title: "shirt" }, { on: [a, b, c] })
              const small = yield* anEntity("variant", { title: "small", sku: "S-1" }, { of: shirt, on: [a, b] })
              yield* anEntity("variant", { title: "hidden", sku: "H-1" }, { of: shirt, on: [b] })
              yield* apply(
                CatalogChange.SetOverrides({
                  entityId: both,
                  storeId: b.id,
                  values: { title: "Zebra", tags: '["quagga"]' }
                }),
                CatalogChange.SetOverrides({ entityId: small, storeId: b.id, values: { sku: "okapi" } }),
                ...[small, shirt, both].map((entityId) => CatalogChange.AcceptPublish({ entityId, storeId: a.id })),
                CatalogChange.AcceptPublish({ entityId: shirt, storeId: c.id }),
                CatalogChange.RefusePublish({ entityId: both, storeId: b.id, error: { code: "busy", message: "Busy" } })
              )
              const catalog = yield* Catalog
              const onA = [a.id]
              const onAAndB = [a.id, b.id]
              const cases: ReadonlyArray<readonly [ReadonlyArray<StoreId>, Partial<ListQuery>, ReadonlyArray<string>]> =
                [
                  [onA, {}, ["nowhere", "both", "shirt"]],
                  [onAAndB, {}, ["nowhere", "both", "only b", "shirt"]],
                  [[c.id], {}, ["nowhere", "shirt"]],
                  [onA, { status: "failed" }, []],
                  [onAAndB, { status: "failed" }, ["both"]],
                  [onA, { status: "published" }, ["both", "shirt"]],
                  [onAAndB, { status: "published" }, ["shirt"]],
                  [onAAndB, { status: "never_published" }, ["nowhere", "only b"]],
                  [onA, { status: "never_published" }, ["nowhere"]],
                  [onA, { pending: true }, []],
                  [onA, { pending: false }, ["nowhere", "both", "shirt"]],
                  [onAAndB, { pending: true }, ["both", "only b", "shirt"]],
                  [onAAndB, { pending: true, status: "published" }, ["shirt"]],
                  [onA, { store_id: a.id, status: "published" }, ["both", "shirt"]],
                  [onA, { search: "zebra" }, []],
                  [onA, { search: "quagga" }, []],
                  [onAAndB, { search: "zebra" }, ["both"]],
                  [onAAndB, { search: "quagga" }, ["both"]],
                  [onA, { search: "both" }, ["both"]],
                  [onA, { search: "s-1" }, ["shirt"]],
                  [onA, { search: "h-1" }, []],
                  [onA, { search: "okapi" }, []],
                  [[c.id], { search: "okapi" }, []],
                  [onAAndB, { search: "okapi" }, ["shirt"]]
                ]
              for (const [visible, query, found] of cases)
                assert.deepStrictEqual(
                  titles(yield* pageOf("product", query).pipe(seenBy(visible))),
                  found,
                  JSON.stringify({
                    domains: visible.map((id) => stores.find((store) => store.id === id)?.domain),
                    query
                  })
                )
              const stateOf = (visible: ReadonlyArray<StoreId>) =>
                Effect.map(pageOf("product", { ids: [both] }).pipe(seenBy(visible)), ({ data }) =>
                  data.map(({ last_publish_status, pending_publish }) => [last_publish_status, pending_publish])
                )
              assert.deepStrictEqual(yield* stateOf(onA), [["published", false]])
              assert.deepStrictEqual(yield* stateOf(onAAndB), [["failed", true]])
              const { text } = yield* catalog.list(null, { limit: 50, pending: true }).pipe(seenBy(onA))
              assert.deepStrictEqual(titles(JSON.parse(text)), [])
              const variantsOf = (visible: ReadonlyArray<StoreId>) =>
                Effect.map(catalog.related(shirt, { limit: 50 }).pipe(seenBy(visible)), (related) =>
                  (JSON.parse(related.text).variants as ReadonlyArray<typeof VariantRow.Type>).map(
                    ({ last_publish_status, pending_publish, title }) => [title, last_publish_status, pending_publish]
                  )
                )
              assert.deepStrictEqual(yield* variantsOf(onA), [["small", "published", false]])
              assert.deepStrictEqual(yield* variantsOf(onAAndB), [
                ["small", "published", true],
                ["hidden", "never_published", true]
              ])
            }).pipe(actingAs(actor))
          })
      )

      it.effect("a list of an unknown store is not found; errors of its cursor are reported first", () =>
        Effect.gen(function* () {
          const ours = yield* anAccount({ domains: ["a.example"] })
          const theirs = yield* anAccount({ domains: ["a.example"] })
          yield* Effect.gen(function* () {
            const programs = yield* Programs
            const connector = yield* makeConnectorPrograms
            for (const store_id of [theirs.stores[0].id, StoreId.make(nilUuid)]) {
              const known = { urlParams: { limit: 50, store_id: ours.stores[0].id } }
              const unknown = { urlParams: { limit: 50, store_id } }
              const forged = { urlParams: { limit: 50, store_id, cursor: "forged" } }
              for (const list of [
                programs.listProducts,
                programs.listVariants,
                programs.listCollections,
                programs.listMedia,
                connector.listMasters
              ]) {
                assert.strictEqual((yield* list(known)).text, '{"data":[],"next_cursor":null}')
                assert.strictEqual((yield* Effect.flip(list(unknown)))._tag, "NotFound")
                assert.strictEqual((yield* Effect.flip(list(forged)))._tag, "ValidationFailed")
              }
            }
          }).pipe(actingAs(ours.actor))
        })
      )

      it.effect(
        "a collection's members, a gallery and the order of variants are canonical; the stores that show them differ",
        () =>
          Effect.gen(function* () {
            const { actor, stores } = yield* anAccount({ domains: ["a.example"] })
            yield* Effect.gen(function* () {
              const [store] = stores
              assert(store !== undefined)
              const product = yield* anEntity("product", { title: "p" }, { on: stores })
              const [s, l] = [
                yield* anEntity("variant", { title: "s" }, { of: product }),
                yield* anEntity("variant", { title: "l" }, { of: product })
              ]
              const [m, n] = [yield* anEntity("media", { alt: "m" }), yield* anEntity("media", { alt: "n" })]
              const collection = yield* anEntity("collection", { title: "c" })
              const catalog = yield* Catalog
              const changed = (entityId: EntityId, kind: EntityKind) => catalog.get(kind, entityId)
              const step = (kind: EntityKind, entityId: EntityId, change: CatalogChange) =>
                Effect.gen(function* () {
                  const before = yield* changed(entityId, kind)
                  yield* apply(change)
                  const after = yield* changed(entityId, kind)
                  return [after.draftRevision - before.draftRevision, after.updatedAt > before.updatedAt]
                })
              const gallery = (ids: ReadonlyArray<EntityId>, storeIds: ReadonlyArray<StoreId>) =>
                CatalogChange.SetGallery({ entityId: product, entries: ids.map((mediaId) => ({ mediaId, storeIds })) })
              assert.deepStrictEqual(yield* step("product", product, gallery([m, n], [])), [1, true])
              assert.deepStrictEqual(yield* step("product", product, gallery([m, n], [store.id])), [1, false])
              assert.deepStrictEqual(yield* step("product", product, gallery([m, n], [store.id])), [0, false])
              assert.deepStrictEqual(yield* step("product", product, gallery([n, m], [store.id])), [1, true])
              assert.deepStrictEqual(yield* step("product", product, gallery([m], [store.id])), [1, true])
              const order = (variantIds: ReadonlyArray<EntityId>) =>
                CatalogChange.OrderVariants({ productId: product, variantIds })
              assert.deepStrictEqual(yield* step("product", product, order([l, s])), [1, true])
              assert.deepStrictEqual(yield* step("product", product, order([l, s])), [0, false])
              assert.deepStrictEqual((yield* catalog.get("product", product)).variantIds, [l, s])
              const members = (productIds: ReadonlyArray<EntityId>) =>
                CatalogChange.SetMembers({ collectionId: collection, productIds })
              assert.deepStrictEqual(yield* step("collection", collection, members([product])), [1, true])
              assert.deepStrictEqual(yield* step("collection", collection, members([product])), [0, false])
              const inside = yield* pageOf("product", { collection_id: collection })
              assert.deepStrictEqual(titles(inside), ["p"])
              assert.deepStrictEqual(yield* step("collection", collection, members([])), [1, true])
              assert.deepStrictEqual(titles(yield* pageOf("product", { collection_id: collection })), [])
            }).pipe(actingAs(actor))
          })
      )

      it.effect("a list of changes is written completely or not at all", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const product = yield* anEntity("product", { title: "1" })
            const before = yield* pageOf("product")
            const refused = yield* Effect.flip(
              apply(
                CatalogChange.SetAttributes({ entityId: product, values: { title: "2" } }),
                CatalogChange.SetAttributes({ entityId: nothing, values: { title: "3" } })
              )
            )
            assert.strictEqual(refused._tag, "NotFound")
            assert.deepStrictEqual(yield* pageOf("product"), before)
            yield* apply(CatalogChange.SetAttributes({ entityId: product, values: { title: "1", vendor: "" } }))
            assert.deepStrictEqual(yield* pageOf("product"), before)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("changes of an import have the same result as the same changes from any other source", () =>
        Effect.gen(function* () {
          const service = yield* CatalogChanges
          const transaction = yield* Transaction
          /** The rows of an account after the changes. Ids are replaced by the order in which they were created. */
          const written = (carryOut: (changes: ReadonlyArray<CatalogChange>) => ReturnType<typeof service.apply>) =>
            Effect.gen(function* () {
              const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
              const [first, second] = stores.map(({ id }) => id)
              assert(first !== undefined && second !== undefined)
              const [product, small, large, image, untouched] = yield* Effect.all([
                mintId(EntityId),
                mintId(EntityId),
                mintId(EntityId),
                mintId(EntityId),
                mintId(EntityId)
              ])
              const create = (kind: EntityKind, id: EntityId, title: string, parentId: EntityId | null = null) =>
                CatalogChange.CreateEntity({ id, kind, parentId, values: { title } })
              return yield* Effect.gen(function* () {
                yield* carryOut([
                  create("product", untouched, "Socks"),
                  create("product", product, "Boots"),
                  create("variant", small, "S", product),
                  create("media", image, ""),
                  ...[product, small].map((entityId) => CatalogChange.AddToStore({ entityId, storeId: first }))
                ])
                yield* carryOut([
                  // A variant that is written and stamped; a product that is only stamped, because of its new variant;
                  // a version that is only drafted; new entities after those.
                  CatalogChange.SetAttributes({ entityId: small, values: { sku: "B-S" } }),
                  create("variant", large, "L", product),
                  CatalogChange.AddToStore({ entityId: untouched, storeId: second })
                ])
                yield* carryOut([
                  CatalogChange.SetGallery({ entityId: product, entries: [{ mediaId: image, storeIds: [] }] })
                ])
                yield* carryOut([
                  CatalogChange.SetOverrides({ entityId: product, storeId: first, values: { title: "B" } })
                ])
                yield* carryOut([
                  CatalogChange.SetOverrides({ entityId: product, storeId: first, values: { title: "B" } })
                ])
                const lists = yield* Effect.forEach(["product", "variant", "media"] as const, (kind) =>
                  Effect.map(pageOf(kind), ({ data }) => data)
                )
                for (const rows of lists) {
                  const times = rows.map(({ updated_at }) => updated_at)
                  assert.deepStrictEqual(times, [...new Set(times)].sort())
                }
                const detail = yield* (yield* Programs).getProduct({ path: { id: product } })
                const names = [product, small, large, image, untouched, first, second]
                return names.reduce<string>(
                  (text, id, index) => text.replaceAll(id, `#${index}`),
                  JSON.stringify({ lists, detail }).replace(/"(created_at|updated_at)":"[^"]+"/g, '"$1":""')
                )
              }).pipe(actingAs(actor))
            })
          const elsewhere = yield* written(service.apply)
          const imported = yield* written((changes) =>
            transaction.run(service.applyImported(ImportId.make(nilUuid), changes))
          )
          assert.deepStrictEqual(JSON.parse(imported), JSON.parse(elsewhere))
          const plannedAhead = yield* written((changes) =>
            Effect.flatMap(service.planAhead(ImportId.make(nilUuid), [changes]), (ahead) =>
              transaction.run(
                service.applyImported(ImportId.make(nilUuid), changes, undefined, Option.getOrUndefined(ahead))
              )
            )
          )
          assert.deepStrictEqual(JSON.parse(plannedAhead), JSON.parse(elsewhere))
          assert.deepStrictEqual(
            JSON.parse(imported).lists.map(
              (rows: ReadonlyArray<{ readonly id: string; readonly draft_revision: number }>) =>
                rows.map(({ draft_revision, id }) => [id, draft_revision])
            ),
            [
              [
                ["#4", 2],
                ["#0", 4]
              ],
              [
                ["#1", 2],
                ["#2", 1]
              ],
              [["#3", 1]]
            ]
          )
        })
      )

      it.effect("an import raises only new publish times to the time of its write", () =>
        Effect.gen(function* () {
          const service = yield* CatalogChanges
          const transaction = yield* Transaction
          const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
          const [first, second] = stores.map(({ id }) => id)
          assert(first !== undefined && second !== undefined)
          const entityId = yield* mintId(EntityId)
          const importAll = (...changes: ReadonlyArray<CatalogChange>) =>
            transaction.run(service.applyImported(ImportId.make(nilUuid), changes))
          const onStore = (storeId: StoreId) => ({ entityId, storeId })
          const accept = (storeId: StoreId, title: string) =>
            CatalogChange.AcceptImported({ ...onStore(storeId), values: { title }, media: [], variants: [] })
          const times = Effect.gen(function* () {
            const detail = yield* (yield* Programs).getProduct({ path: { id: entityId } })
            const timeOn = (id: StoreId) => detail.stores.find(({ store_id }) => store_id === id)?.published_at
            return { updated: detail.updated_at, first: timeOn(first), second: timeOn(second) }
          })
          yield* Effect.gen(function* () {
            yield* importAll(
              CatalogChange.CreateEntity({ id: entityId, kind: "product", parentId: null, values: { title: "1" } }),
              ...[first, second].flatMap((id) => [CatalogChange.AddToStore(onStore(id)), accept(id, "1")])
            )
            const created = yield* times
            assert.deepStrictEqual([created.first, created.second], [created.updated, created.updated])

            // Times in memory have milliseconds: the next publish must be at another time.
            yield* Effect.promise(() => setTimeout(5))
            yield* importAll(
              CatalogChange.SetAttributes({ entityId, values: { title: "2" } }),
              accept(first, "2"),
              accept(second, "1")
            )
            const updated = yield* times
            assert.isTrue(updated.updated > created.updated)
            assert.deepStrictEqual([updated.first, updated.second], [updated.updated, created.second])

            yield* importAll(CatalogChange.RemoveFromStore(onStore(first)), CatalogChange.AddToStore(onStore(first)))
            assert.deepStrictEqual(yield* times, { ...updated, first: null })
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a plan that was made ahead is used only if its entities do not exist and its stores are linked", () =>
        Effect.gen(function* () {
          const service = yield* CatalogChanges
          const transaction = yield* Transaction
          const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
          const [store] = stores
          yield* Effect.gen(function* () {
            const aBatch = Effect.gen(function* () {
              const id = yield* mintId(EntityId)
              const changes = [
                CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "new" } }),
                CatalogChange.AddToStore({ entityId: id, storeId: store.id })
              ]
              const ahead = Option.getOrThrow(yield* service.planAhead(ImportId.make(nilUuid), [changes]))
              const write = transaction.run(service.applyImported(ImportId.make(nilUuid), changes, undefined, ahead))
              return { id, changes, write }
            })
            const [first, second, third] = yield* Effect.replicateEffect(aBatch, 3)
            assert(first !== undefined && second !== undefined && third !== undefined)
            yield* first.write
            assert.deepStrictEqual(titles(yield* pageOf("product")), ["new"])
            const before = yield* pageOf("product")

            // Planned ahead only if all entities are new.
            const known = [CatalogChange.SetAttributes({ entityId: first.id, values: { title: "other" } })]
            assert.deepStrictEqual(yield* service.planAhead(ImportId.make(nilUuid), [known]), Option.none())
            assert.deepStrictEqual(
              yield* service.planAhead(ImportId.make(nilUuid), [[...second.changes, ...known]]),
              Option.none()
            )

            // The entity exists by now: the same outcome as without a plan.
            const again = yield* Effect.exit(first.write)
            const without = yield* Effect.exit(
              transaction.run(service.applyImported(ImportId.make(nilUuid), first.changes))
            )
            assert.deepStrictEqual(again, without)
            assert.deepStrictEqual(yield* pageOf("product"), before)

            // Another store is linked or unlinked by now.
            yield* (yield* Stores).unlink("b.example")
            yield* second.write
            assert.deepStrictEqual(titles(yield* pageOf("product")), ["new", "new"])
            yield* (yield* Stores).unlink("a.example")
            const unlinked = yield* pageOf("product")
            assert.strictEqual((yield* Effect.flip(third.write))._tag, "NotFound")
            assert.deepStrictEqual(yield* pageOf("product"), unlinked)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("entities of another account are treated as unknown, and cannot be written or referred to", () =>
        Effect.gen(function* () {
          const ours = yield* anAccount({ domains: ["a.example"] })
          const theirs = yield* anAccount({ domains: ["a.example"] })
          const [store] = theirs.stores
          assert(store !== undefined)
          const foreign = yield* anEntity("product", { title: "theirs" }, { on: theirs.stores }).pipe(
            actingAs(theirs.actor)
          )
          const media = yield* anEntity("media", { alt: "theirs" }).pipe(actingAs(theirs.actor))
          yield* Effect.gen(function* () {
            const catalog = yield* Catalog
            const own = yield* anEntity("product", { title: "ours" }, { on: ours.stores })
            assert.deepStrictEqual(titles(yield* pageOf("product")), ["ours"])
            const refusals = yield* Effect.all([
              Effect.flip(catalog.get("product", nothing)),
              Effect.flip(catalog.get("product", foreign)),
              Effect.flip(catalog.get("variant", own)),
              Effect.flip(catalog.versions("product", foreign)),
              Effect.flip(catalog.version("product", own, store.id)),
              Effect.flip(catalog.version("product", foreign, store.id)),
              Effect.flip(apply(CatalogChange.SetAttributes({ entityId: foreign, values: { title: "stolen" } }))),
              Effect.flip(apply(CatalogChange.AddToStore({ entityId: own, storeId: store.id }))),
              Effect.flip(
                apply(CatalogChange.SetGallery({ entityId: own, entries: [{ mediaId: media, storeIds: [] }] }))
              ),
              Effect.flip(
                apply(CatalogChange.CreateEntity({ id: unused, kind: "variant", parentId: foreign, values: {} }))
              )
            ])
            for (const refusal of refusals)
              assert.deepStrictEqual([refusal._tag, refusal.message], ["NotFound", "No such record."])
          }).pipe(actingAs(ours.actor))
          assert.deepStrictEqual(titles(yield* pageOf("product").pipe(actingAs(theirs.actor))), ["theirs"])
        })
      )
    })
  })
}
