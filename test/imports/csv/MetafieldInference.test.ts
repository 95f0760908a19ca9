import { assert, describe, it } from "vitest"
import { MetafieldInference } from "../../../src/imports/csv/MetafieldInference.ts"
import { misfitOf, ruleOfType } from "../../../src/model/KeyRule.ts"

const inferred = (values: ReadonlyArray<string>) => {
  const inference = new MetafieldInference()
  for (const value of values) inference.take(value)
  return inference.type
}

const text = "single_line_text_field"
const gid = (kind: string, id = 1) => `gid://shopify/${kind}/${id}`

const cases: ReadonlyArray<readonly [type: string, ...values: ReadonlyArray<string>]> = [
  [text],
  [text, "", ""],
  [text, "snug", "loose"],
  ["multi_line_text_field", "snug", "one\ntwo"],
  ["multi_line_text_field", "one\r\ntwo", "snug", "12"],
  ["number_integer", "320", "-5", "0", ""],
  ["number_integer", "1", "0"],
  ["number_decimal", "320", "12.5"],
  ["number_decimal", "12.5", "320", "-0.25"],
  // Codes: leading zeros, and from 12 digits on.
  [text, "0123", "4567"],
  [text, "400638133393", "4006381333931"],
  [text, "12", "12,5"],
  [text, "1e3"],
  [text, "12", "twelve"],
  [text, " 12"],
  ["boolean", "true", "FALSE"],
  [text, "true", "1"],
  ["date", "2026-02-28", "2024-02-29"],
  [text, "2026-02-30"],
  [text, "2026-02-28", "28.02.2026"],
  ["date_time", "2026-02-28T10:00:00", "2026-02-28T10:00:00Z", "2026-02-28T10:00:00.5+02:00"],
  [text, "2026-02-28T25:00:00"],
  // JavaScript reads it as the midnight after that day.
  [text, "2026-02-28T24:00:00"],
  [text, "2026-02-28", "2026-02-28T10:00:00Z"],
  ["color", "#ff00AA", "#000000"],
  [text, "#ff00AA", "#1"],
  ["url", "https://a.example/x?y=1", "http://b.example"],
  [text, "https://a.example", "a.example"],
  [text, "https://a.example and more"],
  [text, `https://a.example/${"x".repeat(2_048)}`],
  ["product_reference", gid("Product"), gid("Product", 2)],
  ["variant_reference", gid("ProductVariant")],
  ["collection_reference", gid("Collection")],
  ["metaobject_reference", gid("Metaobject")],
  ["file_reference", gid("MediaImage"), gid("GenericFile", 2)],
  [text, gid("Product"), gid("Collection")],
  [text, gid("Unheard")],
  ["list.product_reference", `["${gid("Product")}","${gid("Product", 2)}"]`],
  ["list.metaobject_reference", `["${gid("Metaobject")}"]`],
  [`list.${text}`, '["a","b"]', '["c"]'],
  [`list.${text}`, '["#ffffff"]', '["red"]'],
  ["list.color", '["#ffffff","#000000"]'],
  ["list.url", '["https://a.example"]'],
  ["list.date", '["2026-01-01"]'],
  ["json", JSON.stringify(Array.from({ length: 129 }, String))],
  ["json", "[1,2]"],
  ["json", "[]"],
  ["json", '["a\\nb"]'],
  ["json", '{"a":1}', '["x"]'],
  ["json", '{"value":1,"unit":"parsec"}'],
  ["json", '{"value":"1","unit":"cm"}'],
  ["dimension", '{"value":25.0,"unit":"cm"}', '{"unit":"INCHES","value":2}'],
  ["weight", '{"value":2.5,"unit":"kg"}'],
  ["volume", '{"value":20,"unit":"ml"}'],
  ["json", '{"value":2.5,"unit":"kg"}', '{"value":20,"unit":"ml"}'],
  ["json", '{"value":-1,"unit":"kg"}'],
  ["money", '{"amount":"5.99","currency_code":"CAD"}'],
  ["json", '{"amount":"5.99","currency_code":"cad"}', '{"amount":"5.99","currency_code":"CAD"}'],
  ["rating", '{"value":"3.5","scale_min":"1.0","scale_max":"5.0"}'],
  ["json", '{"value":"5.5","scale_min":"1.0","scale_max":"5.0"}'],
  ["rich_text_field", '{"type":"root","children":[{"type":"paragraph","children":[]}]}'],
  ["json", '{\n  "a": 1\n}'],
  [text, '{"a":1}', "plain"],
  ["multi_line_text_field", '{\n"a":1}', "plain"],
  [text, "{not json}"],
  [text, `${"[".repeat(40)}${"]".repeat(40)}`],
  [text, "true story"]
]

describe("the type of a metafield by its values", () => {
  it.each(cases.map(([type, ...values]) => ({ type, values })))("$type of $values", ({ type, values }) => {
    assert.strictEqual(inferred(values), type)
  })

  it("has rules that all values keep, so that the import refuses none of them", () => {
    for (const [type, ...values] of cases)
      for (const value of type === "boolean" ? values.map((each) => each.toLowerCase()) : values)
        assert.isUndefined(misfitOf(ruleOfType(type), value), `${type}: ${value}`)
  })

  it("does not depend on the order of the values", () => {
    for (const [type, ...values] of cases) assert.strictEqual(inferred([...values].reverse()), type, values.join(" | "))
  })
})
