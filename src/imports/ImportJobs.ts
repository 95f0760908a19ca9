import { Effect, Layer, Option } from "effect"
import { actorOf } from "../drafts/History.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import type { Job } from "../jobs/Job.ts"
import { JobOwner } from "../jobs/JobOwner.ts"
import type { JobCommand } from "../jobs/Jobs.ts"
import { JobsRepo } from "../jobs/JobsRepo.ts"
import type { AccountId } from "../model/Ids.ts"
import { ImportId, JobId } from "../model/Ids.ts"
import { type ImportRun, plannedOf } from "./Import.ts"
import { describeCancelled } from "./ImportFailures.ts"
import { ImportsRepo } from "./ImportsRepo.ts"

interface Place {
  readonly accountId: AccountId
  readonly id: ImportId
}

/** The job of an import has the id of the import. So does its claim: the lease of the import decides which process works on it. */
const claimOf = ({ accountId, id }: Place) => ({ accountId, id: JobId.make(id), claim: id })

/** Saving a step extends the lease of its job, but a job of an import has none: `JobsRepo.claimOwned`. */
const noLease = 0

const titleOf = ({ fileName, storeName }: ImportRun) =>
  fileName === null ? `Refresh ${storeName}` : `Import ${fileName} into ${storeName}`

/** The counts that an applied import leaves in the result of its job. */
const resultOf = ({ summary: { collections, created, files, unlinked, updated } }: ImportRun) => ({
  new: created + collections.created + files.created,
  changed: updated + collections.updated + files.updated,
  removed: unlinked
})

/**
 * Writes the jobs of imports. Each function is part of the transaction that changes the import, after the import was locked.
 */
export const makeImportJobs = Effect.map(JobsRepo, (jobs) => {
  /** Inserts the job of an accepted import. Returns false if it exists already. */
  const begin = (accountId: AccountId, run: ImportRun) =>
    jobs.insert(accountId, {
      id: JobId.make(run.id),
      kind: "import",
      title: titleOf(run),
      subject: null,
      input: {},
      total: plannedOf(run.summary),
      actor: actorOf(accountId, run.actor),
      author: run.actor
    })

  const save = (place: Place, done: number) =>
    jobs.save(claimOf(place), { cursor: done, done, counts: {}, errors: [] }, noLease)

  return {
    begin,
    /** Claims the job for the holder of the import's lease. An import that an earlier version accepted gets its job here. */
    claim: (accountId: AccountId, run: ImportRun) =>
      Effect.gen(function* () {
        const place = { accountId, id: run.id }
        const isNew = yield* begin(accountId, run)
        yield* jobs.claimOwned(claimOf(place))
        if (isNew && run.applied > 0) yield* save(place, run.applied)
      }),
    /** Saves the progress of a batch. */
    save,
    finish: (accountId: AccountId, run: ImportRun) =>
      jobs.save(
        claimOf({ accountId, id: run.id }),
        { cursor: null, done: 0, counts: resultOf(run), errors: [] },
        noLease
      ),
    /** An import that is not accepted yet has no job. */
    fail: (place: Place, why: string, next: string) =>
      Effect.zipRight(jobs.claimOwned(claimOf(place)), jobs.fail(claimOf(place), { why, next })),
    /** The process that works on the import is being stopped, so any process can continue. */
    release: (place: Place) => jobs.release(claimOf(place), { delaySeconds: 0, waitingFor: null, isAttempt: false })
  }
})

/** Lets pausing, resuming and cancelling the job of an import take effect on the import. */
export const layerImportJobOwner = Layer.effect(
  JobOwner,
  Effect.gen(function* () {
    const importLock = yield* ImportLockRepo
    const repo = yield* ImportsRepo

    /** Ends the import and unlocks the account. Applied batches stay. The process that works on it, or the hourly sweep, deletes the rest. */
    const cancel = (accountId: AccountId, run: ImportRun) =>
      Effect.gen(function* () {
        const { id } = run
        yield* repo.move(accountId, id, { phase: "failed", leased: false, error: describeCancelled(run) })
        yield* importLock.keep(accountId, null)
      })

    const commands: Readonly<Record<JobCommand, (accountId: AccountId, run: ImportRun) => Effect.Effect<void>>> = {
      pause: (accountId, { id }) => repo.pause(accountId, id),
      resume: (accountId, { id }) => repo.resume(accountId, id),
      cancel
    }

    return {
      follow: (command: JobCommand, accountId: AccountId, { id, kind }: Job) =>
        Effect.gen(function* () {
          if (kind !== "import") return
          // The lock waits for the end of the running batch.
          yield* importLock.takeDuringImport(accountId)
          const run = yield* repo.find(accountId, ImportId.make(id))
          if (Option.isSome(run) && run.value.phase === "applying") yield* commands[command](accountId, run.value)
        })
    }
  })
)
