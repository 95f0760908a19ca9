/**
 * A process that runs one batch of remedies, and dies by SIGKILL at a named step: one of the service's own steps, or
 * after a step of every draft write (`locked`, `saved`, `recorded`, `raised`). REMEDY_DATABASE_URL, REMEDY_ACCOUNT,
 * REMEDY_KIND, REMEDY_STORE, REMEDY_WINNER and REMEDY_ENTITIES describe the batch, REMEDY_STEP is the step.
 * REMEDY_CARELESS plants a fault: the batch has no transaction.
 */

import { Config, Effect, Layer, Option, Redacted } from "effect"
import * as Database from "../../src/database/Database.ts"
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

const work = Effect.gen(function* () {
  const remediation = yield* Remediation
  const accountId = AccountId.make(yield* Config.string("REMEDY_ACCOUNT"))
  const store_id = StoreId.make(yield* Config.string("REMEDY_STORE"))
  const winner_store_id = StoreId.make(yield* Config.string("REMEDY_WINNER"))
  const ids = (yield* Config.string("REMEDY_ENTITIES")).split(",").map((id) => EntityId.make(id))
  const field = "vendor"
  const batch =
    (yield* Config.string("REMEDY_KIND")) === "fill"
      ? remediation.fill(
          "product",
          ids.map((entity_id) => ({ entity_id, store_id, field, value: "by the batch" }))
        )
      : remediation.reconcile(
          "product",
          ids.map((entity_id) => ({ entity_id, field, winner_store_id }))
        )
  yield* Effect.provideService(Effect.asVoid<unknown, unknown, CurrentActor>(batch), CurrentActor, {
    _tag: "Cli",
    accountId
  })
})

const dieAt = (step: string) =>
  Effect.flatMap(Effect.orDie(Config.string("REMEDY_STEP")), (deadly) => {
    if (step !== deadly) return Effect.void
    process.kill(process.pid, "SIGKILL")
    return Effect.never
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

const DatabaseLive = Layer.unwrapEffect(
  Effect.map(Config.string("REMEDY_DATABASE_URL"), (url) =>
    Database.layer({ url: Option.some(Redacted.make(url)), dataDirectory: "", maxConnections: 2 })
  )
)

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

const end = Effect.sync((): void => process.exit(1))

Effect.runFork(
  work.pipe(
    Effect.provide(Remedying),
    Effect.tapErrorCause(Effect.logError),
    Effect.onExit(() => end)
  )
)
