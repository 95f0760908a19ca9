import { Schema } from "effect"
import { HistoryActor } from "../drafts/History.ts"
import { ActorJson } from "../model/Actor.ts"
import { EntityKind } from "../model/Attribute.ts"
import { AccountId, EntityId, JobId } from "../model/Ids.ts"
import { Timestamp, toMillis } from "../model/Timestamp.ts"

/**
 * `queued`: no process works on it at the moment. `running`: a process holds its lease. `paused`: it waits until it is
 * resumed. In the other states the job has ended; a failed job can be resumed.
 */
export const JobState = Schema.Literal("queued", "running", "paused", "cancelled", "failed", "done")
export type JobState = typeof JobState.Type

export const JobKindName = Schema.Literal(
  "store_unlink",
  "store_link",
  "publish_waiting",
  "publish_selected",
  "publish_cancel",
  "account_deletion",
  "export",
  "bulk_change",
  "health_scan",
  "import"
)
export type JobKindName = typeof JobKindName.Type

/**
 * Properties of each kind. `items`: the items that the progress counts; a check is that of one entity in one dimension of data health. `whyUncancellable`: null if a job of the kind
 * can be cancelled.
 */
export const jobKinds: Readonly<
  Record<JobKindName, { readonly items: string; readonly whyUncancellable: string | null }>
> = {
  store_unlink: {
    items: "entities",
    whyUncancellable: "the store is unlinked already. Let the job finish, then link the store again to restore it"
  },
  store_link: {
    items: "entities",
    whyUncancellable: "the store is linked already. Let the job finish, then unlink the store"
  },
  publish_waiting: { items: "entities", whyUncancellable: null },
  publish_selected: { items: "entities", whyUncancellable: null },
  publish_cancel: { items: "publishes", whyUncancellable: null },
  account_deletion: {
    items: "rows",
    whyUncancellable: "the account's keys and users are deleted already. Let the job finish"
  },
  export: { items: "products", whyUncancellable: null },
  bulk_change: { items: "entities", whyUncancellable: null },
  health_scan: { items: "checks", whyUncancellable: null },
  import: { items: "changes", whyUncancellable: null }
}

/** Kinds whose jobs the service begins by itself. Lists show such a job only while it runs or needs attention: see `isListed`. */
export const automaticKinds: ReadonlyArray<JobKindName> = ["health_scan"]

/**
 * Kinds of jobs that a feature runs itself, with its own leases (see `JobOwner`). Job workers do not claim them. They cannot be
 * resumed after a failure.
 */
export const ownedKinds: ReadonlyArray<JobKindName> = ["import"]

/** Kinds whose jobs request publishes to a store. */
const publishingKinds: ReadonlyArray<JobKindName> = ["publish_waiting", "publish_selected"]

/** Kinds whose jobs cannot go on when their store is unlinked, so unlinking cancels them. */
const kindsOfLinkedStore: ReadonlyArray<JobKindName> = [...publishingKinds, "publish_cancel"]

export const endsWithLink = ({ kind }: Pick<Job, "kind">): boolean => kindsOfLinkedStore.includes(kind)

export const isPublishing = ({ kind }: Pick<Job, "kind">): boolean => publishingKinds.includes(kind)

/** Kinds whose jobs workers claim. */
export const claimedKinds: ReadonlyArray<JobKindName> = JobKindName.literals.filter(
  (kind) => !ownedKinds.includes(kind)
)

/** The names of the counts in a job's result. Pages translate each. */
export const JobCount = Schema.Literal(
  "requested",
  "published",
  "cancelled",
  "failed",
  "incomplete",
  "refused",
  "new",
  "changed",
  "unchanged",
  "removed"
)
export type JobCount = typeof JobCount.Type
export type JobCounts = { readonly [Name in JobCount]?: number }

/** An item that a job refused, and why. */
export const JobError = Schema.Struct({ item: Schema.String, message: Schema.String })
export type JobError = typeof JobError.Type

/** An entity that a job deleted. `name`: as lists named it; empty if it had no name. */
export const DeletedEntity = Schema.Struct({ id: EntityId, kind: EntityKind, name: Schema.String })
export type DeletedEntity = typeof DeletedEntity.Type

