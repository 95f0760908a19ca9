import { Effect, Layer } from "effect"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { UnlinkHook } from "../stores/UnlinkHook.ts"
import { HealthRepo } from "./HealthRepo.ts"
import { makeScanAfter } from "./ScanJobs.ts"

/**
 * Deletes the snapshots that include an unlinked store, and begins a job that scans those dimensions again. After a store was linked
 * again, begins a job that scans all dimensions.
 */
export const layerScanAfterUnlink = Layer.effect(
  UnlinkHook,
  Effect.gen(function* () {
    const drafts = yield* DraftsRepo
    const health = yield* HealthRepo
    const scanAfter = yield* makeScanAfter

    return {
      // Writes that ran beside the job noted all stores of an entity, also those that the job had not processed yet. A
      // full scan corrects this.
      onLinkedAgain: (accountId) => Effect.zipRight(health.forgetBases(accountId), scanAfter(accountId, "link")),
      onUnlinked: (accountId, storeId) =>
        Effect.flatMap(health.forgetStore(accountId, storeId), (dimensions) =>
          Effect.zipRight(drafts.raise(accountId), scanAfter(accountId, "unlink", dimensions))
        )
    }
  })
)
