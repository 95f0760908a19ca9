import { Effect, Layer } from "effect"
import { afterCommit } from "../database/CommitHooks.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import type { AccountId } from "../model/Ids.ts"
import { UnlinkHook } from "../stores/UnlinkHook.ts"
import { HealthDimension } from "./Health.ts"
import { HealthRepo } from "./HealthRepo.ts"
import { makeScanAfter } from "./ScanJobs.ts"
import { makeScanSteps } from "./ScanSteps.ts"

/**
 * Deletes the snapshots that include an unlinked store, and scans those dimensions again. After a store was linked again, begins a
 * job that scans all dimensions.
 */
export const layerScanAfterUnlink = Layer.effect(
  UnlinkHook,
  Effect.gen(function* () {
    const drafts = yield* DraftsRepo
    const health = yield* HealthRepo
    const scanAfter = yield* makeScanAfter
    const scanSteps = yield* makeScanSteps

    /**
     * If another process runs a scan now, it began after the store was unlinked, so it is enough. If a scan fails, the
     * next scan makes up for it.
     */
    const scanAgain = (accountId: AccountId, dimensions: ReadonlyArray<HealthDimension>) =>
      Effect.forEach(
        HealthDimension.literals.filter((dimension) => dimensions.includes(dimension)),
        (dimension) =>
          scanSteps({ accountId, dimension, storeId: null, cause: "unlink" }, 0).pipe(
            Effect.catchAllCause((cause) => Effect.logWarning(`The scan of ${dimension} failed`, cause))
          ),
        { discard: true }
      )

    return {
      // Writes that ran beside the job noted all stores of an entity, also those that the job had not processed yet. A
      // full scan corrects this.
      onLinkedAgain: (accountId) => Effect.zipRight(health.forgetBases(accountId), scanAfter(accountId, "link")),
      onUnlinked: (accountId, storeId) =>
        Effect.flatMap(health.forgetStore(accountId, storeId), (dimensions) =>
          Effect.zipRight(drafts.raise(accountId), afterCommit(scanAgain(accountId, dimensions)))
        )
    }
  })
)
