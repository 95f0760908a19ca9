import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { afterAll } from "vitest"
import type { Aggregate, GalleryEntry } from "../../src/catalog/Aggregate.ts"
import { conflictLines } from "../../src/cli/ImportOutput.ts"
import { mediaShown } from "../../src/drafts/Aggregate.ts"
import { CatalogChange } from "../../src/drafts/CatalogChange.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { planAnswer } from "../../src/imports/plan/AnswerPlan.ts"
import { resolveConflicts } from "../../src/imports/plan/ImportPlan.ts"
import { ImportPlanner } from "../../src/imports/plan/ImportPlanner.ts"
import { planVariantPicture } from "../../src/imports/plan/VariantPicturePlan.ts"
import { EntityId, StoreId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount, CatalogChanges, Drafts, Programs, Publishing, Stores } from "../../src/testing/index.ts"
import { aProductOf } from "../support/ShopRecords.ts"
import { featureEngines } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "variant-pictures-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`
const us = StoreId.make(uuid(1))
const eu = StoreId.make(uuid(2))
const [id, a, b, c] = [10, 11, 12, 13].map((number) => EntityId.make(uuid(number))) as [
  EntityId,
  EntityId,
  EntityId,
  EntityId
]

const version = { overrides: {}, pendingPublish: false, lastPublishStatus: "published", publishedAt: null } as const

/** A variant that shows these media on the store, and whose accepted picture is this one; undefined: unknown. */
const aVariant = (gallery: ReadonlyArray<GalleryEntry>, accepted: EntityId | null | undefined): Aggregate => ({
  id,
  kind: "variant",
  parentId: EntityId.make(uuid(9)),
  position: 0,
  attributes: {},
  pendingPublish: false,
  lastPublishStatus: "published",
  storeIds: [us, eu],
  searchText: "",
  versions: [us, eu].map((storeId) => ({
    ...version,
    storeId,
    accepted: {
      attributes: {},
      ...(accepted !== undefined && { media: accepted === null ? [] : [accepted] })
    },
    lastPublishError: null,
    mayBeLive: false,
    platformId: null
  })),
  gallery,
  members: []
})

const here = (...media: ReadonlyArray<EntityId>) => media.map((mediaId) => ({ mediaId, storeIds: [us] }))
const everywhere = (...media: ReadonlyArray<EntityId>) => media.map((mediaId) => ({ mediaId, storeIds: [us, eu] }))

/** What the store `us` and the store `eu` show of the variant after the import. */
const planned = (
  variant: Aggregate,
  picture: EntityId | null | undefined,
  { isComplete = true, keepsDraft = false } = {}
) => {
  const planner = new ImportPlanner({ storeId: us, isComplete })
  planVariantPicture(planner, id, variant, picture)
  const { changes, conflicts } = planner.toPlan(false)
  const [change] = resolveConflicts(changes, () => keepsDraft)
  const gallery = change === undefined ? variant.gallery : change._tag === "SetGallery" ? change.entries : assert.fail()
  return { us: mediaShown({ gallery }, us), eu: mediaShown({ gallery }, eu), conflicts }
}

