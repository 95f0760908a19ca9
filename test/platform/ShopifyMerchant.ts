import { SqlClient } from "@effect/sql"
import { assert } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as Migrations from "../../src/database/Migrations.ts"
import { Imports } from "../../src/imports/Imports.ts"
import type { EntityId, StoreId } from "../../src/model/Ids.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { Mirror } from "../../src/storedata/Mirror.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { anAccount } from "../../src/testing/index.ts"
import { openAs } from "../support/OpenStore.ts"
import { layerServer } from "../support/TestDatabase.ts"
import { layerShopify, layerServer as layerShopifyServer } from "./PlatformShops.ts"
import type { ShopifyShop } from "./ShopifyShop.ts"

export const token = "shpat_refresh"
export const domain = "tern.myshopify.com"
export const quiet = () => Effect.void

const Access = Layer.succeed(StoreAccess, openAs(domain, Redacted.make(token)))

/** Publishes and refreshes on the server's database, with the adapter connected to Shopify's schema. */
export const layerMerchants = Layer.merge(Imports.layer, Layer.fresh(Publishing.layer)).pipe(
  Layer.provide(Layer.merge(FaultInjector.layer, Access)),
  // Store data is read from this server too; the services contain a mirror of other platforms.
  Layer.provide(Layer.fresh(Mirror.layer)),
  Layer.provide(layerShopify()),
  Layer.provideMerge(Services),
  Layer.provideMerge(RepositoriesOnDatabase),
  Layer.provideMerge(Migrations.layer),
  Layer.provideMerge(layerServer),
  Layer.provideMerge(layerShopifyServer),
  Layer.orDie
)

/** An account whose only store is on Shopify. */
export const aMerchant = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { accountId, actor, stores } = yield* anAccount({ domains: [domain] })
  // A Shopify store belongs to one account, so the previous test's account gives it up.
  yield* sql`UPDATE store SET platform = 'none' WHERE domain = ${domain}`
  yield* sql`UPDATE store SET platform = 'shopify' WHERE account_id = ${accountId}`
  return { accountId, actor, stores }
})

/** Refreshes the store, and takes its side of all conflicts. */
export const refreshed = Effect.gen(function* () {
  const imports = yield* Imports
  return yield* Effect.flatMap(imports.refresh(domain, quiet), ({ id }) =>
    imports.accept(id, quiet, { rest: "take_store" })
  )
})

export const firstProduct = (shop: ShopifyShop) => {
  const [first] = shop.products.values()
  assert.isDefined(first)
  return first as NonNullable<typeof first>
}

/** Publishes the draft of an entity. Returns how the publish ended, or that there is nothing to publish. */
export const publishDraft = (entityId: EntityId, storeId: StoreId) =>
  Effect.gen(function* () {
    const publishing = yield* Publishing
    const asked = yield* publishing.request(entityId, storeId)
    if (asked.outcome === "nothing_to_publish") return asked.outcome
    const [record] = yield* publishing.settle([asked.publicationId], quiet)
    return record?.state
  })
