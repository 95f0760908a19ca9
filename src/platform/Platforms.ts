import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer } from "effect"
import type { Platform } from "../model/Store.ts"
import { nonePlatform } from "./NonePlatform.ts"
import { PlatformClient } from "./PlatformClient.ts"
import { defaultOptions } from "./shopify/Client.ts"
import { makeShopifyPlatform } from "./shopify/ShopifyPlatform.ts"

/** Sends each call to the client of the store's platform. */
export const byPlatform = (clients: Readonly<Record<Platform, PlatformClient["Type"]>>): PlatformClient["Type"] => ({
  verify: (store) => clients[store.platform].verify(store),
  pull: (store) => clients[store.platform].pull(store),
  publish: (store, publication) => clients[store.platform].publish(store, publication),
  readBack: (store, publication) => clients[store.platform].readBack(store, publication),
  find: (store, kind, entity) => clients[store.platform].find(store, kind, entity),
  salesChannels: (store) => clients[store.platform].salesChannels(store),
  entityChannels: (store, platformId) => clients[store.platform].entityChannels(store, platformId),
  markets: (store) => clients[store.platform].markets(store),
  metafieldDefinitions: (store, ownerType) => clients[store.platform].metafieldDefinitions(store, ownerType),
  metaobjectDefinitions: (store) => clients[store.platform].metaobjectDefinitions(store),
  metaobjectEntries: (store, type) => clients[store.platform].metaobjectEntries(store, type),
  translations: (store, kind) => clients[store.platform].translations(store, kind)
})

/** The platforms in production: Shopify over HTTP, the demo platform that is passed in, and `none`. */
export const layerPlatforms = <R>(demo: Effect.Effect<PlatformClient["Type"], never, R>) =>
  Layer.scoped(
    PlatformClient,
    Effect.map(Effect.all({ demo, shopify: makeShopifyPlatform(defaultOptions) }), (clients) =>
      byPlatform({ ...clients, none: nonePlatform })
    )
  ).pipe(Layer.provide(NodeHttpClient.layerUndici))

/** The demo platform that is passed in, and `none`. No request leaves the process: calls to Shopify stores are refused. */
export const layerOfflinePlatforms = <R>(demo: Effect.Effect<PlatformClient["Type"], never, R>) =>
  Layer.effect(
    PlatformClient,
    Effect.map(demo, (client) => byPlatform({ demo: client, none: nonePlatform, shopify: nonePlatform }))
  )