describe("the picture of a variant in an import", () => {
  const cases: ReadonlyArray<
    readonly [
      name: string,
      gallery: ReadonlyArray<GalleryEntry>,
      accepted: EntityId | null | undefined,
      store: EntityId | null | undefined,
      shown: ReadonlyArray<EntityId>,
      isConflict?: boolean
    ]
  > = [
    ["stays if the store has the same", here(a), a, a, [a]],
    ["stays if the source does not say", here(a), a, undefined, [a]],
    ["comes from the store", here(), null, b, [b]],
    ["is replaced by the store's, and stays behind it", here(a), a, b, [b, a]],
    ["that is in the gallery already comes first", here(a, b, c), a, c, [c, a, b]],
    ["leaves the store", here(a), a, null, []],
    ["stays a draft if only the draft changed", here(b), a, a, [b]],
    ["stays a draft if the store never had one", here(b), null, null, [b]],
    ["stays a draft if none was recorded and the store has none", here(b), undefined, null, [b]],
    ["comes from the store if none was recorded", here(b), undefined, a, [a, b]],
    ["was changed on both sides", here(b), a, c, [c, b], true],
    ["was added on both sides", here(b), null, c, [c, b], true],
    ["was replaced here and taken away in the store", here(b), a, null, [], true]
  ]
  for (const [name, gallery, accepted, store, shown, isConflict = false] of cases)
    it(name, () => {
      const variant = aVariant(gallery, accepted)
      const { conflicts, us: onStore } = planned(variant, store)
      assert.deepStrictEqual(onStore, shown)
      const list = (picture: EntityId | null | undefined) => JSON.stringify(picture == null ? [] : [picture])
      assert.deepStrictEqual(
        conflicts,
        isConflict
          ? [{ entityId: id, field: "media_ids", accepted: list(accepted), draft: list(b), store: list(store) }]
          : []
      )
      if (isConflict) assert.deepStrictEqual(planned(variant, store, { keepsDraft: true }).us, mediaShown(variant, us))
    })

  it("of another store stays: a shared picture keeps its place, and those before it are hidden on this store", () => {
    assert.deepStrictEqual(planned(aVariant(everywhere(a, b, c), a), b), { us: [b, c], eu: [a, b, c], conflicts: [] })
    assert.deepStrictEqual(planned(aVariant(everywhere(a), a), b), { us: [b, a], eu: [a], conflicts: [] })
    assert.deepStrictEqual(planned(aVariant(everywhere(a, b), a), null), { us: [], eu: [a, b], conflicts: [] })
  })

  it("is not taken away by a partial source", () =>
    assert.deepStrictEqual(planned(aVariant(here(a), a), null, { isComplete: false }).us, [a]))

  it("is not recorded by a file that does not change it", () => {
    const record = (variant: Aggregate, changed: ReadonlyArray<string>) =>
      planAnswer(variant, { values: {} }, { picture: b }, { storeId: us, isComplete: true }, new Set(changed))
    assert.lengthOf(record(aVariant(here(a), a), ["price"]), 0)
    assert.lengthOf(record(aVariant(here(a), a), ["price", "media_ids"]), 1)
  })

  it("is recorded once: of a variant that has one, or whose store has one", () => {
    const record = (variant: Aggregate, picture: EntityId | null) =>
      planAnswer(variant, { values: {} }, { picture }, { storeId: us, isComplete: true }, new Set(["media_ids"]))
    assert.lengthOf(record(aVariant([], undefined), null), 0)
    assert.lengthOf(record(aVariant([], null), null), 0)
    assert.lengthOf(record(aVariant(here(a), a), a), 0)
    for (const [variant, picture] of [
      [aVariant(here(a), undefined), null],
      [aVariant([], undefined), a],
      [aVariant(here(a), a), null]
    ] as const)
      assert.deepInclude(record(variant, picture)[0], { _tag: "AcceptImported", picture })
  })
})

