import { assert, it } from "@effect/vitest"
import { SharedHandles } from "../../src/exports/SharedHandles.ts"

it("products with the handle of another one are counted, however many handles there are", () => {
  const handles = new SharedHandles()
  const add = (each: number, times: number) => {
    for (let time = 0; time < times; time++) handles.add(time === 1 ? `HAT-${each}` : `hat-${each}`)
  }
  // Each second handle once, the others twice or three times.
  const timesOf = (each: number) => (each % 2 === 0 ? 1 : each % 4 === 1 ? 2 : 3)
  let expected = 0
  for (let each = 0; each < 10_000; each++) {
    add(each, timesOf(each))
    if (timesOf(each) > 1) expected += timesOf(each)
  }
  assert.strictEqual(expected, 12_500)
  assert.strictEqual(handles.count, expected)
  for (let each = 0; each < 10_000; each += 2) add(each, 1)
  assert.strictEqual(handles.count, expected + 10_000)
})
