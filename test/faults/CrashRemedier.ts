/**
 * A process that runs batches of remedies side by side, and dies by SIGKILL when each has come to its step and waits there: one
 * of the service's own steps, or after a step of every draft write (`locked`, `saved`, `recorded`, `raised`).
 * REMEDY_DATABASE_URL is the database; REMEDY_DEATHS describes the batches and their steps. REMEDY_CARELESS plants a fault:
 * the batches have no transaction.
 */

import { Config, Effect, Layer, Schema } from "effect"
import { Transaction } from "../../src/database/Transaction.ts"
import { CatalogChanges } from "../../src/drafts/CatalogChanges.ts"
import { DefinitionsRepo } from "../../src/drafts/DefinitionsRepo.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { HistoryRepo } from "../../src/drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { MetafieldDefinitions } from "../../src/drafts/MetafieldDefinitions.ts"
import { HealthRepo } from "../../src/health/HealthRepo.ts"
import { Remediation } from "../../src/health/Remediation.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import { AccountId, EntityId, StoreId } from "../../src/model/Ids.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { endWithParent } from "./EndWithParent.ts"
import { dieAt, layerPatientServer, runUntilKilled, workUntilDeath } from "./OwnDeath.ts"

const Deaths = Schema.Array(
  Schema.Struct({
    kind: Schema.Literal("fill", "reconcile"),
    accountId: AccountId,
    storeId: StoreId,
    winnerStoreId: StoreId,
    ids: Schema.Array(EntityId),
    step: Schema.String,
    occurrence: Schema.Number
  })
)

const field = "vendor"

const work = Effect.gen(function* () {
  const remediation = yield* Remediation
  const deaths = yield* Schema.Config("REMEDY_DEATHS", Schema.parseJson(Deaths))
  yield* workUntilDeath(deaths, ({ accountId, ids, kind, storeId, winnerStoreId }) => {
    const batch: Effect.Effect<unknown, unknown, CurrentActor> =
      kind === "fill"
        ? remediation.fill(
            "product",
            ids.map((entity_id) => ({ entity_id, store_id: storeId, field, value: "by the batch" }))
          )
        : remediation.reconcile(
            "product",
            ids.map((entity_id) => ({ entity_id, field, winner_store_id: winnerStoreId }))
          )
    return Effect.provideService(batch, CurrentActor, { _tag: "Cli", accountId })
  })
})

const Deadly = Layer.succeed(FaultInjector, { at: dieAt })

const DeadlyDrafts = Layer.effect(
  DraftsRepo,
  Effect.map(DraftsRepo, (drafts) => ({
    ...drafts,
    lock: (...request: Parameters<typeof drafts.lock>) => Effect.zipLeft(drafts.lock(...request), dieAt("locked")),
    save: (...request: Parameters<typeof drafts.save>) => Effect.zipLeft(drafts.save(...request), dieAt("saved")),
    raise: (...request: Parameters<typeof drafts.raise>) => Effect.zipLeft(drafts.raise(...request), dieAt("raised"))
  }))
).pipe(Layer.provide(DraftsRepo.layer))

const DeadlyHistory = Layer.effect(
  HistoryRepo,
  Effect.map(HistoryRepo, (history) => ({
    ...history,
    record: (...request: Parameters<typeof history.record>) =>
      Effect.zipLeft(history.record(...request), dieAt("recorded"))
  }))
).pipe(Layer.provide(HistoryRepo.layer))

const Careless = Layer.succeed(Transaction, { run: (effect) => effect })

const Transactions = Layer.unwrapEffect(
  Effect.map(Config.withDefault(Config.boolean("REMEDY_CARELESS"), false), (careless) =>
    careless ? Careless : Transaction.layer
  )
)

const DatabaseLive = layerPatientServer("REMEDY_DATABASE_URL", 20)

endWithParent()

const Remedying = Remediation.layer.pipe(
  Layer.provideMerge(CatalogChanges.layer),
  Layer.provide(MetafieldDefinitions.layer),
  Layer.provide(Deadly),
  Layer.provide(
    Layer.mergeAll(
      DeadlyDrafts,
      DeadlyHistory,
      DefinitionsRepo.layer,
      HealthRepo.layer,
      ImportLockRepo.layer,
      StoresRepo.layer,
      Transactions
    )
  ),
  Layer.provide(DatabaseLive)
)

runUntilKilled(Effect.provide(work, Remedying))
