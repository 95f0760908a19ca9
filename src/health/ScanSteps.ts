import { Clock, Effect } from "effect"
import { Workload } from "../database/Deadlines.ts"
import { Transaction } from "../database/Transaction.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import { makeFairQueue } from "../runtime/FairQueue.ts"
import type { HealthDimension, ScanCause } from "./Health.ts"
import { HealthRepo } from "./HealthRepo.ts"
import { measureScan } from "./ScanMetrics.ts"

export interface ScanWork {
  readonly accountId: AccountId
  readonly dimension: HealthDimension
  readonly storeId: StoreId | null
  readonly cause: ScanCause
}

/** Steps occupy a connection each. Accounts take turns, so a long scan delays the scans of other accounts by single steps. */
const turns = { running: 2, waitingInLane: Infinity, waiting: Infinity, waitMillis: Infinity }

const notBegun = { run: 0, isFinished: false, scanned: 0, entities: 0 }

/** Milliseconds between log lines about a long scan. */
const betweenReports = 10_000

/**
 * Runs a scan, one transaction per step, and returns the number of the last finished scan. Returns early if that number
 * is larger than `newest`, or if another process works on the dimension, because waiting would occupy a connection. The
 * finished steps of a stopped scan stay, and the next scan continues after them. Returns 0 if nobody wants the scan any more when its
 * first turn comes.
 */
export const makeScanSteps = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const repo = yield* HealthRepo
  const transaction = yield* Transaction
  const queue = makeFairQueue(turns, () => "full" as const)

  const step = ({ accountId, cause, dimension, storeId }: ScanWork, newest: number) =>
    Effect.gen(function* () {
      yield* repo.mustExist(accountId)
      const isLocked = yield* repo.tryLock(accountId, dimension)
      const last = yield* repo.lastRun(accountId, dimension, storeId)
      if (!isLocked || last > newest) return { run: last, isFinished: false, scanned: 0, entities: 0 }
      const done = yield* repo.scan(accountId, dimension, storeId, cause)
      if (done.run !== null) yield* drafts.raise(accountId)
      return { ...done, isFinished: done.run !== null }
    }).pipe(transaction.run)

  /** Repeats steps until the scan is finished or stopped. */
  const steps = (work: ScanWork, newest: number, isWanted: () => boolean) =>
    Effect.gen(function* () {
      let reported = yield* Clock.currentTimeMillis
      let began: number | undefined
      for (;;) {
        const { entities, isFinished, run, scanned } = yield* Effect.suspend(() => {
          if (began === undefined && !isWanted()) return Effect.succeed(notBegun)
          began ??= performance.now()
          return measureScan(work.dimension, step(work, newest), performance.now() - began)
        }).pipe(queue.run({ name: work.accountId, preferred: false }), Effect.orDie)
        if (run !== null) return { isFinished, run }
        const now = yield* Clock.currentTimeMillis
        if (now - reported < betweenReports) continue
        yield* Effect.logInfo(`Scanning ${work.dimension}: ${scanned} of ${entities} entities`).pipe(
          Effect.annotateLogs("account", work.accountId)
        )
        reported = now
      }
    })

  return (work: ScanWork, newest: number, isWanted: () => boolean = () => true): Effect.Effect<number> =>
    steps(work, newest, isWanted).pipe(
      Effect.tap(({ isFinished }) => (isFinished ? repo.tidy(work.accountId) : Effect.void)),
      Effect.map(({ run }) => run),
      Effect.provideService(Workload, "scan")
    )
})
