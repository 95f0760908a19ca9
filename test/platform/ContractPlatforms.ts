import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Redacted } from "effect"
import { AccountId, StoreId } from "../../src/model/Ids.ts"
import { demoAdapter } from "../../src/platform/demo/DemoAdapter.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import type { PlatformMarket } from "../../src/platform/Market.ts"
import { PlatformClient, type PlatformStore } from "../../src/platform/PlatformClient.ts"
import type { PlatformRecord } from "../../src/platform/PlatformRecord.ts"
import { shopifyAdapter } from "../../src/platform/shopify/ShopifyAdapter.ts"
import type { PlatformUnderTest, ShopFailure, ShopSections, StaffRecord } from "../../src/testing/index.ts"
import { attributesOf } from "../../src/testing/platform/Publications.ts"
import { makePlainshop, plainshopAdapter } from "./example/PlainshopAdapter.ts"
import { PlainshopServer } from "./example/PlainshopServer.ts"
import { aStore, PlatformShops, ShopifyTestServer, tokenOf } from "./PlatformShops.ts"
import type { ShopifyShop } from "./ShopifyShop.ts"

const noSections: ShopSections = {
  markets: [],
  metafieldDefinitions: [],
  metaobjectDefinitions: [],
  metaobjectEntries: [],
  translations: []
}

const market = (index: number): PlatformMarket => ({
  handle: `m${index}`,
  type: "region",
  platform_id: `gid://shopify/Market/${index}`,
  name: `Market ${index}`,
  status: "active",
  currency: "EUR",
  regions: [{ code: "DE", name: "Germany" }],
  web_presences: [],
  catalogs: []
})

const sections = {
  markets: [0, 1, 2, 3, 4].map(market),
  metafieldDefinitions: [
    {
      owner_type: "variant",
      namespace: "care",
      key: "wash_at",
      name: "Wash at",
      description: null,
      type: "number_integer",
      validations: [{ name: "unique_values", type: "boolean", value: "true" }],
      platform_id: "gid://shopify/MetafieldDefinition/7",
      metafields_count: 12
    }
  ],
  metaobjectDefinitions: [
    {
      type: "designer",
      name: "Designer",
      description: null,
      display_name_key: "name",
      fields: [],
      entries_count: 1,
      translatable: true,
      platform_id: "gid://shopify/MetaobjectDefinition/1"
    }
  ],
  metaobjectEntries: [
    {
      handle: "ada",
      display_name: "Ada",
      status: "draft",
      fields: [],
      updated_at: "2026-11-20T10:00:00.000000Z",
      platform_id: "gid://shopify/Metaobject/1"
    }
  ],
  translations: [
    {
      kind: "product",
      platform_id: "gid://shopify/Product/1",
      locale: "de",
      fields: [
        { key: "title", type: "single_line_text_field", source_locale: "en", source_value: "Jumper", digest: "d1" }
      ],
      translations: [
        {
          key: "title",
          value: "Pullover",
          outdated: true,
          source_digest: null,
          updated_at: "2026-11-20T10:00:00.500000Z"
        }
      ]
    }
  ]
} as unknown as ShopSections // Ids and timestamps are branded texts.

