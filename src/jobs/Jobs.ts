import { Clock, Context, Data, Effect, Layer, Option } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, JobId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { automaticKinds, isForgotten, isResumable, type Job, type JobState, jobKinds } from "./Job.ts"
import { JobOwner } from "./JobOwner.ts"
import { JobsRepo, type NewJob } from "./JobsRepo.ts"

/** Maximum number of jobs in one list. */
const maxListed = 100

/** For each command: the states in which it is allowed, the state that it sets, and the refusal in other states. */
const commands = {
  pause: { from: ["queued", "running"], to: "paused", refusal: "only a job that is queued or running can be paused" },
  resume: { from: ["paused", "failed"], to: "queued", refusal: "only a paused or failed job can be resumed" },
  cancel: {
    from: ["queued", "running", "paused"],
    to: "cancelled",
    refusal: "only a job that is queued, running or paused can be cancelled"
  }
} as const satisfies Readonly<
  Record<string, { readonly from: ReadonlyArray<JobState>; readonly to: JobState; readonly refusal: string }>
>
export type JobCommand = keyof typeof commands

/** The job is in another state by now. The transaction is rolled back. */
class NotMoved extends Data.TaggedError("NotMoved") {}

const make = Effect.gen(function* () {
  const history = yield* HistoryRepo
  const { follow } = yield* JobOwner
  const repo = yield* JobsRepo
  const transaction = yield* Transaction

  const get = Effect.fn("Jobs.get")(function* (id: JobId) {
    const { accountId } = yield* CurrentActor
    const job = yield* repo.find(accountId, id)
    return Option.isNone(job) ? yield* new NotFound() : job.value
  })

  /** Sets the state of a job. Its owner, if it has one, takes part in the transaction. False: the state does not allow it. */
  const move = (command: JobCommand, accountId: AccountId, job: Job) =>
    transaction
      .run(
        Effect.gen(function* () {
          const { from, to } = commands[command]
          yield* follow(command, accountId, job)
          if (!(yield* repo.move(accountId, job.id, from, to))) return yield* new NotMoved()
          return true
        })
      )
      .pipe(Effect.catchTag("NotMoved", () => Effect.succeed(false)))

  return {
    /**
     * Queues a job on behalf of the actor. Can be part of a transaction. ValidationFailed: another open job works on the same
     * subject, and the message names it; or the account has a job with the given id.
     */
    begin: Effect.fn("Jobs.begin")(function* (
      job: Pick<NewJob, "kind" | "title" | "subject" | "input" | "total"> & Partial<Pick<NewJob, "id">>
    ) {
      const actor = yield* CurrentActor
      const { accountId } = actor
      const id = job.id ?? (yield* mintId(JobId))
      const author = yield* history.nameOf(actor)
      if (!(yield* repo.insert(accountId, { ...job, id, actor, author }))) {
        if (job.id !== undefined && Option.isSome(yield* repo.find(accountId, id)))
          return yield* ValidationFailed.at("id", "the account has a job with this id already")
        const other = job.subject === null ? Option.none() : yield* repo.openOn(accountId, job.subject)
        return yield* ValidationFailed.at("", busyWith(other))
      }
      return yield* Effect.orDie(get(id))
    }),
    get,
    /** The newest 100 that `isListed`, newest first. */
    list: withAccountId((accountId) => repo.list(accountId, maxListed)),
    /** The refusal that `begin` would have now for this subject. */
    check: Effect.fn("Jobs.check")(function* (subject: string) {
      const { accountId } = yield* CurrentActor
      const other = yield* repo.openOn(accountId, subject)
      if (Option.isSome(other)) return yield* ValidationFailed.at("", busyWith(other))
    }),
    /** The open job that works on a subject. */
    openOn: (subject: string) => withAccountId((accountId) => repo.openOn(accountId, subject)),
    /**
     * Pauses, resumes or cancels a job between two steps: the command waits for the end of the running step. Finished
     * steps stay. ValidationFailed: the job is in another state, its kind cannot be cancelled, another open job has
     * its subject, or it is resumed although it `isForgotten`.
     */
    command: Effect.fn("Jobs.command")(function* (command: JobCommand, id: JobId) {
      const { accountId } = yield* CurrentActor
      const before = yield* get(id)
      const { from, refusal } = commands[command]
      const { whyUncancellable } = jobKinds[before.kind]
      if (command === "cancel" && whyUncancellable !== null)
        return yield* ValidationFailed.at("id", `the job cannot be cancelled: ${whyUncancellable}`)
      if (command === "resume" && before.state === "failed" && !isResumable(before))
        return yield* ValidationFailed.at(
          "id",
          `the job has failed and cannot be resumed. ${before.problem?.next ?? ""}`
        )
      const isMoved = yield* move(command, accountId, before)
      const after = yield* get(id)
      if (isMoved) return after
      return yield* ValidationFailed.at(
        "id",
        from.some((state) => state === after.state)
          ? whyNotQueued(after, yield* Clock.currentTimeMillis)
          : `the job is ${after.state}: ${refusal}`
      )
    }),
    /** Deletes jobs that ended more than 30 days ago, of all accounts. Returns their number. */
    forget: repo.forget
  }
})

/** The jobs of the actor's account. `programs/JobWorker` runs their steps. */
export class Jobs extends Context.Tag("catalog/Jobs")<Jobs, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Jobs, make)
}

/** The reason why a job that is paused or failed cannot be resumed. */
const whyNotQueued = (job: Job, nowMillis: number): string => {
  if (isForgotten(job, nowMillis)) return "the job ended more than 30 days ago and is being deleted: begin a new one"
  return automaticKinds.includes(job.kind)
    ? "the service has begun another job in its place, so it need not be resumed"
    : "another open job works on the same store: resume this one when that one has ended"
}

/** The reason why a job cannot be created. */
const busyWith = Option.match({
  onNone: () => "another job works on the same store: try again",
  onSome: ({ id, kind, state, title }: Job) =>
    `the job ${JSON.stringify(title)} (${id}) is ${state} and works on the same store: ${
      state !== "paused"
        ? "let it finish"
        : jobKinds[kind].whyUncancellable === null
          ? "resume or cancel it"
          : "resume it"
    } first`
})
