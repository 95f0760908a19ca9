import { assert, describe, layer, it as test } from "@effect/vitest"
import { Chunk, Effect, Layer, Option, Stream } from "effect"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { movesTo } from "../../src/platform/shopify/MemberOrder.ts"
import { attributesOf } from "../../src/testing/platform/Publications.ts"
import { adminSchema } from "./AdminSchema.ts"
import { layerServer, layerShopify, openShop } from "./PlatformShops.ts"
import { aCollection, productsOf } from "./ShopifyCatalog.ts"
import { membersOf, ShopifyShop } from "./ShopifyShop.ts"

const manual = { title: "Tents", sort_order: "manual" }

/** The list after the moves, as Shopify documents them: one after the other, each to an index of the list at that time. */
const moved = (list: ReadonlyArray<string>, moves: ReturnType<typeof movesTo>) => {
  const order = [...list]
  for (const { id, newPosition } of moves) {
    order.splice(order.indexOf(id), 1)
    order.splice(Number(newPosition), 0, id)
  }
  return order
}

const permutations = (ids: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  ids.length < 2
    ? [ids]
    : ids.flatMap((id) => permutations(ids.filter((one) => one !== id)).map((rest) => [id, ...rest]))

/** The length of a longest subsequence of a list that is in the order of another one. */
const longestInOrder = (list: ReadonlyArray<string>, wanted: ReadonlyArray<string>): number => {
  const lengths: Array<number> = []
  for (const [index, id] of list.entries())
    lengths.push(
      1 + Math.max(0, ...lengths.filter((_, at) => wanted.indexOf(list[at] ?? "") < wanted.indexOf(id) && at < index))
    )
  return Math.max(0, ...lengths)
}

describe("the moves of the members of a collection", () => {
  test("lead from each order of six products to the wanted one, and are as few as possible", () => {
    const wanted = ["a", "b", "c", "d", "e", "f"]
    for (const current of permutations(wanted)) {
      const moves = movesTo(wanted, current)
      assert.deepStrictEqual(moved(current, moves), wanted)
      assert.lengthOf(moves, wanted.length - longestInOrder(current, wanted))
    }
  })

  test("leave products that are not wanted where they are, and ignore wanted ones that the collection does not have", () => {
    const wanted = ["absent", "a", "b", "c", "d", "gone"]
    for (const current of permutations(["a", "b", "c", "d", "theirs", "also theirs"])) {
      const moves = movesTo(wanted, current)
      assert.deepStrictEqual(
        moved(current, moves).filter((id) => wanted.includes(id)),
        ["a", "b", "c", "d"]
      )
      assert.isEmpty(moves.filter(({ id }) => id.includes("theirs")))
    }
  })

  test("are made by the shop of the tests as in the example of Shopify's documentation", () => {
    const shop = new ShopifyShop()
    const { collection } = shop.collectionCreate({ collection: { title: "Tents", sortOrder: "MANUAL" } })
    assert(collection !== null)
    collection.memberIds.push("A", "B", "C", "D", "E")
    const moves = [
      { id: "E", newPosition: "1" },
      { id: "C", newPosition: "4" }
    ]
    const { job } = shop.reorderMembers({ id: collection.id, moves })
    shop.readJob({ id: job?.id })
    assert.deepStrictEqual(membersOf(collection), ["A", "E", "B", "D", "C"])
    assert.deepStrictEqual(moved(["A", "B", "C", "D", "E"], moves), ["A", "E", "B", "D", "C"])
  })
})

describe.skipIf(adminSchema === undefined)("collections in Shopify", () => {
  layer(layerShopify().pipe(Layer.provideMerge(layerServer)), { excludeTestServices: true })((it) => {
    /** A shop with products, and its first collection. */
    const openWith = (count: number) =>
      Effect.map(openShop, (opened) => ({
        ...opened,
        ids: productsOf(opened.shop, count),
        order: () => [...opened.shop.collections.values()].map(membersOf)[0],
        moves: () => opened.shop.moves.map(({ length }) => length)
      }))

    it.effect("the order of a manual collection is written, in parts of 250 moves that are awaited", () =>
      Effect.gen(function* () {
        const { publish, pull, readBack } = yield* PlatformClient
        const { ids, moves, order, shop, store } = yield* openWith(600)
        const publication = aCollection(ids, manual)
        yield* publish(store, publication)
        assert.deepStrictEqual(order(), ids)
        assert.deepStrictEqual(moves(), [])
        shop.jobLag = 2
        const reversed = { ...publication, members: [...ids].reverse() }
        assert.isTrue(Option.isNone(yield* readBack(store, reversed)))
        yield* publish(store, reversed)
        assert.deepStrictEqual(order(), reversed.members)
        assert.deepStrictEqual(moves(), [250, 250, 99])
        assert.isTrue(Option.isSome(yield* readBack(store, reversed)))
        const pulled = Chunk.toReadonlyArray(yield* Stream.runCollect(pull(store)))
        assert.deepStrictEqual(pulled.find(({ kind }) => kind === "collection")?.members, reversed.members)
        yield* publish(store, reversed)
        assert.lengthOf(moves(), 3)
        const [first, ...others] = reversed.members
        const withLast = { ...publication, members: [...others, first ?? ""] }
        yield* publish(store, withLast)
        assert.deepStrictEqual(order(), withLast.members)
        assert.deepStrictEqual(shop.moves.at(-1), [{ id: first, newPosition: "599" }])
      })
    )

    it.effect("members that the shop changes later are ordered when they are there", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { ids, order, shop, store } = yield* openWith(300)
        shop.jobLag = 2
        const publication = aCollection(ids.slice(50), manual)
        yield* publish(store, publication)
        assert.deepStrictEqual(order(), ids.slice(50))
        // The new members are first, and the shop adds them behind all others.
        const next = { ...publication, members: ids.slice(0, 290) }
        yield* publish(store, next)
        assert.deepStrictEqual(order(), next.members)
        assert.isTrue(Option.isSome(yield* readBack(store, next)))
      })
    )

    it.effect("a collection that becomes manual gets our order, also among products of the shop's own conditions", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { ids, moves, order, shop, store } = yield* openWith(5)
        const [a, b, ...own] = ids
        assert(a !== undefined && b !== undefined)
        const members = [...own, a, b]
        const publication = aCollection(own, { ...manual, sort_order: "best-selling" })
        yield* publish(store, publication)
        for (const collection of shop.collections.values()) {
          collection.conditionIds.push(a, b)
          // The shop keeps an order from an earlier time, which it does not show now.
          collection.orderedIds = ids
        }
        assert.deepStrictEqual(order(), members)
        yield* publish(store, { ...publication, members })
        assert.deepStrictEqual(moves(), [])
        yield* publish(store, { ...publication, members, attributes: attributesOf(manual) })
        assert.deepStrictEqual(order(), members)
        assert.deepStrictEqual(moves(), [2])
      })
    )

    it.effect("a collection whose order is left to the shop is ordered if it is manual there", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { ids, moves, order, shop, store } = yield* openWith(3)
        const publication = aCollection(ids)
        const next = { ...publication, members: [...ids].reverse() }
        yield* publish(store, publication)
        yield* publish(store, next)
        assert.deepStrictEqual(moves(), [])
        assert.isTrue(Option.isSome(yield* readBack(store, next)))
        for (const collection of shop.collections.values()) collection.values.sortOrder = "MANUAL"
        assert.isTrue(Option.isNone(yield* readBack(store, next)))
        yield* publish(store, next)
        assert.deepStrictEqual(order(), next.members)
      })
    )

    it.effect("while somebody else orders the collection, the publish is tried again", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { ids, order, shop, store } = yield* openWith(3)
        const publication = aCollection(ids, manual)
        yield* publish(store, publication)
        const [collection] = shop.collections.values()
        const { job } = shop.reorderMembers({ id: collection?.id, moves: [{ id: ids[2], newPosition: "0" }] })
        const next = { ...publication, members: [...ids].reverse() }
        const { _tag, ...failure } = yield* Effect.flip(publish(store, next))
        assert.deepInclude({ _tag, ...failure }, { _tag: "PlatformOutcomeUnknown", reason: "throttled" } as never)
        shop.readJob({ id: job?.id })
        assert.isTrue(Option.isNone(yield* readBack(store, next)))
        yield* publish(store, next)
        assert.deepStrictEqual(order(), next.members)
      })
    )
  })
})
