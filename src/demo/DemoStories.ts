import type { PublishError } from "../model/PublishState.ts"
import type { StoreName } from "./DemoProducts.ts"

/** Values by key; null: none. */
type Values = Readonly<Record<string, string | null>>

// What is wrong on purpose: every dimension of data health has something to find, each time for a reason that happens.

/** Values that products lack or have wrong, by handle. */
export const productGaps: Readonly<Record<string, Values>> = {
  "mizzle-bivy": { description_html: null },
  "tea-towel": { description_html: "<p> </p>" },
  "ear-warmer": { vendor: null },
  "guy-line": { product_type: null },
  "spork-no-7": { tags: null, seo_title: null, seo_description: null },
  "cedar-drawer-blocks": { seo_description: null },
  "milk-jug": { seo_title: null }
}

/** The same of a product's first variant. */
export const firstVariantGaps: Readonly<Record<string, Values>> = {
  "napkins-four": { sku: null },
  "fair-cup": { price: null },
  "sticker-sheet": { price: "free" },
  "gaiwan-rain": { sku: "TE-01-1" },
  "whittle-knife": { barcode: null },
  "field-notebook": { barcode: null }
}

export const withoutVariants: ReadonlyArray<string> = ["repair-voucher"]
export const withoutGallery: ReadonlyArray<string> = ["peg-set", "wax-bar", "postcards-dozen"]
export const withoutAlt: ReadonlyArray<string> = ["burrow-quilt", "salt-pig", "dates-tray"]

/** `product`: the one that shows it; null: nothing does. `stores`: those of its stores that do, when not all. */
type MediaLine = readonly [mimeType: string, alt: string, product: string | null, stores?: ReadonlyArray<StoreName>]

/** Media beside the one picture that every product has, by file name. */
export const moreMedia: Readonly<Record<string, MediaLine>> = {
  "kestrel-20-ridge.webp": ["image/webp", "Kestrel 20 on a windy ridge", "kestrel-20", ["europe"]],
  "curlew-45-fit.png": ["image/png", "How the hip belt is set", "curlew-45"],
  "ember-stove-lit.mp4": ["video/mp4", "Twigs catching fire, 12 s", "ember-stove"],
  "wick-lantern.glb": ["model/gltf-binary", "Wick Lantern, to turn", "wick-lantern"],
  "bothy-2-pitching": ["text/html", "Pitching the Bothy 2 alone", "bothy-2"],
  "lookbook-spring.jpg": ["image/jpeg", "Breakfast on a jetty", null],
  "studio-wall.jpg": ["image/jpeg", "", null],
  "old-logo.png": ["image/png", "The bird we drew first", null]
}

type CollectionLine = readonly [title: string, text: string, tag: string, stores: ReadonlyArray<StoreName>]

/** Each holds the products that bear its tag, live on all of its stores, and were published there; by handle. */
export const collections: Readonly<Record<string, CollectionLine>> = {
  "storm-season": ["Storm Season ⛈️", "For days better than they look.", "storm-season", ["china", "europe"]],
  "trail-kitchen": ["Trail Kitchen", "From stream to supper.", "trail-kitchen", ["china", "europe", "gulf"]],
  "long-table": ["The Long Table", "Plates, linen and a light to stay up by.", "long-table", ["europe", "gulf"]],
  "small-gifts": ["Small Gifts 🎁", "Light to carry, easy to wrap.", "small-gifts", ["europe"]],
  "shades-of-wool": ["Shades of Wool", "Undyed, unhurried.", "wool", ["china", "europe"]],
  majlis: ["المجلس", "لكل ضيف مكان، ولكل حديث قهوة.", "majlis", ["gulf"]],
  "tea-hour": ["茶时", "水开了,坐下吧。", "tea-hour", ["china"]],
  "coming-in-autumn": ["Coming in Autumn 🍂", "Come back with the leaves.", "autumn", ["europe"]]
}

/** How a first publish went, or that nobody asked for one. */
export interface FirstPublish {
  readonly outcome: "not asked" | "asked" | PublishError
  /** The stores of which that is true; on the product's other stores it was accepted. All when absent. */
  readonly stores?: ReadonlyArray<StoreName>
}

