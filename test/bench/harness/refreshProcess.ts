/**
 * Refreshes a store from a test server of Shopify's API. REFRESH_ORIGIN and REFRESH_TOKEN are its address and token,
 * REFRESH_ACCOUNT and REFRESH_STORE (a domain) the store, DATABASE_URL the catalog's database. Prints the result.
 * Everything is as in the service except the address and the interval at which a bulk operation is polled.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Config, Duration, Effect, Layer, Logger } from "effect"
import * as Database from "../../../src/database/Database.ts"
import { Imports } from "../../../src/imports/Imports.ts"
import { CurrentActor } from "../../../src/model/Actor.ts"
import { AccountId } from "../../../src/model/Ids.ts"
import { PlatformClient } from "../../../src/platform/PlatformClient.ts"
import { defaultOptions } from "../../../src/platform/shopify/Client.ts"
import { makeShopifyPlatform } from "../../../src/platform/shopify/ShopifyAdapter.ts"
import { FaultInjector } from "../../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../../src/Services.ts"
import { Mirror } from "../../../src/storedata/Mirror.ts"
import { StoreAccess } from "../../../src/stores/StoreAccess.ts"
import { openAs } from "../../support/OpenStore.ts"

const Shopify = Layer.scoped(
  PlatformClient,
  Effect.flatMap(Config.string("REFRESH_ORIGIN"), (origin) =>
    makeShopifyPlatform({ ...defaultOptions, originOf: () => origin, pollEvery: Duration.millis(100) })
  )
).pipe(Layer.provide(NodeHttpClient.layerUndici))

const Access = Layer.effect(
  StoreAccess,
  Effect.map(Config.all([Config.redacted("REFRESH_TOKEN"), Config.string("REFRESH_STORE")]), ([token, domain]) =>
    openAs(domain, token)
  )
)

const Live = Imports.layer.pipe(
  Layer.provide(Layer.merge(FaultInjector.layer, Access)),
  // Store data is read from this server too; the services contain a mirror of other platforms.
  Layer.provide(Layer.fresh(Mirror.layer)),
  Layer.provide(Shopify),
  Layer.provide(Services),
  Layer.provide(RepositoriesOnDatabase),
  Layer.provide(Layer.unwrapEffect(Effect.map(Config.redacted("DATABASE_URL"), (url) => Database.layerServer({ url }))))
)

/** stdout has only the result. */
const Logs = Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.jsonLogger))

const refresh = Effect.gen(function* () {
  const imports = yield* Imports
  const accountId = AccountId.make(yield* Config.string("REFRESH_ACCOUNT"))
  const domain = yield* Config.string("REFRESH_STORE")
  const quiet = () => Effect.void
  const startedAt = performance.now()
  const { applied, phase, summary } = yield* Effect.flatMap(imports.refresh(domain, quiet), ({ id }) =>
    imports.accept(id, quiet)
  ).pipe(Effect.provideService(CurrentActor, { _tag: "Cli", accountId }))
  const seconds = (performance.now() - startedAt) / 1_000
  yield* Effect.sync(() => {
    process.stdout.write(JSON.stringify({ applied, phase, summary, seconds }))
  })
})

Effect.runFork(
  refresh.pipe(
    Effect.provide(Live),
    Effect.tapErrorCause(Effect.logError),
    Effect.provide(Logs),
    Effect.onExit((exit) => Effect.sync((): void => process.exit(exit._tag === "Success" ? 0 : 1)))
  )
)
