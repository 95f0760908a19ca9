import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type ListOrder, listOrders, MerchantLists } from "../../src/catalog/MerchantLists.ts"
import { MerchantListsRepo, type Place } from "../../src/catalog/MerchantListsRepo.ts"
import { fold } from "../../src/catalog/SearchText.ts"
import type { EntityId } from "../../src/model/Ids.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { engines } from "../support/TestDatabase.ts"

/** Titles with accents, in upper and lower case, in another script, long ones with the same beginning, equal ones, and none. */
const titles: ReadonlyArray<string> = [
  ...["Zelt", "äpfel", "Apfel", "ÄPFEL 2", "écharpe", "Fell", "zebra", "手机壳", "2 pegs", "10 pegs", "-dash", "É", ""],
  ...Array.from({ length: 3 }, () => "Same"),
  ...["b", "a"].map((end) => `${"long ".repeat(40)}${end}`),
  ...Array.from({ length: 22 }, (_, index) => `Peg ${(index * 7) % 22}`)
]

/** Products with these titles, in an account of their own. */
const someProducts = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  const ids = yield* Effect.forEach(titles, (title) => anEntity("product", { title, vendor: "Fjell" })).pipe(
    actingAs(actor)
  )
  return { accountId, actor, ids }
})

const keyOf = (title: string) =>
  title === ""
    ? ""
    : Array.from(` ${fold(title)}`)
        .slice(0, 100)
        .join("")

/** Walks a list in pages of seven. `between` runs after each page. Returns the titles and ids of the rows. */
const walk = <E, R>(order: ListOrder, filters: { readonly search?: string }, between: Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const lists = yield* MerchantLists
    const rows: Array<{ readonly id: EntityId; readonly title: string }> = []
    let from: Place | undefined
    do {
      const page: Effect.Effect.Success<ReturnType<typeof lists.page>> = yield* lists.page("product", {
        ...filters,
        from,
        order,
        limit: 7
      })
      rows.push(...page.rows)
      from = page.next
      yield* between
    } while (from !== undefined)
    return rows
  })

const setOf = (entityId: EntityId, values: Readonly<Record<string, string>>) =>
  CatalogChange.SetAttributes({ entityId, values })

