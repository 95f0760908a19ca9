import { assert, describe, it } from "@effect/vitest"
import { misfitOf, ruleOfDefinition } from "../../src/model/KeyRule.ts"

const validation = (name: string, value: string) => ({ name, type: "", value })
const pattern = "^(?:[a-z]{1,50})+$"

describe("rules of lists", () => {
  const rule = ruleOfDefinition("list.single_line_text_field", [validation("regex", pattern)])
  const misfitOfList = (items: ReadonlyArray<string>) => misfitOf(rule, JSON.stringify(items))

  it("the number of items is checked before the items", () => {
    assert.strictEqual(misfitOfList(Array(129).fill("A")), "must have at most 128 items")
    const many = ruleOfDefinition("list.number_integer", [validation("list.min", "2")])
    assert.strictEqual(misfitOf(many, '["x"]'), "must have at least 2 items")
    assert.strictEqual(
      misfitOf(many, '["1","x"]'),
      "each item must be a whole number from -9007199254740991 to 9007199254740991"
    )
  })

  it("the steps of a pattern are bounded for the whole list, not for each item", () => {
    const item = `${"a".repeat(1_000)}A`
    assert.strictEqual(misfitOfList([item]), `each item must match the pattern ${pattern}`)
    // Each item is short enough, but all together are not, so the platform checks them.
    assert.isUndefined(misfitOfList(Array(100).fill(item)))
    const text = ruleOfDefinition("single_line_text_field", [validation("regex", pattern)])
    assert.strictEqual(misfitOf(text, item), `must match the pattern ${pattern}`)
    assert.isUndefined(misfitOf(text, item.repeat(60)))
  })
})
