import { type EntityKind, listed, singleLineText } from "../../domain/Attribute.ts"
import type {
  Collection,
  CollectionRow,
  Media,
  MediaRow,
  Product,
  ProductRow,
  StorePublishState,
  StoreVersion,
  Variant,
  VariantRow
} from "../../domain/Entity.ts"
import {
  Forbidden,
  NotFound,
  PimLocked,
  RateLimited,
  RevisionConflict,
  Unauthorized,
  Unavailable,
  ValidationFailed
} from "../../domain/Errors.ts"
import { EntityId } from "../../domain/Ids.ts"
import type { Store } from "../../domain/Store.ts"
import type { ApiError, ErrorTag } from "../ErrorCodes.ts"
import {
  ExpectationFailed,
  HeadersTooLarge,
  InternalError,
  MethodNotAllowed,
  PayloadTooLarge,
  RequestTimeout,
  UnsupportedMediaType,
  UriTooLong
} from "../RequestErrors.ts"

const productId = "0b9f5d52-6f0e-4a7c-9b35-2f1f6f3d7a10"
const variantId = "5c1a2f0e-8d34-4f6b-8a77-1e90c3b45d21"
const collectionId = "9e47b6d3-0c52-4d1f-a6f8-70b2d9e81c32"
const mediaId = "d2f8c7a4-51b9-4e03-b1c6-8a3d5f902e43"
const storeId = "3a6e0d18-b2c4-47f9-95d0-c4e7a1f86b54"
const storeDomain = "northwind-eu.example"

const createdAt = "2026-01-12T08:15:42.113905Z"
const updatedAt = "2026-02-03T16:40:07.582314Z"
const publishedAt = "2026-02-03T16:41:55.020771Z"

export const requestIdExample = "req_7f3b1c9e-2a54-4d86-9c0b-6e1d8f2a4b57"
export const entityTagExample = '"uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvzek"'
const cursorExample = "AQAAAAAAAAMxn0pZc2k0bWJ5T1hXcTZkR1dLUg"

const published = { pending_publish: false, last_publish_status: "published" } as const

const row = <Kind extends EntityKind>(type: Kind, id: string, title: string) => ({
  id,
  type,
  title,
  draft_revision: 7,
  ...published,
  store_ids: [storeId],
  updated_at: updatedAt
})

const attributes = (kind: EntityKind, values: Readonly<Record<string, string>>) =>
  listed(kind, Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { value, type: singleLineText }])))

const productAttributes = attributes("product", {
  title: "Linen shirt",
  handle: "linen-shirt",
  description_html: "<p>Woven in Portugal.</p>",
  vendor: "Northwind",
  product_type: "Shirts",
  tags: '["linen","summer"]',
  status: "active",
  options: '[{"name":"Size","values":["M"]}]',
  "care.washing": "30 degrees"
})
const variantAttributes = attributes("variant", {
  title: "M",
  sku: "LS-M",
  price: "59.00",
  weight: "0.24",
  weight_unit: "kg",
  option1: "M",
  taxable: "true",
  requires_shipping: "true"
})
const collectionAttributes = attributes("collection", { title: "Summer", handle: "summer", sort_order: "manual" })
const mediaAttributes = attributes("media", {
  alt: "Linen shirt, front",
  url: "https://cdn.example/linen-shirt.jpg",
  mime_type: "image/jpeg",
  width: "1600",
  height: "2000",
  file_size: "284113",
  file_name: "linen-shirt.jpg"
})

const onStore: typeof StorePublishState.Encoded = {
  store_id: storeId,
  store_domain: storeDomain,
  ...published,
  published_at: publishedAt,
  last_publish_error: null
}

const tail = { stores: [onStore], created_at: createdAt, updated_at: updatedAt }

const head = <Kind extends EntityKind>(type: Kind, id: string, title: string) => ({
  id,
  type,
  title,
  draft_revision: 7,
  ...published
})

const version = (values: (typeof StoreVersion.Encoded)["attributes"]): typeof StoreVersion.Encoded => ({
  store_id: storeId,
  store_domain: storeDomain,
  attributes: values,
  ...published
})

