import type { HttpClient } from "@effect/platform"
import { Effect, type Scope } from "effect"
import type { PlatformClient } from "../PlatformClient.ts"
import { pull } from "./Bulk.ts"
import { makeShopifyClient, type ShopifyOptions } from "./Client.ts"
import { makeFind } from "./Finding.ts"
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
