import { Cause, Chunk, Duration, Effect, Either, Option } from "effect"
import { LRUCache } from "lru-cache"
import { asBackground, Workload } from "../database/Deadlines.ts"
import { StatementTimedOut } from "../database/SqlErrors.ts"
import { Transaction } from "../database/Transaction.ts"
import { CurrentActor } from "../model/Actor.ts"
import { Unavailable } from "../model/Errors.ts"
import type { AccountId, JobId } from "../model/Ids.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { monotonicMillis } from "../runtime/MonotonicClock.ts"
import { metrics, timed } from "../telemetry/Metrics.ts"
import { traceWork } from "../telemetry/Tracing.ts"
import { type ClaimedJob, isOpen, type Job } from "./Job.ts"
import type { AnyJobKind } from "./JobKind.ts"
import { JobsRepo } from "./JobsRepo.ts"

/** Lifetime of a lease. A step extends it, and no other process takes a job while its step is inside a transaction. */
const leaseSeconds = 30
/** Target duration of a step. It is short, because the account's writers may wait for a step. */
const stepMillis = 200
/** After this time, a job is released so that other due jobs can run. */
const turnMillis = 2_000
/** A job fails if this many processes started the same step and none finished it. */
const maxAttempts = 5
/**
 * Delay before a waiting step is tried again. A step waits, for example, for the end of an import, or for the database.
 */
const waitSeconds = 5
/** Interval between reports of a job that this process waits for. */
const reportMillis = 500
/** Interval between queries for a job that another process works on. */
const lookInterval = Duration.millis(200)

/** The size of the next step, computed from the duration of the last one. */
export const nextSize = (size: number, millis: number, max: number): number => {
  if (millis > 1.5 * stepMillis) return Math.max(1, Math.floor((size * stepMillis) / millis))
  return millis < 0.5 * stepMillis ? Math.min(max, size * 2) : size
}

/** The size of the first step of a job in this process: half as large for each earlier attempt, whose process may have died. */
const sizeOfAttempt = (first: number, attempts: number) => Math.max(1, Math.floor(first / 2 ** (attempts - 1)))

type Turn = "again" | "ended"

const neverFinished = `One step was begun ${maxAttempts} times and never finished. The service's log names the cause.`
const tooLong = `One step with a single item was begun ${maxAttempts} times, and each time a statement of the database took too long. It may have waited for a lock.`

/** Makes the functions that run one step, and that release a job after it. */
const makeSteps = Effect.gen(function* () {
  const faults = yield* FaultInjector
  const repo = yield* JobsRepo
  const transaction = yield* Transaction

  /** Runs one step. Its work, its cursor and its progress are committed together. */
  const step = (job: ClaimedJob, kind: AnyJobKind, size: number) =>
    transaction
      .run(
        Effect.gen(function* () {
          const locked = yield* repo.lockClaimed(job)
          if (Option.isNone(locked)) return { _tag: "Lost" } as const
          const { accountId, actor, id } = job
          const result = yield* Effect.provideService(
            kind.step({ accountId, id, ...locked.value, size }),
            CurrentActor,
            actor
          )
          if (result._tag === "Progress")
            yield* repo.save(
              job,
              {
                cursor: result.cursor,
                done: result.done,
                total: result.total,
                counts: result.counts ?? {},
                errors: result.errors ?? [],
                deleted: result.deleted
              },
              leaseSeconds
            )
          yield* faults.at("jobStepping")
          return result
        })
      )
      .pipe(
        // The connection of a transaction has the deadlines that hold when it begins.
        Effect.provideService(Workload, kind.workload ?? "background"),
        Effect.tap(() => faults.at("jobStepped"))
      )

  const release = (
    job: ClaimedJob,
    delaySeconds: number,
    waitingFor: string | null,
    isAttempt: boolean,
    isForPlatform = false
  ) => repo.release(job, { delaySeconds, waitingFor, isForPlatform, isAttempt })

  const giveUp = (job: ClaimedJob, why: string) =>
    repo.fail(job, {
      why,
      next: `Remove the cause, then resume the job: it continues after its last finished step.`
    })

  /**
   * Releases a job after a step of `size` items failed for a reason that may pass. Finished steps stay. A statement whose time ended
   * counts as an attempt only if the step had one item, because the next step gets fewer.
   */
  const postpone = (job: ClaimedJob, cause: Cause.Cause<never>, size: number) =>
    Effect.gen(function* () {
      yield* Effect.logWarning(`A step of job ${job.id} (${job.kind}) failed`, cause)
      const defects = Cause.defects(cause)
      const isTooLong = size === 1 && Chunk.some(defects, (defect) => defect instanceof StatementTimedOut)
      const isUnavailable = Chunk.some(defects, (defect) => defect instanceof Unavailable)
      if (isUnavailable && !isTooLong) yield* release(job, waitSeconds, "the database", false)
      else if (job.attempts >= maxAttempts) yield* giveUp(job, isTooLong ? tooLong : neverFinished)
      else yield* release(job, 2 ** (job.attempts - 1), "another attempt, because a step failed", true)
    })

  return { step, release, giveUp, postpone }
})