for (const { absent, layer: database, name } of engines)
  describe.skipIf(absent)(`the orders of a list, ${name}`, () => {
    layer(ServicesOnDatabase.pipe(Layer.provideMerge(database)), { excludeTestServices: true })((it) => {
      for (const order of ["title", "title-desc"] as const)
        it.effect(`${order}: by the folded title, then by id`, () =>
          Effect.gen(function* () {
            const { actor, ids } = yield* someProducts
            const sign = order === "title" ? 1 : -1
            const expected = titles
              .map((title, index) => ({ key: keyOf(title), id: String(ids[index]) }))
              .sort((one, other) =>
                one.key === other.key
                  ? sign * (one.id < other.id ? -1 : 1)
                  : sign * Buffer.compare(Buffer.from(one.key), Buffer.from(other.key))
              )
            const rows = yield* walk(order, {}, Effect.void).pipe(actingAs(actor))
            assert.deepStrictEqual(
              rows.map(({ id }) => id as string),
              expected.map(({ id }) => id)
            )
            const found = yield* walk(order, { search: "peg" }, Effect.void).pipe(actingAs(actor))
            assert.deepStrictEqual(
              found.map(({ id }) => id as string),
              expected.flatMap(({ id, key }) => (key.includes(" peg") ? [id] : []))
            )
          })
        )

      for (const order of listOrders)
        it.effect(`${order}: a walk beside writers that change titles has every other row once`, () =>
          Effect.gen(function* () {
            const { actor, ids } = yield* someProducts
            const isRenamed = (index: number) => index % 3 === 0
            const isByTitle = order === "title" || order === "title-desc"
            let turn = 0
            /** Gives each third product another title. In the orders by title, the others get another vendor, which moves nothing. */
            const write = Effect.suspend(() => {
              turn++
              // Later writes would move the products to the end of the oldest changes again, and the walk would not end.
              if (turn > 4) return Effect.void
              const changes = ids.flatMap((entityId, index) =>
                isRenamed(index)
                  ? [setOf(entityId, { title: turn % 2 === 0 ? `A ${index}` : `Z ${index}` })]
                  : isByTitle
                    ? [setOf(entityId, { vendor: `Fjell ${turn}` })]
                    : []
              )
              return Effect.asVoid(Effect.flatMap(CatalogChanges, ({ apply }) => apply(changes)))
            })
            const rows = yield* walk(order, {}, write).pipe(actingAs(actor))
            assert.isAbove(turn, 4)
            const seen = new Map<string, number>()
            for (const { id } of rows) seen.set(id, (seen.get(id) ?? 0) + 1)
            const kept = ids.filter((_, index) => !isRenamed(index))
            assert.deepStrictEqual(
              kept.map((id) => [titles[ids.indexOf(id)], seen.get(id)]),
              kept.map((id) => [titles[ids.indexOf(id)], 1])
            )
            if (order !== "oldest") return
            // What changes moves to the end of this order, so it is not missed.
            assert.sameMembers([...seen.keys()], [...ids])
          })
        )

      it.effect("few matches are found at once, many in windows that continue after their last row", () =>
        Effect.gen(function* () {
          const { accountId, actor, ids } = yield* someProducts
          const repo = yield* MerchantListsRepo
          const rare = ids.slice(0, 3)
          yield* (yield* CatalogChanges)
            .apply(rare.map((entityId) => setOf(entityId, { vendor: "Fell" })))
            .pipe(actingAs(actor))
          /** The ids and the number of windows. */
          const read = (vendor: string, order: ListOrder) =>
            Effect.gen(function* () {
              const found: Array<EntityId> = []
              const counted: Array<number> = []
              let from: Place | undefined
              do {
                const window: Effect.Effect.Success<ReturnType<typeof repo.window>> = yield* repo.window(
                  accountId,
                  "product",
                  { needles: [], vendor },
                  { from, limit: 2, order, windowSize: 4, maxFew: 4 }
                )
                assert.isAtMost(window.ids.length, 2)
                found.push(...window.ids)
                counted.push(window.found)
                from = window.next
              } while (from !== undefined)
              return { found, counted }
            })
          for (const order of listOrders) {
            const few = yield* read("Fell", order)
            assert.sameMembers(few.found, rare, order)
            assert.deepStrictEqual(few.counted, [3, 1], order)
            const many = yield* read("Fjell", order)
            assert.lengthOf(new Set(many.found), titles.length - rare.length, order)
            assert.sameMembers(many.found, ids.slice(3), order)
            // There are more than `maxFew`. The window that is counted has none, some or all of them.
            assert.include([4, 5], many.counted[0], order)
            assert.deepStrictEqual(yield* read("Fe", order), { found: [], counted: [0] }, order)
          }
        })
      )

      it.effect("values and tags whose facets are equal are told apart", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* anAccount()
          const repo = yield* MerchantListsRepo
          const long = "v".repeat(99)
          const vendors = [long, `${long}v`, `${long}vv`, `${long}vw`]
          const tags = [["red", "blue"], ["red,blue"], ["blue,red"], ["red, blue"], ['"red"'], ["red"]]
          const made = (values: ReadonlyArray<Readonly<Record<string, string>>>) =>
            Effect.forEach(values, (each) => anEntity("product", { title: "Peg", ...each })).pipe(actingAs(actor))
          const ofVendor = yield* made(vendors.map((vendor) => ({ vendor })))
          const ofTag = yield* made(tags.map((each) => ({ tags: JSON.stringify(each) })))
          const idsOf = (filters: { readonly vendor?: string; readonly tag?: string }) =>
            Effect.map(
              repo.window(
                accountId,
                "product",
                { needles: [], ...filters },
                { from: undefined, limit: 50, order: "oldest", windowSize: 4, maxFew: 100 }
              ),
              ({ ids }) => ids
            )
          for (const [index, vendor] of vendors.entries())
            assert.deepStrictEqual(yield* idsOf({ vendor }), ofVendor.slice(index, index + 1), vendor)
          const taggedWith = (tag: string) => ofTag.filter((_, index) => tags[index]?.includes(tag))
          for (const tag of tags.flat()) assert.deepStrictEqual(yield* idsOf({ tag }), taggedWith(tag), tag)
        })
      )

      for (const order of listOrders)
        it.effect(`${order}: pages are full, even if frequent matches are the last in the order`, () =>
          Effect.gen(function* () {
            const { accountId, actor, ids } = yield* someProducts
            const repo = yield* MerchantListsRepo
            const { apply } = yield* CatalogChanges
            const vendorOf = (ids: ReadonlyArray<EntityId>, vendor: string) =>
              apply(ids.map((entityId) => setOf(entityId, { vendor }))).pipe(actingAs(actor))
            const isByTitle = order === "title" || order === "title-desc"
            const sorted = yield* walk(order, {}, Effect.void).pipe(actingAs(actor))
            const late = isByTitle ? sorted.slice(-7).map(({ id }) => id) : ids.slice(10, 17)
            yield* vendorOf(late, "Late")
            if (order === "newest")
              yield* vendorOf(
                ids.filter((id) => !late.includes(id)),
                "Other"
              )
            const inOrder = (yield* walk(order, {}, Effect.void).pipe(actingAs(actor))).map(({ id }) => id)
            assert.sameMembers(inOrder.slice(-7), late)
            const pages: Array<ReadonlyArray<EntityId>> = []
            let from: Place | undefined
            do {
              const window: Effect.Effect.Success<ReturnType<typeof repo.window>> = yield* repo.window(
                accountId,
                "product",
                { needles: [], vendor: "Late" },
                { from, limit: 2, order, windowSize: 4, maxFew: 4 }
              )
              pages.push(window.ids)
              from = window.next
            } while (from !== undefined)
            const expected = inOrder.slice(-7)
            assert.deepStrictEqual(
              pages,
              [0, 2, 4, 6].map((start) => expected.slice(start, start + 2))
            )
          })
        )
    })
  })