/** The sections in the form that the resolvers of Shopify's schema read. */
const shopifySections = {
  markets: sections.markets.map(({ handle, name, platform_id }) => ({
    id: platform_id,
    handle,
    name,
    status: "ACTIVE",
    type: "REGION",
    currencySettings: { baseCurrency: { currencyCode: "EUR" } },
    conditions: {
      regionsCondition: { regions: { nodes: [{ __typename: "MarketRegionCountry", name: "Germany", code: "DE" }] } }
    },
    webPresences: { nodes: [] },
    catalogs: { nodes: [] }
  })),
  "metafieldDefinitions PRODUCTVARIANT": [
    {
      id: "gid://shopify/MetafieldDefinition/7",
      namespace: "care",
      key: "wash_at",
      name: "Wash at",
      description: null,
      type: { name: "number_integer" },
      validations: [],
      metafieldsCount: 12,
      capabilities: { uniqueValues: { eligible: true, enabled: true } }
    }
  ],
  metaobjectDefinitions: [
    {
      id: "gid://shopify/MetaobjectDefinition/1",
      type: "designer",
      name: "Designer",
      description: null,
      displayNameKey: "name",
      metaobjectsCount: 1,
      fieldDefinitions: [],
      capabilities: { translatable: { enabled: true } }
    }
  ],
  "metaobjects designer": [
    {
      id: "gid://shopify/Metaobject/1",
      handle: "ada",
      displayName: "Ada",
      updatedAt: "2026-11-20T10:00:00Z",
      fields: [],
      capabilities: { publishable: { status: "DRAFT" } }
    }
  ],
  "translatableResources PRODUCT": [
    {
      resourceId: "gid://shopify/Product/1",
      translatableContent: [
        { key: "title", value: "Jumper", digest: "d1", locale: "en", type: "SINGLE_LINE_TEXT_FIELD" }
      ],
      translations: [
        { key: "title", locale: "de", value: "Pullover", outdated: true, updatedAt: "2026-11-20T10:00:00.5Z" }
      ]
    }
  ]
}

const staffId = (record: StaffRecord) => `staff/${record.kind === "variant" ? record.sku : record.handle}`

/** The records that staff creates, as shops of the demo keep them. */
const recordsOfStaff = (record: StaffRecord): ReadonlyArray<PlatformRecord> => {
  const made = (
    kind: "product" | "variant" | "collection",
    platformId: string,
    parentId: string | null,
    values: Readonly<Record<string, string>>
  ) => ({ kind, platformId, parentId, entityId: null, attributes: attributesOf(values), media: [], members: [] })
  switch (record.kind) {
    case "product": {
      const { handle, size, sku, title } = record
      const id = staffId(record)
      return [
        made("product", id, null, { title, handle }),
        made("variant", `${id}/1`, id, { title: size, option1: size, sku })
      ]
    }
    case "variant": {
      const { productId, size, sku } = record
      return [made("variant", staffId(record), productId, { title: size, option1: size, sku })]
    }
    case "collection":
      return [made("collection", staffId(record), null, { title: record.title, handle: record.handle })]
  }
}

const createInShopify = (shop: ShopifyShop, record: StaffRecord): string => {
  const variantOf = (size: string, sku: string) => ({
    optionValues: [{ optionName: "Size", name: size }],
    inventoryItem: { sku }
  })
  switch (record.kind) {
    case "product": {
      const { handle, size, sku, title } = record
      const productOptions = [{ name: "Size", values: [{ name: size }] }]
      const input = { title, handle, productOptions, variants: [variantOf(size, sku)] }
      return shop.productSet({ identifier: { handle }, input }).product?.id ?? ""
    }
    case "variant": {
      const variants = [variantOf(record.size, record.sku)]
      return shop.variantsBulkCreate({ productId: record.productId, variants }).productVariants?.[0]?.id ?? ""
    }
    case "collection": {
      const { handle, title } = record
      return shop.collectionCreate({ collection: { title, handle } }).collection?.id ?? ""
    }
  }
}

/** Failures that do not exist in demo shops, which have no rate limit and no credentials. */
export const impossibleForDemo: ReadonlyArray<ShopFailure> = ["throttled", "throttledOnce", "revoked"]

export const demoUnderTest: Effect.Effect<PlatformUnderTest, never, PlatformClient | PlatformShops | DemoShops> =
  Effect.gen(function* () {
    const client = yield* PlatformClient
    const { fail, repair, open, productsMade } = yield* PlatformShops
    const shops = yield* DemoShops
    return {
      adapter: demoAdapter,
      client,
      severalPages: 60,
      open: Effect.map(open, (store) => ({
        store,
        fail: (failure) =>
          failure === "down" || failure === "lost"
            ? fail(store, failure === "down" ? "error" : "lost")
            : Effect.dieMessage(`a demo shop is never ${failure}`),
        repair: repair(store),
        productsCreated: productsMade(store),
        create: (record) => Effect.map(shops.put(store, recordsOfStaff(record)), () => staffId(record)),
        remove: (platformId) => shops.remove(store, platformId)
      })),
      openWithSections: Effect.gen(function* () {
        const store = yield* open
        yield* shops.putSections(store, {
          markets: sections.markets,
          "metafield-definitions/variant": sections.metafieldDefinitions,
          "metaobject-definitions": sections.metaobjectDefinitions,
          "metaobject-entries/designer": sections.metaobjectEntries,
          "translations/product": sections.translations
        })
        return { store, sections }
      })
    }
  })

