import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { ApiKey } from "../access/ApiKey.ts"
import { Scope } from "../access/ApiKeyToken.ts"
import { ActivityDay, ConnectionChange } from "../connections/ActivityRecord.ts"
import { Connection } from "../connections/Connection.ts"
import { FieldUndo } from "../connections/UndoRules.ts"
import { DivergenceRules } from "../drafts/Divergence.ts"
import { Draft, DraftState } from "../drafts/DraftWrite.ts"
import { HistoryEntry } from "../drafts/History.ts"
import { Drop, NewDrop } from "../drops/Drop.ts"
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
import { AttributeEdit } from "../model/AttributeRules.ts"
import { MetafieldDefinition, NewDefinition, OwnerType } from "../model/Definition.ts"
import { NotFound, PimLocked, RevisionConflict, ValidationFailed } from "../model/Errors.ts"
import { AccountId, ApiKeyId, ConnectionId, EntityId, ImportId, PublicationId, StoreId } from "../model/Ids.ts"
import { PublishError } from "../model/PublishState.ts"
import { Store } from "../model/Store.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { PlatformReadError } from "../platform/PlatformErrors.ts"
import { PendingEntity } from "../publishing/PublicationRecord.ts"
import { BulkRpcs } from "./BulkRpcs.ts"
import { ExportRpcs } from "./ExportRpcs.ts"
import { JobRpcs } from "./JobRpcs.ts"
import { PlatformRpcs } from "./PlatformRpcs.ts"
import { account, Refusal } from "./Refusal.ts"
import { SecretRpcs } from "./SecretRpcs.ts"
import { Invitation, UserRpcs } from "./UserRpcs.ts"
import { WebhookRpcs } from "./WebhookRpcs.ts"

const Account = Schema.Struct({ id: AccountId, name: Schema.String })

const CreatedKey = Schema.Struct({
  id: ApiKeyId,
  token: Schema.Redacted(Schema.String),
  name: Schema.String,
  scopes: Schema.Array(Scope),
  lastFour: Schema.String
})

/** Returns the pid of the process that answers, and the migrations of its database. */
export const HelloRpcs = RpcGroup.make(
  Rpc.make("hello", {
    success: Schema.Struct({ pid: Schema.Int, migrations: Schema.Array(Schema.String) })
  })
)

export const AccountRpcs = RpcGroup.make(
  /**
   * Creates an account, and its first user if `email` is given. ValidationFailed: the name is blank or over 200 characters, or the
   * e-mail address is malformed or belongs to a user of another account.
   */
  Rpc.make("createAccount", {
    payload: { name: Schema.String, email: Schema.optional(Schema.String) },
    success: Schema.Struct({ ...Account.fields, invitation: Schema.optional(Invitation) }),
    error: ValidationFailed
  }),
  /** All accounts, oldest first. */
  Rpc.make("listAccounts", {
    success: Schema.Array(
      Schema.Struct({ ...Account.fields, createdAt: Timestamp, deletingSince: Schema.NullOr(Timestamp) })
    )
  }),
  /**
   * Begins to delete an account. `name`: its name, which confirms the deletion. ValidationFailed: another name, or the account is
   * being deleted already.
   */
  Rpc.make("deleteAccount", {
    payload: { id: Schema.String, name: Schema.String },
    success: Job,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked)
  }),
  /** Creates another demo account with a user and a key that can read and write. */
  Rpc.make("createDemo", {
    success: Schema.Struct({ account: Account, key: CreatedKey, invitation: Invitation })
  })
)

