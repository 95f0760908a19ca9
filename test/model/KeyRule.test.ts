import { assert, describe, it } from "@effect/vitest"
import { fits, misfitOf, ruleOfDefinition, ruleOfType } from "../../src/model/KeyRule.ts"
import { shopifyMetafields } from "../support/ShopifyMetafields.ts"

const validation = (name: string, value: string) => ({ name, type: "", value })
const pattern = "^(?:[a-z]{1,50})+$"

describe("rules of lists", () => {
  const rule = ruleOfDefinition("list.single_line_text_field", [validation("regex", pattern)])
  const misfitOfList = (items: ReadonlyArray<string>) => misfitOf(rule, JSON.stringify(items))

  it("the number of items is checked before the items", () => {
    assert.strictEqual(misfitOfList(Array(129).fill("A")), "must have at most 128 items")
    const many = ruleOfDefinition("list.number_integer", [validation("list.min", "2")])
    assert.strictEqual(misfitOf(many, '["x"]'), "must have at least 2 items")
    const one = { type: "list.single_line_text_field", minItems: 1, maxItems: 1 }
    assert.strictEqual(misfitOf(one, "[]"), "must have at least 1 item")
    assert.strictEqual(misfitOf(one, '["x","y"]'), "must have at most 1 item")
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

describe("types of metafields", () => {
  it.each(shopifyMetafields)("%s: %j fits, and so does what Shopify returns, %j", (type, sent, returned) => {
    const rule = ruleOfType(type)
    for (const value of [sent, returned]) {
      assert.isUndefined(misfitOf(rule, value))
      assert.isTrue(fits(rule, value))
    }
  })

  const length = 'must be JSON such as {"value":25,"unit":"mm"}, with one of the units mm, cm, m, in, ft, yd'
  const money = 'must be JSON such as {"amount":"5.99","currency_code":"EUR"}'
  const rating = 'must be JSON such as {"value":"3.5","scale_min":"1.0","scale_max":"5.0"}'
  it.each([
    ["color", "red", "must be a colour such as #1a2b3c"],
    ["date_time", "2026-02-30T10:00:00", "must be a date and time such as 2026-01-31T12:30:00"],
    ["date_time", "2026-01-31", "must be a date and time such as 2026-01-31T12:30:00"],
    ["date_time", "2026-01-31T10:00:00+24:00", "must be a date and time such as 2026-01-31T12:30:00"],
    ["date_time", "2026-01-31T10:00:00+01:60", "must be a date and time such as 2026-01-31T12:30:00"],
    ["dimension", "25 cm", length],
    ["dimension", '{"value":25,"unit":"kg"}', length],
    ["dimension", '{"value":"wide","unit":"cm"}', length],
    ["dimension", '{"value":[25],"unit":"cm"}', length],
    ["dimension", `{"value":"-${"9".repeat(400)}","unit":"cm"}`, length],
    ["money", '{"amount":["5.99"],"currency_code":"EUR"}', money],
    ["money", '{"amount":"5.99","currency_code":["EUR"]}', money],
    ["rating", '{"value":["3"],"scale_min":["1"],"scale_max":["5"]}', rating],
    ["temperature", '{"value":25}', 'must be JSON such as {"value":25,"unit":"celsius"}'],
    ["money", '{"amount":"5.99"}', money],
    ["rating", "5", rating],
    [
      "rating",
      '{"value":"5.5","scale_min":"1.0","scale_max":"5.0"}',
      "must have a value from its scale_min to its scale_max"
    ],
    ["dimension", '{"value":-1,"unit":"cm"}', "must be at least 0 mm"],
    ["volume", '{"value":"-0.5","unit":"CUBIC_METERS"}', "must be at least 0 ml"],
    ["list.weight", '[{"value":1,"unit":"kg"},{"value":-1,"unit":"kg"}]', "each item must be at least 0 g"],
    ["link", '["a"]', 'must be JSON such as {"text":"Size guide","url":"https://example.com/sizes"}'],
    [
      "rich_text_field",
      "<p>Text</p>",
      'must be JSON such as {"type":"root","children":[{"type":"paragraph","children":[{"type":"text","value":"Text"}]}]}'
    ],
    ["list.dimension", '[{"value":25,"unit":"kg"}]', `each item ${length}`],
    ["list.dimension", "25 cm", "must be a JSON list"],
    ["list.number_integer", "[1.5]", "each item must be a whole number from -9007199254740991 to 9007199254740991"],
    ["list.color", "[1]", "must be a JSON list of strings"],
    ["list.link", "[".repeat(33) + "]".repeat(33), "must be a JSON list"]
  ] as const)("%s: %j is refused", (type, value, message) => {
    assert.strictEqual(misfitOf(ruleOfType(type), value), message)
  })
})

describe("bounds of a definition", () => {
  const measured = (value: number, unit: string) => JSON.stringify({ value, unit })
  const rated = (value: string) => JSON.stringify({ value, scale_min: "0.0", scale_max: "10.0" })
  const [cm, us] = ["CENTIMETERS", "us_gal"]

  it.each([
    ["dimension", "min", measured(10, "cm"), measured(9.9, cm), "must be at least 10 cm"],
    ["dimension", "min", measured(10, cm), measured(99, "mm"), "must be at least 10 centimeters"],
    ["dimension", "max", measured(1, "in"), measured(2.55, "cm"), "must be at most 1 in"],
    ["weight", "max", measured(1, "lb"), measured(454, "g"), "must be at most 1 lb"],
    ["volume", "max", measured(1, "l"), measured(1, us), "must be at most 1 l"],
    ["temperature", "min", measured(-5, "celsius"), measured(-6, "CELSIUS"), "must be at least -5 celsius"],
    ["list.dimension", "max", measured(1, "m"), `[${measured(2, "m")}]`, "each item must be at most 1 m"],
    ["date_time", "min", "2026-01-01T00:00:00", "2026-01-01T00:30:00+01:00", "must be at least 2026-01-01T00:00:00"],
    ["date_time", "max", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01", "must be at most 2026-01-01T00:00:00Z"],
    ["rating", "scale_min", "1.0", rated("0.5"), "must be at least 1.0"],
    ["rating", "scale_max", "5.0", rated("5.1"), "must be at most 5.0"]
  ] as const)(
    "%s with %s %s: %s is refused by a write, but no finding of a scan",
    (type, name, bound, value, message) => {
      const rule = ruleOfDefinition(type, [validation(name, bound)])
      assert.strictEqual(misfitOf(rule, value), message)
      assert.isTrue(fits(rule, value))
    }
  )

  it.each([
    ["dimension", "max", measured(1, "in"), measured(2.54, "cm")],
    ["dimension", "min", measured(3, "ft"), measured(1, "yd")],
    ["weight", "min", measured(1, "lb"), measured(16, "oz")],
    ["volume", "max", measured(4, "us_qt"), measured(1, us)],
    ["temperature", "max", measured(30, "celsius"), measured(80, "fahrenheit")],
    ["date_time", "min", "2026-01-01T00:00:00", "2026-01-01T01:00:00+01:00"],
    ["rating", "scale_max", "5.0", rated("5")],
    ["dimension", "max", "wide", measured(1, "m")],
    ["number_integer", "scale_max", "1", "2"]
  ] as const)("%s with %s %s: %s is allowed", (type, name, bound, value) => {
    assert.isUndefined(misfitOf(ruleOfDefinition(type, [validation(name, bound)]), value))
  })
})
