import { Schema } from "effect"

export const EntityKind = Schema.Literal("product", "variant", "collection", "media")
export type EntityKind = typeof EntityKind.Type

/** A value and the name of its type (Shopify's names). All values are strings; lists and objects are JSON in a string. */
export const AttributeValue = Schema.Struct({ value: Schema.String, type: Schema.String })
export type AttributeValue = typeof AttributeValue.Type

/** Values by key. An absent key is empty in canonical values; in overrides, it inherits the canonical value. */
export const Attributes = Schema.Record({ key: Schema.String, value: AttributeValue })
export type Attributes = typeof Attributes.Type

/** An attribute in a response. */
export const AttributeTriple = Schema.Struct({
  key: Schema.String.annotations({ description: "Attribute name: a built-in key, or `namespace.key` of a metafield." }),
  value: Schema.String.annotations({ description: "Always a string; lists and objects are JSON in a string." }),
  type: Schema.String.annotations({ description: "Value type name, for example `single_line_text_field`." })
}).annotations({ identifier: "Attribute" })
export type AttributeTriple = typeof AttributeTriple.Type

export const singleLineText = "single_line_text_field"

/** The built-in keys of each kind with their types, in the order of responses. */
export const builtInFields: Readonly<Record<EntityKind, Readonly<Record<string, string>>>> = {
  product: {
    title: singleLineText,
    handle: singleLineText,
    description_html: "html",
    vendor: singleLineText,
    product_type: singleLineText,
    tags: "list.single_line_text_field",
    status: singleLineText,
    options: "json",
    seo_title: singleLineText,
    seo_description: "multi_line_text_field"
  },
  variant: {
    title: singleLineText,
    sku: singleLineText,
    barcode: singleLineText,
    price: "number_decimal",
    compare_at_price: "number_decimal",
    weight: "number_decimal",
    weight_unit: singleLineText,
    option1: singleLineText,
    option2: singleLineText,
    option3: singleLineText,
    taxable: "boolean",
    requires_shipping: "boolean"
  },
  collection: {
    title: singleLineText,
    handle: singleLineText,
    description_html: "html",
    sort_order: singleLineText,
    seo_title: singleLineText,
    seo_description: "multi_line_text_field"
  },
  media: {
    alt: singleLineText,
    url: "url",
    mime_type: singleLineText,
    width: "number_integer",
    height: "number_integer",
    file_size: "number_integer",
    file_name: singleLineText
  }
}

export const isBuiltIn = (kind: EntityKind, key: string): boolean => Object.hasOwn(builtInFields[kind], key)

/** The type of a key: the built-in type, else the type in the first layer that has the key, else a single line of text. */
export const typeOf = (kind: EntityKind, key: string, layers: ReadonlyArray<Attributes>): string =>
  Object.hasOwn(builtInFields[kind], key)
    ? (builtInFields[kind][key] ?? singleLineText)
    : (layers.find((layer) => layer[key] !== undefined)?.[key]?.type ?? singleLineText)

/**
 * Whether a metafield is in the namespace of another app, or in one that Shopify reserves (recorded from Shopify's Admin API). A store
 * returns such a metafield, but refuses to write it.
 */
export const isReservedKey = (key: string): boolean =>
  /^(?:app--.*|shopify_standard|protected|shopify-l10n-fields)\.[^.]*$/.test(key)

/** The value of a key, `""` if absent. */
export const valueOf = (attributes: Attributes, key: string): string => attributes[key]?.value ?? ""

/** Canonical values with the overrides of a store applied. Empty values are left out: an absent key means empty. */
export const effective = (canonical: Attributes, overrides: Attributes): Attributes =>
  Object.fromEntries(Object.entries({ ...canonical, ...overrides }).filter(([, { value }]) => value !== ""))

/** Attributes for a response: all built-in keys, also empty ones, then the metafields that have a value, sorted by key. */
export const toTriples = (kind: EntityKind, attributes: Attributes): ReadonlyArray<AttributeTriple> => {
  const builtIn = builtInFields[kind]
  const metafields = Object.keys(attributes)
    .filter((key) => !Object.hasOwn(builtIn, key) && valueOf(attributes, key) !== "")
    .sort()
  return [
    ...Object.entries(builtIn).map(([key, type]) => ({ key, value: valueOf(attributes, key), type })),
    ...metafields.map((key) => ({ key, value: valueOf(attributes, key), type: typeOf(kind, key, [attributes]) }))
  ]
}

/** The title of an entity. A media file has its file name as title, else its alt text, else its URL. */
export const titleOf = (kind: EntityKind, attributes: Attributes): string =>
  kind === "media"
    ? valueOf(attributes, "file_name") || valueOf(attributes, "alt") || valueOf(attributes, "url")
    : valueOf(attributes, "title")
