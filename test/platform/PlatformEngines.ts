import { SqlClient } from "@effect/sql"
import { Chunk, Effect, Layer, Stream } from "effect"
import { Transaction } from "../../src/database/Transaction.ts"
import { makeDemoPlatform } from "../../src/platform/demo/DemoPlatform.ts"
import { layerDemoShopsMemory } from "../../src/platform/demo/DemoShops.memory.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { PlatformClient, type PlatformStore } from "../../src/platform/PlatformClient.ts"
import { engines } from "../support/TestDatabase.ts"
import { adminSchema } from "./AdminSchema.ts"
import { aStore, PlatformShops, shopify } from "./PlatformShops.ts"

const shopsOf = (open: Effect.Effect<PlatformStore>) =>
  Layer.effect(
    PlatformShops,
    Effect.map(DemoShops, (shops) => ({
      open,
      fail: (store, kind) => shops.fail(store, { kind, percent: 100, delayMillis: 0 }),
      repair: shops.repair,
      productsMade: (store) =>
        Effect.map(
          Stream.runCollect(shops.records(store)),
          (records) => Chunk.filter(records, ({ kind }) => kind === "product").length
        )
    }))
  )

const demo = <R>(open: Effect.Effect<PlatformStore, never, R>) =>
  Layer.unwrapEffect(Effect.map(Effect.context<R>(), (context) => shopsOf(Effect.provide(open, context)))).pipe(
    Layer.merge(Layer.effect(PlatformClient, makeDemoPlatform))
  )

/** Creates a store with its rows, because the tables of a shop refer to them. */
const openRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const store = aStore("demo")
  yield* sql`INSERT INTO account (id, name) VALUES (${store.accountId}, 'Test')`
  yield* sql`INSERT INTO account_state (account_id) VALUES (${store.accountId})`
  yield* sql`
    INSERT INTO store (account_id, id, domain, name, platform, primary_locale, locales, currency)
    VALUES (${store.accountId}, ${store.storeId}, 'tern.demo.example', 'Tern', 'demo', 'en', ARRAY['en'], 'EUR')`
  return store
}).pipe(Effect.orDie)

/** The demo platform in memory. */
export const demoMemory = demo(Effect.sync(() => aStore("demo"))).pipe(Layer.provideMerge(layerDemoShopsMemory))

/** The demo platform on each kind of database. */
export const demoEngines = engines.map(({ absent, layer, name }) => ({
  name,
  absent,
  layer: demo(openRows).pipe(
    Layer.provideMerge(DemoShops.layer),
    Layer.provide(Transaction.layer),
    Layer.provide(layer),
    Layer.orDie
  )
}))

/** Every implementation of the platform client. The contract's suite runs on all of them. */
export const platformEngines: ReadonlyArray<{
  readonly name: string
  readonly absent: boolean
  readonly layer: Layer.Layer<PlatformClient | PlatformShops>
}> = [
  { name: "demo on memory", absent: false, layer: demoMemory },
  ...demoEngines.map((engine) => ({ ...engine, name: `demo on ${engine.name}` })),
  { name: "shopify", absent: adminSchema === undefined, layer: shopify }
]