export const KeyRpcs = RpcGroup.make(
  /** `expiresAt` null: the key never expires. ValidationFailed: no name, no scope, an unknown scope, or an expiry in the past. */
  Rpc.make("createKey", {
    payload: {
      account,
      name: Schema.String,
      scopes: Schema.Array(Schema.String),
      expiresAt: Schema.NullOr(Timestamp)
    },
    success: CreatedKey,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** All keys, including revoked and expired ones, oldest first. */
  Rpc.make("listKeys", {
    payload: { account },
    success: Schema.Array(ApiKey),
    error: Refusal
  }),
  /** Revokes a key. `key`: its id or name, as typed. A revoked key can be revoked again. */
  Rpc.make("revokeKey", {
    payload: { account, key: Schema.String },
    success: Schema.Struct({ id: ApiKeyId }),
    error: Schema.Union(Refusal, NotFound)
  })
)

/**
 * A store that was linked or unlinked. `job` computes the derived fields of its entities again; null: the store has no
 * entities. `isVerified`: its adapter verifies stores. `options`: the options with which `store link` links it again,
 * for example `--platform shopify --token-file FILE`.
 */
const StoreChange = Schema.Struct({
  store: Store,
  job: Schema.NullOr(Job),
  isVerified: Schema.Boolean,
  options: Schema.String
})

export const StoreRpcs = RpcGroup.make(
  /** Missing properties keep their values, or have defaults for a new store. `credentials`: by field. Errors: see `Stores.beginLink`. */
  Rpc.make("linkStore", {
    payload: {
      account,
      domain: Schema.String,
      name: Schema.optional(Schema.String),
      platform: Schema.optional(Schema.String),
      primaryLocale: Schema.optional(Schema.String),
      currency: Schema.optional(Schema.String),
      credentials: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Redacted(Schema.String) }))
    },
    success: StoreChange,
    error: Schema.Union(Refusal, ValidationFailed, PimLocked, PlatformReadError)
  }),
  Rpc.make("unlinkStore", {
    payload: { account, domain: Schema.String },
    success: StoreChange,
    error: Schema.Union(Refusal, ValidationFailed, PimLocked)
  }),
  /** All linked stores, sorted by domain. */
  Rpc.make("listStores", { payload: { account }, success: Schema.Array(Store), error: Refusal })
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

const aboutImport = { account, id: Schema.String }

/** `rest`: the decision for undecided conflicts. `remove`: confirms the removal of entities that the store no longer has. */
const acceptance = { rest: Schema.NullOr(ConflictDecision), remove: Schema.Boolean }

export const ImportRpcs = RpcGroup.make(
  /**
   * `path`: an absolute path, which the process that answers opens. ImportFileRejected lists all problems of the file.
   * ReviewIncomplete: `accept` is set, but a person must review the import first.
   */
  Rpc.make("importCsv", {
    payload: { account, path: Schema.String, store: Schema.String, accept: Schema.Boolean, ...acceptance },
    success: ImportEvent,
    error: Schema.Union(Refusal, ValidationFailed, NotFound, ReviewIncomplete, ImportFileRejected),
    stream: true
  }),
  Rpc.make("refreshStore", {
    payload: { account, store: Schema.String, accept: Schema.Boolean, ...acceptance },
    success: ImportEvent,
    error: Schema.Union(Refusal, ValidationFailed, NotFound, ReviewIncomplete, PlatformReadError),
    stream: true
  }),
  /** Conflicts with a number greater than `after`, in the order of their numbers. At most 500. */
  Rpc.make("listConflicts", {
    payload: { ...aboutImport, after: Schema.Int, limit: Schema.Int },
    success: Schema.Array(ImportConflict),
    error: Schema.Union(Refusal, NotFound)
  }),
  /** Entities that the import removes from its store. Skips the first `after` of them. At most 500. */
  Rpc.make("listRemovals", {
    payload: { ...aboutImport, after: Schema.Int, limit: Schema.Int },
    success: Schema.Array(PendingEntity),
    error: Schema.Union(Refusal, NotFound)
  }),
  /** Decides conflicts, and returns their number. ValidationFailed: the import is not under review, or has no such conflict. */
  Rpc.make("decideImport", {
    payload: {
      ...aboutImport,
      conflicts: Schema.Union(Schema.Array(Schema.Int), Schema.Literal("all")),
      decision: ConflictDecision
    },
    success: Schema.Struct({ decided: Schema.Int }),
    error: Schema.Union(Refusal, ValidationFailed, NotFound)
  }),
  /** Accepts and applies an import. ValidationFailed (also of `discardImport`): the import is not under review. */
  Rpc.make("acceptImport", {
    payload: { ...aboutImport, ...acceptance },
    success: ImportEvent,
    error: Schema.Union(Refusal, ValidationFailed, NotFound, ReviewIncomplete),
    stream: true
  }),
  Rpc.make("discardImport", {
    payload: aboutImport,
    success: ImportRun,
    error: Schema.Union(Refusal, ValidationFailed, NotFound)
  }),
  Rpc.make("showImport", { payload: aboutImport, success: ImportRun, error: Schema.Union(Refusal, NotFound) }),
  /** All imports, newest first. */
  Rpc.make("listImports", { payload: { account }, success: Schema.Array(ImportRun), error: Refusal })
)

