import { Effect, Layer } from "effect"
import { afterCommit } from "../database/CommitHooks.ts"
import type { AccountId } from "../model/Ids.ts"
import { UnlinkHook } from "../stores/UnlinkHook.ts"
import { HealthDimension } from "./Health.ts"
import { HealthRepo } from "./HealthRepo.ts"
import { makeScanSteps } from "./ScanSteps.ts"

/** Deletes the snapshots that knew an unlinked store, and scans those dimensions again without it. */
export const layerScanAfterUnlink = Layer.effect(
  UnlinkHook,
  Effect.gen(function* () {
    const health = yield* HealthRepo
    const scanSteps = yield* makeScanSteps

    /**
     * A scan that another process runs now began after the store was gone, so it is not repeated. A scan that fails is left
     * to the next one.
     */
    const scanAgain = (accountId: AccountId, dimensions: ReadonlyArray<HealthDimension>) =>
      Effect.forEach(
        HealthDimension.literals.filter((dimension) => dimensions.includes(dimension)),
        (dimension) =>
          scanSteps({ accountId, dimension, storeId: null }, 0).pipe(
            Effect.catchAllCause((cause) => Effect.logWarning(`The scan of ${dimension} failed`, cause))
          ),
        { discard: true }
      )

    return {
      // Writes beside the job noted the stores that an entity has, which are more than those that the job had reached.
      onLinkedAgain: health.forgetBases,
      onUnlinked: (accountId, storeId) =>
        Effect.flatMap(health.forgetStore(accountId, storeId), (dimensions) =>
          afterCommit(scanAgain(accountId, dimensions))
        )
    }
  })
)
