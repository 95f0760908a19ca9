import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { ActivityDay, ConnectionChange } from "../connections/ActivityRecord.ts"
import { Connection } from "../connections/Connection.ts"
import { FieldUndo } from "../connections/UndoRules.ts"
import { DivergenceRules } from "../drafts/Divergence.ts"
import {
  FieldsToFill,
  HealthDimension,
  HealthIssuePage,
  HealthOverview,
  HealthRules,
  HealthSection,
  HealthSnapshot,
  StructureRules
} from "../health/Health.ts"
import { ConflictDecision, ImportConflict, ImportRun, ReviewIncomplete } from "../imports/Import.ts"
import { ImportFileRejected } from "../imports/ImportedProduct.ts"
import { Job } from "../jobs/Job.ts"
import { EntityKind } from "../model/Attribute.ts"
import { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { ConnectionId, EntityId, ExportId, ImportId, JobId, PublicationId, StoreId } from "../model/Ids.ts"
import { PublishError } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { PlatformReadError } from "../platform/PlatformErrors.ts"
import { PendingEntity } from "../publishing/PublicationRecord.ts"
import { SetAside, Webhook, WebhookTest } from "../webhooks/Webhook.ts"
import { AccessRpcs } from "./AccessRpcs.ts"
import { accountRpc, anyAccountRpc, listFilters, optionalText } from "./AccountRpc.ts"
import { aboutDraft, DraftRpcs } from "./DraftRpcs.ts"
import { StoreRpcs } from "./StoreRpcs.ts"

/** Returns the pid of the process that answers, and the migrations of its database. */
export const HelloRpcs = RpcGroup.make(
  Rpc.make("hello", {
    success: Schema.Struct({ pid: Schema.Int, migrations: Schema.Array(Schema.String) })
  })
)

/** Events of an import: its progress, then the import at its end. */
export const ImportEvent = Schema.Union(
  Schema.TaggedStruct("Progress", {
    step: Schema.Literal("checking", "fetching", "comparing", "applying"),
    done: Schema.Int,
    /** The value of `done` at the end of the step. 0: not known yet. */
    total: Schema.Int,
    /** The id of the import. Null while it checks, fetches or compares. */
    import_id: Schema.NullOr(ImportId)
  }),
  Schema.TaggedStruct("Done", { run: ImportRun })
)
export type ImportEvent = typeof ImportEvent.Type

const aboutImport = { id: Schema.String }

/** `rest`: the decision for undecided conflicts. `remove`: confirms the removal of entities that the store no longer has. */
const acceptance = { rest: Schema.NullOr(ConflictDecision), remove: Schema.Boolean }

export const ImportRpcs = RpcGroup.make(
  /**
   * `path`: an absolute path, which the process that answers opens. ImportFileRejected lists all problems of the file.
   * ReviewIncomplete: `accept` is set, but a person must review the import first.
   */
  accountRpc(
    "importCsv",
    { path: Schema.String, store: Schema.String, accept: Schema.Boolean, ...acceptance },
    {
      success: ImportEvent,
      error: Schema.Union(ValidationFailed, NotFound, ReviewIncomplete, ImportFileRejected),
      stream: true
    }
  ),
  accountRpc(
    "refreshStore",
    { store: Schema.String, accept: Schema.Boolean, ...acceptance },
    {
      success: ImportEvent,
      error: Schema.Union(ValidationFailed, NotFound, ReviewIncomplete, PlatformReadError),
      stream: true
    }
  ),
  /** Conflicts with a number greater than `after`, in the order of their numbers. At most 500. */
  accountRpc(
    "listConflicts",
    { ...aboutImport, after: Schema.Int, limit: Schema.Int },
    { success: Schema.Array(ImportConflict), error: NotFound }
  ),
  /** Entities that the import removes from its store. Skips the first `after` of them. At most 500. */
  accountRpc(
    "listRemovals",
    { ...aboutImport, after: Schema.Int, limit: Schema.Int },
    { success: Schema.Array(PendingEntity), error: NotFound }
  ),
  /** Decides conflicts, and returns their number. ValidationFailed: the import is not under review, or has no such conflict. */
  accountRpc(
    "decideImport",
    {
      ...aboutImport,
      conflicts: Schema.Union(Schema.Array(Schema.Int), Schema.Literal("all")),
      decision: ConflictDecision
    },
    { success: Schema.Struct({ decided: Schema.Int }), error: Schema.Union(ValidationFailed, NotFound) }
  ),
  /** Accepts and applies an import. ValidationFailed (also of `discardImport`): the import is not under review. */
  accountRpc(
    "acceptImport",
    { ...aboutImport, ...acceptance },
    { success: ImportEvent, error: Schema.Union(ValidationFailed, NotFound, ReviewIncomplete), stream: true }
  ),
  accountRpc("discardImport", aboutImport, { success: ImportRun, error: Schema.Union(ValidationFailed, NotFound) }),
  accountRpc("showImport", aboutImport, { success: ImportRun, error: NotFound }),
  /** The newest 100 imports, newest first. */
  accountRpc("listImports", {}, { success: Schema.Array(ImportRun) }),
  /** The import that locks the account. */
  accountRpc("findLockingImport", {}, { success: Schema.Option(ImportRun) })
)

/** Events of an undo: the number of entities that are done, then the result. A dry run changes nothing. */
export const UndoEvent = Schema.Union(
  Schema.TaggedStruct("Progress", { done: Schema.Int, total: Schema.Int }),
  Schema.TaggedStruct("Done", {
    connection_id: ConnectionId,
    since: Timestamp,
    until: Timestamp,
    dry_run: Schema.Boolean,
    /** Number of entities and fields that were undone or, in a dry run, would be undone. */
    entities: Schema.Int,
    fields: Schema.Int,
    /** Number of fields that were not undone, except those that had their earlier values already. */
    left_alone: Schema.Int,
    /** The first 1,000 of the fields counted here; without a dry run, only those of `left_alone`. Values are cut at 200 characters. */
    listed: Schema.Array(FieldUndo)
  })
)
export type UndoEvent = typeof UndoEvent.Type

/** Commands about connections. NotFound: the account has no such connection. */
export const ConnectionRpcs = RpcGroup.make(
  /** All connections, including ended ones, newest first. */
  accountRpc("listConnections", {}, { success: Schema.Array(Connection) }),
  /** A connection, with its activity on the last 30 days and its newest 25 changes. */
  accountRpc(
    "showConnection",
    { id: Schema.String },
    {
      success: Schema.Struct({
        connection: Connection,
        days: Schema.Array(ActivityDay),
        changes: Schema.Array(ConnectionChange)
      }),
      error: NotFound
    }
  ),
  /** Undoes the connection's writes to drafts since a time (see `parseSince`). ValidationFailed: the time is malformed. */
  accountRpc(
    "undoConnection",
    { id: Schema.String, since: Schema.String, dryRun: Schema.Boolean },
    { success: UndoEvent, error: Schema.Union(NotFound, ValidationFailed, PimLocked), stream: true }
  )
)

/** The outcome on one store. `refused`: the publish request was refused. `skipped`: the store has no platform. */
const PublishResult = Schema.Struct({
  store_id: StoreId,
  store_domain: Schema.String,
  outcome: Schema.Literal("published", "failed", "nothing_to_publish", "refused", "skipped"),
  publication_id: Schema.NullOr(PublicationId),
  draft_revision: Schema.NullOr(Schema.Int),
  attempts: Schema.Int,
  error: Schema.NullOr(PublishError)
})
export type PublishResult = typeof PublishResult.Type

/** A store whose publish waits, and why. */
const WaitingStore = Schema.Struct({ store_domain: Schema.String, message: Schema.String })

/**
 * Events of a publish: the number of stores without an outcome (`open`), and those of them whose platform does not answer (`waiting`);
 * then all outcomes.
 */
export const PublishEvent = Schema.Union(
  Schema.TaggedStruct("Progress", { open: Schema.Int, total: Schema.Int, waiting: Schema.Array(WaitingStore) }),
  Schema.TaggedStruct("Done", { entity_id: EntityId, results: Schema.Array(PublishResult) })
)
export type PublishEvent = typeof PublishEvent.Type

/**
 * A store with a cancelled publish. `is_already`: it was cancelled before. `is_of_drop`: a drop takes its values out of the drafts.
 * `has_draft`: a draft waits to be published.
 */
const CancelledStore = Schema.Struct({
  store_id: StoreId,
  store_domain: Schema.String,
  is_already: Schema.Boolean,
  is_of_drop: Schema.Boolean,
  has_draft: Schema.Boolean
})
export type CancelledStore = typeof CancelledStore.Type

/**
 * `earlier`: those of the jobs that were begun by another command and are open. A server of an older version refuses their stores.
 * `refused`: stores for which no job was begun, and why.
 */
const begunJobs = {
  success: Schema.Struct({
    jobs: Schema.Array(Job),
    earlier: Schema.optionalWith(Schema.Array(JobId), { default: () => [] }),
    refused: Schema.Array(Schema.String)
  }),
  error: Schema.Union(NotFound, ValidationFailed, PimLocked)
}

/** Refusal and NotFound as for `DraftRpcs`. Refusal also: the entity is on no store. */
export const PublishRpcs = RpcGroup.make(
  /** Publishes to one store or to all stores of the entity, and waits. `again`: publishes even if nothing has changed. */
  accountRpc(
    "publish",
    { ...aboutDraft, store: optionalText, again: Schema.Boolean },
    { success: PublishEvent, error: Schema.Union(NotFound, ValidationFailed, PimLocked), stream: true }
  ),
  /** Cancels the publishes that wait, to one store or to all stores where one waits. */
  accountRpc(
    "cancelPublish",
    { ...aboutDraft, store: optionalText },
    {
      success: Schema.Struct({
        entity_id: EntityId,
        stores: Schema.Array(CancelledStore)
      }),
      error: Schema.Union(NotFound, ValidationFailed, PimLocked)
    }
  ),
  /** Begins a job for the store or, without `store`, for each store with publishes that wait. The answer is as for `publishAll`. */
  accountRpc("cancelPublishes", { store: optionalText }, begunJobs),
  /**
   * Begins a job for the store or, without `store`, for each store with unpublished drafts. Returns the jobs, or the open one that does the
   * same, and why other stores were refused. An error, such as another job that works on the store: no job was begun.
   */
  accountRpc("publishAll", { store: optionalText }, begunJobs)
)

/** Events of a scan: the number of scanned entities, if it takes long, then its result. */
export const ScanEvent = Schema.Union(
  Schema.TaggedStruct("Progress", { done: Schema.Number, total: Schema.Number }),
  Schema.TaggedStruct("Done", { snapshot: HealthSnapshot })
)
export type ScanEvent = typeof ScanEvent.Type

/** Commands about data health. Refusal: no such store is linked. */
export const HealthRpcs = RpcGroup.make(
  /** Reads the newest snapshots. With `store`, per-store dimensions have that store's snapshots. */
  accountRpc("showHealth", { store: optionalText }, { success: HealthOverview }),
  /** Streams the progress of the scan about twice a second, then its result. */
  accountRpc("scanHealth", { dimension: HealthDimension, store: optionalText }, { success: ScanEvent, stream: true }),
  /** Lists issues. `page`: from 1; `pageSize`: 1 to 100. ValidationFailed: no store of the account has the language. */
  accountRpc(
    "listHealthIssues",
    { section: HealthSection, page: Schema.Int, pageSize: Schema.Int, store: optionalText, locale: optionalText },
    { success: HealthIssuePage, error: ValidationFailed }
  ),
  accountRpc("showHealthRules", {}, { success: HealthRules }),
  accountRpc("setHealthRules", { rules: HealthRules }, { success: HealthRules, error: ValidationFailed }),
  /** Changes the required and the recommended fields. A level that is left out keeps its fields. */
  accountRpc(
    "changeHealthRules",
    { kind: EntityKind, levels: FieldsToFill.pipe(Schema.partialWith({ exact: true })) },
    { success: HealthRules, error: ValidationFailed }
  ),
  /** Changes checks. A rule that is left out keeps its value. */
  accountRpc(
    "changeHealthChecks",
    {
      divergence: DivergenceRules.pipe(Schema.partialWith({ exact: true })),
      structure: StructureRules.pipe(Schema.partialWith({ exact: true }))
    },
    { success: HealthRules }
  )
)

const aboutJob = { id: Schema.String }

/** Jobs of accounts that are being deleted are shown too. NotFound: the account has no such job. */
export const JobRpcs = RpcGroup.make(
  /** The newest 100, newest first. */
  anyAccountRpc("listJobs", {}, { success: Schema.Array(Job) }),
  anyAccountRpc("showJob", aboutJob, { success: Job, error: NotFound }),
  /** ValidationFailed: the command is not allowed in the job's state. */
  anyAccountRpc(
    "commandJob",
    { ...aboutJob, command: Schema.Literal("pause", "resume", "cancel") },
    { success: Job, error: Schema.Union(NotFound, ValidationFailed) }
  ),
  /**
   * Runs the job in this process until it has ended or is paused. Other workers may run at the same time. Streams the
   * job about twice a second.
   */
  anyAccountRpc("followJob", aboutJob, { success: Job, error: NotFound, stream: true })
)

/** A part of a file, as in `exports/Spool`. */
export const ExportPart = Schema.Struct({
  bytes: Schema.Uint8ArrayFromSelf,
  done: Schema.Int,
  total: Schema.Int,
  end: Schema.NullOr(Schema.Struct({ exportId: Schema.NullOr(ExportId), notes: Schema.Array(Schema.String) }))
})
export type ExportPart = typeof ExportPart.Type

/**
 * The selected entities: those with these ids, or those of the kind that the filters find. Null: the whole catalog, or all products of
 * the store.
 */
const selection = Schema.NullOr(
  Schema.Struct({ kind: EntityKind, ids: Schema.NullOr(Schema.Array(EntityId)), ...listFilters })
)
export type SelectionRpc = (typeof selection)["Type"]

export const ExportRpcs = RpcGroup.make(
  /** Refusal: also if an id is unknown. ValidationFailed: the filters find no entities, or too many. */
  accountRpc("exportJsonl", { selection }, { success: ExportPart, error: ValidationFailed, stream: true }),
  /** As for `exportJsonl`. ValidationFailed: also if `forPublish` is set and the store has a platform. */
  accountRpc(
    "exportCsv",
    { selection, store: Schema.String, forPublish: Schema.Boolean },
    { success: ExportPart, error: ValidationFailed, stream: true }
  ),
  /** Begins a job that counts a complete export as published. ValidationFailed: another job works on the store. */
  accountRpc(
    "publishExport",
    { store: Schema.String, exportId: ExportId },
    { success: Job, error: Schema.Union(NotFound, ValidationFailed) }
  )
)

const aboutWebhook = { id: Schema.String }

/** A webhook and its secret, which is sent in plain text, because only the owner of the process can read the socket. */
const WebhookSecret = Schema.Struct({ webhook: Webhook, secret: Schema.Redacted(Schema.String) })

/** NotFound: the account has no such webhook. */
export const WebhookRpcs = RpcGroup.make(
  /** `topics`: types of changes; none: all. ValidationFailed: see `Webhooks.create`. */
  accountRpc(
    "createWebhook",
    { url: Schema.String, topics: Schema.Array(Schema.String) },
    { success: WebhookSecret, error: ValidationFailed }
  ),
  /** Oldest first. */
  accountRpc("listWebhooks", {}, { success: Schema.Array(Webhook) }),
  /** A webhook and the first 100 of its changes that wait or are parked. */
  accountRpc("showWebhook", aboutWebhook, {
    success: Schema.Struct({ webhook: Webhook, setAside: Schema.Array(SetAside) }),
    error: NotFound
  }),
  accountRpc("testWebhook", aboutWebhook, { success: WebhookTest, error: NotFound }),
  /** `from`: see `Webhooks.replay`. */
  accountRpc(
    "replayWebhook",
    { ...aboutWebhook, from: Schema.optional(Schema.String) },
    { success: Webhook, error: Schema.Union(NotFound, ValidationFailed) }
  ),
  accountRpc("rotateWebhook", aboutWebhook, {
    success: WebhookSecret,
    error: Schema.Union(NotFound, ValidationFailed)
  }),
  accountRpc("deleteWebhook", aboutWebhook, { error: NotFound })
)

/** All commands. The process that has the database open runs them: this one, or another one reached over its socket. */
export const AdminRpcs = HelloRpcs.merge(
  AccessRpcs,
  StoreRpcs,
  ImportRpcs,
  DraftRpcs,
  PublishRpcs,
  ConnectionRpcs,
  HealthRpcs,
  JobRpcs,
  ExportRpcs,
  WebhookRpcs
)