/** Runs the steps of jobs of these kinds. Jobs of other kinds fail. */
export const makeJobRunner = (kinds: ReadonlyArray<AnyJobKind>) =>
  Effect.gen(function* () {
    const repo = yield* JobsRepo
    const { giveUp, postpone, release, step } = yield* makeSteps
    /** The size of the next step of each job that had a turn here, by the job's id. */
    const sizes = new LRUCache<JobId, number>({ max: 1_000 })

    /** Runs steps of a claimed job for one turn, or until it ends or waits. */
    const takeTurn = (job: ClaimedJob, turn: number): Effect.Effect<Turn> => {
      let { attempts } = job
      let size = 1
      return Effect.gen(function* () {
        const kind = kinds.find(({ name }) => name === job.kind)
        if (kind === undefined) return yield* Effect.dieMessage(`This version has no kind of jobs named ${job.kind}.`)
        // Steps that fail are counted by `postpone`, so these attempts ended because their processes died.
        if (job.attempts > maxAttempts) return yield* Effect.as(giveUp(job, neverFinished), "ended" as const)
        const start = yield* monotonicMillis
        size = sizes.get(job.id) ?? sizeOfAttempt(kind.sizes.first, job.attempts)
        for (let before = start; ; ) {
          const result = yield* timed(metrics.jobStepSeconds.of(kind.name), Effect.either(step(job, kind, size)))
          if (Either.isLeft(result)) {
            const { next, why } = result.left
            return yield* Effect.as(repo.fail(job, { why, next }), "ended" as const)
          }
          if (result.right._tag === "Wait") {
            const { isForPlatform, seconds = waitSeconds, why } = result.right
            return yield* Effect.as(release(job, seconds, why, false, isForPlatform), "ended" as const)
          }
          if (result.right._tag !== "Progress" || result.right.cursor === null) return "ended"
          // The next step is begun for the first time.
          attempts = 1
          const now = yield* monotonicMillis
          size = nextSize(size, now - before, kind.sizes.max)
          sizes.set(job.id, size)
          before = now
          if (now - start >= turn) return yield* Effect.as(release(job, 0, null, false), "again" as const)
        }
      }).pipe(
        traceWork(`job ${job.kind}`, { "catalog.account_id": job.accountId, "catalog.job_id": job.id }),
        // A process that is being stopped releases the job immediately.
        Effect.onInterrupt(() => release(job, 0, null, false)),
        Effect.catchAllCause((cause) =>
          Cause.isInterrupted(cause)
            ? Effect.failCause(cause)
            : Effect.sync(() => sizes.set(job.id, Math.max(1, Math.floor(size / 2)))).pipe(
                Effect.zipRight(postpone({ ...job, attempts }, cause, size)),
                Effect.catchAllCause((second) =>
                  Effect.logWarning(`Job ${job.id} keeps its lease until it expires`, second)
                ),
                Effect.as("ended" as const)
              )
        )
      )
    }

    return {
      /** Runs all due jobs of all accounts. Other workers may run at the same time. Returns the number of turns. */
      runDue: Effect.gen(function* () {
        for (let turns = 0; ; turns++) {
          const job = yield* repo.claim(null, leaseSeconds)
          if (Option.isNone(job)) return turns
          yield* takeTurn(job.value, turnMillis)
        }
      }).pipe(asBackground),
      /**
       * Runs one job in this process until it has ended or is paused. Other workers may run at the same time. `report`
       * is called with each state of the job that is read. None: the job deleted its own row.
       */
      settle: (
        accountId: AccountId,
        id: JobId,
        report: (job: Job) => Effect.Effect<void>
      ): Effect.Effect<Option.Option<Job>> =>
        Effect.gen(function* () {
          for (;;) {
            const claimed = yield* repo.claim({ accountId, id }, leaseSeconds)
            if (Option.isSome(claimed)) yield* takeTurn(claimed.value, reportMillis)
            const job = yield* repo.find(accountId, id)
            if (Option.isNone(job)) return job
            yield* report(job.value)
            if (!isOpen(job.value) || job.value.state === "paused") return job
            if (Option.isNone(claimed)) yield* Effect.sleep(lookInterval)
          }
        }).pipe(asBackground)
    }
  })
