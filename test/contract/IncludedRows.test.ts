import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { ListQuery } from "../../src/catalog/Catalog.ts"
import { details, type Include, isIncluded } from "../../src/catalog/Entity.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId } from "../../src/model/Ids.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  Catalog,
  CatalogChange,
  CatalogChanges,
  Stores
} from "../../src/testing/index.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

interface Page {
  readonly data: ReadonlyArray<{ readonly id: EntityId; readonly title: string }>
  readonly next_cursor: string | null
  readonly remaining_ids?: ReadonlyArray<EntityId>
}

const textOf = (kind: EntityKind, query: Partial<ListQuery>) =>
  Effect.map(
    Effect.flatMap(Catalog, ({ list }) => list(kind, { limit: 50, ...query })),
    ({ text }) => text
  )

const pageOf = (kind: EntityKind, query: Partial<ListQuery>) =>
  Effect.map(textOf(kind, query), (text): Page => JSON.parse(text))

const titles = ({ data }: Page) => data.map(({ title }) => title)

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => service.apply(changes))

const groups: ReadonlyArray<ReadonlyArray<Include>> = [
  [],
  ["attributes"],
  ["stores"],
  ["relationships"],
  ["attributes", "stores"],
  ["attributes", "relationships"],
  ["stores", "relationships"],
  ["attributes", "stores", "relationships"]
]

