import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { ApiKey } from "../access/ApiKey.ts"
import { Scope } from "../access/ApiKeyToken.ts"
import { User } from "../access/User.ts"
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
import { PlatformRecord } from "../platform/PlatformRecord.ts"
import { PendingEntity } from "../publishing/PublicationRecord.ts"
import { JobRpcs } from "./JobRpcs.ts"
import { account, Refusal } from "./Refusal.ts"

const Account = Schema.Struct({ id: AccountId, name: Schema.String })

/** A one-time link. Its token, like all tokens here, is sent in plain text: only the owner of the process can read the socket. */
const Invitation = Schema.Struct({ email: Schema.String, token: Schema.Redacted(Schema.String) })

const CreatedKey = Schema.Struct({
  id: ApiKeyId,
  token: Schema.Redacted(Schema.String),
  name: Schema.String,
  scopes: Schema.Array(Scope),
  lastFour: Schema.String
})

/** The process that answers, and the migrations that its database has. */
export const HelloRpcs = RpcGroup.make(
  Rpc.make("hello", {
    success: Schema.Struct({ pid: Schema.Int, migrations: Schema.Array(Schema.String) })
  })
)

export const AccountRpcs = RpcGroup.make(
  /**
   * `email` is the first user's. ValidationFailed: the name is blank or over 200 characters, or the e-mail address is malformed or
   * belongs to a user of another account.
   */
  Rpc.make("createAccount", {
    payload: { name: Schema.String, email: Schema.optional(Schema.String) },
    success: Schema.Struct({ ...Account.fields, invitation: Schema.optional(Invitation) }),
    error: ValidationFailed
  }),
  /** Oldest first. */
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
  /** `expiresAt` null: never. ValidationFailed: no name, no scope, an unknown scope, or an expiry in the past. */
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
  /** Includes revoked and expired keys; oldest first. */
  Rpc.make("listKeys", {
    payload: { account },
    success: Schema.Array(ApiKey),
    error: Refusal
  }),
  /** `key`: id or name, as typed. A revoked key can be revoked again. */
  Rpc.make("revokeKey", {
    payload: { account, key: Schema.String },
    success: Schema.Struct({ id: ApiKeyId }),
    error: Schema.Union(Refusal, NotFound)
  })
)

