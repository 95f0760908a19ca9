import { assert, describe, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { MasterRow } from "../../src/api/Answers.ts"
import type { ListQuery } from "../../src/catalog/Catalog.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId, nilUuid } from "../../src/model/Ids.ts"
import { actingAs, anAccount, anEntity, Catalog, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

const Rows = Schema.Array(MasterRow)
const Cursor = Schema.NullOr(Schema.String)
const strict = { onExcessProperty: "error", errors: "all" } as const

const decode = <A, I>(schema: Schema.Schema<A, I>, text: string) =>
  Effect.orDie(Schema.decodeUnknown(Schema.parseJson(schema), strict)(text))

const pageOf = (query: Partial<ListQuery> = {}) =>
  Effect.gen(function* () {
    const { text } = yield* (yield* Catalog).list(null, { limit: 50, ...query })
    return yield* decode(Schema.Struct({ data: Rows, next_cursor: Cursor }), text)
  })

const relatedTo = (id: EntityId, query: Partial<Pick<ListQuery, "limit" | "cursor">> = {}) =>
  Effect.gen(function* () {
    const { text } = yield* (yield* Catalog).related(id, { limit: 50, ...query })
    return yield* decode(
      Schema.Struct({ variants: Rows, media: Rows, collections: Rows, products: Rows, next_cursor: Cursor }),
      text
    )
  })

const ids = (rows: ReadonlyArray<{ readonly id: EntityId }>) => rows.map(({ id }) => id)

/** A product with two variants and two media files, one of them a variant's too, in two collections. */
const aFamily = Effect.gen(function* () {
  const { apply } = yield* CatalogChanges
  const product = yield* anEntity("product", { title: "Boots" })
  const other = yield* anEntity("product", { title: "Shoes" })
  const variants = yield* Effect.forEach(["S", "L"], (title) =>
    anEntity("variant", { title, sku: title }, { of: product })
  )
  const media = yield* Effect.forEach(["front", "back"], (alt) =>
    anEntity("media", { alt, url: `https://cdn.example/${alt}` })
  )
  const collections = yield* Effect.forEach(["Winter", "New"], (title) => anEntity("collection", { title }))
  const [first, second] = media
  const [small] = variants
  assert(first !== undefined && second !== undefined && small !== undefined)
  const shown = (mediaIds: ReadonlyArray<EntityId>) => mediaIds.map((mediaId) => ({ mediaId, storeIds: [] }))
  yield* apply([
    CatalogChange.SetGallery({ entityId: product, entries: shown([second, first]) }),
    CatalogChange.SetGallery({ entityId: small, entries: shown([first]) }),
    ...collections.map((collectionId) => CatalogChange.SetMembers({ collectionId, productIds: [other, product] }))
  ])
  return { product, other, variants, small, media, first, second, collections }
})

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`masters on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("entities of all kinds are in one order of changes, page by page, under every filter", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const kinds: ReadonlyArray<EntityKind> = ["media", "product", "collection", "product", "media"]
            const made = yield* Effect.forEach(kinds, (kind, index) =>
              anEntity(kind, kind === "media" ? { file_name: `thing ${index}.jpg` } : { title: `thing ${index}` })
            )
            const all = yield* pageOf()
            assert.deepStrictEqual(ids(all.data), made)
            assert.deepStrictEqual(
              all.data.map(({ type }) => type),
              kinds
            )
            assert.isNull(all.next_cursor)
            const seen: Array<EntityId> = []
            for (let cursor: string | null | undefined; cursor !== null; ) {
              const page = yield* pageOf({ limit: 2, ...(cursor !== undefined && { cursor }) })
              assert.isAtMost(page.data.length, 2)
              seen.push(...ids(page.data))
              cursor = page.next_cursor
            }
            assert.deepStrictEqual(seen, made)
            const [first] = made
            assert(first !== undefined)
            yield* (yield* CatalogChanges).apply([
              CatalogChange.SetAttributes({ entityId: first, values: { alt: "x" } })
            ])
            const tail = [...made.slice(1), first]
            assert.deepStrictEqual(ids((yield* pageOf()).data), tail)
            assert.deepStrictEqual(ids((yield* pageOf({ search: "thing 3" })).data), [made[3]])
            assert.deepStrictEqual(ids((yield* pageOf({ search: "thing", limit: 3 })).data), tail.slice(0, 3))
            assert.deepStrictEqual((yield* pageOf({ status: "published" })).data, [])
            assert.deepStrictEqual(ids((yield* pageOf({ status: "never_published" })).data), tail)
            const since = all.data[3]?.updated_at
            assert(since !== undefined)
            assert.deepStrictEqual(ids((yield* pageOf({ updated_since: since })).data), [made[3], made[4], first])
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a cursor of the list of all kinds is invalid for the list of one kind, and the reverse", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            yield* anEntity("product", { title: "1" })
            yield* anEntity("product", { title: "2" })
            const catalog = yield* Catalog
            const cursor = (yield* pageOf({ limit: 1 })).next_cursor ?? assert.fail("one page")
            const refused = yield* Effect.flip(catalog.list("product", { limit: 1, cursor }))
            assert.strictEqual(refused._tag, "ValidationFailed")
            const { text } = yield* catalog.list("product", { limit: 1 })
            const ofKind = JSON.parse(text).next_cursor
            assert.strictEqual(
              (yield* Effect.flip(catalog.list(null, { limit: 1, cursor: ofKind })))._tag,
              "ValidationFailed"
            )
          }).pipe(actingAs(actor))
        })
      )

      it.effect("related masters are four lists in their orders, with one cursor through them", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const family = yield* aFamily
            const ofProduct = yield* relatedTo(family.product)
            assert.deepStrictEqual(ids(ofProduct.variants), family.variants)
            assert.deepStrictEqual(ids(ofProduct.media), [family.second, family.first])
            assert.deepStrictEqual(ids(ofProduct.collections), [...family.collections].sort())
            assert.deepStrictEqual(ofProduct.products, [])
            assert.isNull(ofProduct.next_cursor)
            const ofVariant = yield* relatedTo(family.small)
            assert.deepStrictEqual(ids(ofVariant.products), [family.product])
            assert.deepStrictEqual(ids(ofVariant.media), [family.first])
            const [collection] = family.collections
            assert(collection !== undefined)
            assert.deepStrictEqual(ids((yield* relatedTo(collection)).products), [family.other, family.product])
            const ofMedia = yield* relatedTo(family.first)
            assert.deepStrictEqual(
              [ids(ofMedia.variants), ids(ofMedia.products), ofMedia.media, ofMedia.collections],
              [[family.small], [family.product], [], []]
            )

            const whole = [...ofProduct.variants, ...ofProduct.media, ...ofProduct.collections]
            for (const limit of [1, 2, 5]) {
              const seen: Array<(typeof whole)[number]> = []
              for (let cursor: string | null | undefined; cursor !== null; ) {
                const page = yield* relatedTo(family.product, { limit, ...(cursor !== undefined && { cursor }) })
                seen.push(...page.variants, ...page.media, ...page.collections, ...page.products)
                cursor = page.next_cursor
              }
              assert.deepStrictEqual(seen, whole)
            }
            const catalog = yield* Catalog
            const { next_cursor } = yield* relatedTo(family.product, { limit: 1 })
            const elsewhere = catalog.related(family.small, { limit: 1, cursor: next_cursor ?? "" })
            assert.strictEqual((yield* Effect.flip(elsewhere))._tag, "ValidationFailed")
          }).pipe(actingAs(actor))
        })
      )

      it.effect("related masters are read once each if their relations change between two pages", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            const media = yield* Effect.forEach([1, 2, 3, 4, 5, 6], (at) =>
              anEntity("media", { url: `https://cdn.example/${at}` })
            )
            const product = yield* anEntity("product", { title: "Boots" })
            const [first, second, third, ...rest] = media
            assert(first !== undefined && second !== undefined && third !== undefined)
            const show = (mediaIds: ReadonlyArray<EntityId>) =>
              apply([
                CatalogChange.SetGallery({
                  entityId: product,
                  entries: mediaIds.map((mediaId) => ({ mediaId, storeIds: [] }))
                })
              ])
            for (const later of [
              [second, third, ...rest],
              [...rest, first, second, third],
              [first, ...rest.slice(0, 1), second, third, ...rest.slice(1)]
            ]) {
              yield* show([first, second, third, ...rest])
              const page = yield* relatedTo(product, { limit: 2 })
              assert.deepStrictEqual(ids(page.media), [first, second])
              yield* show(later)
              const next = yield* relatedTo(product, { cursor: page.next_cursor ?? "" })
              assert.deepStrictEqual(ids(next.media), later.slice(later.indexOf(second) + 1))
            }
          }).pipe(actingAs(actor))
        })
      )

      it.effect("related masters are read once each if the last row of a page is removed before the next page", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            const made = yield* Effect.forEach(["1", "2", "3", "4"], (title) => anEntity("product", { title }))
            const collections = yield* Effect.forEach(["Shoes", "Sale"], (title) => anEntity("collection", { title }))
            const [first, second] = collections.sort()
            const [product] = made.sort()
            assert(first !== undefined && second !== undefined && product !== undefined)
            const fill = (collectionId: EntityId, productIds: ReadonlyArray<EntityId>) =>
              apply([CatalogChange.SetMembers({ collectionId, productIds })])
            for (const products of [made, [...made].reverse()])
              for (const limit of [1, 2]) {
                yield* fill(first, products)
                const page = yield* relatedTo(first, { limit })
                assert.deepStrictEqual(ids(page.products), products.slice(0, limit))
                const gone = products[limit - 1]
                yield* fill(
                  first,
                  products.filter((id) => id !== gone)
                )
                const next = yield* relatedTo(first, { cursor: page.next_cursor ?? "" })
                assert.deepStrictEqual(ids(next.products), products.slice(limit))
              }
            // The collections of a product are in the order of their ids.
            for (const id of [first, second]) yield* fill(id, [product])
            const page = yield* relatedTo(product, { limit: 1 })
            assert.deepStrictEqual(ids(page.collections), [first])
            yield* fill(first, [])
            const next = yield* relatedTo(product, { cursor: page.next_cursor ?? "" })
            assert.deepStrictEqual(ids(next.collections), [second])
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a handle finds all products and collections of the account that have it", () =>
        Effect.gen(function* () {
          const ours = yield* anAccount()
          const theirs = yield* anAccount()
          const withHandle = (handle: string) =>
            Effect.flatMap(Catalog, (catalog) => catalog.withHandle(handle)).pipe(actingAs(ours.actor))
          yield* anEntity("product", { title: "Boots", handle: "boots" }).pipe(actingAs(theirs.actor))
          assert.deepStrictEqual(yield* withHandle("boots"), [])
          const { collection, products } = yield* Effect.gen(function* () {
            const first = yield* anEntity("product", { title: "Boots", handle: "boots" })
            const collection = yield* anEntity("collection", { title: "Boots", handle: "boots" })
            const second = yield* anEntity("product", { title: "Boots 2", handle: "boots" })
            yield* anEntity("product", { title: "No handle" })
            yield* anEntity("media", { file_name: "boots" })
            return { collection, products: [first, second].sort() }
          }).pipe(actingAs(ours.actor))
          assert.deepStrictEqual(yield* withHandle("boots"), [
            { kind: "collection" as const, id: collection },
            ...products.map((id) => ({ kind: "product" as const, id }))
          ])
          assert.deepStrictEqual(yield* withHandle("Boots"), [])
        })
      )

      it.effect("a name finds all entities of the account that have it as handle or SKU", () =>
        Effect.gen(function* () {
          const ours = yield* anAccount()
          const theirs = yield* anAccount()
          const named = (name: string) =>
            Effect.flatMap(Catalog, (catalog) => catalog.withName(name)).pipe(actingAs(ours.actor))
          const boots = (actor: (typeof ours)["actor"]) =>
            Effect.gen(function* () {
              const product = yield* anEntity("product", { title: "Boots", handle: "B-1" })
              const variants = yield* Effect.all([
                anEntity("variant", { title: "S", sku: "B-1" }, { of: product }),
                anEntity("variant", { title: "M", sku: "B-1" }, { of: product }),
                anEntity("variant", { title: "L" }, { of: product })
              ])
              return { product, variants: variants.slice(0, 2).sort() }
            }).pipe(actingAs(actor))
          yield* boots(theirs.actor)
          assert.deepStrictEqual(yield* named("B-1"), [])
          const { product, variants } = yield* boots(ours.actor)
          assert.deepStrictEqual<unknown>(yield* named("B-1"), [
            { id: product, kind: "product" },
            ...variants.map((id) => ({ id, kind: "variant" }))
          ])
          for (const other of ["b-1", "", "B"]) assert.deepStrictEqual(yield* named(other), [])
        })
      )

      it.effect("a master of another account has no kind and no related masters", () =>
        Effect.gen(function* () {
          const ours = yield* anAccount()
          const theirs = yield* anAccount()
          const product = yield* anEntity("product", { title: "Boots" }).pipe(actingAs(theirs.actor))
          yield* Effect.gen(function* () {
            const catalog = yield* Catalog
            for (const id of [product, EntityId.make(nilUuid)]) {
              assert.strictEqual((yield* Effect.flip(catalog.kindOf(id)))._tag, "NotFound")
              assert.strictEqual((yield* Effect.flip(catalog.related(id, { limit: 1 })))._tag, "NotFound")
            }
            assert.deepStrictEqual((yield* pageOf()).data, [])
          }).pipe(actingAs(ours.actor))
          const kind = (yield* Catalog).kindOf(product).pipe(actingAs(theirs.actor))
          assert.strictEqual(yield* kind, "product")
        })
      )
    })
  })
}
