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
import { accountRpc, anyAccountRpc } from "./AccountRpc.ts"
import { BulkRpcs } from "./BulkRpcs.ts"
import { ExportRpcs } from "./ExportRpcs.ts"
import { JobRpcs } from "./JobRpcs.ts"
import { optionalText } from "./ListFilters.ts"
import { PlatformRpcs } from "./PlatformRpcs.ts"
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
  anyAccountRpc(
    "deleteAccount",
    { name: Schema.String },
    { success: Job, error: Schema.Union(NotFound, ValidationFailed, PimLocked) }
  ),
  /** Creates another demo account with a user and a key that can read and write. */
  Rpc.make("createDemo", {
    success: Schema.Struct({ account: Account, key: CreatedKey, invitation: Invitation })
  })
)

export const KeyRpcs = RpcGroup.make(
  /** `expiresAt` null: the key never expires. ValidationFailed: no name, no scope, an unknown scope, or an expiry in the past. */
  accountRpc(
    "createKey",
    { name: Schema.String, scopes: Schema.Array(Schema.String), expiresAt: Schema.NullOr(Timestamp) },
    { success: CreatedKey, error: ValidationFailed }
  ),
  /** All keys, including revoked and expired ones, oldest first. */
  accountRpc("listKeys", {}, { success: Schema.Array(ApiKey) }),
  /** Revokes a key. `key`: its id or name, as typed. A revoked key can be revoked again. */
  accountRpc("revokeKey", { key: Schema.String }, { success: Schema.Struct({ id: ApiKeyId }), error: NotFound })
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
  accountRpc(
    "linkStore",
    {
      domain: Schema.String,
      name: Schema.optional(Schema.String),
      platform: Schema.optional(Schema.String),
      primaryLocale: Schema.optional(Schema.String),
      currency: Schema.optional(Schema.String),
      credentials: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Redacted(Schema.String) }))
    },
    { success: StoreChange, error: Schema.Union(ValidationFailed, PimLocked, PlatformReadError) }
  ),
  accountRpc(
    "unlinkStore",
    { domain: Schema.String },
    { success: StoreChange, error: Schema.Union(ValidationFailed, PimLocked) }
  ),
  /** All linked stores, sorted by domain. */
  accountRpc("listStores", {}, { success: Schema.Array(Store) })
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
  /** All imports, newest first. */
  accountRpc("listImports", {}, { success: Schema.Array(ImportRun) })
)

/** Texts as typed: `entity` is an id, handle or SKU, and `store` a domain or id. */
const aboutDraft = { entity: Schema.String }

/** Commands about drafts. Refusal: no such store is linked. NotFound: the account has no such entity, or it is not on the store. */
export const DraftRpcs = RpcGroup.make(
  /** Reads the canonical values or, with `store`, the values on that store. */
  accountRpc("showDraft", { ...aboutDraft, store: optionalText }, { success: Draft, error: NotFound }),
  /** Writes values. `revision`: the draft revision on which they are based. */
  accountRpc(
    "setDraft",
    { ...aboutDraft, store: optionalText, revision: Schema.Int, attributes: Schema.Array(AttributeEdit) },
    { success: DraftState, error: Schema.Union(NotFound, ValidationFailed, PimLocked, RevisionConflict) }
  ),
  /** Adds an entity to a store. ValidationFailed: it is on the store already, or it is a variant whose product is not. */
  accountRpc(
    "addStoreVersion",
    { ...aboutDraft, store: Schema.String },
    { success: DraftState, error: Schema.Union(NotFound, ValidationFailed, PimLocked) }
  ),
  /** The history of an entity, newest first. `limit`: at most 250. */
  accountRpc(
    "showHistory",
    { ...aboutDraft, limit: Schema.Int },
    { success: Schema.Struct({ entity_id: EntityId, history: Schema.Array(HistoryEntry) }), error: NotFound }
  )
)

const Defined = Schema.Struct({
  definition: MetafieldDefinition,
  /** Number of entities whose values of this key got the definition's type. */
  retyped: Schema.Int
})

export const DefinitionRpcs = RpcGroup.make(
  accountRpc(
    "createDefinition",
    { definition: NewDefinition },
    { success: Defined, error: Schema.Union(ValidationFailed, PimLocked) }
  ),
  accountRpc(
    "setDefinitionType",
    { owner: EntityKind, key: Schema.String, type: Schema.String },
    { success: Defined, error: Schema.Union(ValidationFailed, PimLocked) }
  ),
  /** All definitions, including those of stores, sorted by owner type, namespace and key. */
  accountRpc("listDefinitions", { owner: Schema.NullOr(OwnerType) }, { success: Schema.Array(MetafieldDefinition) })
)

const aboutDrop = { id: Schema.String }

export const DropRpcs = RpcGroup.make(
  /** Creates a drop. `store_id` of a change can be the id or the domain of a store. */
  accountRpc("createDrop", { drop: Schema.typeSchema(NewDrop) }, { success: Drop, error: ValidationFailed }),
  /** All drops, sorted by their start times. */
  accountRpc("listDrops", {}, { success: Schema.Array(Drop) }),
  accountRpc("showDrop", aboutDrop, { success: Drop, error: NotFound }),
  /** Cancels a drop. ValidationFailed: the drop has started, or is cancelled already. */
  accountRpc("cancelDrop", aboutDrop, { success: Drop, error: Schema.Union(NotFound, ValidationFailed) })
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

/** Events of a publish: the number of stores without an outcome (`open`), then all outcomes. */
export const PublishEvent = Schema.Union(
  Schema.TaggedStruct("Progress", { open: Schema.Int, total: Schema.Int }),
  Schema.TaggedStruct("Done", { entity_id: EntityId, results: Schema.Array(PublishResult) })
)
export type PublishEvent = typeof PublishEvent.Type

/** Refusal and NotFound as for `DraftRpcs`. Refusal also: the entity is on no store. */
export const PublishRpcs = RpcGroup.make(
  /** Publishes to one store or to all stores of the entity, and waits. `again`: publishes even if nothing has changed. */
  accountRpc(
    "publish",
    { ...aboutDraft, store: optionalText, again: Schema.Boolean },
    { success: PublishEvent, error: Schema.Union(NotFound, ValidationFailed, PimLocked), stream: true }
  ),
  /**
   * Begins a job for the store or, without `store`, for each store with unpublished drafts. Returns the jobs.
   * ValidationFailed: another job works on the store.
   */
  accountRpc(
    "publishAll",
    { store: optionalText },
    { success: Schema.Array(Job), error: Schema.Union(NotFound, ValidationFailed, PimLocked) }
  )
)

/** Commands about data health. Refusal: no such store is linked. */
export const HealthRpcs = RpcGroup.make(
  /** Reads the newest snapshots. With `store`, per-store dimensions have that store's snapshots. */
  accountRpc("showHealth", { store: optionalText }, { success: HealthOverview }),
  accountRpc("scanHealth", { dimension: HealthDimension, store: optionalText }, { success: HealthSnapshot }),
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
