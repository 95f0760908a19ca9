import { assert, describe, it } from "@effect/vitest"
import { controlOf, fromTyped, sameTyped, toTyped } from "../../src/console/entities/CellInput.ts"

const row = (type: string) => ({ key: "specs.field", type, rule: { type } })
const lengths = '[{"value":25.0,"unit":"CENTIMETERS"}]'

describe("a list in a form", () => {
  it.each([
    ["list.number_integer", "[10,20]", "10\n20", "[10,20]"],
    ["list.number_integer", '["10","20"]', "10\n20", "[10,20]"],
    ["list.number_integer", '["ten"]', "ten", '["ten"]'],
    ["list.number_decimal", '["10.4"]', "10.4", '["10.4"]'],
    ["list.single_line_text_field", '["a","b"]', "a\nb", '["a","b"]'],
    ["list.dimension", lengths, lengths, lengths],
    ["list.boolean", "[true]", "[true]", "[true]"]
  ])("of type %s with the value %s is shown as %j, and read as %s", (type, value, shown, read) => {
    assert.strictEqual(toTyped(row(type), value), shown)
    assert.strictEqual(fromTyped(row(type), shown), read)
    assert.isTrue(sameTyped(row(type), shown, value))
    assert.deepStrictEqual(controlOf(row(type), value), {
      _tag: "Area",
      hint: shown.startsWith("[") ? "A list as JSON." : "One on each line."
    })
  })
})
