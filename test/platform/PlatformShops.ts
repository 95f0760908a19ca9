import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Duration, Effect, Layer, Redacted } from "effect"
import { AccountId, StoreId } from "../../src/model/Ids.ts"
import { PlatformClient, type PlatformStore } from "../../src/platform/PlatformClient.ts"
import { defaultOptions, type ShopifyOptions } from "../../src/platform/shopify/Client.ts"
import { makeShopifyPlatform } from "../../src/platform/shopify/ShopifyPlatform.ts"
import { adminSchema } from "./AdminSchema.ts"
import { openShopifyServer, type ShopifyServer } from "./ShopifyServer.ts"

/** What a contract test needs of a platform beside the client: shops of its own, and a way to spoil them. */
export class PlatformShops extends Context.Tag("test/PlatformShops")<
  PlatformShops,
  {
    /** A shop that nobody else uses, empty. */
    readonly open: Effect.Effect<PlatformStore>
    /** The next publishes fail: `error`, the platform fails and nothing is applied; `lost`, applied, and the answer lost. */
    readonly fail: (store: PlatformStore, failure: "error" | "lost") => Effect.Effect<void>
    readonly repair: (store: PlatformStore) => Effect.Effect<void>
    /** Products that were ever made in the shop. */
    readonly productsMade: (store: PlatformStore) => Effect.Effect<number>
  }
>() {}

const uuid = () => crypto.randomUUID()

/** A store as the services would give it, of an account that is not in any table. */
export const aStore = (platform: PlatformStore["platform"], token: string | null = null): PlatformStore => ({
  accountId: AccountId.make(uuid()),
  storeId: StoreId.make(uuid()),
  domain: "tern.myshopify.com",
  platform,
  credentials: token === null ? {} : { token: Redacted.make(token) }
})

export const tokenOf = ({ credentials: { token } }: PlatformStore) => (token === undefined ? "" : Redacted.value(token))

export class ShopifyTestServer extends Context.Tag("test/ShopifyTestServer")<ShopifyTestServer, ShopifyServer>() {}

/** Shopify's own schema, served; only where the schema could be fetched. */
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

/** The adapter as it is run, against the server. */
export const layerShopify = (options: Partial<ShopifyOptions> = {}) =>
  Layer.scoped(
    PlatformClient,
    Effect.flatMap(ShopifyTestServer, (server) =>
      makeShopifyPlatform({ ...testOptions, originOf: () => server.origin, ...options })
    )
  ).pipe(Layer.provide(NodeHttpClient.layer))

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
