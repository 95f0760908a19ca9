import { Effect, Layer } from "effect"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { StoreJobHook } from "../stores/StoreJobHook.ts"
import { HealthRepo } from "./HealthRepo.ts"
import { makeScanAfter } from "./ScanJobs.ts"

/**
 * Deletes the snapshots that include an unlinked store, and begins a job that scans those dimensions again. After a store was linked
 * again, begins a job that scans all dimensions.
 */
export const layerScanAfterStoreJob = Layer.effect(
  StoreJobHook,
  Effect.gen(function* () {
    const drafts = yield* DraftsRepo
    const health = yield* HealthRepo
    const scanAfter = yield* makeScanAfter

    return {
      // Writes that ran beside the job noted all stores of an entity, also those that the job had not processed yet. A
      // full scan corrects this.
      onLinkEnded: (accountId) => Effect.zipRight(health.forgetBases(accountId), scanAfter(accountId, "link")),
      onUnlinkEnded: (accountId, storeId) =>
        Effect.flatMap(health.forgetStore(accountId, storeId), (dimensions) =>
          Effect.zipRight(drafts.raise(accountId), scanAfter(accountId, "unlink", dimensions))
        )
    }
  })
)