/** Texts as typed: `entity` is an id, handle or SKU, and `store` a domain or id. */
const aboutDraft = { account, entity: Schema.String }
const text = Schema.optionalWith(Schema.String, { as: "Option" })
const onStore = text

/** Commands about drafts. Refusal: no such store is linked. NotFound: the account has no such entity, or it is not on the store. */
export const DraftRpcs = RpcGroup.make(
  /** Reads the canonical values or, with `store`, the values on that store. */
  Rpc.make("showDraft", {
    payload: { ...aboutDraft, store: onStore },
    success: Draft,
    error: Schema.Union(Refusal, NotFound)
  }),
  /** Writes values. `revision`: the draft revision on which they are based. */
  Rpc.make("setDraft", {
    payload: { ...aboutDraft, store: onStore, revision: Schema.Int, attributes: Schema.Array(AttributeEdit) },
    success: DraftState,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked, RevisionConflict)
  }),
  /** Adds an entity to a store. ValidationFailed: it is on the store already, or it is a variant whose product is not. */
  Rpc.make("addStoreVersion", {
    payload: { ...aboutDraft, store: Schema.String },
    success: DraftState,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked)
  }),
  /** The history of an entity, newest first. `limit`: at most 250. */
  Rpc.make("showHistory", {
    payload: { ...aboutDraft, limit: Schema.Int },
    success: Schema.Struct({ entity_id: EntityId, history: Schema.Array(HistoryEntry) }),
    error: Schema.Union(Refusal, NotFound)
  })
)

const Defined = Schema.Struct({
  definition: MetafieldDefinition,
  /** Number of entities whose values of this key got the definition's type. */
  retyped: Schema.Int
})

export const DefinitionRpcs = RpcGroup.make(
  Rpc.make("createDefinition", {
    payload: { account, definition: NewDefinition },
    success: Defined,
    error: Schema.Union(Refusal, ValidationFailed, PimLocked)
  }),
  Rpc.make("setDefinitionType", {
    payload: { account, owner: EntityKind, key: Schema.String, type: Schema.String },
    success: Defined,
    error: Schema.Union(Refusal, ValidationFailed, PimLocked)
  }),
  /** All definitions, including those of stores, sorted by owner type, namespace and key. */
  Rpc.make("listDefinitions", {
    payload: { account, owner: Schema.NullOr(OwnerType) },
    success: Schema.Array(MetafieldDefinition),
    error: Refusal
  })
)

const aboutDrop = { account, id: Schema.String }