for (const engine of featureEngines)
  describe.skipIf(engine.absent)(`pictures of variants in imports and refreshes on ${engine.name}`, () => {
    const TestLayer = Imports.layer.pipe(
      Layer.provide(FaultInjector.layer),
      Layer.provideMerge(Services),
      Layer.provideMerge(RepositoriesOnDatabase),
      Layer.provideMerge(engine.layer),
      Layer.orDie
    )
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect(
        "stay as they are if the file has no address for them, and a second import of the file changes nothing",
        () =>
          Effect.gen(function* () {
            const { accountId, actor } = yield* anAccount({ domains: ["files.example"] })
            yield* Effect.gen(function* () {
              const imports = yield* Imports
              const sql = yield* SqlClient.SqlClient
              const bring = (name: string, lines: ReadonlyArray<string>) =>
                Effect.gen(function* () {
                  const path = join(folder, name)
                  writeFileSync(path, `${lines.join("\n")}\n`)
                  const { id } = yield* imports.csv(path, "files.example", () => Effect.void)
                  return (yield* imports.accept(id, () => Effect.void, { rest: "take_store" })).summary
                })
              const states = sql`
              SELECT e.attributes #>> '{sku,value}' AS sku, e.pending_publish,
                     ARRAY(SELECT g.media_id FROM entity_media g WHERE g.account_id = e.account_id AND g.entity_id = e.id) AS shown,
                     v.accepted -> 'media' AS accepted
              FROM entity e
              JOIN store_version v ON v.account_id = e.account_id AND v.entity_id = e.id
              WHERE e.account_id = ${accountId} AND e.kind = 'variant' ORDER BY 1`
              const header = "Handle,Title,Option1 Name,Option1 Value,Variant SKU,Image Src,Variant Image"
              const [small, medium] = ["https://cdn.example/s.png", "https://cdn.example/m.png"]
              const full = [header, `hat,Hat,Size,S,H-S,${small},${medium}`, `hat,,,M,H-M,${medium},`]
              assert.deepInclude(yield* bring("full.csv", full), { created: 1, images: 2 })
              const before = yield* states
              assert.deepStrictEqual(
                before.map(({ accepted, pending_publish, shown }) => [accepted ?? [], shown, pending_publish]),
                [
                  [[], [], false],
                  [before[1]?.shown, before[1]?.shown, false]
                ]
              )
              assert.lengthOf(before[1]?.shown as ReadonlyArray<string>, 1)
              assert.deepInclude(yield* bring("again.csv", full), { created: 0, updated: 0, unchanged: 1 })
              const empty = [header, `hat,Hat,Size,S,H-S,${small},`, `hat,,,M,H-M,${medium},`]
              const without = empty.map((line) => line.slice(0, line.lastIndexOf(",")))
              for (const [name, lines] of Object.entries({ empty, without }))
                assert.deepInclude(yield* bring(`${name}.csv`, lines), { created: 0, updated: 0, unchanged: 1 }, name)
              assert.deepStrictEqual(yield* states, before)
            }).pipe(actingAs(actor))
          })
      )

      it.effect("come with the products, follow the shop, and become a conflict if both sides changed them", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const { store } = yield* (yield* Stores).link({ domain: "shop.example", platform: "demo" })
            const [file, product, small, medium] = aProductOf("boot", ["M", "S"])
            const [more] = aProductOf("sole", [])
            if (!file || !more || !product || !small || !medium) return assert.fail("no product")
            const put = (picture: string | null) =>
              Effect.flatMap(DemoShops, (shops) =>
                shops.put({ accountId, storeId: store.id }, [
                  file,
                  more,
                  { ...product, media: [file.platformId, more.platformId] },
                  { ...small, picture },
                  medium
                ])
              )
            const imports = yield* Imports
            const refreshed = Effect.gen(function* () {
              const { id } = yield* imports.refresh("shop.example", () => Effect.void)
              return yield* imports.accept(id, () => Effect.void, { rest: "take_store" })
            })
            yield* put(file.platformId)
            yield* refreshed
            const programs = yield* Programs
            const sql = yield* SqlClient.SqlClient
            const found = yield* sql<{ readonly id: EntityId }>`
              SELECT id FROM entity WHERE account_id = ${accountId} AND kind = 'variant'`
            const variants = yield* Effect.forEach(found, ({ id }) => programs.getVariant({ path: { id } }))
            const pictured = variants.find(({ media_ids }) => media_ids.length > 0) ?? assert.fail("no picture")
            assert.deepStrictEqual(
              variants.map(({ media_ids, pending_publish }) => [media_ids.length, pending_publish]).sort(),
              [
                [0, false],
                [1, false]
              ]
            )
            const [boot = assert.fail("no file")] = pictured.media_ids
            const { media_ids } = yield* programs.getProduct({ path: { id: pictured.product_id } })
            const sole = media_ids.find((each) => each !== boot) ?? assert.fail("no second file")
            const shown = Effect.map((yield* Drafts).sheet(pictured.id), ({ gallery, stores }) => [
              mediaShown({ gallery }, store.id),
              stores.map(({ projection }) => projection.pending_keys)
            ])
            assert.deepInclude((yield* refreshed).summary, { created: 0, updated: 0, unchanged: 1 })

            // A version without pictures of variants accepted the variant.
            yield* sql`
              UPDATE store_version SET accepted = accepted - 'media'
              WHERE account_id = ${accountId} AND entity_id = ${pictured.id}`
            const accepted = Effect.map(
              sql`SELECT accepted -> 'media' AS media FROM store_version WHERE entity_id = ${pictured.id}`,
              ([row]) => row?.media
            )
            assert.deepStrictEqual([yield* accepted, yield* shown], [null, [[boot], [[]]]])
            yield* refreshed
            assert.deepStrictEqual([yield* accepted, yield* shown], [[boot], [[boot], [[]]]])

            yield* put(more.platformId)
            yield* refreshed
            assert.deepStrictEqual(yield* shown, [[sole, boot], [[]]])
            yield* put(null)
            yield* refreshed
            assert.deepStrictEqual(yield* shown, [[], [[]]])

            const show = (mediaId: EntityId) =>
              Effect.flatMap(CatalogChanges, ({ apply }) =>
                apply([
                  CatalogChange.SetGallery({ entityId: pictured.id, entries: [{ mediaId, storeIds: [store.id] }] })
                ])
              )
            yield* show(boot)
            yield* refreshed
            assert.deepStrictEqual(yield* shown, [[boot], [["media_ids"]]])
            yield* put(more.platformId)
            const { id, summary } = yield* imports.refresh("shop.example", () => Effect.void)
            assert.strictEqual(summary.conflicts, 1)
            const conflicts = yield* imports.conflicts(id, 0, 10)
            assert.deepStrictEqual(
              conflicts.map(({ draft_value, pictures, store_value }) => [draft_value, store_value, pictures]),
              [
                [
                  JSON.stringify([boot]),
                  JSON.stringify([sole]),
                  { [boot]: "boot on a table", [sole]: "sole on a table" }
                ]
              ]
            )
            assert.deepStrictEqual(conflictLines(conflicts).slice(2), [
              '     media_ids  "boot on a table"                     "sole on a table"                     undecided'
            ])
            yield* imports.accept(id, () => Effect.void, { rest: "keep_draft" })
            assert.deepStrictEqual(yield* shown, [[boot], [["media_ids"]]])
            const { request, settle } = yield* Publishing
            const asked = yield* request(pictured.id, store.id)
            if (asked.outcome === "nothing_to_publish") return assert.fail(asked.outcome)
            yield* settle([asked.publicationId], () => Effect.void)
            assert.deepInclude((yield* refreshed).summary, { conflicts: 0, updated: 0, unchanged: 1 })
            assert.deepStrictEqual(yield* shown, [[boot], [[]]])

            // A file that changes another value leaves the picture of the shop for the next refresh.
            yield* put(more.platformId)
            const path = join(folder, "price.csv")
            const header = "Handle,Title,Option1 Name,Option1 Value,Variant SKU,Variant Price"
            writeFileSync(path, `${header}\nboot,The boot,Size,M,boot-M,12.00\nboot,,,S,boot-S,10.00\n`)
            const priced = yield* imports.csv(path, "shop.example", () => Effect.void)
            yield* imports.accept(priced.id, () => Effect.void, { rest: "take_store" })
            assert.deepStrictEqual(yield* shown, [[boot], [["price"]]])
            yield* refreshed
            assert.deepStrictEqual(yield* shown, [[sole, boot], [["price"]]])
          }).pipe(actingAs(actor))
        })
      )
    })
  })