/** Entities with every kind of value, relationship and publish state. */
const aCatalog = Effect.gen(function* () {
  const { actor, stores } = yield* anAccount({ domains: ["b.example", "a.example", "gone.example"] })
  const ids = yield* Effect.gen(function* () {
    const [first, second] = stores
    assert(first !== undefined && second !== undefined)
    const strange = 'Boots "Ötzi"\\ \n\t\u2028 <b> 🏔️ \u0001'
    const media = yield* anEntity(
      "media",
      { url: "https://cdn.example/boots.jpg", file_name: "boots.jpg", alt: strange, mime_type: "image/jpeg" },
      { on: stores }
    )
    const second_media = yield* anEntity("media", { url: "https://cdn.example/b.jpg" })
    const product = yield* anEntity(
      "product",
      { title: strange, handle: "boots", "care.washing": "by hand", "care.A": strange, "a.b": "1", vendor: "" },
      { on: stores }
    )
    const plain = yield* anEntity("product", {})
    const small = yield* anEntity("variant", { title: "S", sku: "B-S" }, { on: stores, of: product })
    const large = yield* anEntity("variant", { title: "L", sku: "B,L", barcode: "401" }, { on: stores, of: product })
    const collection = yield* anEntity("collection", { title: "Winter", handle: "winter" }, { on: stores })
    yield* apply(
      ...[product, small, collection].map((entityId) =>
        CatalogChange.SetGallery({
          entityId,
          entries: [
            { mediaId: second_media, storeIds: [first.id] },
            { mediaId: media, storeIds: [] }
          ]
        })
      ),
      CatalogChange.SetMembers({ collectionId: collection, productIds: [product, plain] }),
      CatalogChange.SetOverrides({ entityId: product, storeId: first.id, values: { title: "Stiefel" } })
    )
    yield* apply(
      CatalogChange.RefusePublish({
        entityId: product,
        storeId: first.id,
        error: { code: "invalid", message: strange }
      }),
      CatalogChange.AcceptPublish({ entityId: product, storeId: second.id }),
      CatalogChange.RequestPublish({ entityId: small, storeId: second.id })
    )
    yield* (yield* Stores).unlink("gone.example")
    return { product, plain, small, large, collection, media }
  }).pipe(actingAs(actor))
  return { actor, ids }
})

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`lists with include on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("a row has the requested members of the single read, in the same order", () =>
        Effect.gen(function* () {
          const { actor } = yield* aCatalog
          yield* Effect.gen(function* () {
            const catalog = yield* Catalog
            let compared = 0
            for (const kind of ["product", "variant", "collection", "media"] as const)
              for (const include of groups)
                for (const row of (yield* pageOf(kind, { include })).data) {
                  const detail = details[kind](yield* catalog.get(kind, row.id))
                  const expected = Object.entries(detail).filter(([member]) => isIncluded(include, member))
                  assert.deepStrictEqual(row, JSON.parse(JSON.stringify(Object.fromEntries(expected))))
                  assert.deepStrictEqual(
                    Object.keys(row),
                    expected.map(([member]) => member)
                  )
                  compared += 1
                }
            assert.strictEqual(compared, 7 * groups.length)
            const [whole] = (yield* pageOf("product", { include: ["attributes", "stores", "relationships"] })).data
            assert.deepStrictEqual(Object.keys(whole ?? {}), [
              "id",
              "type",
              "title",
              "attributes",
              "draft_revision",
              "pending_publish",
              "last_publish_status",
              "variant_ids",
              "media_ids",
              "collection_ids",
              "stores",
              "created_at",
              "updated_at"
            ])
          }).pipe(actingAs(actor))
        })
      )

      it.effect("the filters ids, handles, SKUs and barcodes find exactly the matching entities", () =>
        Effect.gen(function* () {
          const { actor, ids } = yield* aCatalog
          yield* Effect.gen(function* () {
            const found = (kind: EntityKind, query: Partial<ListQuery>) =>
              Effect.map(pageOf(kind, query), ({ data }) => data.map(({ id }) => id).sort())
            const unknown = EntityId.make("00000000-0000-4000-8000-000000000001")
            assert.deepStrictEqual(yield* found("product", { handle: ["boots", "none"] }), [ids.product])
            assert.deepStrictEqual(yield* found("collection", { handle: ["winter"] }), [ids.collection])
            assert.deepStrictEqual(yield* found("product", { handle: ["Boots"] }), [])
            assert.deepStrictEqual(yield* found("variant", { sku: ["B,L"] }), [ids.large])
            assert.deepStrictEqual(yield* found("variant", { sku: ["B,L", "B-S"] }), [ids.small, ids.large].sort())
            assert.deepStrictEqual(yield* found("product", { sku: ["B,L", "B-S"] }), [ids.product])
            assert.deepStrictEqual(yield* found("variant", { barcode: ["401"], sku: ["B-S"] }), [])
            assert.deepStrictEqual(yield* found("product", { barcode: ["401"] }), [ids.product])
            assert.deepStrictEqual(yield* found("product", { barcode: ["4"] }), [])
            assert.deepStrictEqual(yield* found("product", { ids: [] }), [])
            for (const include of [undefined, ["attributes"] as const])
              assert.deepStrictEqual(
                yield* found("product", { ids: [unknown, ids.plain, ids.media, ids.product], limit: 1, include }),
                [ids.plain, ids.product].sort()
              )
            assert.deepStrictEqual(yield* found("product", { ids: [ids.plain, ids.product], pending_publish: true }), [
              ids.product
            ])
            const refusal = (query: Partial<ListQuery>) =>
              Effect.map(Effect.flip(pageOf("product", query)), ({ message }) => message)
            assert.match(yield* refusal({ ids: [], cursor: "x" }), /^cursor: cannot be combined with ids/)
            assert.match(yield* refusal({ pending: true, pending_publish: false }), /^pending_publish: contradicts/)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a cursor depends on the value filters, but not on the included groups", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            for (const title of ["1", "2", "3"]) yield* anEntity("collection", { title, handle: "same" })
            const handle = ["same", "other"]
            const first = yield* pageOf("collection", { limit: 2, handle, include: ["attributes"] })
            const cursor = first.next_cursor ?? ""
            const rest = yield* pageOf("collection", { limit: 2, handle: ["other", "same"], cursor })
            assert.deepStrictEqual([titles(first), titles(rest), rest.next_cursor], [["1", "2"], ["3"], null])
            const refused = yield* Effect.flip(pageOf("collection", { limit: 2, handle: ["same"], cursor }))
            assert.match(refused.message, /^cursor: is not a cursor/)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a page has at most 4 MiB and ends between rows, and no row is lost", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const long = (index: number) => "é€🏔 \n".repeat((index + 1) * 12_000)
            const ids = yield* Effect.forEach(Array.from({ length: 11 }), (_, index) =>
              anEntity("product", { title: String(index), description_html: long(index) })
            )
            // A single row is longer than the limit of a page.
            ids.push(yield* anEntity("product", { title: "11", description_html: "x".repeat(5_000_000) }))
            ids.push(yield* anEntity("product", { title: "12" }))
            const include = ["attributes"] as const
            const seen: Array<string> = []
            const sizes: Array<number> = []
            for (let cursor: string | undefined; sizes.length < 20; ) {
              const text = yield* textOf("product", { limit: 250, include, cursor })
              const page: Page = JSON.parse(text)
              sizes.push(page.data.length)
              if (page.data.length > 1) assert.isAtMost(Buffer.byteLength(text), 4 * 1024 * 1024)
              seen.push(...titles(page))
              if (page.next_cursor === null) break
              cursor = page.next_cursor
            }
            assert.deepStrictEqual(
              seen,
              ids.map((_, index) => String(index))
            )
            assert.isAtLeast(sizes.length, 4)

            const left = new Set(ids)
            for (let asked: ReadonlyArray<EntityId> = ids; left.size > 0; ) {
              const page = yield* pageOf("product", { ids: asked, include })
              assert.isAtLeast(page.data.length, 1)
              assert.isNull(page.next_cursor)
              for (const { id } of page.data) assert.isTrue(left.delete(id))
              assert.deepStrictEqual([...(page.remaining_ids ?? [])].sort(), [...left].sort())
              asked = page.remaining_ids ?? []
            }
          }).pipe(actingAs(actor))
        })
      )
    })
  })
}
