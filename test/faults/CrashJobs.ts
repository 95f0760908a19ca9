/**
 * A process that works on due jobs and dies by SIGKILL. JOBS_DATABASE_URL is the database; JOBS_KILL_AT and
 * JOBS_KILL_AFTER are the step and its occurrence. JOBS_PLANTED plants a fault: the cursor of a step is saved after
 * the commit of its work.
 */

import { Config, Effect, Layer, Option, Redacted } from "effect"
import { afterCommit } from "../../src/database/CommitHooks.ts"
import * as Database from "../../src/database/Database.ts"
import { AutomaticScans } from "../../src/health/AutomaticScans.ts"
import { layerScanAfterUnlink } from "../../src/health/ScanAfterUnlink.ts"
import { JobsRepo } from "../../src/jobs/JobsRepo.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { endWithParent } from "./EndWithParent.ts"

endWithParent()

const isPlanted = process.env.JOBS_PLANTED === "yes"
const killAt = process.env.JOBS_KILL_AT
let left = Number(process.env.JOBS_KILL_AFTER)

const at = (step: string) =>
  Effect.suspend(() => {
    if (step !== killAt || --left > 0) return Effect.void
    process.kill(process.pid, "SIGKILL")
    return Effect.never
  })

const Deadly = Layer.succeed(FaultInjector, { at })

/** The planted fault. The process dies at the commit, before the cursor is saved. */
const SavesLater = Layer.effect(
  JobsRepo,
  Effect.map(JobsRepo, (repo) => ({
    ...repo,
    save: (...step: Parameters<typeof repo.save>) =>
      afterCommit(Effect.zipRight(at("jobCommitted"), repo.save(...step)))
  }))
)

const DatabaseLive = Layer.unwrapEffect(
  Effect.map(Config.string("JOBS_DATABASE_URL"), (url) =>
    Database.layer({ url: Option.some(Redacted.make(url)), dataDirectory: "", maxConnections: 3 })
  )
)

const Working = Layer.fresh(JobWorker.layer).pipe(
  Layer.provide(Layer.mergeAll(layerScanAfterUnlink, Deadly, isPlanted ? SavesLater : Layer.empty)),
  Layer.provide(Layer.succeed(AutomaticScans, { nightly: true, afterImports: true, hour: 3 })),
  Layer.provide(Services),
  Layer.provide(RepositoriesOnDatabase),
  Layer.provide(DatabaseLive)
)

const end = Effect.sync((): void => process.exit(1))

Effect.runFork(
  Effect.flatMap(JobWorker, ({ runDue }) => runDue).pipe(
    Effect.provide(Working),
    Effect.tapErrorCause(Effect.logError),
    Effect.onExit(() => end)
  )
)
