import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option } from "effect"
import { LeaseHolder } from "../database/LeaseHolder.ts"
import { makeWorkHints } from "../database/WorkHintsRepo.ts"
import type { HistoryActor } from "../drafts/History.ts"
import type { Actor } from "../model/Actor.ts"
import type { AccountId, JobId } from "../model/Ids.ts"
import type {
  ClaimedJob,
  DeletedEntity,
  Job,
  JobClaim,
  JobCounts,
  JobError,
  JobKindName,
  JobProblem,
  JobState
} from "./Job.ts"
import { makeJobLeases } from "./JobLeases.sql.ts"
import { makeJobRows } from "./JobRows.sql.ts"

/** A job to insert. No other open job of the account may have the same `subject`. */
export interface NewJob {
  readonly id: JobId
  readonly kind: JobKindName
  readonly title: string
  readonly subject: string | null
  readonly input: unknown
  readonly total: number | null
  readonly actor: Actor
  readonly author: HistoryActor
}

/** The data that a finished step saves. `cursor` null: the job is done. */
interface SavedStep {
  readonly cursor: unknown
  /** Number of items of this step; with a `total`, of all steps. */
  readonly done: number
  /** The new number of all items. */
  readonly total?: number | undefined
  readonly counts: JobCounts
  readonly errors: ReadonlyArray<JobError>
  readonly deleted?: ReadonlyArray<DeletedEntity> | undefined
}

/** Jobs of all accounts, their cursors and leases. */
export class JobsRepo extends Context.Tag("catalog/JobsRepo")<
  JobsRepo,
  {
    /** False: another open job has the same subject, or a job has this id, and nothing was inserted. */
    readonly insert: (accountId: AccountId, job: NewJob) => Effect.Effect<boolean>
    readonly find: (accountId: AccountId, id: JobId) => Effect.Effect<Option.Option<Job>>
    /** The open job with this subject. */
    readonly openOn: (accountId: AccountId, subject: string) => Effect.Effect<Option.Option<Job>>
    /** The newest job of these kinds with this subject, whatever its state. */
    readonly newestOn: (
      accountId: AccountId,
      subject: string,
      kinds: ReadonlyArray<JobKindName>
    ) => Effect.Effect<Option.Option<Job>>
    /**
     * Of the next `limit` accounts after an id, returns those without an open job with this subject. `last`: the id
     * after which to continue; null: there are no more. Accounts that are being deleted are left out.
     */
    readonly accountsWithout: (
      subject: string,
      after: AccountId,
      limit: number
    ) => Effect.Effect<{ readonly accounts: ReadonlyArray<AccountId>; readonly last: AccountId | null }>
    /** Newest first. Only jobs that `isListed`. */
    readonly list: (accountId: AccountId, limit: number) => Effect.Effect<ReadonlyArray<Job>>
    /**
     * Sets the state of a job that is in one of the states `from`, and ends its lease. The state `queued` also removes
     * the problem and makes the job due now. False: the job is in another state, or, for `queued`, another open job has
     * its subject, or the job `isForgotten`.
     */
    readonly move: (
      accountId: AccountId,
      id: JobId,
      from: ReadonlyArray<JobState>,
      to: "queued" | "paused" | "cancelled"
    ) => Effect.Effect<boolean>
    /**
     * Claims the given job if it is due, or a due job of any account. Then accounts take turns: the account whose last turn is oldest
     * comes first, with its job that has been due longest (`JobTurns`). Jobs of `automaticKinds` come after all others, so that nobody
     * waits for them. Jobs that another process is claiming are skipped, and those of `ownedKinds`.
     */
    readonly claim: (
      only: { readonly accountId: AccountId; readonly id: JobId } | null,
      leaseSeconds: number
    ) => Effect.Effect<Option.Option<ClaimedJob>>
    /**
     * Sets an open job of `ownedKinds` that is not paused to running, under this claim. It gets no lease: its owner has one. Returns
     * whether it did.
     */
    readonly claimOwned: (claim: JobClaim) => Effect.Effect<boolean>
    /**
     * Locks a claimed job until the transaction ends, and returns its cursor. None: it was paused or cancelled, or
     * another process has claimed it.
     */
    readonly lockClaimed: (
      job: JobClaim
    ) => Effect.Effect<Option.Option<{ readonly input: unknown; readonly cursor: unknown }>>
    /** Saves a finished step of a job locked by `lockClaimed`, and extends its lease. */
    readonly save: (job: JobClaim, step: SavedStep, leaseSeconds: number) => Effect.Effect<void>
    /**
     * Ends the lease: the job is queued and due after the delay. `isForPlatform`: it waits for a store's platform that does not answer.
     * `isAttempt`: whether this counts as an attempt of the step that failed. Does nothing if the job is no longer claimed.
     */
    readonly release: (
      job: JobClaim,
      after: {
        readonly delaySeconds: number
        readonly waitingFor: string | null
        readonly isForPlatform?: boolean
        readonly isAttempt: boolean
      }
    ) => Effect.Effect<void>
    /** Ends a claimed job as failed. Does nothing if it is no longer claimed. */
    readonly fail: (job: JobClaim, problem: JobProblem) => Effect.Effect<void>
    /** Deletes jobs that ended more than 30 days ago. Returns their number. */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    JobsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { name: holder } = yield* LeaseHolder
      const hints = yield* makeWorkHints("job")
      return { ...makeJobRows(sql, hints), ...makeJobLeases(sql, holder, hints) }
    })
  )
}