/** By handle; every other product was accepted by its stores. */
export const firstPublishes: Readonly<Record<string, FirstPublish>> = {
  "rook-overshirt": { outcome: "not asked" },
  "acorn-cap": { outcome: "not asked" },
  "bonfire-trousers": { outcome: "not asked" },
  "fog-smock": { outcome: "not asked" },
  "ferry-duffel": { outcome: "not asked", stores: ["gulf"] },
  "tide-table-poster": { outcome: "not asked", stores: ["china"] },
  "hut-logbook": { outcome: "asked" },
  "mountain-incense-holder": { outcome: "asked" },
  "repair-voucher": { outcome: { code: "NO_VARIANTS", message: "A product needs at least one variant." } },
  "sticker-sheet": { outcome: { code: "INVALID", message: "Price is not a number." } },
  "fair-cup": { outcome: { code: "BLANK", message: "Price can't be blank." } },
  "gaiwan-rain": { outcome: { code: "TAKEN", message: "SKU TE-01-1 is in use already." }, stores: ["china"] }
}

/** An edit after the first publish: of a product, or of its first variant; of one store's values, or of everyone's. */
export interface Edit {
  readonly product: string
  readonly of?: "variant"
  readonly store?: StoreName
  readonly values: Values
}

export const edits: ReadonlyArray<Edit> = [
  { product: "kestrel-28", values: { description_html: "<p>Eight litres more, eighty grams less.</p>" } },
  { product: "campfire-mug", values: { title: "Campfire Mug 🏕️, Second Edition" } },
  { product: "hearth-blanket", values: { seo_description: "A wool blanket for two, or for one and a dog." } },
  { product: "supper-plate", values: { tags: '["home","long-table","bestseller"]' } },
  { product: "gannet-beanie", store: "gulf", values: { title: "قبعة صوفية لليالي الصحراء 🌙" } },
  { product: "drift-minus-5", store: "china", values: { description_html: "<p>帐篷结霜的夜里,它是唯一的春天。</p>" } },
  { product: "long-tablecloth", store: "gulf", values: { seo_description: "" } },
  { product: "wick-lantern", store: "europe", values: { title: "Wick Lantern, Relit" } },
  { product: "thaw-flask", of: "variant", values: { price: "41.00" } },
  { product: "keel-jumper", of: "variant", store: "europe", values: { price: "109.00", compare_at_price: "129.00" } },
  { product: "curlew-45", store: "china", values: { title: "杓鹬 45 徒步背包(新款)" } },
  { product: "squall-shell", values: { seo_title: "Squall Shell: three layers for a life outdoors" } },
  { product: "nest-pot-set", values: { title: "Nest Pot Set of Four" } },
  { product: "longshore-socks", store: "china", values: { vendor: "九机坊" } }
]

/** Alt texts written later, by file name. */
export const laterAlts: Readonly<Record<string, string>> = {
  "eddy-hammock.jpg": "Eddy Hammock between two birches",
  "finjan-set.jpg": "ستة فناجين حول دلّة"
}

/** Products appended to a collection later, by its handle. */
export const laterMembers: Readonly<Record<string, ReadonlyArray<string>>> = { "small-gifts": ["oasis-canteen"] }

/** Publishes asked for after those edits, on these stores; without an error, the outcome is still awaited. */
export const laterPublishes: ReadonlyArray<{
  readonly product: string
  readonly stores: ReadonlyArray<StoreName>
  readonly error?: PublishError
}> = [
  {
    product: "curlew-45",
    stores: ["china"],
    error: { code: "TIMEOUT", message: "The store did not answer within 5 s, three times in a row." }
  },
  {
    product: "squall-shell",
    stores: ["europe"],
    error: { code: "TOO_LONG", message: "SEO title is over this shop's limit of 40 characters." }
  },
  { product: "nest-pot-set", stores: ["china", "europe", "gulf"] },
  { product: "longshore-socks", stores: ["china"] }
]
