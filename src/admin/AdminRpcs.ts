import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { ApiKey } from "../access/ApiKey.ts"
import { Scope } from "../access/ApiKeyToken.ts"
import { User } from "../access/User.ts"
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
import { EntityKind } from "../model/Attribute.ts"
import { AttributeEdit } from "../model/AttributeRules.ts"
import { MetafieldDefinition, NewDefinition, OwnerType } from "../model/Definition.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { NotFound, PimLocked, RevisionConflict, ValidationFailed } from "../model/Errors.ts"
import { AccountId, ApiKeyId, EntityId, ImportId, PublicationId, StoreId } from "../model/Ids.ts"
import { PublishError } from "../model/PublishState.ts"
import { Store } from "../model/Store.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { PlatformReadError } from "../platform/PlatformErrors.ts"
import { PlatformRecord } from "../platform/PlatformRecord.ts"
import { PendingEntity } from "../publishing/PublicationRecord.ts"

/** A command that cannot be carried out as it was given. `message` is one line that a person reads. */
export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", {
  message: Schema.String,
  /** As REST would say it. */
  code: Schema.optionalWith(Schema.String, { default: () => errorCode.ValidationFailed })
}) {}

/** Id of the account that a command is about, as a person wrote it; without one, the only account there is. */
const account = Schema.optionalWith(Schema.String, { as: "Option" })

const Account = Schema.Struct({ id: AccountId, name: Schema.String })

/** Whom a one-time link is for. The token goes over the wire as it is: nobody but the owner of the process can listen. */
const Invitation = Schema.Struct({ email: Schema.String, token: Schema.Redacted(Schema.String) })

/** The token goes over the wire as it is: nobody but the owner of the process can listen. */
const CreatedKey = Schema.Struct({
  id: ApiKeyId,
  token: Schema.Redacted(Schema.String),
  name: Schema.String,
  scopes: Schema.Array(Scope),
  lastFour: Schema.String
})

/** Who answers, and the migrations that its database has. */
export const HelloRpcs = RpcGroup.make(
  Rpc.make("hello", {
    success: Schema.Struct({ pid: Schema.Int, migrations: Schema.Array(Schema.String) })
  })
)

export const AccountRpcs = RpcGroup.make(
  /**
   * `email`: of its first user. ValidationFailed: a blank name, or one over 200 characters; no e-mail address, or one that
   * signs in to another account.
   */
  Rpc.make("createAccount", {
    payload: { name: Schema.String, email: Schema.optional(Schema.String) },
    success: Schema.Struct({ ...Account.fields, invitation: Schema.optional(Invitation) }),
    error: ValidationFailed
  }),
  /** Oldest first. */
  Rpc.make("listAccounts", {
    success: Schema.Array(Schema.Struct({ ...Account.fields, createdAt: Timestamp }))
  }),
  /** Another demo account, with a key that may read and write, and a user. */
  Rpc.make("createDemo", {
    success: Schema.Struct({ account: Account, key: CreatedKey, invitation: Invitation })
  })
)

/** Refusal: which account is meant is not clear, or there is no such account. */
export const KeyRpcs = RpcGroup.make(
  /** `expiresAt` null: never. ValidationFailed: no name, no scope, a scope that cannot be granted, an expiry in the past. */
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
  /** Revoked and expired ones too, oldest first. */
  Rpc.make("listKeys", {
    payload: { account },
    success: Schema.Array(ApiKey),
    error: Refusal
  }),
  /** `key`: its id or its name, as a person wrote it. NotFound: the account has no such key. Revoking twice is fine. */
  Rpc.make("revokeKey", {
    payload: { account, key: Schema.String },
    success: Schema.Struct({ id: ApiKeyId }),
    error: Schema.Union(Refusal, NotFound)
  })
)