/** Why a job refuses an entity that was deleted, or that never existed in the account. */
export const noLongerExists = "it no longer exists"

/** Why a job is not begun whose entities all do not exist. */
export const noneExists = "nothing that was selected exists any more"

/** Why a job cannot continue, and what to do next. Both are sentences for people. */
export const JobProblem = Schema.Struct({ why: Schema.String, next: Schema.String })
export type JobProblem = typeof JobProblem.Type

/** Maximum number of refused items that a job keeps, and of deleted entities. */
export const maxJobItems = 100

/** A job as commands and pages show it. */
export const Job = Schema.Struct({
  id: JobId,
  kind: JobKindName,
  title: Schema.String,
  state: JobState,
  /** Number of processed items, and of all items; null: unknown. */
  done: Schema.Number,
  total: Schema.NullOr(Schema.Number),
  /** Counts by `JobCount`. Another version of the service may have other names. */
  result: Schema.Record({ key: Schema.String, value: Schema.Number }),
  /** The first 100 refused items. */
  errors: Schema.Array(JobError),
  error_count: Schema.Number,
  /** The first 100 deleted entities. A server of an older version does not send them. */
  deleted: Schema.optionalWith(Schema.Array(DeletedEntity), { default: () => [] }),
  problem: Schema.NullOr(JobProblem),
  waiting_for: Schema.NullOr(Schema.String),
  /** Whether it waits for a store's platform that does not answer, so maybe for hours. A server of an older version does not send it. */
  waits_for_platform: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  /** The actor that created the job. */
  author: HistoryActor,
  created_at: Timestamp,
  started_at: Schema.NullOr(Timestamp),
  ended_at: Schema.NullOr(Timestamp)
})
export type Job = typeof Job.Type

/** States in which lists leave out jobs of `automaticKinds`: they wait for their time, or ended well. */
export const unlistedStates: ReadonlyArray<JobState> = ["queued", "done"]

/** Whether lists show a job. */
export const isListed = ({ kind, state }: Job): boolean =>
  !(automaticKinds.includes(kind) && unlistedStates.includes(state))

/** The author of a job in words for people. */
export const authorName = ({ author, kind }: Job): string =>
  automaticKinds.includes(kind)
    ? "the service"
    : (author.name ?? (author.kind === "cli" ? "the command line" : author.kind))

/** Number of entities that a job deleted and does not name. */
export const countUnnamed = ({ deleted, result }: Pick<Job, "deleted" | "result">): number =>
  deleted.length === 0 ? 0 : Math.max(0, (result.changed ?? 0) - deleted.length)

const open: ReadonlyArray<JobState> = ["queued", "running", "paused"]

/** Whether the command `resume` can continue a job. */
export const isResumable = ({ kind, state }: Pick<Job, "kind" | "state">): boolean =>
  state === "paused" || (state === "failed" && !ownedKinds.includes(kind))

const monthMillis = 30 * 86_400_000

/** Whether a job ended more than 30 days ago. It is then deleted, its list of entities first, so it cannot be resumed. */
export const isForgotten = ({ ended_at }: Pick<Job, "ended_at">, nowMillis: number): boolean =>
  ended_at !== null && toMillis(ended_at) < nowMillis - monthMillis

/** Whether a paused job locks the catalog against all other writes. */
export const isLocking = ({ kind, state }: Pick<Job, "kind" | "state">): boolean =>
  kind === "import" && state === "paused"

/** Whether a job has steps left. */
export const isOpen = ({ state }: { readonly state: JobState }): boolean => open.includes(state)

/** Thrown by a step that cannot continue. The results of earlier steps stay. */
export class JobStopped extends Schema.TaggedError<JobStopped>()("JobStopped", JobProblem.fields) {}

/** A job that this process has claimed. `attempts`: number of claims since the last finished step. */
export const ClaimedJob = Schema.Struct({
  accountId: AccountId,
  id: JobId,
  claim: Schema.String,
  kind: JobKindName,
  attempts: Schema.Int,
  actor: ActorJson
})
export type ClaimedJob = typeof ClaimedJob.Type

/** The claim of a job. */
export type JobClaim = Pick<ClaimedJob, "accountId" | "id" | "claim">
