import type { EntityKind } from "../../src/model/Attribute.ts"

const metafields = "spec.count, spec.data, spec.flag, spec.link, spec.made, spec.sizes, spec.width"
const keys = {
  product: "title, handle, description_html, vendor, product_type, tags, status, seo_title, seo_description",
  variant:
    "title, sku, barcode, price, compare_at_price, weight, weight_unit, option1, option2, option3, taxable, requires_shipping",
  collection: "title, handle, description_html, sort_order, seo_title, seo_description",
  media: "alt"
}

/** The keys that messages list as allowed if no metafield is defined. */
export const allowed = {
  product: `the allowed keys are ${keys.product}`,
  variant: `the allowed keys are ${keys.variant}`,
  collection: `the allowed keys are ${keys.collection}`,
  media: `the allowed keys are ${keys.media}`
}

/** The message for an unknown key, after its name. `meant`: a similar key; `defined`: the defined metafields. */
export const unknownKey = (kind: EntityKind, meant = "", defined = "") => {
  const noun = kind === "media" ? "media file" : kind
  return `is an unknown key of a ${noun}${meant === "" ? "" : ` (did you mean ${meant}?)`}; ${allowed[kind]}${defined === "" ? "" : `, ${defined}`}; a new metafield needs a definition first`
}

const unknownHere = (kind: EntityKind, meant = "") => unknownKey(kind, meant, kind === "product" ? metafields : "")
const many = (count: number, text: string) => JSON.stringify(Array.from({ length: count }, (_, at) => `${text}${at}`))
const atMost = (count: number, what = "characters") => `must have at most ${count} ${what}`

export const decimal = "must be a decimal number such as 19.90, with at most 13 digits before the point and 9 after it"
const whole = "must be a whole number from -9007199254740991 to 9007199254740991"
const address = "must be a URL that begins with http:, https:, mailto:, sms: or tel:"
const json = "must be JSON, at most 32 levels deep"
const day = "must be a date such as 2026-01-31"
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)

/** The metafields of every entity in the tables below, with their types. */
export const metafieldTypes = {
  "spec.width": "number_decimal",
  "spec.count": "number_integer",
  "spec.link": "url",
  "spec.data": "json",
  "spec.flag": "boolean",
  "spec.sizes": "list.number_integer",
  "spec.made": "date"
}

export const titleOfMedia = unknownHere("media").replace(
  "an unknown key of",
  "a key of a product and a variant and a collection, not of"
)