export const shopifyUnderTest: Effect.Effect<
  PlatformUnderTest,
  never,
  PlatformClient | PlatformShops | ShopifyTestServer
> = Effect.gen(function* () {
  const client = yield* PlatformClient
  const server = yield* ShopifyTestServer
  const openShop = Effect.sync(() => {
    const store = aStore("shopify", crypto.randomUUID())
    const shop = server.open(tokenOf(store))
    shop.sections.publications = [
      {
        id: "gid://shopify/Publication/1",
        autoPublish: true,
        supportsFuturePublishing: true,
        catalog: { __typename: "AppCatalog", id: "c1", title: "Online Store" },
        channels: { nodes: [{ name: "Online Store", handle: "online_store" }] }
      }
    ]
    return { store, shop }
  })
  const script = (store: PlatformStore, failure: ShopFailure) => {
    const token = tokenOf(store)
    switch (failure) {
      case "down":
        return server.script(token, "SetProduct", "server", 99)
      case "lost":
        return server.script(token, "SetProduct", "lost", 99)
      case "throttled":
        return server.script(token, "*", "throttled", 99)
      case "throttledOnce":
        return server.script(token, "SetProduct", "busy", 1)
      case "revoked":
        return server.revoke(token)
    }
  }
  return {
    adapter: shopifyAdapter,
    client,
    severalPages: 12,
    open: Effect.map(openShop, ({ shop, store }) => ({
      store,
      fail: (failure) => Effect.sync(() => script(store, failure)),
      repair: Effect.sync(() => server.repair(tokenOf(store))),
      productsCreated: Effect.sync(() => shop.made.filter((kind) => kind === "Product").length),
      create: (record) => Effect.sync(() => createInShopify(shop, record)),
      remove: (platformId) => Effect.sync(() => void shop.files.delete(platformId))
    })),
    openWithSections: Effect.map(openShop, ({ shop, store }) => {
      Object.assign(shop.sections, shopifySections)
      return { store, sections }
    })
  }
})

/** The example adapter of docs/platforms.md, with a server of its own. */
export const plainshopUnderTest: Effect.Effect<PlatformUnderTest, never, PlainshopClient> = Effect.gen(function* () {
  const { client, server } = yield* PlainshopClient
  const openStore = Effect.sync((): PlatformStore => {
    const key = crypto.randomUUID()
    server.open(key)
    return {
      accountId: AccountId.make(crypto.randomUUID()),
      storeId: StoreId.make(crypto.randomUUID()),
      domain: "tern.plainshop.example",
      platform: "plainshop",
      credentials: { key: Redacted.make(key) }
    }
  })
  const keyOf = ({ credentials: { key } }: PlatformStore) => (key === undefined ? "" : Redacted.value(key))
  return {
    adapter: plainshopAdapter,
    client,
    severalPages: 45,
    open: Effect.map(openStore, (store) => ({
      store,
      fail: (failure) => Effect.sync(() => server.fail(keyOf(store), failure)),
      repair: Effect.sync(() => server.fail(keyOf(store), undefined)),
      productsCreated: Effect.sync(() => server.created(keyOf(store))),
      create: (record) => Effect.as(server.put(keyOf(store), recordsOfStaff(record)), staffId(record)),
      remove: (platformId) => Effect.sync(() => server.remove(keyOf(store), platformId))
    })),
    openWithSections: Effect.map(openStore, (store) => ({ store, sections: noSections }))
  }
})

export class PlainshopClient extends Effect.Service<PlainshopClient>()("test/PlainshopClient", {
  scoped: Effect.gen(function* () {
    const server = yield* PlainshopServer.make
    const client = yield* makePlainshop(() => server.origin)
    return { client, server }
  }),
  dependencies: [NodeHttpClient.layer]
}) {}
