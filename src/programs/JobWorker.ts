import { Context, Effect, Layer, Schedule } from "effect"
import { makeDeletionKinds } from "../access/AccountDeletion.ts"
import { makeBulkKinds } from "../bulk/BulkJobs.ts"
import { makeExportKinds } from "../exports/ExportJobs.ts"
import { makeBeginNightly, makeScanJobKinds } from "../health/ScanJobs.ts"
import type { Job } from "../jobs/Job.ts"
import { makeJobRunner } from "../jobs/JobRunner.ts"
import { withAccountId } from "../model/Actor.ts"
import type { JobId } from "../model/Ids.ts"
import { makePublishJobKinds } from "../publishing/PublishJobs.ts"
import { makeStoreJobKinds } from "../stores/StoreJobs.ts"

/** Interval between queries for due jobs. */
const pollInterval = "1 second"
/** Interval between queries for accounts without a nightly scan. */
const betweenNightly = "1 hour"
/** Jobs that one process works on at the same time. */
const maxAtOnce = 2

const make = Effect.gen(function* () {
  const runner = yield* makeJobRunner([
    ...(yield* makeStoreJobKinds),
    ...(yield* makePublishJobKinds),
    ...(yield* makeDeletionKinds),
    ...(yield* makeExportKinds),
    ...(yield* makeBulkKinds),
    ...(yield* makeScanJobKinds)
  ])
  return {
    /** Begins the nightly scans of accounts that have none, if the setting wants them. Returns their number. */
    beginNightly: yield* makeBeginNightly,
    /** Runs all due jobs of all accounts, next to any other workers. Returns the number of turns that jobs got. */
    runDue: runner.runDue,
    /**
     * Runs one job of the actor's account in this process, next to any other workers, until it has ended or is paused. `report`
     * receives the job about twice a second. None: there is no such job, or it deleted itself with its account.
     */
    settle: (id: JobId, report: (job: Job) => Effect.Effect<void>) =>
      withAccountId((accountId) => runner.settle(accountId, id, report)),
    /** Repeats `runDue` until it is interrupted. */
    work: runner.runDue.pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("Looking for due jobs failed", cause)),
      Effect.repeat(Schedule.spaced(pollInterval)),
      Effect.zipRight(Effect.never)
    )
  }
})

/** Runs the steps of all kinds of jobs. A new kind is added here. */
export class JobWorker extends Context.Tag("catalog/JobWorker")<JobWorker, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(JobWorker, make)
}

/** Starts the workers of a server in the background. */
export const layerWorkers: Layer.Layer<never, never, JobWorker> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { beginNightly, work } = yield* JobWorker
    yield* Effect.replicateEffect(Effect.forkScoped(work), maxAtOnce)
    yield* beginNightly.pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("Beginning the nightly scans of new accounts failed", cause)),
      Effect.repeat(Schedule.spaced(betweenNightly)),
      Effect.forkScoped
    )
  })
)
