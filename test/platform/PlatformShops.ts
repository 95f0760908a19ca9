import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Duration, Effect, Layer, Redacted } from "effect"
import { AccountId, StoreId } from "../../src/model/Ids.ts"
import { PlatformClient, type PlatformStore } from "../../src/platform/PlatformClient.ts"
import { defaultOptions, type ShopifyOptions } from "../../src/platform/shopify/Client.ts"
import { makeShopifyPlatform } from "../../src/platform/shopify/ShopifyAdapter.ts"
import { adminSchema } from "./AdminSchema.ts"
import { type Fault, openShopifyServer, type ShopifyServer } from "./ShopifyServer.ts"

/** Shops for the tests of platform clients, and ways to make them fail. */
export class PlatformShops extends Context.Tag("test/PlatformShops")<
  PlatformShops,
  {
    /** Opens an empty shop that no other test uses. */
    readonly open: Effect.Effect<PlatformStore>
    /**
     * Makes the next publishes fail. `error`: nothing is applied; `lost`: the publish is applied, but its answer is
     * lost.
     */
    readonly fail: (store: PlatformStore, failure: "error" | "lost") => Effect.Effect<void>
    readonly repair: (store: PlatformStore) => Effect.Effect<void>
    /** The number of products that were ever created in the shop. */
    readonly productsMade: (store: PlatformStore) => Effect.Effect<number>
  }
>() {}

const uuid = () => crypto.randomUUID()

/** A store as the services pass it to a client. Its account is in no table. */
export const aStore = (platform: PlatformStore["platform"], token: string | null = null): PlatformStore => ({
  accountId: AccountId.make(uuid()),
  storeId: StoreId.make(uuid()),
  domain: "tern.myshopify.com",
  platform,
  credentials: token === null ? {} : { token: Redacted.make(token) }
})

export const tokenOf = ({ credentials: { token } }: PlatformStore) => (token === undefined ? "" : Redacted.value(token))

export class ShopifyTestServer extends Context.Tag("test/ShopifyTestServer")<ShopifyTestServer, ShopifyServer>() {}

/** A server of Shopify's own schema; fails if the schema could not be fetched. */
export const layerServer = Layer.scoped(
  ShopifyTestServer,
  Effect.suspend(() => (adminSchema === undefined ? Effect.dieMessage("no schema") : openShopifyServer(adminSchema)))
)

export const testOptions: Omit<ShopifyOptions, "originOf"> = {
  ...defaultOptions,
  liveLimit: Duration.seconds(30),
  firstDelay: Duration.millis(4),
  pollEvery: Duration.millis(1)
}

/** The real adapter, connected to this server. */
export const layerShopify = (options: Partial<ShopifyOptions> = {}) =>
  Layer.scoped(
    PlatformClient,
    Effect.flatMap(ShopifyTestServer, (server) =>
      makeShopifyPlatform({ ...testOptions, originOf: () => server.origin, ...options })
    )
  ).pipe(Layer.provide(NodeHttpClient.layer))

/** A store and its shop. */
export const openShop = Effect.map(ShopifyTestServer, (server) => {
  const store = aStore("shopify", uuid())
  const token = tokenOf(store)
  return {
    store,
    shop: server.open(token),
    server,
    script: (operation: string, fault: Fault, times = 1) => server.script(token, operation, fault, times),
    asked: () => server.asked.get(token) ?? []
  }
})

const layerShopifyShops = Layer.effect(
  PlatformShops,
  Effect.map(ShopifyTestServer, (server) => {
    const made = new Map<string, () => number>()
    return {
      open: Effect.sync(() => {
        const store = aStore("shopify", uuid())
        const shop = server.open(tokenOf(store))
        made.set(store.storeId, () => shop.made.filter((kind) => kind === "Product").length)
        return store
      }),
      fail: (store, failure) =>
        Effect.sync(() => server.script(tokenOf(store), "SetProduct", failure === "lost" ? "lost" : "server", 99)),
      repair: (store) => Effect.sync(() => server.repair(tokenOf(store))),
      productsMade: (store) => Effect.sync(() => made.get(store.storeId)?.() ?? 0)
    }
  })
)

export const shopify = Layer.merge(layerShopify(), layerShopifyShops).pipe(Layer.provideMerge(layerServer))
