import { Clock, Effect } from "effect"
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

/** Milliseconds between log lines about a long scan. */
const betweenReports = 10_000

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
      if (!isLocked || last > newest) return { run: last, isFinished: false, scanned: 0, entities: 0 }
      const done = yield* repo.scan(accountId, dimension, storeId)
      if (done.run !== null) yield* drafts.raise(accountId)
      return { ...done, isFinished: done.run !== null }
    }).pipe(transaction.run)

  /** Steps until the scan is finished or stopped. */
  const steps = (work: ScanWork, newest: number) =>
    Effect.gen(function* () {
      let reported = yield* Clock.currentTimeMillis
      for (;;) {
        const { entities, isFinished, run, scanned } = yield* step(work, newest)
        if (run !== null) return { isFinished, run }
        const now = yield* Clock.currentTimeMillis
        if (now - reported < betweenReports) continue
        yield* Effect.logInfo(`Scanning ${work.dimension}: ${scanned} of ${entities} entities`).pipe(
          Effect.annotateLogs("account", work.accountId)
        )
        reported = now
      }
    })

  return (work: ScanWork, newest: number): Effect.Effect<number> =>
    measureScan(work.dimension, steps(work, newest)).pipe(
      Effect.tap(({ isFinished }) => (isFinished ? repo.tidy(work.accountId) : Effect.void)),
      Effect.map(({ run }) => run),
      Effect.provideService(Workload, "scan")
    )
})
