import { assert, it } from "@effect/vitest"
import { nextOf, previousOf, totalIn, walkIn } from "../../src/console/lists/ListWalk.ts"

const page = (next: number | undefined) => ({ rows: [], next, found: 20_000, isAll: false })

it("a walk leads forward and back, and keeps the total", () => {
  const second = nextOf({}, page(1)) ?? {}
  const third = nextOf(second, page(2)) ?? {}
  const fourth = nextOf(third, page(3)) ?? {}
  assert.deepStrictEqual(fourth, { from: "3", walk: "10000m.4.1.2" })
  assert.deepStrictEqual(previousOf(fourth), third)
  assert.deepStrictEqual(previousOf(third), second)
  assert.deepStrictEqual(previousOf(second), {})
  assert.isUndefined(previousOf({}))
  assert.isUndefined(nextOf(fourth, page(undefined)))
  assert.deepInclude(totalIn(fourth, page(undefined)), { total: 10_000, isAll: false })
})

it("the address of a long walk has a bounded length, and never leads to a wrong page", () => {
  let at = nextOf({}, page(1)) ?? {}
  for (let place = 2; place <= 2_000; place++) at = nextOf(at, page(place)) ?? {}
  assert.isBelow(at.walk?.length ?? 0, 2_100)
  for (let steps = 0; at.from !== undefined; steps++) {
    const previous = previousOf(at)
    if (previous === undefined) {
      assert.isAbove(steps, 100)
      return
    }
    assert.strictEqual(Number(previous.from), Number(at.from) - 1)
    at = previous
  }
  assert.fail("the beginning is not known any more")
})

it("a text that no page wrote is no walk", () => {
  for (const text of [
    undefined,
    "",
    "x",
    "1",
    "1.",
    "m.2",
    "1.2.",
    "1.2.<b>",
    `1.2.${"x".repeat(601)}`,
    `1.2${".1".repeat(3_000)}`
  ])
    assert.isUndefined(walkIn(text), text)
})
