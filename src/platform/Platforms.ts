import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer } from "effect"
import { makeDemoPlatform } from "../demo/DemoPlatform.ts"
import type { Platform } from "../model/Store.ts"
import { nonePlatform } from "./NonePlatform.ts"
import { PlatformClient } from "./PlatformClient.ts"
import { defaultOptions } from "./shopify/Client.ts"
import { makeShopifyPlatform } from "./shopify/ShopifyPlatform.ts"

/** Asks each store's own platform. */
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

/** Every platform as it is run: Shopify over HTTP, the demo in its shops, and none. */
export const layerPlatforms = Layer.scoped(
  PlatformClient,
  Effect.map(Effect.all({ demo: makeDemoPlatform, shopify: makeShopifyPlatform(defaultOptions) }), (clients) =>
    byPlatform({ ...clients, none: nonePlatform })
  )
).pipe(Layer.provide(NodeHttpClient.layerUndici))

/** The demo's shops and none: nothing leaves the process. A Shopify store is refused, as one without a platform is. */
export const layerDemoPlatforms = Layer.effect(
  PlatformClient,
  Effect.map(makeDemoPlatform, (demo) => byPlatform({ demo, none: nonePlatform, shopify: nonePlatform }))
)
