/**
 * A process that carries out drops and publications of all accounts. DROPS_DATABASE_URL is the database; DROPS_STEP
 * and DROPS_OCCURRENCE say where it dies by SIGKILL. DROPS_PLANTED plants a fault: `outside` locks a drop in a
 * transaction of its own; `halfway` ends a start after its first part.
 */

import { Config, Effect, Layer } from "effect"
import { CatalogRepo } from "../../src/catalog/CatalogRepo.ts"
import { withoutTransaction } from "../../src/database/SpareTransaction.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { CatalogChanges } from "../../src/drafts/CatalogChanges.ts"
import { DefinitionsRepo } from "../../src/drafts/DefinitionsRepo.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { HistoryRepo } from "../../src/drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { MetafieldDefinitions } from "../../src/drafts/MetafieldDefinitions.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { DropsRepo } from "../../src/drops/DropsRepo.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { layerOfflinePlatforms } from "../../src/platform/Platforms.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import { layerWorkers, Publishing } from "../../src/publishing/Publishing.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { SecretBox } from "../../src/stores/SecretBox.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { endWithParent } from "./EndWithParent.ts"
import { layerPatientServer, runUntilKilled } from "./OwnDeath.ts"

const Deadly = Layer.effect(
  FaultInjector,
  Effect.gen(function* () {
    const deadly = yield* Config.withDefault(Config.string("DROPS_STEP"), "never")
    const occurrence = yield* Config.withDefault(Config.integer("DROPS_OCCURRENCE"), 1)
    let occurred = 0
    return {
      at: (step) =>
        Effect.suspend(() => {
          if (step !== deadly || ++occurred < occurrence) return Effect.void
          process.kill(process.pid, "SIGKILL")
          return Effect.never
        })
    }
  })
)

const Planted = Layer.effect(
  DropsRepo,
  Effect.gen(function* () {
    const planted = yield* Config.withDefault(Config.string("DROPS_PLANTED"), "none")
    const repo = yield* DropsRepo
    switch (planted) {
      case "outside":
        return { ...repo, lock: (due) => withoutTransaction(repo.lock(due)) }
      case "halfway":
        return {
          ...repo,
          move: (due, to) => repo.move(due, { ...to, next: to.next === "start" ? "settle_start" : to.next })
        }
      default:
        return repo
    }
  })
)

const DatabaseLive = layerPatientServer("DROPS_DATABASE_URL", 4)

const Repositories = Layer.mergeAll(
  CatalogRepo.layer,
  DraftsRepo.layer,
  Planted.pipe(Layer.provide(DropsRepo.layer)),
  HistoryRepo.layer,
  ImportLockRepo.layer,
  DefinitionsRepo.layer,
  PublicationsRepo.layer,
  StoresRepo.layer,
  layerOfflinePlatforms.pipe(Layer.provide(DemoShops.layer), Layer.provide(Transaction.layer)),
  Transaction.layer
)

endWithParent()

const Executing = Layer.merge(Drops.layer, layerWorkers).pipe(
  Layer.provide(Publishing.layer),
  Layer.provide(Deadly),
  Layer.provide(Layer.mergeAll(CatalogChanges.layer, MetafieldDefinitions.layer, StoreAccess.layer)),
  Layer.provide(SecretBox.layer),
  Layer.provide(Repositories),
  Layer.provide(DatabaseLive)
)

runUntilKilled(
  Effect.provide(
    Effect.flatMap(Drops, ({ work }) => work),
    Executing
  )
)
