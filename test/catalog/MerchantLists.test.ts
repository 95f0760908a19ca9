import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { MerchantLists, windowSize } from "../../src/catalog/MerchantLists.ts"
import { MerchantListsRepo } from "../../src/catalog/MerchantListsRepo.ts"
import { AccountId, EntityId, nilUuid } from "../../src/model/Ids.ts"
import { actingAs } from "../../src/testing/index.ts"

const entity = (number: number) => EntityId.make(`00000000-0000-4000-8000-${String(number).padStart(12, "0")}`)

/** Every third entity matches the filters. */
const matches = (number: number) => number % 3 === 0

/** A list in the order of changes. `meanwhile` changes it after each window. */
const listOf = (changes: Array<number>, meanwhile: (window: number) => void = () => undefined) => {
  let windows = 0
  return Layer.mock(MerchantListsRepo, {
    window: (_accountId, _kind, _filters, { from, limit, order, windowSize }) =>
      Effect.sync(() => {
        assert.strictEqual(order, "oldest")
        // The place of an entity is its index plus one; an entity that moves leaves an empty place behind (-1).
        const seen = changes
          .map((number, index) => ({ number, place: index + 1 }))
          .filter(({ number, place }) => number >= 0 && place > Number(from ?? 0))
          .slice(0, windowSize + 1)
        const found = seen.filter(({ number }) => matches(number))
        const isCut = seen.length > windowSize
        const next = found.length > limit ? found[limit - 1]?.place : isCut ? seen.at(-1)?.place : undefined
        meanwhile(++windows)
        return {
          ids: found.slice(0, limit).map(({ number }) => entity(number)),
          next,
          found: found.length,
          isAll: !isCut
        }
      })
  })
}

const idsIn = (repo: ReturnType<typeof listOf>, max: number) =>
  Effect.flatMap(MerchantLists, (lists) => lists.ids("product", {}, max)).pipe(
    Effect.provide(MerchantLists.layer.pipe(Layer.provide(repo))),
    actingAs({ _tag: "Cli", accountId: AccountId.make(nilUuid) })
  )

const count = 2 * windowSize + 500
const all = Array.from({ length: count }, (_, index) => index)
const expected = all.filter(matches).map(entity)

it.effect("all entities that filters find are found over all windows, the oldest change first", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* idsIn(listOf([...all]), count), expected)
  })
)

it.effect("the walk stops when it has more than the maximum", () =>
  Effect.gen(function* () {
    const found = yield* idsIn(listOf([...all]), 10)
    assert.isAbove(found.length, 10)
    assert.isBelow(found.length, expected.length)
  })
)

it.effect("an entity that changes during the walk is found once, whether it was found before or not", () =>
  Effect.gen(function* () {
    const order = [...all]
    const move = (number: number) => {
      order[order.indexOf(number)] = -1
      order.push(number)
    }
    const [before, after] = [3, 2 * windowSize + 1 - ((2 * windowSize + 1) % 3)]
    const found = yield* idsIn(
      listOf(order, (window) => {
        if (window === 1) for (const number of [before, after]) move(number)
      }),
      count
    )
    assert.deepStrictEqual([...found].sort(), [...expected].sort())
  })
)
