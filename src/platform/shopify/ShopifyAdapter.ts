import type { HttpClient } from "@effect/platform"
import { Effect, type Scope } from "effect"
import type { PlatformAdapter } from "../PlatformAdapter.ts"
import type { PlatformClient } from "../PlatformClient.ts"
import { pull } from "./Bulk.ts"
import { defaultOptions, makeShopifyClient, type ShopifyOptions } from "./Client.ts"
import { makeFind } from "./Finding.ts"
import { isOnlineStore } from "./NewRecords.ts"
import { permissions } from "./Permissions.ts"
import { makePublish } from "./Publishing.ts"
import { makeReadBack } from "./ReadBack.ts"
import { makeReading } from "./Reading.ts"

/** The client of Shopify stores, which uses the Admin GraphQL API. */
export const makeShopifyPlatform = (
  options: ShopifyOptions
): Effect.Effect<PlatformClient["Type"], never, HttpClient.HttpClient | Scope.Scope> =>
  Effect.map(makeShopifyClient(options), (client) => ({
    ...makeReading(client),
    pull: (store) => pull(client, store),
    publish: makePublish(client),
    readBack: makeReadBack(client).readBack,
    find: makeFind(client)
  }))

/** Whether the domain is the address of a store's Admin API. The token is sent to no other address. */
const isShopify = (domain: string) => /^[a-z0-9][a-z0-9-]*\.myshopify\.com$/.test(domain)

export const shopifyAdapter: PlatformAdapter = {
  name: "shopify",
  label: "Shopify",
  summary: "its Admin API is used, with a token",
  capabilities: ["salesChannels", "markets", "metafieldDefinitions", "metaobjects", "translations"],
  isVerified: true,
  fields: [
    {
      name: "token",
      label: "an Admin API access token of the store",
      isSecret: true,
      permissions,
      // The token is sent in an HTTP header, which allows only these characters.
      misfit: (value) =>
        /^[\x21-\x7e]{1,1024}$/.test(value) ? undefined : "must be one word of at most 1024 visible ASCII characters"
    }
  ],
  domainMisfit: (domain) =>
    isShopify(domain) ? undefined : "must be the store's address on Shopify, such as tarn-and-tern.myshopify.com",
  ownsDomain: isShopify,
  // A new collection is sorted by sales.
  sortsByDefault: true,
  isDefaultChannel: isOnlineStore,
  smallerPicture: (picture, width) => {
    if (picture.hostname !== "cdn.shopify.com" && !picture.hostname.endsWith(".myshopify.com")) return undefined
    const smaller = new URL(picture)
    smaller.searchParams.set("width", String(width))
    return smaller
  },
  make: makeShopifyPlatform(defaultOptions)
}
