import { Effect, Option } from "effect"
import { Imports } from "../imports/Imports.ts"
import { isOpen, isPublishing, type Job } from "../jobs/Job.ts"
import { Jobs } from "../jobs/Jobs.ts"
import { CurrentActor } from "../model/Actor.ts"
import { NotFound } from "../model/Errors.ts"
import { JobId } from "../model/Ids.ts"
import { JobWorker } from "../programs/JobWorker.ts"
import { Publishing } from "../publishing/Publishing.ts"
import { PublishJobs } from "../publishing/PublishJobs.ts"
import { JobRpcs } from "./AdminRpcs.ts"
import { type Report, streamEvents } from "./EventStream.ts"
import { parseId } from "./FindByName.ts"

const jobId = parseId(JobId)

export const JobHandlers = JobRpcs.toLayer(
  Effect.gen(function* () {
    const imports = yield* Imports
    const jobs = yield* Jobs
    const publishing = yield* Publishing
    const { withOutcomes } = yield* PublishJobs
    const worker = yield* JobWorker

    const get = (id: string) => jobId(id).pipe(Effect.flatMap(jobs.get), Effect.flatMap(withOutcomes))

    return {
      listJobs: () => jobs.list,
      showJob: ({ id }) => get(id),
      commandJob: ({ command, id }) =>
        jobId(id).pipe(
          Effect.flatMap((id) => jobs.command(command, id)),
          Effect.flatMap(withOutcomes)
        ),
      followJob: ({ id }) =>
        streamEvents((report: Report<Job>) =>
          Effect.gen(function* () {
            const before = yield* get(id)
            if (!isOpen(before)) return before
            // This process also carries out the job's publishes or its import, because there may be no server.
            const settle = worker.settle(before.id, report)
            const { accountId } = yield* CurrentActor
            const job = yield* isPublishing(before)
              ? Effect.raceFirst(settle, publishing.work)
              : before.kind === "import"
                ? Effect.raceFirst(settle, Effect.zipRight(imports.resume(Option.some(accountId)), Effect.never))
                : settle
            return yield* Option.isNone(job) ? new NotFound() : withOutcomes(job.value)
          })
        )
    }
  })
)
