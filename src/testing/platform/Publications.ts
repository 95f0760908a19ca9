import type { Attributes } from "../../model/Attribute.ts"
import { EntityId } from "../../model/Ids.ts"
import { Publication, type PublishedEntity } from "../../platform/Publication.ts"

export const newId = () => EntityId.make(crypto.randomUUID())

const text = "single_line_text_field"
const types: Readonly<Record<string, string>> = {
  description_html: "html",
  tags: "list.single_line_text_field",
  options: "json",
  price: "number_decimal",
  compare_at_price: "number_decimal",
  weight: "number_decimal",
  taxable: "boolean",
  requires_shipping: "boolean",
  seo_description: "multi_line_text_field",
  url: "url",
  "care.wash_at": "number_integer"
}

export const attributesOf = (values: Readonly<Record<string, string>>): Attributes =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { value, type: types[key] ?? text }]))

export const entity = (values: Readonly<Record<string, string>>): PublishedEntity => ({
  entityId: newId(),
  platformId: null,
  attributes: attributesOf(values)
})

export const aVariant = (size: string) =>
  entity({
    title: size,
    sku: `JUMPER-${size}`,
    price: "89.00",
    compare_at_price: "99.00",
    weight: "420",
    weight_unit: "g",
    option1: size,
    taxable: "true",
    requires_shipping: "true",
    "care.wash_at": "30"
  })

export const aPicture = (name: string) =>
  entity({
    alt: `The ${name}`,
    url: `https://pictures.example/${name}.jpg`,
    mime_type: "image/jpeg",
    file_name: `${name}.jpg`
  })

/** A product with two variants and a picture, as its first publish brings it. */
export const aProduct = () =>
  Publication.Product({
    key: crypto.randomUUID(),
    ...entity({
      title: "Keel Jumper",
      handle: "keel-jumper",
      description_html: "<p>Undyed.</p>",
      vendor: "Tarn & Tern",
      product_type: "Knitwear",
      tags: '["wool","new"]',
      status: "active",
      options: '[{"name":"Size","values":["S","M"]}]',
      seo_title: "Keel Jumper in wool",
      seo_description: "Warm.\nAnd dry.",
      "care.wash_at": "30"
    }),
    variants: [aVariant("S"), aVariant("M")],
    media: [aPicture("keel-jumper")]
  })

/** A later publication of the same entities: another key, the platform ids of the first publish, and other values. */
export const again = <P extends Publication>(
  publication: P,
  platformIds: ReadonlyMap<EntityId, string>,
  values: Readonly<Record<string, string>> = {}
): P => {
  const withPlatformId = <E extends PublishedEntity>(one: E): E => ({
    ...one,
    platformId: platformIds.get(one.entityId) ?? null
  })
  return {
    ...withPlatformId(publication),
    ...("variants" in publication
      ? { variants: publication.variants.map(withPlatformId), media: publication.media.map(withPlatformId) }
      : {}),
    key: crypto.randomUUID(),
    attributes: { ...publication.attributes, ...attributesOf(values) }
  }
}