/** Refusal: which account is meant is not clear, or there is no such account. */
export const UserRpcs = RpcGroup.make(
  /** Where the service was started last; null: never. */
  Rpc.make("serviceAddress", { success: Schema.NullOr(Schema.String) }),
  /** ValidationFailed: as for `Users.invite`. */
  Rpc.make("inviteUser", {
    payload: { account, email: Schema.String },
    success: Invitation,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** Disabled ones too, oldest first. */
  Rpc.make("listUsers", { payload: { account }, success: Schema.Array(User), error: Refusal }),
  /** NotFound: the account has no such user. Twice is fine. */
  Rpc.make("disableUser", { payload: { account, email: Schema.String }, error: Schema.Union(Refusal, NotFound) })
)

/** A store that was linked or unlinked, and how many entities have a version on it. */
const StoreChange = Schema.Struct({ store: Store, entities: Schema.Int })

/** Refusal: which account is meant is not clear, or there is no such account. */
export const StoreRpcs = RpcGroup.make(
  /**
   * What is not given is as it was, else the default. `token`: of a Shopify store; as a key's, it goes over the wire as it is.
   * ValidationFailed, PimLocked, PlatformReadError: as for `Stores.link`.
   */
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
  /** ValidationFailed, PimLocked: as for `Stores.unlink`. */
  Rpc.make("unlinkStore", {
    payload: { account, domain: Schema.String },
    success: StoreChange,
    error: Schema.Union(Refusal, ValidationFailed, PimLocked)
  }),
  /** By domain. */
  Rpc.make("listStores", { payload: { account }, success: Schema.Array(Store), error: Refusal })
)

/** Refusal: which account is meant is not clear. ValidationFailed: no such store, or not one of the demo platform. */
export const PlatformRpcs = RpcGroup.make(
  /**
   * What the store itself holds of an entity now; null: nothing. Refusal: the store is not linked, or has no platform, too.
   * NotFound: the account has no such entity. PlatformReadError: the store's platform could not be read.
   */
  Rpc.make("showPlatform", {
    payload: { account, store: Schema.String, entity: Schema.String },
    success: Schema.Struct({ entityId: EntityId, store: Store, record: Schema.NullOr(PlatformRecord) }),
    error: Schema.Union(Refusal, NotFound, PlatformReadError)
  }),
  /** `entity`: an id as a person wrote it. NotFound: the shop holds no record of it. ValidationFailed: a misfit value, too. */
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

/** How far an import is, and at last what became of it. */
export const ImportEvent = Schema.Union(
  Schema.TaggedStruct("Progress", {
    step: Schema.Literal("checking", "fetching", "comparing", "applying"),
    done: Schema.Int,
    /** 0: not known. */
    total: Schema.Int,
    /** Known as soon as it is applied. */
    import_id: Schema.NullOr(ImportId)
  }),
  Schema.TaggedStruct("Done", { run: ImportRun })
)
export type ImportEvent = typeof ImportEvent.Type

const aboutImport = { account, id: Schema.String }

/** `rest`: the decision for conflicts that have none. `remove`: entities that left the store may be taken off it. */
const acceptance = { rest: Schema.NullOr(ConflictDecision), remove: Schema.Boolean }

/** Refusal: which account is meant is not clear, or there is no such account. */
export const ImportRpcs = RpcGroup.make(
  /**
   * `path`: absolute, opened by the process that answers. ImportFileRejected: everything that is wrong with it.
   * ReviewIncomplete: with `accept`, the import waits for its review.
   */
  Rpc.make("importCsv", {
    payload: { account, path: Schema.String, store: Schema.String, accept: Schema.Boolean, ...acceptance },
    success: ImportEvent,
    error: Schema.Union(Refusal, ValidationFailed, NotFound, ReviewIncomplete, ImportFileRejected),
    stream: true
  }),
  /** PlatformReadError: the store's platform could not be read. ValidationFailed: as for `Imports.refresh`. */
  Rpc.make("refreshStore", {
    payload: { account, store: Schema.String, accept: Schema.Boolean, ...acceptance },
    success: ImportEvent,
    error: Schema.Union(Refusal, ValidationFailed, NotFound, ReviewIncomplete, PlatformReadError),
    stream: true
  }),
  /** By their numbers, after one of them (0: from the start); 500 at most. */
  Rpc.make("listConflicts", {
    payload: { ...aboutImport, after: Schema.Int, limit: Schema.Int },
    success: Schema.Array(ImportConflict),
    error: Schema.Union(Refusal, NotFound)
  }),
  /** The entities that the import takes off its store, behind the first `after` of them; 500 at most. */
  Rpc.make("listRemovals", {
    payload: { ...aboutImport, after: Schema.Int, limit: Schema.Int },
    success: Schema.Array(PendingEntity),
    error: Schema.Union(Refusal, NotFound)
  }),
  /** `conflicts`: numbers, or all of them. How many were decided. ValidationFailed: not under review, or no such conflict. */
  Rpc.make("decideImport", {
    payload: {
      ...aboutImport,
      conflicts: Schema.Union(Schema.Array(Schema.Int), Schema.Literal("all")),
      decision: ConflictDecision
    },
    success: Schema.Struct({ decided: Schema.Int }),
    error: Schema.Union(Refusal, ValidationFailed, NotFound)
  }),
  /** ValidationFailed: it is not under review. */
  Rpc.make("acceptImport", {
    payload: { ...aboutImport, ...acceptance },
    success: ImportEvent,
    error: Schema.Union(Refusal, ValidationFailed, NotFound, ReviewIncomplete),
    stream: true
  }),
  /** ValidationFailed: it is not under review. */
  Rpc.make("discardImport", {
    payload: aboutImport,
    success: ImportRun,
    error: Schema.Union(Refusal, ValidationFailed, NotFound)
  }),
  Rpc.make("showImport", { payload: aboutImport, success: ImportRun, error: Schema.Union(Refusal, NotFound) }),
  /** Newest first. */
  Rpc.make("listImports", { payload: { account }, success: Schema.Array(ImportRun), error: Refusal })
)

/** `entity`: its id, handle or SKU; `store`: its domain or id; both as a person wrote them. */
const aboutDraft = { account, entity: Schema.String }
const text = Schema.optionalWith(Schema.String, { as: "Option" })
const onStore = text

/**
 * Refusal: which account is meant is not clear, there is no such account, or no such store is linked. NotFound: the account
 * has no such entity, or no version of it on the store.
 */
export const DraftRpcs = RpcGroup.make(
  /** The canonical values, or with `store` those of one store. */
  Rpc.make("showDraft", {
    payload: { ...aboutDraft, store: onStore },
    success: Draft,
    error: Schema.Union(Refusal, NotFound)
  }),
  /** As `showDraft`; `revision`: the one that the new values are based on. */
  Rpc.make("setDraft", {
    payload: { ...aboutDraft, store: onStore, revision: Schema.Int, attributes: Schema.Array(AttributeEdit) },
    success: DraftState,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked, RevisionConflict)
  }),
  /** ValidationFailed: it is there already, or it is a variant whose product is not. */
  Rpc.make("addStoreVersion", {
    payload: { ...aboutDraft, store: Schema.String },
    success: DraftState,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked)
  }),
  /** Newest first, 250 at most. */
  Rpc.make("showHistory", {
    payload: { ...aboutDraft, limit: Schema.Int },
    success: Schema.Struct({ entity_id: EntityId, history: Schema.Array(HistoryEntry) }),
    error: Schema.Union(Refusal, NotFound)
  })
)

const Defined = Schema.Struct({
  definition: MetafieldDefinition,
  /** Entities whose values got the definition's type. */
  retyped: Schema.Int
})

/** Refusal: which account is meant is not clear, or there is no such account. ValidationFailed: as for `OwnDefinitions`. */
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
  /** By owner type, namespace and key; those of the stores too. */
  Rpc.make("listDefinitions", {
    payload: { account, owner: Schema.NullOr(OwnerType) },
    success: Schema.Array(MetafieldDefinition),
    error: Refusal
  })
)

