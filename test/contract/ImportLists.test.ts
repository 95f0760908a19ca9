import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { terms } from "../../src/catalog/SearchText.ts"
import { ImportsRepo } from "../../src/imports/ImportsRepo.ts"
import { ReviewList, type StagedItem } from "../../src/imports/StagedImport.ts"
import { EntityId, ImportId, RecordId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { nameOf } from "../../src/storedata/MirrorRecords.ts"
import { MirrorRepo } from "../../src/storedata/MirrorRepo.ts"
import {
  type Accounts,
  type ApiKeys,
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  type Stores,
  TestServices
} from "../../src/testing/index.ts"
import { aMarket } from "../support/Mirrors.ts"
import { engines } from "../support/TestDatabase.ts"

interface Side {
  readonly name: string
  readonly absent: boolean
  readonly layer: Layer.Layer<Accounts | ApiKeys | CatalogChanges | ImportsRepo | MirrorRepo | Stores>
}

const sides: ReadonlyArray<Side> = [
  { name: "memory", absent: false, layer: TestServices },
  ...engines.map(({ absent, layer, name }) => ({
    name,
    absent,
    layer: Services.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.provide(layer), Layer.orDie)
  }))
]

const author = { kind: "cli", id: null, name: "somebody" } as const

/** An account with a store, a product, its variant, and an import that is being read. */
const anImport = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["lists.example"] })
  const product = yield* anEntity("product", { title: "Boat", vendor: "Fell" }, { on: stores }).pipe(actingAs(actor))
  const variant = yield* anEntity("variant", { title: "Long", sku: "B-1" }, { of: product }).pipe(actingAs(actor))
  const repo = yield* ImportsRepo
  const id = yield* mintId(ImportId)
  const [{ id: storeId }] = stores
  yield* repo.create(accountId, { id, storeId, source: "csv", fileName: "boats.csv", actor: author })
  return { accountId, actor, storeId, product, variant, repo, id }
})

const lists: ReadonlyArray<ReviewList | undefined> = ["new", "changed", undefined, "new", "leaving", "new", "changed"]

