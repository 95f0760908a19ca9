import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { ApiKey } from "../domain/ApiKey.ts"
import { Scope } from "../domain/ApiKeyToken.ts"
import { AttributeEdit } from "../domain/AttributeRules.ts"
import { Draft, DraftState } from "../domain/DraftWrite.ts"
import { NotFound, PimLocked, RevisionConflict, ValidationFailed } from "../domain/Errors.ts"
import { HistoryEntry } from "../domain/History.ts"
import { AccountId, ApiKeyId, EntityId } from "../domain/Ids.ts"
import { ImportRun } from "../domain/Import.ts"
import { ImportFileRejected } from "../domain/ImportedProduct.ts"
import { Store } from "../domain/Store.ts"
import { Timestamp } from "../domain/Timestamp.ts"

/** A command that cannot be carried out as it was given. `message` is one line that a person reads. */
export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", { message: Schema.String }) {}

/** Id of the account that a command is about, as a person wrote it; without one, the only account there is. */
const account = Schema.optionalWith(Schema.String, { as: "Option" })

const Account = Schema.Struct({ id: AccountId, name: Schema.String })

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
  /** ValidationFailed: a blank name, or one over 200 characters. */
  Rpc.make("createAccount", {
    payload: { name: Schema.String },
    success: Account,
    error: ValidationFailed
  }),
  /** Oldest first. */
  Rpc.make("listAccounts", {
    success: Schema.Array(Schema.Struct({ ...Account.fields, createdAt: Timestamp }))
  }),
  /** Another demo account, with a key that may read and write. */
  Rpc.make("createDemo", {
    success: Schema.Struct({ account: Account, key: CreatedKey })
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
  /** `key`: its id, as a person wrote it. NotFound: the account has no such key. Revoking twice is fine. */
  Rpc.make("revokeKey", {
    payload: { account, key: Schema.String },
    success: Schema.Struct({ id: ApiKeyId }),
    error: Schema.Union(Refusal, NotFound)
  })
)

/** A store that was linked or unlinked, and how many entities have a version on it. */
const StoreChange = Schema.Struct({ store: Store, entities: Schema.Int })

/** Refusal: which account is meant is not clear, or there is no such account. */
export const StoreRpcs = RpcGroup.make(
  /** What is not given is as it was, else the default. ValidationFailed, PimLocked: as for `Stores.link`. */
  Rpc.make("linkStore", {
    payload: {
      account,
      domain: Schema.String,
      name: Schema.optional(Schema.String),
      platform: Schema.optional(Schema.String),
      primaryLocale: Schema.optional(Schema.String),
      currency: Schema.optional(Schema.String)
    },
    success: StoreChange,
    error: Schema.Union(Refusal, ValidationFailed, PimLocked)
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
    step: Schema.Literal("checking", "comparing", "applying"),
    done: Schema.Int,
    total: Schema.Int
  }),
  Schema.TaggedStruct("Done", { run: ImportRun })
)
export type ImportEvent = typeof ImportEvent.Type

const aboutImport = { account, id: Schema.String }

/** Refusal: which account is meant is not clear, or there is no such account. */
export const ImportRpcs = RpcGroup.make(
  /** `path`: absolute, opened by the process that answers. ImportFileRejected: the first thing that is wrong with it. */
  Rpc.make("importCsv", {
    payload: { account, path: Schema.String, store: Schema.String, accept: Schema.Boolean },
    success: ImportEvent,
    error: Schema.Union(Refusal, ValidationFailed, NotFound, ImportFileRejected),
    stream: true
  }),
  /** ValidationFailed: it is not under review. */
  Rpc.make("acceptImport", {
    payload: aboutImport,
    success: ImportEvent,
    error: Schema.Union(Refusal, ValidationFailed, NotFound),
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

/** `entity`: its id; `store`: a domain; both as a person wrote them. */
const aboutDraft = { account, entity: Schema.String }
const onStore = Schema.optionalWith(Schema.String, { as: "Option" })

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

/** What an operator can ask of the process that has the database open: this one, or another over its socket. */
export const AdminRpcs = HelloRpcs.merge(AccountRpcs, KeyRpcs, StoreRpcs, PlatformRpcs, ImportRpcs, DraftRpcs)