/** Invalid values, with the messages. */
export const misfits: ReadonlyArray<readonly [EntityKind, key: string, values: ReadonlyArray<string>, rule: string]> = [
  ["product", "title", ["two\nlines", "a\rb"], "must be one line of text"],
  ["product", "status", ["Active", "live"], "must be one of active, draft, archived, unlisted"],
  ["product", "tags", ["blue, red", "[1]", '{"a":"b"}', "null"], "must be a JSON list of strings"],
  ["product", "tags", ['["a","b\\nc"]'], "each item must be one line of text"],
  ["product", "tags", ['["\\u0000"]'], "each item must not contain U+0000"],
  ["product", "tags", ['["\\ud800"]'], "each item must not contain lone surrogates"],
  ["product", "options", ["[]"], `is read-only; ${allowed.product}, ${metafields}`],
  ["product", "colour", ["x"], unknownHere("product")],
  ["product", "price", ["1"], unknownHere("product").replace("an unknown key of", "a key of a variant, not of")],
  ["product", "__proto__", ["x"], unknownHere("product")],
  ["product", "constructor", ["x"], unknownHere("product")],
  ["product", "a.b.c", ["x"], unknownHere("product")],
  ["product", "titel", ["x"], unknownHere("product", "title")],
  ["product", "de.title", ["x"], unknownHere("product", "title")],
  ["product", "spec.widht", ["1"], unknownHere("product", "spec.width")],
  ["product", "specs.count", ["1"], unknownHere("product", "spec.count")],
  ["product", "count", ["1"], unknownHere("product", "spec.count")],
  ["product", "care.nope", ["x"], unknownHere("product")],
  [
    "variant",
    "spec.width",
    ["1"],
    `is a key of a product, not of a variant; ${allowed.variant}; a new metafield needs a definition first`
  ],
  ["product", "title", ["x".repeat(256), "🏔".repeat(256)], atMost(255)],
  ["product", "vendor", ["x".repeat(256)], atMost(255)],
  ["product", "product_type", ["x".repeat(256)], atMost(255)],
  ["product", "seo_title", ["x".repeat(256)], atMost(255)],
  ["product", "seo_description", ["x".repeat(65_537)], atMost(65_536)],
  ["product", "description_html", ["x".repeat(524_289)], atMost(524_288)],
  ["product", "tags", [many(251, "t")], atMost(250, "items")],
  ["product", "tags", [many(1, "t".repeat(255))], `each item ${atMost(255)}`],
  ["variant", "price", ["-0.01", "-1"], "must be at least 0"],
  ["variant", "compare_at_price", ["-0.000000001"], "must be at least 0"],
  ["variant", "weight", ["-5"], "must be at least 0"],
  ["variant", "weight_unit", ["stone", "KG"], "must be one of g, kg, lb, oz"],
  ["variant", "barcode", ["x".repeat(256)], atMost(255)],
  ["variant", "option2", ["x".repeat(256)], atMost(255)],
  ["collection", "title", ["x".repeat(256)], atMost(255)],
  [
    "collection",
    "sort_order",
    ["by hand"],
    "must be one of alpha-asc, alpha-desc, best-selling, created, created-desc, manual, most-relevant, price-asc, price-desc"
  ],
  ["media", "alt", ["x".repeat(513)], atMost(512)],
  ["variant", "price", ["abc", "1,5", "1e3", "NaN", ".5", "5.", " 1", "12345678901234", "1.1234567890"], decimal],
  ["variant", "taxable", ["yes", "TRUE", "1"], "must be true or false"],
  ["variant", "sku", ["x".repeat(256), "x".repeat(5_000)], "must have at most 255 characters"],
  ["product", "handle", ["x".repeat(256)], "must have at most 255 characters"],
  ["collection", "handle", ["x".repeat(256)], "must have at most 255 characters"],
  ["variant", "vendor", ["x"], unknownHere("variant").replace("an unknown key of", "a key of a product, not of")],
  ["collection", "tags", ["[]"], unknownHere("collection").replace("an unknown key of", "a key of a product, not of")],
  ["media", "url", ["https://x.example/a.png"], `is read-only; ${allowed.media}`],
  ["media", "width", ["1"], `is read-only; ${allowed.media}`],
  ["media", "title", ["x"], titleOfMedia],
  ["product", "spec.width", ["x"], decimal],
  ["product", "spec.count", ["1.5", "9007199254740992", "x"], whole],
  ["product", "spec.link", ["//x.example", "javascript:alert(1)", "https://a b", "https://"], address],
  ["product", "spec.data", ["{", nested(33), nested(20_000)], json],
  ["product", "spec.flag", ["on"], "must be true or false"],
  ["product", "spec.sizes", ["1", "x"], "must be a JSON list"],
  ["product", "spec.sizes", ['["1","x"]', "[1.5]"], `each item ${whole}`],
  [
    "product",
    "spec.made",
    ["any text", "2026-02-29", "2026-13-01", "2026-1-1", "0000-01-01", "2026-01-01T00:00:00"],
    day
  ],
  ["product", "spec.sizes", [many(129, "1")], atMost(128, "items")],
  ["product", "spec.link", [`https://a.example/${"x".repeat(2_048)}`], atMost(2_048)]
]

/** Valid values, which are stored unchanged. */
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
      "spec.made": "2024-02-29"
    }
  ],
  [
    "variant",
    { sku: "x".repeat(255), price: "19.90", compare_at_price: "9999999999999.999999999", weight: "0", taxable: "true" }
  ],
  ["collection", { title: "%_\\ '; DROP TABLE entity; --" }],
  ["media", { alt: "x" }]
]
