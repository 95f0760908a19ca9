/**
 * A process that works on several jobs, and dies by SIGKILL when each of them has come to its step and waits there.
 * JOBS_DATABASE_URL is the database; JOBS_DEATHS names the jobs, their steps and the occurrences of the steps. JOBS_PLANTED
 * plants a fault: the cursor of a step is saved after the commit of its work.
 */

import { Effect, Layer, Schema } from "effect"
import { afterCommit } from "../../src/database/CommitHooks.ts"
import { AutomaticScans } from "../../src/health/AutomaticScans.ts"
import { layerScanAfterStoreJob } from "../../src/health/ScanAfterStoreJob.ts"
import { JobsRepo } from "../../src/jobs/JobsRepo.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import { AccountId, JobId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { endWithParent } from "./EndWithParent.ts"
import { dieAt, layerPatientServer, runUntilKilled, workUntilDeath } from "./OwnDeath.ts"

endWithParent()

const isPlanted = process.env.JOBS_PLANTED === "yes"

const Deaths = Schema.Array(
  Schema.Struct({ accountId: AccountId, id: JobId, step: Schema.String, occurrence: Schema.Number })
)

const work = Effect.gen(function* () {
  const { settle } = yield* JobWorker
  const deaths = yield* Schema.Config("JOBS_DEATHS", Schema.parseJson(Deaths))
  yield* workUntilDeath(deaths, ({ accountId, id }) =>
    Effect.provideService(
      settle(id, () => Effect.void),
      CurrentActor,
      { _tag: "Cli", accountId }
    )
  )
})

const Deadly = Layer.succeed(FaultInjector, { at: dieAt })

/** The planted fault. The process dies at the commit, before the cursor is saved. */
const SavesLater = Layer.effect(
  JobsRepo,
  Effect.map(JobsRepo, (repo) => ({
    ...repo,
    save: (...step: Parameters<typeof repo.save>) =>
      afterCommit(Effect.zipRight(dieAt("jobCommitted"), repo.save(...step)))
  }))
)

const DatabaseLive = layerPatientServer("JOBS_DATABASE_URL", 16)

const Working = Layer.fresh(JobWorker.layer).pipe(
  Layer.provide(Layer.mergeAll(layerScanAfterStoreJob, Deadly, isPlanted ? SavesLater : Layer.empty)),
  Layer.provide(Layer.succeed(AutomaticScans, { nightly: true, afterImports: true, hour: 3 })),
  Layer.provide(Services),
  Layer.provide(RepositoriesOnDatabase),
  Layer.provide(DatabaseLive)
)

runUntilKilled(Effect.provide(work, Working))