/** Examples by the name of their schema. A body whose schema is not here is published without one. */
const bodies = {
  Ping: { status: "ok", account_id_present: true },
  ProductRow: row("product", productId, "Linen shirt") satisfies typeof ProductRow.Encoded,
  VariantRow: {
    ...row("variant", variantId, "M"),
    product_id: productId,
    sku: "LS-M"
  } satisfies typeof VariantRow.Encoded,
  CollectionRow: {
    ...row("collection", collectionId, "Summer"),
    handle: "summer"
  } satisfies typeof CollectionRow.Encoded,
  MediaRow: {
    ...row("media", mediaId, "linen-shirt.jpg"),
    url: "https://cdn.example/linen-shirt.jpg",
    media_type: "image",
    alt: "Linen shirt, front"
  } satisfies typeof MediaRow.Encoded,
  Product: {
    ...head("product", productId, "Linen shirt"),
    attributes: productAttributes,
    variant_ids: [variantId],
    media_ids: [mediaId],
    collection_ids: [collectionId],
    ...tail
  } satisfies typeof Product.Encoded,
  Variant: {
    ...head("variant", variantId, "M"),
    attributes: variantAttributes,
    product_id: productId,
    media_ids: [mediaId],
    ...tail
  } satisfies typeof Variant.Encoded,
  Collection: {
    ...head("collection", collectionId, "Summer"),
    attributes: collectionAttributes,
    media_ids: [],
    products_count: 1,
    ...tail
  } satisfies typeof Collection.Encoded,
  Media: {
    ...head("media", mediaId, "linen-shirt.jpg"),
    attributes: mediaAttributes,
    product_ids: [productId],
    variant_ids: [variantId],
    collection_ids: [],
    ...tail
  } satisfies typeof Media.Encoded,
  Store: {
    id: storeId,
    domain: storeDomain,
    name: "Northwind Europe",
    platform: "shopify",
    status: "linked",
    primary_locale: "en",
    locales: ["en", "de"],
    currency: "EUR",
    last_imported_at: publishedAt
  } satisfies typeof Store.Encoded
}

const versions: ReadonlyArray<readonly [path: RegExp, attributes: (typeof StoreVersion.Encoded)["attributes"]]> = [
  [/\/products\//, productAttributes],
  [/\/variants\//, variantAttributes],
  [/\/collections\//, collectionAttributes],
  [/\/media\//, mediaAttributes]
]

/** The example of a named schema, as an answer of that path shows it. */
export const exampleOf = (schemaName: string, path: string): unknown => {
  if (schemaName !== "StoreVersion") return (bodies as Readonly<Record<string, unknown>>)[schemaName]
  const found = versions.find(([pattern]) => pattern.test(path))
  return found === undefined ? undefined : version(found[1])
}

/** A list that holds one item. */
export const listExample = (item: unknown, isWhole: boolean) => ({
  data: [item],
  next_cursor: isWhole ? null : cursorExample
})

/** One error for each line of the table: documents show what it puts on the wire. */
export const errorExamples: { readonly [Tag in ErrorTag]: Extract<ApiError, { readonly _tag: Tag }> } = {
  ValidationFailed: new ValidationFailed({
    issues: [
      { path: "updated_since", message: "must be an RFC 3339 date-time with an offset, such as 2026-01-31T09:30:00Z" }
    ]
  }),
  Unauthorized: new Unauthorized(),
  Forbidden: new Forbidden({ scope: "pim:read" }),
  NotFound: new NotFound(),
  MethodNotAllowed: new MethodNotAllowed({ allow: ["GET", "HEAD"] }),
  RequestTimeout: new RequestTimeout(),
  RevisionConflict: new RevisionConflict({ entityId: EntityId.make(productId), currentRevision: 8 }),
  PayloadTooLarge: new PayloadTooLarge({ limitBytes: 1_048_576 }),
  UriTooLong: new UriTooLong({ limitBytes: 8_192 }),
  UnsupportedMediaType: new UnsupportedMediaType(),
  ExpectationFailed: new ExpectationFailed(),
  PimLocked: new PimLocked(),
  RateLimited: new RateLimited({ scope: "key", retryAfterSeconds: 17 }),
  HeadersTooLarge: new HeadersTooLarge({ limitBytes: 16_384 }),
  InternalError: new InternalError(),
  Unavailable: new Unavailable()
}
