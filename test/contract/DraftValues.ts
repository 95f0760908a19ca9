import type { EntityKind } from "../../src/domain/Attribute.ts"

/** What refusals name as the keys that may be written. */
export const allowed = {
  product:
    "allowed: title, handle, description_html, vendor, product_type, tags, status, seo_title, seo_description, and metafields as namespace.key",
  variant:
    "allowed: title, sku, barcode, price, compare_at_price, weight, weight_unit, option1, option2, option3, taxable, requires_shipping, and metafields as namespace.key",
  collection:
    "allowed: title, handle, description_html, sort_order, seo_title, seo_description, and metafields as namespace.key",
  media: "allowed: alt, and metafields as namespace.key"
}
export const decimal = "must be a decimal number such as 19.90, with at most 13 digits before the point and 9 after it"
const whole = "must be a whole number from -9007199254740991 to 9007199254740991"
const address = "must be an address that begins with http:, https:, mailto:, sms: or tel:"
const json = "must be JSON, at most 32 levels deep"
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)

/** The metafields that every entity of the table of values has, each of its type. */
export const metafieldTypes = {
  "spec.width": "number_decimal",
  "spec.count": "number_integer",
  "spec.link": "url",
  "spec.data": "json",
  "spec.flag": "boolean",
  "spec.sizes": "list.number_integer",
  "spec.made": "date"
}

/** Values that do not fit, with what is said of them. */
export const misfits: ReadonlyArray<readonly [EntityKind, key: string, values: ReadonlyArray<string>, rule: string]> = [
  ["product", "title", ["two\nlines", "a\rb"], "must be one line of text"],
  ["product", "status", ["Active", "live"], "must be one of active, draft, archived, unlisted"],
  ["product", "tags", ["blue, red", "[1]", '{"a":"b"}', "null"], "must be a JSON list of strings"],
  ["product", "tags", ['["a","b\\nc"]'], "each item must be one line of text"],
  ["product", "tags", ['["\\u0000"]'], "each item must not contain U+0000"],
  ["product", "tags", ['["\\ud800"]'], "each item must not contain lone surrogates"],
  ["product", "options", ["[]"], `is read-only; ${allowed.product}`],
  ["product", "colour", ["x"], `is no attribute of a product; ${allowed.product}`],
  ["product", "price", ["1"], `is no attribute of a product; ${allowed.product}`],
  ["product", "__proto__", ["x"], `is no attribute of a product; ${allowed.product}`],
  ["product", "a.b.c", ["x"], `is no attribute of a product; ${allowed.product}`],
  ["variant", "price", ["abc", "1,5", "1e3", "NaN", ".5", "5.", " 1", "12345678901234", "1.1234567890"], decimal],
  ["variant", "taxable", ["yes", "TRUE", "1"], "must be true or false"],
  ["variant", "sku", ["x".repeat(256), "x".repeat(5_000)], "must have at most 255 characters"],
  ["product", "handle", ["x".repeat(256)], "must have at most 255 characters"],
  ["collection", "handle", ["x".repeat(256)], "must have at most 255 characters"],
  ["variant", "vendor", ["x"], `is no attribute of a variant; ${allowed.variant}`],
  ["collection", "tags", ["[]"], `is no attribute of a collection; ${allowed.collection}`],
  ["media", "url", ["https://x.example/a.png"], `is read-only; ${allowed.media}`],
  ["media", "width", ["1"], `is read-only; ${allowed.media}`],
  ["media", "title", ["x"], `is no attribute of a media file; ${allowed.media}`],
  ["product", "spec.width", ["x"], decimal],
  ["product", "spec.count", ["1.5", "9007199254740992", "x"], whole],
  ["product", "spec.link", ["//x.example", "javascript:alert(1)", "https://a b", "https://"], address],
  ["product", "spec.data", ["{", nested(33), nested(20_000)], json],
  ["product", "spec.flag", ["on"], "must be true or false"],
  ["product", "spec.sizes", ["[1]", "x"], "must be a JSON list of strings"],
  ["product", "spec.sizes", ['["1","x"]'], `each item ${whole}`],
  ["product", "spec.unheard_of", ["two\nlines"], "must be one line of text"]
]

/** Values that fit, to be stored as they are. */
export const fitting: ReadonlyArray<readonly [EntityKind, Readonly<Record<string, string>>]> = [
  [
    "product",
    {
      title: "Größe 手机 😀 __proto__",
      description_html: "<p>two\nlines</p>",
      seo_description: "two\r\nlines",
      tags: '["a","b, c"]',
      status: "archived",
      "spec.width": "-0.000000001",
      "spec.count": "-9007199254740991",
      "spec.link": "mailto:a@b.example",
      "spec.data": nested(32),
      "spec.flag": "false",
      "spec.sizes": '["1","-2"]',
      "spec.made": "any text:\nnot ours to check",
      "spec.unheard_of": "x"
    }
  ],
  [
    "variant",
    { sku: "x".repeat(255), price: "19.90", compare_at_price: "9999999999999.999999999", weight: "0", taxable: "true" }
  ],
  ["collection", { title: "%_\\ '; DROP TABLE entity; --" }],
  ["media", { alt: "x" }]
]
