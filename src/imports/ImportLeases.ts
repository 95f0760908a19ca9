import { Cause, Effect, FiberSet, Option, Schedule } from "effect"
import { asBackground } from "../database/Deadlines.ts"
import { Transaction } from "../database/Transaction.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import type { AccountId, ImportId } from "../model/Ids.ts"
import { leanHeap } from "../runtime/LeanHeap.ts"
import { type ImportRun, type ImportSummary, whyLocked } from "./Import.ts"
import { howToComplete, type SourceError } from "./ImportFailures.ts"
import { makeImportJobs } from "./ImportJobs.ts"
import { ImportsRepo } from "./ImportsRepo.ts"
import type { LeasedRun } from "./StagedImport.ts"

/** Interval between renewals of the 60 s lease, and the delay before the first. */
const renewalInterval = "15 seconds"

/** Repeats the saving of a failure for about as long as the lease lasts: then another process ends the import, without its reason. */
const repeatSaving = Schedule.intersect(Schedule.spaced("2 seconds"), Schedule.recurs(30))

export type ImportLeases = Effect.Effect.Success<typeof makeImportLeases>

/** Runs the work on imports under leases, and ends imports whose work failed. */
export const makeImportLeases = Effect.gen(function* () {
  const importLock = yield* ImportLockRepo
  const jobs = yield* makeImportJobs
  const repo = yield* ImportsRepo
  const { run } = yield* Transaction
  const background = yield* FiberSet.make<void>()

  /** Runs a transaction with the deadlines of background work, even within a request, because it may run long. */
  const runTransaction = <A, E, R>(effect: Effect.Effect<A, E, R>) => asBackground(run(effect))

  /** NotFound: the account has no such import. */
  const getRun = (accountId: AccountId, id: ImportId) =>
    Effect.flatMap(
      repo.find(accountId, id),
      Effect.mapError(() => new NotFound())
    )

  /** Continues an import after its request was answered. Failures are recorded with the import. */
  const runInBackground = (id: ImportId, work: Effect.Effect<unknown, SourceError>) =>
    FiberSet.run(
      background,
      asBackground(work).pipe(
        Effect.catchAll(() => Effect.void),
        Effect.catchAllCause((cause) =>
          Cause.isInterruptedOnly(cause) ? Effect.void : Effect.logWarning(`Import ${id} could not be completed`, cause)
        ),
        Effect.asVoid
      )
    )

  /** Renews the lease during the work. Runs `onLost` if another process took the lease or the import left the phase. */
  const keepLease = <A, E, R, E2, R2>(
    lease: LeasedRun,
    work: Effect.Effect<A, E, R>,
    onLost: Effect.Effect<A, E2, R2>
  ) =>
    Effect.raceFirst(
      leanHeap(work),
      repo
        .renew(lease)
        .pipe(
          Effect.delay(renewalInterval),
          Effect.repeat({ while: (isRenewed) => isRenewed }),
          Effect.zipRight(onLost)
        )
    )

  /** Fails an import if this process still has the lease. Batches that were applied stay. */
  const fail = (lease: LeasedRun, describe: (run: ImportRun) => string, summary?: ImportSummary) =>
    runTransaction(
      Effect.gen(function* () {
        const { accountId, id } = lease
        const holder = yield* importLock.takeDuringImport(accountId)
        if (!(yield* repo.holds(lease))) return
        const run = yield* Effect.orDie(getRun(accountId, id))
        yield* repo.clearConflicts(accountId, id)
        const error = describe(run)
        yield* repo.move(accountId, id, { phase: "failed", leased: false, error, summary })
        const next = howToComplete(run)
        yield* jobs.fail(lease, error.replace(` ${next}`, ""), next)
        if (Option.contains(holder, id)) yield* importLock.keep(accountId, null)
      })
    ).pipe(Effect.zipLeft(repo.forgetUnneeded(lease.accountId, lease.id)))

  /** As `fail`, for an import that was being read. If this fails, for example because the database is gone, it is repeated in the background. */
  const failReading = (lease: LeasedRun, describe: (run: ImportRun) => string, summary?: ImportSummary) => {
    const failing = fail(lease, describe, summary)
    const repeated = failing.pipe(Effect.sandbox, Effect.retry(repeatSaving), Effect.unsandbox, Effect.interruptible)
    return Effect.catchAllCause(failing, (cause) =>
      Effect.zipRight(
        Effect.logWarning(`The failure of import ${lease.id} could not be saved`, cause),
        runInBackground(lease.id, repeated)
      )
    )
  }

  /** Ends this process's lease, so that any process can take over the import at once. */
  const release = (lease: LeasedRun) =>
    runTransaction(
      Effect.gen(function* () {
        if (!(yield* repo.holds(lease))) return
        yield* repo.release(lease)
        yield* jobs.release(lease)
      })
    )

  /** Refuses to continue while another import locks the account. */
  const refuseLocked = (accountId: AccountId, id: ImportId) =>
    Effect.flatMap(Effect.orDie(getRun(accountId, id)), (run) => ValidationFailed.at("", whyLocked(run)))

  return { runTransaction, getRun, runInBackground, keepLease, fail, failReading, release, refuseLocked }
})