export const DropRpcs = RpcGroup.make(
  /** Creates a drop. `store_id` of a change can be the id or the domain of a store. */
  Rpc.make("createDrop", {
    payload: { account, drop: Schema.typeSchema(NewDrop) },
    success: Drop,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** All drops, sorted by their start times. */
  Rpc.make("listDrops", { payload: { account }, success: Schema.Array(Drop), error: Refusal }),
  Rpc.make("showDrop", { payload: aboutDrop, success: Drop, error: Schema.Union(Refusal, NotFound) }),
  /** Cancels a drop. ValidationFailed: the drop has started, or is cancelled already. */
  Rpc.make("cancelDrop", {
    payload: aboutDrop,
    success: Drop,
    error: Schema.Union(Refusal, NotFound, ValidationFailed)
  })
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
  Rpc.make("listConnections", { payload: { account }, success: Schema.Array(Connection), error: Refusal }),
  /** A connection, with its activity on the last 30 days and its newest 25 changes. */
  Rpc.make("showConnection", {
    payload: { account, id: Schema.String },
    success: Schema.Struct({
      connection: Connection,
      days: Schema.Array(ActivityDay),
      changes: Schema.Array(ConnectionChange)
    }),
    error: Schema.Union(Refusal, NotFound)
  }),
  /** Undoes the connection's writes to drafts since a time (see `parseSince`). ValidationFailed: the time is malformed. */
  Rpc.make("undoConnection", {
    payload: { account, id: Schema.String, since: Schema.String, dryRun: Schema.Boolean },
    success: UndoEvent,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked),
    stream: true
  })
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

/** Events of a publish: the number of stores without an outcome (`open`), then all outcomes. */
export const PublishEvent = Schema.Union(
  Schema.TaggedStruct("Progress", { open: Schema.Int, total: Schema.Int }),
  Schema.TaggedStruct("Done", { entity_id: EntityId, results: Schema.Array(PublishResult) })
)
export type PublishEvent = typeof PublishEvent.Type

/** Refusal and NotFound as for `DraftRpcs`. Refusal also: the entity is on no store. */
export const PublishRpcs = RpcGroup.make(
  /** Publishes to one store or to all stores of the entity, and waits. `again`: publishes even if nothing has changed. */
  Rpc.make("publish", {
    payload: { ...aboutDraft, store: onStore, again: Schema.Boolean },
    success: PublishEvent,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked),
    stream: true
  }),
  /**
   * Begins a job for the store or, without `store`, for each store with unpublished drafts. Returns the jobs.
   * ValidationFailed: another job works on the store.
   */
  Rpc.make("publishAll", {
    payload: { account, store: onStore },
    success: Schema.Array(Job),
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked)
  })
)

/** Commands about data health. Refusal: no such store is linked. */
export const HealthRpcs = RpcGroup.make(
  /** Reads the newest snapshots. With `store`, per-store dimensions have that store's snapshots. */
  Rpc.make("showHealth", { payload: { account, store: onStore }, success: HealthOverview, error: Refusal }),
  Rpc.make("scanHealth", {
    payload: { account, dimension: HealthDimension, store: onStore },
    success: HealthSnapshot,
    error: Refusal
  }),
  /** Lists issues. `page`: from 1; `pageSize`: 1 to 100. ValidationFailed: no store of the account has the language. */
  Rpc.make("listHealthIssues", {
    payload: {
      account,
      section: HealthSection,
      page: Schema.Int,
      pageSize: Schema.Int,
      store: onStore,
      locale: text
    },
    success: HealthIssuePage,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  Rpc.make("showHealthRules", { payload: { account }, success: HealthRules, error: Refusal }),
  Rpc.make("setHealthRules", {
    payload: { account, rules: HealthRules },
    success: HealthRules,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** Changes the required and the recommended fields. A level that is left out keeps its fields. */
  Rpc.make("changeHealthRules", {
    payload: { account, kind: EntityKind, levels: FieldsToFill.pipe(Schema.partialWith({ exact: true })) },
    success: HealthRules,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** Changes checks. A rule that is left out keeps its value. */
  Rpc.make("changeHealthChecks", {
    payload: {
      account,
      divergence: DivergenceRules.pipe(Schema.partialWith({ exact: true })),
      structure: StructureRules.pipe(Schema.partialWith({ exact: true }))
    },
    success: HealthRules,
    error: Refusal
  })
)

/** All commands. The process that has the database open runs them: this one, or another one reached over its socket. */
export const AdminRpcs = HelloRpcs.merge(
  AccountRpcs,
  KeyRpcs,
  UserRpcs,
  StoreRpcs,
  PlatformRpcs,
  ImportRpcs,
  DraftRpcs,
  BulkRpcs,
  PublishRpcs,
  ConnectionRpcs,
  DropRpcs,
  DefinitionRpcs,
  HealthRpcs,
  JobRpcs,
  ExportRpcs,
  SecretRpcs,
  WebhookRpcs
)