for (const side of sides)
  describe.skipIf(side.absent)(`the review of an import in ${side.name}`, () => {
    layer(side.layer, { excludeTestServices: true })((it) => {
      it.effect("knows the files that another product or its variants show", () =>
        Effect.gen(function* () {
          const { accountId, actor, product, repo, variant } = yield* anImport
          yield* Effect.gen(function* () {
            const [own, ofVariant, shared] = [
              yield* anEntity("media", {}),
              yield* anEntity("media", {}),
              yield* anEntity("media", {})
            ]
            const other = yield* anEntity("product", { title: "Canoe" })
            const otherVariant = yield* anEntity("variant", {}, { of: other })
            const show = (entityId: EntityId, ...mediaIds: ReadonlyArray<EntityId>) =>
              CatalogChange.SetGallery({ entityId, entries: mediaIds.map((mediaId) => ({ mediaId, storeIds: [] })) })
            yield* (yield* CatalogChanges).apply([
              show(product, own, ofVariant, shared),
              show(variant, ofVariant),
              show(otherVariant, shared)
            ])
            const shown = [own, ofVariant, shared].map((mediaId) => ({ mediaId, productId: product }))
            assert.deepStrictEqual([...(yield* repo.shownElsewhere(accountId, shown))], [shared])
            assert.strictEqual((yield* repo.shownElsewhere(accountId, [])).size, 0)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("finds a file by its address without the query, and knows whether an entity shows it", () =>
        Effect.gen(function* () {
          const { accountId, actor, repo, variant } = yield* anImport
          yield* Effect.gen(function* () {
            const url = "https://cdn.example/a.jpg"
            const file = yield* anEntity("media", { url: `${url}?v=1` })
            yield* anEntity("media", { url: `${url}.png` })
            const find = Effect.map(
              repo.match(accountId, { skus: [], handles: [], addresses: [url, `${url}?v=1`, url] }),
              ({ byAddress }) => [...byAddress]
            )
            assert.deepStrictEqual(yield* find, [[url, { key: url, mediaId: file, isShown: false }]])
            const entries = [{ mediaId: file, storeIds: [] }]
            yield* (yield* CatalogChanges).apply([CatalogChange.SetGallery({ entityId: variant, entries })])
            assert.deepStrictEqual(yield* find, [[url, { key: url, mediaId: file, isShown: true }]])
          }).pipe(actingAs(actor))
        })
      )

      it.effect("keeps the staged data of the store until the import ends", () =>
        Effect.gen(function* () {
          const { accountId, id, repo, storeId } = yield* anImport
          const { apply, stage } = yield* MirrorRepo
          const item = { kind: "market", content: aMarket("eu") } as const
          yield* stage(accountId, id, [{ id: yield* mintId(RecordId), name: nameOf(item), item }])
          for (const phase of ["fetching", "reviewing", "applying"] as const) {
            yield* repo.move(accountId, id, { phase, leased: false })
            yield* repo.forgetUnneeded(accountId, id)
          }
          const isChanged = Effect.map(apply(accountId, id, storeId), (applied) => applied.isChanged)
          assert.isTrue(yield* isChanged)
          assert.isFalse(yield* isChanged)
          yield* repo.move(accountId, id, { phase: "applied", leased: false })
          yield* repo.forgetUnneeded(accountId, id)
          // Nothing is staged, so the store's data would be deleted.
          assert.isTrue(yield* isChanged)
        })
      )

      it.effect("is handed over by a pause or a release, neither of which counts as an interruption", () =>
        Effect.gen(function* () {
          const { accountId, id, repo } = yield* anImport
          const takeOver = repo.takeOver({ accountId, id })
          const isPaused = Effect.map(repo.find(accountId, id), (run) => Option.getOrThrow(run).isPaused)
          const first = { accountId, id, phase: "applying", takeovers: 0 } as const
          yield* repo.move(accountId, id, { phase: "applying", leased: true })
          assert.deepStrictEqual([yield* isPaused, yield* repo.holds(first)], [false, true])
          for (let round = 0; round < 3; round++) {
            yield* repo.pause(accountId, id)
            assert.deepStrictEqual([yield* isPaused, yield* repo.holds(first)], [true, false])
            assert.isFalse(yield* repo.renew(first))
            assert.isTrue(Option.isNone(yield* takeOver))
            yield* repo.resume(accountId, id)
            assert.isFalse(yield* isPaused)
          }
          const second = Option.getOrThrow(yield* takeOver)
          assert.deepInclude(second, { accountId, id, phase: "applying", interruptions: 0 })
          assert.isTrue(yield* repo.holds(second))
          yield* repo.release(second)
          assert.isFalse(yield* isPaused)
          assert.deepInclude(Option.getOrThrow(yield* takeOver), { interruptions: 0 })
        })
      )

      it.effect("has lists, which are read by pages", () =>
        Effect.gen(function* () {
          const { accountId, id, product, repo } = yield* anImport
          const items = lists.map((list, ordinal): StagedItem => {
            const change = CatalogChange.SetAttributes({ entityId: product, values: { title: `Boat ${ordinal}` } })
            return { ordinal, entities: 1, changes: [change], ...(list && { list }) }
          })
          yield* repo.stage(accountId, id, items)
          const read = (list: ReviewList, after: number, limit: number) =>
            Effect.map(repo.listed(accountId, id, list, [], after, limit), (found) =>
              found.map(({ ordinal }) => ordinal)
            )
          assert.deepStrictEqual(yield* read("new", -1, 2), [0, 3])
          assert.deepStrictEqual(yield* read("new", 3, 2), [5])
          assert.deepStrictEqual(yield* read("new", 5, 2), [])
          assert.deepStrictEqual(yield* read("changed", -1, 9), [1, 6])
          assert.deepStrictEqual(yield* read("leaving", -1, 9), [4])
          const [first] = yield* repo.listed(accountId, id, "new", [], -1, 1)
          assert.deepEqual(first, { ordinal: 0, entities: 1, changes: items[0]?.changes ?? [] })
          const other = yield* anImport
          assert.deepStrictEqual(yield* other.repo.listed(other.accountId, id, "new", [], -1, 9), [])
          // Items that were applied stay in their list.
          const [next, ...others] = yield* repo.nextItems(accountId, id, null, 2)
          if (next !== undefined) yield* repo.markDone(accountId, id, [next, ...others])
          assert.deepStrictEqual(yield* read("new", -1, 9), [0, 3, 5])
          yield* repo.clear(accountId, id)
          const left = yield* Effect.forEach(ReviewList.literals, (list) => read(list, -1, 9))
          assert.deepStrictEqual(left, [[0], [1], []])
        })
      )

      it.effect(
        "finds rows by new values and by those of the catalog, and conflicts by their entity and decision",
        () =>
          Effect.gen(function* () {
            const { accountId, id, product, repo, storeId, variant } = yield* anImport
            const created = yield* mintId(EntityId)
            const set = (entityId: EntityId, values: Readonly<Record<string, string | null>>) =>
              CatalogChange.SetAttributes({ entityId, values })
            const taken = [set(variant, { sku: "Ü-77" })]
            const changes: ReadonlyArray<StagedItem["changes"]> = [
              [
                CatalogChange.CreateEntity({
                  id: created,
                  kind: "product",
                  parentId: null,
                  values: { title: "100%_Ölzeug" }
                })
              ],
              [set(product, { title: "Ship", description_html: "<p>hidden</p>", vendor: null })],
              [{ _tag: "Decided", conflict: 1, take: taken, keep: [] }],
              [CatalogChange.AddToStore({ entityId: variant, storeId })]
            ]
            yield* repo.stage(
              accountId,
              id,
              changes.map((changes, ordinal) => ({ ordinal, entities: 1, changes, list: "new" }))
            )
            const find = (search: string, after = -1, limit = 9) =>
              Effect.map(repo.listed(accountId, id, "new", terms(search), after, limit), (found) =>
                found.map(({ ordinal }) => ordinal)
              )
            const found: ReadonlyArray<readonly [string, ReadonlyArray<number>]> = [
              ["", [0, 1, 2, 3]],
              ["olzeug", [0]],
              ["100%_", [0]],
              ["1000", []],
              ["SHIP", [1]],
              ["ship fell", [1]],
              ["ship long", []],
              ["hidden", []],
              ["boat", [1, 2, 3]],
              ["u-77", [2]],
              ["b-1", [1, 2, 3]]
            ]
            for (const [search, ordinals] of found) assert.deepStrictEqual(yield* find(search), ordinals, search)
            assert.deepStrictEqual(yield* find("boat", 1, 1), [2])

            const texts = { field: "vendor", accepted: null, draft: "Fell", store: "Tern" }
            yield* repo.stageConflicts(accountId, id, storeId, [
              { ...texts, entityId: product, ordinal: 1 },
              { ...texts, entityId: variant, ordinal: 2 },
              { ...texts, entityId: product, ordinal: 3 }
            ])
            yield* repo.decide(accountId, author, id, [1], "keep_draft")
            const conflicts = (filter: Parameters<typeof repo.conflicts>[4], after = 0, limit = 9) =>
              Effect.map(repo.conflicts(accountId, id, after, limit, filter), (all) =>
                all.map(({ conflict }) => conflict)
              )
            assert.deepStrictEqual(yield* conflicts({}), [1, 2, 3])
            assert.deepStrictEqual(yield* conflicts({ isUndecided: true }), [2, 3])
            assert.deepStrictEqual(yield* conflicts({ isUndecided: true }, 0, 1), [2])
            assert.deepStrictEqual(yield* conflicts({ needles: terms("boat long") }), [2])
            assert.deepStrictEqual(yield* conflicts({ needles: terms("fell"), isUndecided: true }, 1), [3])
            assert.deepStrictEqual(yield* conflicts({ numbers: [3, 1, 99] }), [1, 3])
            assert.deepStrictEqual(yield* conflicts({ numbers: [] }), [])
          })
      )

      it.effect("has the entities of a page with their values and the product of a variant", () =>
        Effect.gen(function* () {
          const { accountId, product, repo, variant } = yield* anImport
          const missing = yield* mintId(EntityId)
          const { product: foreign } = yield* anImport
          assert.sameDeepMembers(
            [...(yield* repo.entities(accountId, [variant, product, missing, foreign]))],
            [
              { id: product, kind: "product", title: "Boat", product: null, values: { title: "Boat", vendor: "Fell" } },
              { id: variant, kind: "variant", title: "Long", product: "Boat", values: { title: "Long", sku: "B-1" } }
            ]
          )
          assert.deepStrictEqual(yield* repo.entities(accountId, []), [])
        })
      )

      it.effect("has decisions, which are counted", () =>
        Effect.gen(function* () {
          const { accountId, id, product, repo, storeId } = yield* anImport
          const numbers = Array.from({ length: 12 }, (_, n) => n + 1)
          const texts = { entityId: product, field: "vendor", accepted: null, draft: "Fell", store: "Tern" }
          yield* repo.stageConflicts(
            accountId,
            id,
            storeId,
            numbers.map((ordinal) => ({ ...texts, ordinal }))
          )
          const tally = repo.tally(accountId, id)
          const decide = (which: Parameters<typeof repo.decide>[3], decision: "keep_draft" | "take_store") =>
            Effect.map(repo.decide(accountId, author, id, which, decision), (written) =>
              written.toSorted((one, other) => one - other)
            )
          const none = yield* tally
          assert.deepInclude(none, { undecided: 12, first: numbers.slice(0, 10), keep_draft: 0, take_store: 0 })
          assert.deepStrictEqual(yield* decide([2, 4, 99], "keep_draft"), [2, 4])
          const some = yield* tally
          assert.deepInclude(some, {
            undecided: 10,
            first: [1, 3, 5, 6, 7, 8, 9, 10, 11, 12],
            keep_draft: 2,
            take_store: 0
          })
          assert.deepStrictEqual(yield* decide("undecided", "take_store"), [1, 3, 5, 6, 7, 8, 9, 10, 11, 12])
          assert.deepStrictEqual(yield* decide("others", "take_store"), [2, 4])
          assert.deepStrictEqual(yield* decide("others", "take_store"), [])
          const all = yield* tally
          assert.deepInclude(all, { undecided: 0, first: [], keep_draft: 0, take_store: 12 })
          assert.deepStrictEqual(yield* decide("all", "keep_draft"), numbers)
          yield* decide(numbers.slice(6), "take_store")
          const half = yield* tally
          assert.deepInclude(half, { undecided: 0, keep_draft: 6, take_store: 6 })
          // The counts are the same, but for other conflicts.
          yield* decide([1], "take_store")
          yield* decide([12], "keep_draft")
          const swapped = yield* tally
          assert.deepInclude(swapped, { undecided: 0, keep_draft: 6, take_store: 6 })
          assert.strictEqual(new Set([none, some, all, half, swapped].map(({ digest }) => digest)).size, 5)
          yield* decide([12], "take_store")
          yield* decide([1], "keep_draft")
          assert.deepStrictEqual(yield* tally, half)

          assert.deepStrictEqual(
            yield* repo.decisions(accountId, id, [1, 12, 99]),
            new Map([
              [1, "keep_draft"],
              [12, "take_store"]
            ] as const)
          )
          assert.deepStrictEqual(yield* repo.decisions(accountId, id, []), new Map())
          const other = yield* anImport
          assert.deepInclude(yield* other.repo.tally(other.accountId, id), {
            undecided: 0,
            keep_draft: 0,
            take_store: 0
          })
          assert.strictEqual((yield* other.repo.decisions(other.accountId, id, [1])).size, 0)
        })
      )

      it.effect("has the progress of the reading, by step", () =>
        Effect.gen(function* () {
          const { accountId, id, repo } = yield* anImport
          const run = { accountId, id, phase: "fetching", takeovers: 0 } as const
          const progress = Effect.map(repo.progress(accountId, id), Option.getOrThrow)
          assert.isTrue(Option.isNone(yield* repo.progress(accountId, id)))
          yield* repo.saveProgress(run, { step: "fetching", done: 500, total: null })
          const { seconds, ...first } = yield* progress
          assert.deepStrictEqual(first, { step: "fetching", done: 500, total: null })
          assert.isAtLeast(seconds, 0)
          yield* repo.saveProgress(run, { step: "fetching", done: 900, total: null })
          assert.isAtLeast((yield* progress).seconds, seconds)
          yield* repo.saveProgress(run, { step: "comparing", done: 500, total: 5_000_000_000 })
          assert.deepInclude(yield* progress, { step: "comparing", done: 500, total: 5_000_000_000 })
          // Progress of another account's import, or of another phase, is ignored.
          const { accountId: other } = yield* anImport
          yield* repo.saveProgress({ ...run, accountId: other }, { step: "checking", done: 1, total: 2 })
          yield* repo.saveProgress({ ...run, phase: "applying" }, { step: "checking", done: 1, total: 2 })
          assert.deepInclude(yield* progress, { step: "comparing", done: 500 })
          assert.isTrue(Option.isNone(yield* repo.progress(other, id)))
        })
      )
    })
  })
