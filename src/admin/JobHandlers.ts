import { Effect, Option } from "effect"
import { isOpen, type Job } from "../jobs/Job.ts"
import { Jobs } from "../jobs/Jobs.ts"
import { NotFound } from "../model/Errors.ts"
import { JobId } from "../model/Ids.ts"
import { JobWorker } from "../programs/JobWorker.ts"
import { Publishing } from "../publishing/Publishing.ts"
import { makeForAnyAccount } from "./ChosenAccount.ts"
import { type Report, streamEvents } from "./EventStream.ts"
import { parseId } from "./FindByName.ts"
import { JobRpcs } from "./JobRpcs.ts"

const jobId = parseId(JobId)

export const JobHandlers = JobRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAnyAccount
    const jobs = yield* Jobs
    const publishing = yield* Publishing
    const worker = yield* JobWorker

    return {
      listJobs: ({ account }) => forAccount(account)(jobs.list),
      showJob: ({ account, id }) => forAccount(account)(Effect.flatMap(jobId(id), jobs.get)),
      commandJob: ({ account, command, id }) =>
        forAccount(account)(Effect.flatMap(jobId(id), (id) => jobs.command(command, id))),
      followJob: ({ account, id }) =>
        streamEvents((report: Report<Job>) =>
          Effect.gen(function* () {
            const before = yield* jobs.get(yield* jobId(id))
            if (!isOpen(before)) return before
            // This process also runs the job's publishes, because there may be no server.
            const isPublishing = before.kind === "publish_waiting" || before.kind === "publish_selected"
            const settle = worker.settle(before.id, report)
            const job = yield* isPublishing ? Effect.raceFirst(settle, publishing.work) : settle
            return Option.isNone(job) ? yield* new NotFound() : job.value
          }).pipe(forAccount(account))
        )
    }
  })
)
