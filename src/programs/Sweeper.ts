import { Effect, Layer, Option, Schedule } from "effect"
import { Sessions } from "../access/Sessions.ts"
import { Activity } from "../connections/Activity.ts"
import { Authorization } from "../connections/Authorization.ts"
import { LeasesRepo } from "../database/LeasesRepo.ts"
import { ExportJobs } from "../exports/ExportJobs.ts"
import { ChangeFeed } from "../feed/ChangeFeed.ts"
import { DataHealth } from "../health/DataHealth.ts"
import { Imports } from "../imports/Imports.ts"
import { Jobs } from "../jobs/Jobs.ts"
import { Publishing } from "../publishing/Publishing.ts"
import { Mirror } from "../storedata/Mirror.ts"
import { Webhooks } from "../webhooks/Webhooks.ts"

/** If the process of an import is killed, another one continues within 75 s: its lease of 60 s expires first. */
const betweenTakeovers = Schedule.spaced("10 seconds")
const betweenSweeps = Schedule.spaced("1 hour")
/** On a cluster, a lost hint of work is found within this time. */
const betweenRepairs = Schedule.spaced("1 minute")

const logFailures = <A, E, R>(what: string, work: Effect.Effect<A, E, R>) =>
  Effect.catchAllCause(work, (cause) => Effect.logWarning(`${what} failed`, cause))

/** Ends the leases of processes that are gone, and continues their imports. The leases of accounts whose node is down expire instead. */
const takeOver = Effect.gen(function* () {
  yield* logFailures("Ending the leases of processes that are gone", (yield* LeasesRepo).endOfGone)
  const count = yield* (yield* Imports).resume(Option.none())
  if (count > 0) yield* Effect.logInfo(`Took over ${count} ${count === 1 ? "import" : "imports"}`)
})

/** Deletes rows that are no longer needed. docs/operations.md lists the tables and their ages. */
const sweep = Effect.gen(function* () {
  const { discardAbandoned, forgetStaged } = yield* Imports
  const mirror = yield* Mirror
  const publishing = yield* Publishing
  const activity = yield* Activity
  const health = yield* DataHealth
  const jobs = yield* Jobs
  const feed = yield* ChangeFeed
  const exportJobs = yield* ExportJobs
  const webhooks = yield* Webhooks
  const sweeps = [
    { done: "Discarded undecided reviews", work: discardAbandoned },
    { done: "Deleted products staged by imports", work: forgetStaged },
    { done: "Deleted other data staged by imports", work: mirror.forgetAbandoned },
    { done: "Deleted old publications", work: publishing.forget },
    { done: "Deleted daily call counts of connections", work: activity.forget },
    { done: "Deleted rows left by scans of data health", work: health.forget },
    { done: "Deleted old jobs", work: jobs.forget },
    { done: "Deleted changes that the feed no longer shows", work: feed.forget },
    { done: "Deleted items of exports", work: exportJobs.forget },
    { done: "Deleted parked changes of webhooks", work: webhooks.forget }
  ]
  // A sweep that fails at every attempt must not keep the later ones from running.
  for (const { done, work } of sweeps)
    yield* logFailures(
      `The sweep "${done}"`,
      Effect.tap(work, (count) => (count > 0 ? Effect.logInfo(`${done}: ${count}`) : Effect.void))
    )
})

/** Deletes expired sessions, consents and tokens. */
const sweepAccess = Effect.gen(function* () {
  yield* logFailures("Sweeping sessions", (yield* Sessions).forget)
  yield* logFailures("Sweeping consents and tokens", (yield* Authorization).forget)
})

/** The background work of every server, at its start and then at intervals. */
export const layer: Layer.Layer<
  never,
  never,
  | Activity
  | Authorization
  | ChangeFeed
  | DataHealth
  | ExportJobs
  | Imports
  | Jobs
  | LeasesRepo
  | Mirror
  | Publishing
  | Sessions
  | Webhooks
> = Layer.scopedDiscard(
  Effect.all([
    // Forked each time, so that a long import does not delay the next takeover.
    Effect.forkScoped(Effect.repeat(Effect.fork(logFailures("Taking over imports", takeOver)), betweenTakeovers)),
    Effect.forkScoped(
      Effect.repeat(
        logFailures(
          "Adding missing hints of work",
          Effect.flatMap(LeasesRepo, (repo) => repo.repairHints)
        ),
        betweenRepairs
      )
    ),
    Effect.forkScoped(Effect.repeat(sweep, betweenSweeps)),
    Effect.forkScoped(Effect.repeat(sweepAccess, betweenSweeps))
  ])
)
