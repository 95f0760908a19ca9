/**
 * A process that publishes, and dies by SIGKILL at a named step. PUBLISH_DATABASE_URL is the database. PUBLISH_ASK
 * (JSON, a list of account, entity and store) are publishes that it requests first; it prints each result.
 * PUBLISH_STEP and PUBLISH_OCCURRENCE say where it dies, if at all. PUBLISH_LEASE_MILLIS is the duration of its
 * leases, by default the service's. PUBLISH_CARELESS plants a fault: a new idempotency key for each attempt.
 */
import { Config, Duration, Effect, Layer, Option, Schema } from "effect"
import { Transaction } from "../../src/database/Transaction.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { HistoryRepo } from "../../src/drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import { AccountId, EntityId, StoreId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { layerOfflinePlatforms } from "../../src/platform/Platforms.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import { defaultPublishingOptions, Publishing } from "../../src/publishing/Publishing.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { SecretBox } from "../../src/stores/SecretBox.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { endWithParent } from "./EndWithParent.ts"
import { layerPatientServer, runUntilKilled } from "./OwnDeath.ts"

const Asks = Schema.parseJson(
  Schema.Array(Schema.Struct({ accountId: AccountId, entityId: EntityId, storeId: StoreId }))
)

const work = Effect.gen(function* () {
  const publishing = yield* Publishing
  const asks = yield* Schema.decode(Asks)(yield* Config.withDefault(Config.string("PUBLISH_ASK"), "[]"))
  for (const { accountId, entityId, storeId } of asks) {
    const asked = yield* publishing
      .request(entityId, storeId)
      .pipe(Effect.provideService(CurrentActor, { _tag: "Cli", accountId }))
    process.stdout.write(`${JSON.stringify({ entityId, storeId, ...asked })}\n`)
  }
  if (asks.length === 0) return yield* publishing.work
})

const Deadly = Layer.effect(
  FaultInjector,
  Effect.gen(function* () {
    const deadly = yield* Config.option(Config.string("PUBLISH_STEP"))
    const occurrence = yield* Config.withDefault(Config.integer("PUBLISH_OCCURRENCE"), 1)
    let occurred = 0
    return {
      at: (step) =>
        Effect.suspend(() => {
          if (!Option.contains(deadly, step) || ++occurred < occurrence) return Effect.void
          process.kill(process.pid, "SIGKILL")
          return Effect.never
        })
    }
  })
)

const Careless = Layer.effect(
  PlatformClient,
  Effect.map(PlatformClient, (platform) => ({
    ...platform,
    publish: (store, publication) => platform.publish(store, { ...publication, key: crypto.randomUUID() })
  }))
).pipe(Layer.provideMerge(layerOfflinePlatforms))

const Platform = Layer.unwrapEffect(
  Effect.map(Config.withDefault(Config.boolean("PUBLISH_CARELESS"), false), (careless) =>
    careless ? Careless : layerOfflinePlatforms
  )
)

const Publisher = Layer.unwrapEffect(
  Effect.map(Config.option(Config.integer("PUBLISH_LEASE_MILLIS")), (lease) =>
    Publishing.layerWith(
      Option.match(lease, {
        onNone: () => defaultPublishingOptions,
        onSome: (millis) => ({
          ...defaultPublishingOptions,
          // Limits so high that they are not reached, because the tests of crashes do not check them.
          maxLost: 100,
          maxPushes: 100,
          lease: Duration.millis(millis),
          betweenRenewals: Duration.millis(millis / 5),
          firstDelay: Duration.millis(20),
          longestDelay: Duration.millis(200),
          pollEvery: Duration.millis(50)
        })
      })
    )
  )
)

const DatabaseLive = layerPatientServer("PUBLISH_DATABASE_URL", 6)

endWithParent()

const Everything = Publisher.pipe(
  Layer.provide([Deadly, StoreAccess.layer]),
  Layer.provide(SecretBox.layer),
  Layer.provide(Platform),
  Layer.provide(DemoShops.layer),
  Layer.provide([DraftsRepo.layer, HistoryRepo.layer, ImportLockRepo.layer, PublicationsRepo.layer, StoresRepo.layer]),
  Layer.provide(Transaction.layer),
  Layer.provide(DatabaseLive)
)

runUntilKilled(Effect.provide(work, Everything))