const aboutDrop = { account, id: Schema.String }

/** Refusal: which account is meant is not clear, or there is no such account. */
export const DropRpcs = RpcGroup.make(
  /** `store_id` of a change: the id of a store or its domain. ValidationFailed: as for `Drops.create`. */
  Rpc.make("createDrop", {
    payload: { account, drop: Schema.typeSchema(NewDrop) },
    success: Drop,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** By their start. */
  Rpc.make("listDrops", { payload: { account }, success: Schema.Array(Drop), error: Refusal }),
  Rpc.make("showDrop", { payload: aboutDrop, success: Drop, error: Schema.Union(Refusal, NotFound) }),
  /** ValidationFailed: it has started, or was cancelled before. */
  Rpc.make("cancelDrop", {
    payload: aboutDrop,
    success: Drop,
    error: Schema.Union(Refusal, NotFound, ValidationFailed)
  })
)

/**
 * What became of a publish to one store. `refused`: it could not be asked for; `skipped`: the store is known by its files
 * alone.
 */
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

/** For how many stores the outcome is open, and at last all outcomes. */
export const PublishEvent = Schema.Union(
  Schema.TaggedStruct("Progress", { open: Schema.Int, total: Schema.Int }),
  Schema.TaggedStruct("Done", { entity_id: EntityId, results: Schema.Array(PublishResult) })
)
export type PublishEvent = typeof PublishEvent.Type

/** Refusal: as for drafts, or the entity lives on no store. NotFound: the account has no such entity, or none on the store. */
export const PublishRpcs = RpcGroup.make(
  /** To one store, else to all on which the entity lives; waits for the outcomes. ValidationFailed, PimLocked: as `Publishing.ask`. */
  Rpc.make("publish", {
    /** `again`: although nothing differs from what a store accepted. */
    payload: { ...aboutDraft, store: onStore, again: Schema.Boolean },
    success: PublishEvent,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked),
    stream: true
  })
)

/**
 * Refusal: which account is meant is not clear, there is no such account, or no such store is linked. `store`: a domain, as a
 * person wrote it.
 */
export const HealthRpcs = RpcGroup.make(
  /** With `store`, that store's snapshots where it has its own. */
  Rpc.make("showHealth", { payload: { account, store: onStore }, success: HealthOverview, error: Refusal }),
  Rpc.make("scanHealth", {
    payload: { account, dimension: HealthDimension, store: onStore },
    success: HealthSnapshot,
    error: Refusal
  }),
  /** `page` from 1; 1 to 100 rows a page. */
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
    error: Refusal
  }),
  Rpc.make("showHealthRules", { payload: { account }, success: HealthRules, error: Refusal }),
  /** ValidationFailed: as for `DataHealth.setRules`. */
  Rpc.make("setHealthRules", {
    payload: { account, rules: HealthRules },
    success: HealthRules,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** A level that is left out stays as it is. ValidationFailed: as for `DataHealth.changeRules`. */
  Rpc.make("changeHealthRules", {
    payload: { account, kind: EntityKind, levels: FieldsToFill.pipe(Schema.partialWith({ exact: true })) },
    success: HealthRules,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** A rule that is left out stays as it is. */
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

/** What an operator can ask of the process that has the database open: this one, or another over its socket. */
export const AdminRpcs = HelloRpcs.merge(
  AccountRpcs,
  KeyRpcs,
  UserRpcs,
  StoreRpcs,
  PlatformRpcs,
  ImportRpcs,
  DraftRpcs,
  PublishRpcs,
  DropRpcs,
  DefinitionRpcs,
  HealthRpcs
)
