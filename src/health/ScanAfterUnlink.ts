import { Effect, Layer } from "effect"
import { afterCommit } from "../database/CommitHooks.ts"
import { Workload } from "../database/Deadlines.ts"
import { Transaction } from "../database/Transaction.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import type { AccountId } from "../model/Ids.ts"
import { UnlinkHook } from "../stores/UnlinkHook.ts"
import { HealthDimension } from "./Health.ts"
import { HealthRepo } from "./HealthRepo.ts"

/** Deletes the snapshots that knew an unlinked store, and scans those dimensions again without it. */
export const layerScanAfterUnlink = Layer.effect(
  UnlinkHook,
  Effect.gen(function* () {
    const drafts = yield* DraftsRepo
    const health = yield* HealthRepo
    const transaction = yield* Transaction

    /**
     * A scan that another process runs now began after the store was gone, so it is not repeated. A scan that fails is left
     * to the next one.
     */
    const scanAgain = (accountId: AccountId, dimensions: ReadonlyArray<HealthDimension>) =>
      Effect.forEach(
        HealthDimension.literals.filter((dimension) => dimensions.includes(dimension)),
        (dimension) =>
          Effect.gen(function* () {
            if (!(yield* health.tryLock(accountId, dimension))) return
            if ((yield* health.lastRun(accountId, dimension, null)) > 0) return
            yield* health.scan(accountId, dimension, null)
            yield* drafts.raise(accountId)
          }).pipe(
            transaction.run,
            Effect.provideService(Workload, "scan"),
            Effect.catchAllCause((cause) => Effect.logWarning(`The scan of ${dimension} failed`, cause))
          ),
        { discard: true }
      )

    return {
      onUnlinked: (accountId, storeId) =>
        Effect.flatMap(health.forgetStore(accountId, storeId), (dimensions) =>
          afterCommit(scanAgain(accountId, dimensions))
        )
    }
  })
)
