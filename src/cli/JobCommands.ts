import { Command } from "@effect/cli"
import { Console, Effect, type Option, Stream } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { authorName, countUnnamed, isLocking, isOpen, isResumable, type Job, jobKinds } from "../jobs/Job.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { orLost, withAdmin } from "./CommandRuntime.ts"
import { argument } from "./Flags.ts"
import { account, answer, formatCount, hint, json, noSuch, Refused, seconds } from "./Output.ts"
import { draw } from "./ProgressLine.ts"

const jobId = argument("JOB_ID", "Id of the job, from `jobs list`.")

const missing = noSuch("job", "jobs list")

/** The progress of a job, for example "1,200 of 40,000 entities". */
const progressOf = ({ done, kind, state, total }: Job) =>
  `${formatCount(done)}${total === null || state === "done" ? "" : ` of ${formatCount(Math.max(total, done))}`} ${jobKinds[kind].items}`

/** The lines that describe a job: progress, result, refused items and the next command. */
export const linesOfJob = (job: Job, account: Option.Option<string>) => [
  `${job.title} (${job.id}): ${job.state}, ${progressOf(job)}`,
  `  begun ${seconds(job.created_at)} by ${authorName(job)}${job.ended_at === null ? "" : `, ended ${seconds(job.ended_at)}`}`,
  ...(job.waiting_for === null ? [] : [`  waits for ${job.waiting_for}`]),
  ...Object.entries(job.result).map(([name, count]) => `  ${name}: ${formatCount(count)}`),
  ...((job.result.incomplete ?? 0) > 0
    ? [`  \`${hint("history ENTITY", account)}\` says what the store did not do of an incomplete publish.`]
    : []),
  ...job.errors.map(({ item, message }) => `  ${item}: ${message}`),
  ...(job.error_count > job.errors.length
    ? [`  and ${formatCount(job.error_count - job.errors.length)} more refusals`]
    : []),
  ...job.deleted.map(({ id, kind, name }) => `  deleted ${kind}${name === "" ? "" : ` ${name}`} (${id})`),
  ...(countUnnamed(job) > 0 ? [`  and ${formatCount(countUnnamed(job))} more deleted`] : []),
  ...(job.problem === null ? [] : [`  ${job.problem.why}`, `  ${job.problem.next}`]),
  ...(isLocking(job) ? ["  The account is locked until the job is resumed or cancelled."] : []),
  ...(isResumable(job) ? [`Next: ${hint(`jobs resume ${job.id}`, account)}`] : [])
]

const list = Command.make("list", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const jobs = yield* (yield* AdminClient).listJobs({ account })
    yield* answer(
      json,
      { jobs },
      jobs.length === 0
        ? [
            "There are no jobs. Imports, publishing or changing many drafts, unlinking a store and deleting an account each begin a job."
          ]
        : jobs.map((job) => `${job.id}  ${job.state.padEnd(9)}  ${job.title}  ${progressOf(job)}`)
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List the newest 100 jobs, newest first."))

const show = Command.make("show", { id: jobId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const job = yield* (yield* AdminClient).showJob({ account, id })
    yield* answer(json, job, linesOfJob(job, account))
  }).pipe(Effect.catchTag("NotFound", missing(id)), withAdmin)
).pipe(Command.withDescription("Show a job with its progress, result, refusals and deleted entities."))

const changed = {
  pause: ({ title }: Job) => `Paused: ${title}. Finished steps are not undone.`,
  resume: ({ title }: Job) => `Resumed: ${title}. A running server continues it.`,
  cancel: ({ title }: Job) => `Cancelled: ${title}. Finished steps are not undone.`
}

const commandOf = (command: "pause" | "resume" | "cancel", description: string) =>
  Command.make(command, { id: jobId, account, json }, ({ account, id, json }) =>
    Effect.gen(function* () {
      const job = yield* (yield* AdminClient).commandJob({ account, id, command })
      yield* answer(json, job, [changed[command](job), ...linesOfJob(job, account)])
    }).pipe(
      Effect.catchTags({
        NotFound: missing(id),
        ValidationFailed: ({ reasons }) => new Refused({ message: reasons })
      }),
      withAdmin
    )
  ).pipe(Command.withDescription(description))

export const jobsCommand = Command.make("jobs").pipe(
  Command.withDescription("Background work that runs in steps."),
  Command.withSubcommands([
    list,
    show,
    commandOf("pause", "Pause a job when its current step has ended."),
    commandOf("resume", "Resume a paused or failed job after its last finished step."),
    commandOf("cancel", "Cancel a job when its current step has ended. Finished steps are not undone.")
  ])
)

/** Like `followJob`, for a job that deletes its own row and its account at the end, maybe before it is followed. */
export const followToTheEnd = (account: Option.Option<string>, begun: Job) =>
  Effect.catchIf(
    followJob(account, begun),
    (error) => (error._tag === "Refused" || error._tag === "Refusal") && error.code === errorCode.NotFound,
    () => Effect.void
  )

/** Follows a job until it ends or is paused, with a line of progress. Prints once that it waits for a store's platform: it may wait for hours. */
export const awaitJob = (account: Option.Option<string>, begun: Job) =>
  Effect.gen(function* () {
    let isTold = false
    const tell = ({ title, waiting_for, waits_for_platform }: Job) =>
      Effect.suspend(() => {
        if (isTold || !waits_for_platform) return Effect.void
        isTold = true
        return Effect.zipRight(draw(""), Console.error(`${title}: waits for ${waiting_for}.`))
      })
    return yield* Stream.runFoldEffect((yield* AdminClient).followJob({ account, id: begun.id }), begun, (_, job) =>
      Effect.as(isOpen(job) ? Effect.zipRight(tell(job), draw(`${job.title}: ${progressOf(job)}`)) : Effect.void, job)
    ).pipe(
      Effect.ensuring(draw("")),
      Effect.onInterrupt(() =>
        Console.error(
          `Interrupted: a running server continues the job. See \`${hint(`jobs show ${begun.id}`, account)}\`.`
        )
      ),
      Effect.catchTag("NotFound", missing(begun.id))
    )
  })

/** A job in one line. */
export const lineOfJob = (job: Job, account: Option.Option<string>) =>
  linesOfJob(job, account)
    .map((line) => line.trim())
    .join(" ")

/** Follows a job to its end, with a line of progress. Refused: it has failed, was cancelled or is paused. */
export const followJob = (account: Option.Option<string>, begun: Job) =>
  Effect.filterOrFail(
    orLost(`It is unknown how the job goes on: see \`${hint(`jobs show ${begun.id}`, account)}\`.`)(
      awaitJob(account, begun)
    ),
    ({ state }) => state === "done",
    (last) => new Refused({ message: lineOfJob(last, account) })
  )