export const UserRpcs = RpcGroup.make(
  /** The address of the service when it last started. Null: it never started. */
  Rpc.make("serviceAddress", { success: Schema.NullOr(Schema.String) }),
  Rpc.make("inviteUser", {
    payload: { account, email: Schema.String },
    success: Invitation,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** Includes disabled users; oldest first. */
  Rpc.make("listUsers", { payload: { account }, success: Schema.Array(User), error: Refusal }),
  /** A disabled user can be disabled again. */
  Rpc.make("disableUser", { payload: { account, email: Schema.String }, error: Schema.Union(Refusal, NotFound) })
)

/** A store that was linked or unlinked, and the job that derives its entities again; null: it has none. */
const StoreChange = Schema.Struct({ store: Store, job: Schema.NullOr(Job) })

export const StoreRpcs = RpcGroup.make(
  /** Missing properties keep their values, or have defaults for a new store. `token` is for Shopify. Errors: see `Stores.beginLink`. */
  Rpc.make("linkStore", {
    payload: {
      account,
      domain: Schema.String,
      name: Schema.optional(Schema.String),
      platform: Schema.optional(Schema.String),
      primaryLocale: Schema.optional(Schema.String),
      currency: Schema.optional(Schema.String),
      token: Schema.optional(Schema.Redacted(Schema.String))
    },
    success: StoreChange,
    error: Schema.Union(Refusal, ValidationFailed, PimLocked, PlatformReadError)
  }),
  Rpc.make("unlinkStore", {
    payload: { account, domain: Schema.String },
    success: StoreChange,
    error: Schema.Union(Refusal, ValidationFailed, PimLocked)
  }),
  /** Encrypts the tokens of all stores, of all accounts, with the current key. ValidationFailed: SECRET_KEY is not set. */
  Rpc.make("rotateSecrets", {
    success: Schema.Struct({
      rotated: Schema.Int,
      current: Schema.Int,
      unreadable: Schema.Array(Schema.Struct({ accountId: AccountId, domain: Schema.String }))
    }),
    error: ValidationFailed
  }),
  /** By domain. */
  Rpc.make("listStores", { payload: { account }, success: Schema.Array(Store), error: Refusal })
)

/** ValidationFailed: the store is not linked, or does not have the demo platform. */
export const PlatformRpcs = RpcGroup.make(
  /**
   * Reads an entity from the store's platform. `record` null: the store does not have it. Refusal: the store is not linked or has
   * no platform. NotFound: the account has no such entity.
   */
  Rpc.make("showPlatform", {
    payload: { account, store: Schema.String, entity: Schema.String },
    success: Schema.Struct({ entityId: EntityId, store: Store, record: Schema.NullOr(PlatformRecord) }),
    error: Schema.Union(Refusal, NotFound, PlatformReadError)
  }),
  /** NotFound: the shop does not have the entity. ValidationFailed: the value is invalid. */
  Rpc.make("editPlatform", {
    payload: { account, store: Schema.String, entity: Schema.String, key: Schema.String, value: Schema.String },
    success: Schema.Struct({ entityId: EntityId, old: Schema.String, new: Schema.String }),
    error: Schema.Union(Refusal, ValidationFailed, NotFound)
  }),
  Rpc.make("failPlatform", {
    payload: {
      account,
      store: Schema.String,
      kind: Schema.Literal("delay", "error", "refuse", "lost"),
      percent: Schema.Int,
      delayMillis: Schema.Int
    },
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  Rpc.make("mendPlatform", {
    payload: { account, store: Schema.String },
    error: Schema.Union(Refusal, ValidationFailed)
  })
)

/** The progress of an import, and at last the import at its end. */
export const ImportEvent = Schema.Union(
  Schema.TaggedStruct("Progress", {
    step: Schema.Literal("checking", "fetching", "comparing", "applying"),
    done: Schema.Int,
    /** 0: unknown. */
    total: Schema.Int,
    /** Null until the import is applied. */
    import_id: Schema.NullOr(ImportId)
  }),
  Schema.TaggedStruct("Done", { run: ImportRun })
)
export type ImportEvent = typeof ImportEvent.Type

const aboutImport = { account, id: Schema.String }

/** `rest`: the decision for undecided conflicts. `remove`: confirms the removal of entities that left the store. */
const acceptance = { rest: Schema.NullOr(ConflictDecision), remove: Schema.Boolean }

export const ImportRpcs = RpcGroup.make(
  /**
   * `path`: absolute; the process that answers opens the file. ImportFileRejected lists all problems of the file.
   * ReviewIncomplete: `accept` was given, but the import needs a review first.
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
  /** Conflicts in the order of their numbers, after the number `after`; at most 500. */
  Rpc.make("listConflicts", {
    payload: { ...aboutImport, after: Schema.Int, limit: Schema.Int },
    success: Schema.Array(ImportConflict),
    error: Schema.Union(Refusal, NotFound)
  }),
  /** Entities that the import removes from its store, without the first `after` of them; at most 500. */
  Rpc.make("listRemovals", {
    payload: { ...aboutImport, after: Schema.Int, limit: Schema.Int },
    success: Schema.Array(PendingEntity),
    error: Schema.Union(Refusal, NotFound)
  }),
  /** Returns the number of decided conflicts. ValidationFailed: the import is not under review, or has no such conflict. */
  Rpc.make("decideImport", {
    payload: {
      ...aboutImport,
      conflicts: Schema.Union(Schema.Array(Schema.Int), Schema.Literal("all")),
      decision: ConflictDecision
    },
    success: Schema.Struct({ decided: Schema.Int }),
    error: Schema.Union(Refusal, ValidationFailed, NotFound)
  }),
  /** ValidationFailed, also of `discardImport`: the import is not under review. */
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
  /** Newest first. */
  Rpc.make("listImports", { payload: { account }, success: Schema.Array(ImportRun), error: Refusal })
)

/** `entity`: id, handle or SKU. `store`: domain or id. Both as typed. */
const aboutDraft = { account, entity: Schema.String }
const text = Schema.optionalWith(Schema.String, { as: "Option" })
const onStore = text

/** Refusal: also if no such store is linked. NotFound: the account has no such entity, or the entity is not on the store. */
export const DraftRpcs = RpcGroup.make(
  /** The canonical values; with `store`, the values on that store. */
  Rpc.make("showDraft", {
    payload: { ...aboutDraft, store: onStore },
    success: Draft,
    error: Schema.Union(Refusal, NotFound)
  }),
  /** `revision`: the draft revision on which the new values are based. */
  Rpc.make("setDraft", {
    payload: { ...aboutDraft, store: onStore, revision: Schema.Int, attributes: Schema.Array(AttributeEdit) },
    success: DraftState,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked, RevisionConflict)
  }),
  /** ValidationFailed: the entity is on the store already, or is a variant whose product is not. */
  Rpc.make("addStoreVersion", {
    payload: { ...aboutDraft, store: Schema.String },
    success: DraftState,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked)
  }),
  /** Newest first, at most 250. */
  Rpc.make("showHistory", {
    payload: { ...aboutDraft, limit: Schema.Int },
    success: Schema.Struct({ entity_id: EntityId, history: Schema.Array(HistoryEntry) }),
    error: Schema.Union(Refusal, NotFound)
  })
)

const Defined = Schema.Struct({
  definition: MetafieldDefinition,
  /** Number of entities whose values got the definition's type. */
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
  /** Includes the stores' definitions; in the order of owner type, namespace and key. */
  Rpc.make("listDefinitions", {
    payload: { account, owner: Schema.NullOr(OwnerType) },
    success: Schema.Array(MetafieldDefinition),
    error: Refusal
  })
)

const aboutDrop = { account, id: Schema.String }

export const DropRpcs = RpcGroup.make(
  /** `store_id` of a change: id or domain of a store. */
  Rpc.make("createDrop", {
    payload: { account, drop: Schema.typeSchema(NewDrop) },
    success: Drop,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** In the order of their starts. */
  Rpc.make("listDrops", { payload: { account }, success: Schema.Array(Drop), error: Refusal }),
  Rpc.make("showDrop", { payload: aboutDrop, success: Drop, error: Schema.Union(Refusal, NotFound) }),
  /** ValidationFailed: the drop has started, or is already cancelled. */
  Rpc.make("cancelDrop", {
    payload: aboutDrop,
    success: Drop,
    error: Schema.Union(Refusal, NotFound, ValidationFailed)
  })
)

/** Entities that are done, and at last the result. A dry run changes nothing. */
export const UndoEvent = Schema.Union(
  Schema.TaggedStruct("Progress", { done: Schema.Int, total: Schema.Int }),
  Schema.TaggedStruct("Done", {
    connection_id: ConnectionId,
    since: Timestamp,
    until: Timestamp,
    dry_run: Schema.Boolean,
    /** Number of entities and fields that went back, or would go back. */
    entities: Schema.Int,
    fields: Schema.Int,
    /** Number of fields that were left alone, except those that had their earlier values already. */
    left_alone: Schema.Int,
    /** The first 1,000 of these fields; without a dry run, only those that were left alone. Values are cut at 200 characters. */
    listed: Schema.Array(FieldUndo)
  })
)
export type UndoEvent = typeof UndoEvent.Type

/** NotFound: the account has no such connection. */
export const ConnectionRpcs = RpcGroup.make(
  /** Includes ended connections; newest first. */
  Rpc.make("listConnections", { payload: { account }, success: Schema.Array(Connection), error: Refusal }),
  /** With its days of the last 30 and its newest 25 changes. */
  Rpc.make("showConnection", {
    payload: { account, id: Schema.String },
    success: Schema.Struct({
      connection: Connection,
      days: Schema.Array(ActivityDay),
      changes: Schema.Array(ConnectionChange)
    }),
    error: Schema.Union(Refusal, NotFound)
  }),
  /** Takes back its writes to drafts since a time: see `parseSince`. ValidationFailed: the time is malformed. */
  Rpc.make("undoConnection", {
    payload: { account, id: Schema.String, since: Schema.String, dryRun: Schema.Boolean },
    success: UndoEvent,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked),
    stream: true
  })
)

/** The outcome of a publish on one store. `refused`: the request was not valid. `skipped`: the store has no platform. */
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

/** The number of stores without an outcome yet, and at last all outcomes. */
export const PublishEvent = Schema.Union(
  Schema.TaggedStruct("Progress", { open: Schema.Int, total: Schema.Int }),
  Schema.TaggedStruct("Done", { entity_id: EntityId, results: Schema.Array(PublishResult) })
)
export type PublishEvent = typeof PublishEvent.Type

/** Refusal, NotFound: as for drafts. Refusal: also if the entity is on no store. */
export const PublishRpcs = RpcGroup.make(
  /** Publishes to one store, or to all stores of the entity, and waits. `again`: also if nothing changed since the last publish. */
  Rpc.make("publish", {
    payload: { ...aboutDraft, store: onStore, again: Schema.Boolean },
    success: PublishEvent,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked),
    stream: true
  }),
  /**
   * Begins a job for the store, or for each store that unpublished drafts wait for, and returns them. ValidationFailed: another
   * job works on the store.
   */
  Rpc.make("publishAll", {
    payload: { account, store: onStore },
    success: Schema.Array(Job),
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked)
  })
)

/** Refusal: also if no such store is linked. */
export const HealthRpcs = RpcGroup.make(
  /** With `store`: that store's snapshots for per-store dimensions. */
  Rpc.make("showHealth", { payload: { account, store: onStore }, success: HealthOverview, error: Refusal }),
  Rpc.make("scanHealth", {
    payload: { account, dimension: HealthDimension, store: onStore },
    success: HealthSnapshot,
    error: Refusal
  }),
  /** `page` from 1; `pageSize` from 1 to 100. ValidationFailed: a language that no store of the account has. */
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
  /** A missing level keeps its fields. */
  Rpc.make("changeHealthRules", {
    payload: { account, kind: EntityKind, levels: FieldsToFill.pipe(Schema.partialWith({ exact: true })) },
    success: HealthRules,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** A missing rule keeps its value. */
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

/** The commands of the process that has the database open: this one, or another one reached over its socket. */
export const AdminRpcs = HelloRpcs.merge(
  AccountRpcs,
  KeyRpcs,
  UserRpcs,
  StoreRpcs,
  PlatformRpcs,
  ImportRpcs,
  DraftRpcs,
  PublishRpcs,
  ConnectionRpcs,
  DropRpcs,
  DefinitionRpcs,
  HealthRpcs,
  JobRpcs
)
