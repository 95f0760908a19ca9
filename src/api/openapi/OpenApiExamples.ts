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
} from "../../catalog/Entity.ts"
import type { Drop } from "../../drops/Drop.ts"
import type { FeedChange } from "../../feed/FeedChange.ts"
import { HealthDimension, type HealthIssuePage, type HealthOverview, type HealthSnapshot } from "../../health/Health.ts"
import type { FillOperation, FillResult, ReconcileOperation, ReconcileResult } from "../../health/RemediationRules.ts"
import { type EntityKind, singleLineText, toTriples } from "../../model/Attribute.ts"
import type { MetafieldDefinition, MetaobjectDefinition, MetaobjectEntry } from "../../model/Definition.ts"
import {
  CursorExpired,
  Forbidden,
  LiveReadFailed,
  NotFound,
  PimLocked,
  RateLimited,
  RevisionConflict,
  Unauthorized,
  Unavailable,
  ValidationFailed
} from "../../model/Errors.ts"
import { EntityId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import type { Market } from "../../platform/Market.ts"
import { PlatformUnavailable } from "../../platform/PlatformErrors.ts"
import type { EntityChannel, SalesChannel } from "../../platform/SalesChannel.ts"
import type { KeyedTranslatableField, KeyedTranslations } from "../../platform/Translation.ts"
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
const marketId = "7d2c4f8b-1e60-4a95-b3d7-0c9e8f6a5b43"
const metafieldDefinitionId = "e41a7b96-30c8-4d52-8f1e-6b9d2a7c0e15"
const metaobjectDefinitionId = "1f8e6c3a-97b4-4205-a8d1-5e7c9b0f3d62"
const entryId = "b60d9e27-45f1-4c83-9a7e-2d8f1b3c6a90"
const titleDigest = "6bf1b2c0e0d2a8f94a7c6f5e3d1b09c8a7f6e5d4c3b2a1908f7e6d5c4b3a2910"

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
  toTriples(
    kind,
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { value, type: singleLineText }]))
  )

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

const otherStoreId = "7d1f9b62-40ce-4a83-8e57-92b0d6f3a815"

const divergenceSnapshot: typeof HealthSnapshot.Encoded = {
  dimension: "divergence",
  scanned: true,
  result: {
    checked: 412,
    affected: 9,
    score: 97,
    on_no_store: 3,
    by_store: [
      { store_id: otherStoreId, checked: 408, affected: 4 },
      { store_id: storeId, checked: 397, affected: 7 }
    ],
    by_field: [
      { field: "title", affected: 6 },
      { field: "vendor", affected: 4 }
    ],
    by_section: [{ section: "divergence", rows: 11 }],
    compared: 412,
    rules: { texts: "same_language", prices: "same_currency" }
  },
  scanned_at: publishedAt,
  as_of_version: 2_871
}

const batch = <Operation>(operation: Operation) => ({ entity_type: "product", operations: [operation] }) as const

