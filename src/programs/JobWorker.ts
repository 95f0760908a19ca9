import { Context, Effect, Layer, type Option, Schedule } from "effect"
import { makeDeletionKinds } from "../access/AccountDeletion.ts"
import { makeBulkKinds } from "../bulk/BulkJobs.ts"
import { makeExportKinds } from "../exports/ExportJobs.ts"
import { makeBeginNightly, makeScanJobKinds } from "../health/ScanJobs.ts"
import type { Job } from "../jobs/Job.ts"
import { makeJobRunner } from "../jobs/JobRunner.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { JobId } from "../model/Ids.ts"
import { makePublishJobKinds } from "../publishing/PublishJobs.ts"
import { makeStoreJobKinds } from "../stores/StoreJobs.ts"

/** Interval between looks for due jobs. */
const pollInterval = "1 second"
/** Interval between looks for accounts without a nightly scan. */
const betweenNightly = "1 hour"
/** Jobs that one process works on at the same time. */
const maxAtOnce = 2

/** Runs the steps of all kinds of jobs. A new kind is added here. */
export class JobWorker extends Context.Tag("catalog/JobWorker")<
  JobWorker,
  {
    /** Runs all due jobs of all accounts, next to any other workers. Returns the number of turns that jobs got. */
    readonly runDue: Effect.Effect<number>
    /**
     * Runs one job of the actor's account in this process, next to any other workers, until it has ended or is paused. `report`
     * receives the job about twice a second. None: there is no such job, or it deleted itself with its account.
     */
    readonly settle: (
      id: JobId,
      report: (job: Job) => Effect.Effect<void>
    ) => Effect.Effect<Option.Option<Job>, never, CurrentActor>
    /** Begins the nightly scans of accounts that have none, if the setting wants them. Returns their number. */
    readonly beginNightly: Effect.Effect<number>
    /** Repeats `runDue` until it is interrupted. */
    readonly work: Effect.Effect<never>
  }
>() {
  static readonly layer = Layer.effect(
    JobWorker,
    Effect.gen(function* () {
      const runner = yield* makeJobRunner([
        ...(yield* makeStoreJobKinds),
        ...(yield* makePublishJobKinds),
        ...(yield* makeDeletionKinds),
        ...(yield* makeExportKinds),
        ...(yield* makeBulkKinds),
        ...(yield* makeScanJobKinds)
      ])
      return {
        beginNightly: yield* makeBeginNightly,
        runDue: runner.runDue,
        settle: (id, report) => Effect.flatMap(CurrentActor, ({ accountId }) => runner.settle(accountId, id, report)),
        work: runner.runDue.pipe(
          Effect.catchAllCause((cause) => Effect.logWarning("Looking for due jobs failed", cause)),
          Effect.repeat(Schedule.spaced(pollInterval)),
          Effect.zipRight(Effect.never)
        )
      }
    })
  )
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
