import { Effect } from "effect"
import { Workload } from "../database/Deadlines.ts"
import { Transaction } from "../database/Transaction.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import type { HealthDimension } from "./Health.ts"
import { HealthRepo } from "./HealthRepo.ts"
import { measureScan } from "./ScanMetrics.ts"

export interface ScanWork {
  readonly accountId: AccountId
  readonly dimension: HealthDimension
  readonly storeId: StoreId | null
}

/**
 * Scans in steps of one transaction each, and returns the number of the last finished scan. Does nothing, or stops, when that is
 * larger than `newest` or another process works on the dimension: waiting for it would occupy a connection. What a stopped scan
 * did is kept, and the next one goes on with it.
 */
export const makeScanSteps = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const repo = yield* HealthRepo
  const transaction = yield* Transaction

  const step = ({ accountId, dimension, storeId }: ScanWork, newest: number) =>
    Effect.gen(function* () {
      const isLocked = yield* repo.tryLock(accountId, dimension)
      const last = yield* repo.lastRun(accountId, dimension, storeId)
      if (!isLocked || last > newest) return { run: last, isFinished: false }
      const { run } = yield* repo.scan(accountId, dimension, storeId)
      if (run !== null) yield* drafts.raise(accountId)
      return { run, isFinished: run !== null }
    }).pipe(transaction.run)

  /** Steps until the scan is finished or stopped. */
  const steps = (work: ScanWork, newest: number) =>
    Effect.gen(function* () {
      for (;;) {
        const { isFinished, run } = yield* step(work, newest)
        if (run !== null) return { isFinished, run }
      }
    })

  return (work: ScanWork, newest: number): Effect.Effect<number> =>
    measureScan(work.dimension, steps(work, newest)).pipe(
      Effect.tap(({ isFinished }) => (isFinished ? repo.tidy(work.accountId) : Effect.void)),
      Effect.map(({ run }) => run),
      Effect.provideService(Workload, "scan")
    )
})