/** Examples by the name of their schema. A body whose schema is not here is published without one. */
const bodies = {
  Ping: { status: "ok", account_id_present: true },
  Change: {
    seq: 1_204,
    at: updatedAt,
    type: "store_version.updated",
    entity: { id: productId, type: "product" },
    store_id: storeId,
    what: ["overrides", "publish_state"]
  } satisfies typeof FeedChange.Encoded,
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
  } satisfies typeof Store.Encoded,
  HealthSnapshot: divergenceSnapshot,
  HealthOverview: {
    dimensions: HealthDimension.literals.map((dimension) =>
      dimension === "divergence" ? divergenceSnapshot : { dimension, scanned: false }
    )
  } satisfies typeof HealthOverview.Encoded,
  HealthIssuePage: {
    section: "divergence",
    scanned: true,
    scanned_at: publishedAt,
    data: [
      {
        entity_id: productId,
        entity_type: "product",
        title: "Linen shirt",
        store_id: storeId,
        store_domain: storeDomain,
        fields: ["title"],
        values: [{ field: "title", value: "Leinenhemd" }]
      }
    ],
    page: 1,
    has_next: false,
    compared: 412
  } satisfies typeof HealthIssuePage.Encoded,
  ScanRequest: { dimension: "completeness", store_id: storeId },
  FillBatch: batch<typeof FillOperation.Encoded>({
    entity_id: productId,
    store_id: storeId,
    field: "seo_title",
    value: "Linen shirt, woven in Portugal"
  }),
  FillOutcome: {
    filled: 1,
    results: [
      {
        entity_id: productId,
        store_id: storeId,
        field: "seo_title",
        ok: true,
        filled: true,
        draft_revision: 8
      } satisfies typeof FillResult.Encoded
    ]
  },
  ReconcileBatch: batch<typeof ReconcileOperation.Encoded>({
    entity_id: productId,
    field: "title",
    winner_store_id: storeId
  }),
  ReconcileOutcome: {
    patched: 1,
    results: [
      {
        entity_id: productId,
        store_id: storeId,
        ok: true,
        patched_store_ids: [otherStoreId],
        draft_revision: 8
      } satisfies typeof ReconcileResult.Encoded
    ]
  },
  Market: {
    id: marketId,
    handle: "united-kingdom",
    name: "United Kingdom",
    status: "active",
    type: "region",
    stores: [
      {
        store_id: storeId,
        platform_id: "gid://shopify/Market/51827",
        name: "United Kingdom",
        status: "active",
        currency: "GBP",
        regions: [{ code: "GB", name: "United Kingdom" }],
        web_presences: [
          {
            platform_id: "gid://shopify/MarketWebPresence/7741",
            domain: null,
            subfolder_suffix: "uk",
            default_locale: "en",
            alternate_locales: []
          }
        ]
      }
    ],
    catalogs: [
      {
        store_id: storeId,
        id: "gid://shopify/MarketCatalog/9920",
        title: "Prices for the United Kingdom",
        status: "active",
        currency: "GBP",
        price_adjustment: { type: "percentage_increase", value: 8 }
      }
    ]
  } satisfies typeof Market.Encoded,
  MetafieldDefinition: {
    id: metafieldDefinitionId,
    owner_type: "product",
    namespace: "care",
    key: "washing",
    name: "Washing",
    description: "How it is cleaned, in one line.",
    type: singleLineText,
    validations: [{ name: "max", type: "number_integer", value: "80" }],
    stores: [{ store_id: storeId, platform_id: "gid://shopify/MetafieldDefinition/30518", metafields_count: 214 }]
  } satisfies typeof MetafieldDefinition.Encoded,
  MetaobjectDefinition: {
    id: metaobjectDefinitionId,
    type: "workshop",
    name: "Workshop",
    description: "The makers of our products.",
    display_name_key: "name",
    fields: [{ key: "name", name: "Name", type: singleLineText, required: true, validations: [] }],
    entries_count: 12,
    translatable: true,
    stores: [{ store_id: storeId, platform_id: "gid://shopify/MetaobjectDefinition/8142" }]
  } satisfies typeof MetaobjectDefinition.Encoded,
  MetaobjectEntry: {
    id: entryId,
    handle: "nine-looms",
    display_name: "Nine Looms",
    status: "active",
    fields: [{ key: "name", type: singleLineText, value: "Nine Looms" }],
    updated_at: updatedAt,
    store_id: storeId
  } satisfies typeof MetaobjectEntry.Encoded,
  Translations: {
    locale: "de",
    stores: [
      {
        store_id: storeId,
        translations: [
          {
            key: "title",
            attribute_key: "title",
            value: "Leinenhemd",
            outdated: false,
            source_digest: titleDigest,
            updated_at: updatedAt
          }
        ]
      }
    ]
  } satisfies typeof KeyedTranslations.Encoded,
  TranslatableField: {
    key: "title",
    attribute_key: "title",
    type: singleLineText,
    source_locale: "en",
    source_value: "Linen shirt",
    digest: titleDigest,
    store_ids: [storeId]
  } satisfies typeof KeyedTranslatableField.Encoded,
  SalesChannel: {
    id: "gid://shopify/Publication/172334211",
    name: "Online Store",
    handle: "online_store",
    catalog_kind: "app",
    auto_publish: true,
    supports_future_publishing: true
  } satisfies typeof SalesChannel.Encoded,
  EntityChannel: {
    id: "gid://shopify/Publication/172334211",
    name: "Online Store",
    is_published: false,
    publish_date: "2026-03-01T08:00:00.000000Z",
    state: "scheduled"
  } satisfies typeof EntityChannel.Encoded,
  Drop: {
    id: "7d0c2b9e-4f31-4a8d-9c66-5b2e81f7a043",
    name: "Summer sale",
    status: "scheduled",
    starts_at: "2026-06-19T22:00:00.000000Z",
    ends_at: "2026-06-30T22:00:00.000000Z",
    timezone: "Europe/Lisbon",
    changes: [
      {
        entity_id: variantId,
        entity_type: "variant",
        store_id: storeId,
        field: "price",
        value: "44.00",
        outcome: null,
        error: null,
        deleted_name: null
      }
    ]
  } satisfies typeof Drop.Encoded
}

const versions: ReadonlyArray<readonly [path: RegExp, attributes: (typeof StoreVersion.Encoded)["attributes"]]> = [
  [/\/products\//, productAttributes],
  [/\/variants\//, variantAttributes],
  [/\/collections\//, collectionAttributes],
  [/\/media\//, mediaAttributes]
]

/** The example of a named schema in a response of this path. */
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

/** One example per error of the error table. Documents show its encoded form. */
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
  CursorExpired: new CursorExpired(),
  PayloadTooLarge: new PayloadTooLarge({ limitBytes: 1_048_576 }),
  UriTooLong: new UriTooLong({ limitBytes: 12_288 }),
  UnsupportedMediaType: new UnsupportedMediaType(),
  ExpectationFailed: new ExpectationFailed(),
  PimLocked: new PimLocked(),
  RateLimited: new RateLimited({ scope: "key", retryAfterSeconds: 17 }),
  HeadersTooLarge: new HeadersTooLarge({ limitBytes: 16_384 }),
  InternalError: new InternalError(),
  LiveReadFailed: new LiveReadFailed({ message: new PlatformUnavailable({ reason: "timeout" }).message }),
  Unavailable: new Unavailable()
}
