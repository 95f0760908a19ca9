import { Schema } from "effect"
import { DefinitionValidation } from "../model/Definition.ts"
import { PublishError } from "../model/PublishState.ts"
import productsJson from "./content/products.json" with { type: "json" }
import shopsJson from "./content/shops.json" with { type: "json" }
import storiesJson from "./content/stories.json" with { type: "json" }
import translationsJson from "./content/translations.json" with { type: "json" }

// Schemas of the demo's content, which is data in content/*.json.

/** The three stores of the demo. */
export const StoreName = Schema.Literal("europe", "gulf", "china")
export type StoreName = typeof StoreName.Type

const StoreNames = Schema.Array(StoreName)
const Texts = Schema.Array(Schema.String)
const recordOf = <A, I>(value: Schema.Schema<A, I>) => Schema.Record({ key: Schema.String, value })
const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** Values by key; null: no value. */
const Values = recordOf(Schema.NullOr(Schema.String))
export type Values = typeof Values.Type

/** Products that share all values except name, price, text and, for some, stores. */
export const ProductFamily = Schema.Struct({
  type: Schema.String,
  vendor: Schema.String,
  /** The prefix of the products' SKUs. */
  code: Schema.String,
  tags: Texts,
  /** Choices by option name. Each combination is a variant. Without options there is one variant. */
  options: recordOf(Texts),
  /** The price difference in euros between two successive choices of the first option. */
  priceStep: optional(Schema.Number),
  weightGrams: Schema.Number,
  stores: StoreNames,
  /** The last sentence of the description of every product. */
  promise: Schema.String,
  /** The end of the alt text of every image. */
  scene: Schema.String,
  metafields: recordOf(Schema.String),
  /** Products by handle. `price` is in euros. `stores` is set if the product is on other stores than the family. */
  products: recordOf(
    Schema.Struct({ title: Schema.String, price: Schema.Number, text: Schema.String, stores: optional(StoreNames) })
  )
})
export type ProductFamily = typeof ProductFamily.Type

/** The outcome of a product's first publish on `stores`; without `stores`, on all its stores. Other stores accepted it. */
const FirstPublish = Schema.Struct({
  outcome: Schema.Union(Schema.Literal("not requested", "requested"), PublishError),
  stores: optional(StoreNames)
})
export type FirstPublish = typeof FirstPublish.Type

/** An edit after the first publish, of a product or its first variant. `store`: it edits overrides, not canonical values. */
const Edit = Schema.Struct({
  product: Schema.String,
  of: optional(Schema.Literal("variant")),
  store: optional(StoreName),
  values: Values
})
export type Edit = typeof Edit.Type

/** Mistakes and later changes in the catalog, so that data health finds issues in every dimension. Keys: handles, file names. */
const Stories = Schema.Struct({
  /** Missing and wrong values of products. */
  productGaps: recordOf(Values),
  /** Missing and wrong values of a product's first variant. */
  firstVariantGaps: recordOf(Values),
  withoutVariants: Texts,
  withoutGallery: Texts,
  withoutAlt: Texts,
  /** Media in addition to the main picture of each product. `product` null: in no gallery. `stores`: if not all stores of the product. */
  moreMedia: recordOf(
    Schema.Struct({
      mimeType: Schema.String,
      alt: Schema.String,
      product: Schema.NullOr(Schema.String),
      stores: optional(StoreNames)
    })
  ),
  /** The members of a collection are the products with its tag that all stores of the collection have accepted. */
  collections: recordOf(
    Schema.Struct({ title: Schema.String, text: Schema.String, tag: Schema.String, stores: StoreNames })
  ),
  /** First publishes with another outcome than "accepted", by the handle of the product. */
  firstPublishes: recordOf(FirstPublish),
  edits: Schema.Array(Edit),
  laterAlts: recordOf(Schema.String),
  /** Products that were added to a collection later. */
  laterMembers: recordOf(Texts),
  /** Publish requests after the edits. If `error` is missing, the publish is still pending. */
  laterPublishes: Schema.Array(
    Schema.Struct({ product: Schema.String, stores: StoreNames, error: optional(PublishError) })
  )
})

/** `text`: one sentence, for description and search engines. `madeFrom`: the source text from which an outdated title was translated. */
const TranslatedText = Schema.Struct({
  title: Schema.String,
  text: optional(Schema.String),
  madeFrom: optional(Schema.String)
})
export type TranslatedText = typeof TranslatedText.Type

const LocalTexts = recordOf(Schema.Struct({ gulf: optional(Schema.String), china: optional(Schema.String) }))

/** Texts by handle. */
const Translations = Schema.Struct({
  /** Overrides on the stores gulf and china, which have other main languages than europe. */
  local: Schema.Struct({ title: LocalTexts, text: LocalTexts, vendor: LocalTexts }),
  /** The second language of the store europe. */
  german: Schema.Struct({ products: recordOf(TranslatedText), collections: recordOf(TranslatedText) }),
  /** The second language of the other stores. */
  english: Schema.Struct({
    /** Products whose canonical language is not English. */
    products: recordOf(TranslatedText),
    collections: recordOf(TranslatedText),
    /** The old local titles from which outdated translations were made. */
    outdatedSources: recordOf(Schema.String),
    /** Products that have a local title but no English translation. */
    missing: Texts
  })
})

const Market = Schema.Struct({
  name: Schema.String,
  status: optional(Schema.Literal("draft")),
  currency: Schema.String,
  /** Names of countries, by country code. */
  regions: recordOf(Schema.String),
  /** Locales, the main language first. */
  locales: Texts,
  /** Price adjustment of the market's catalog, in percent. */
  priceChange: optional(Schema.Number)
})

const Metafield = Schema.Struct({
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  type: optional(Schema.String),
  validations: optional(Schema.Array(DefinitionValidation))
})
const Metafields = recordOf(Metafield)

/** `values`: in the order of the definition's fields. `updated`: a time in 2026, without the year. */
const MetaobjectEntry = Schema.Struct({
  stores: StoreNames,
  values: Schema.Array(Schema.NullOr(Schema.String)),
  status: optional(Schema.Literal("draft")),
  updated: Schema.String
})

const Metaobject = Schema.Struct({
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  translatable: Schema.Boolean,
  fields: Schema.Array(
    Schema.Struct({ key: Schema.String, name: Schema.String, type: Schema.String, required: Schema.Boolean })
  ),
  entries: recordOf(MetaobjectEntry)
})
export type Metaobject = typeof Metaobject.Type

/** The data of the shops outside their catalogs. */
const Shops = Schema.Struct({
  /** Markets by store, then by handle. The same handle on several stores is the same market. */
  markets: Schema.Struct({ europe: recordOf(Market), gulf: recordOf(Market), china: recordOf(Market) }),
  /** Metafield definitions by owner type, then by `namespace.key`. */
  metafields: Schema.Struct({
    product: Metafields,
    variant: Metafields,
    collection: Metafields,
    media: Metafields,
    market: Metafields,
    shop: Metafields
  }),
  metaobjects: recordOf(Metaobject)
})

const decode = <A, I>(schema: Schema.Schema<A, I>, json: unknown) =>
  Schema.decodeUnknownSync(schema)(json, { onExcessProperty: "error" })

export const families = decode(Schema.Array(ProductFamily), productsJson)
export const stories = decode(Stories, storiesJson)
export const translations = decode(Translations, translationsJson)
export const shops = decode(Shops, shopsJson)
