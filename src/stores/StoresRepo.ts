import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option } from "effect"
import type { MovedEntities } from "../drafts/ChangeNote.ts"
import type { AccountId, EntityId, StoreId } from "../model/Ids.ts"
import type { PublishCounts } from "../model/PublishState.ts"
import type { Store } from "../model/Store.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { makePublishCounts, makeRefreshStore } from "./StoreRollUps.sql.ts"
import { makeStoreCredentials, makeStoreReads, makeStoreWrites } from "./StoreRows.sql.ts"

/** A linked store, or an unlinked store with its data from before the unlinking. */
interface KnownStore {
  readonly store: Store
  readonly isLinked: boolean
}

/** The platform's last answer to the credential of a store. */
export interface CredentialTest {
  readonly testedAt: Timestamp
  /** Why the platform refused the credential; null: it accepted it. */
  readonly refusal: string | null
  /** The optional permissions that an accepted credential lacks. */
  readonly missingPermissions: ReadonlyArray<string>
}

/** A linked store, with what calls to its platform need. */
export interface AccessibleStore {
  readonly store: Store
  /** The encrypted credential. */
  readonly sealed: Option.Option<Uint8Array>
  /** The sales channels for new records, by the platform's ids; null: the platform's default. */
  readonly newRecordChannels: ReadonlyArray<string> | null
}

/** A batch of entities of a store that was linked again or unlinked. */
interface Refreshed {
  /** Number of entities in the batch. */
  readonly entities: number
  /** The id of the last entity. Null: there are no more. */
  readonly last: EntityId | null
  /** Entities whose derived fields must be computed again. For variants: their products. */
  readonly stale: ReadonlyArray<EntityId>
  /** The entities whose sets of stores changed. */
  readonly moved: ReadonlyArray<MovedEntities>
}

/** The linked and unlinked stores of an account. */
export class StoresRepo extends Context.Tag("catalog/StoresRepo")<
  StoresRepo,
  {
    /** Linked stores, by domain. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<Store>>
    /** A linked store. */
    readonly find: (accountId: AccountId, id: StoreId) => Effect.Effect<Option.Option<Store>>
    /** A linked or unlinked store. */
    readonly findByDomain: (accountId: AccountId, domain: string) => Effect.Effect<Option.Option<KnownStore>>
    /**
     * Links a new store, or an unlinked one again. `isReserved`: the caller has reserved the store. Dies if another
     * account has reserved it.
     */
    readonly link: (accountId: AccountId, store: Store, isReserved?: boolean) => Effect.Effect<void>
    /** A linked store with its credential and its sales channels for new records. */
    readonly access: (accountId: AccountId, id: StoreId) => Effect.Effect<Option.Option<AccessibleStore>>
    /**
     * Replaces the sales channels of a linked store for new records. Null: the platform's default. False: the store is not linked, or has
     * other ones than `before`.
     */
    readonly keepNewRecordChannels: (
      accountId: AccountId,
      id: StoreId,
      channels: ReadonlyArray<string> | null,
      before?: ReadonlyArray<string> | null
    ) => Effect.Effect<boolean>
    /** The encrypted credential of a linked store. */
    readonly credential: (accountId: AccountId, id: StoreId) => Effect.Effect<Option.Option<Uint8Array>>
    /** Replaces the credential of a linked store, and forgets the test of the earlier one. */
    readonly keepCredential: (accountId: AccountId, id: StoreId, sealed: Uint8Array) => Effect.Effect<void>
    /** Replaces the credential of a linked store if it is still `from`. False: it is not. */
    readonly replaceCredential: (
      accountId: AccountId,
      id: StoreId,
      from: Uint8Array,
      to: Uint8Array
    ) => Effect.Effect<boolean>
    /** The last tests of the credentials of linked stores, as far as they were tested since they were kept. */
    readonly credentialTests: (accountId: AccountId) => Effect.Effect<ReadonlyMap<StoreId, CredentialTest>>
    /**
     * Records that the platform accepted the credential of a linked store now, without some optional permissions, or why it refused it. Not
     * if it was replaced meanwhile.
     */
    readonly recordCredentialTest: (
      accountId: AccountId,
      id: StoreId,
      tested: Option.Option<Uint8Array>,
      refusal: string | null,
      missingPermissions?: ReadonlyArray<string>
    ) => Effect.Effect<void>
    /**
     * Reserves the store of this domain for the account until it is unlinked. False: another account has reserved it. Call this
     * only after the caller has proved to own the store, in the transaction that links it.
     */
    readonly reserveShop: (accountId: AccountId, domain: string) => Effect.Effect<boolean>
    /** Unlinks a store. Keeps its versions and deletes its credential. */
    readonly unlink: (accountId: AccountId, id: StoreId) => Effect.Effect<void>
    /** Number of entities with a version on the store. */
    readonly countVersions: (accountId: AccountId, id: StoreId) => Effect.Effect<number>
    /**
     * Updates the stores and publish states of the next `limit` entities after `after`, by id, once their store was
     * linked again or unlinked. The caller must keep other writers out, because the entities are locked in no fixed
     * order. The caller also updates search texts, and the pending states of entities that changed while the store was
     * unlinked.
     */
    readonly refresh: (
      accountId: AccountId,
      id: StoreId,
      after: EntityId | null,
      limit: number
    ) => Effect.Effect<Refreshed>
    /** Records that the derived fields of all entities of a linked store are up to date again. */
    readonly completeLink: (accountId: AccountId, id: StoreId) => Effect.Effect<void>
    /** Counts the versions of each linked store by publish state. Stores without versions are left out. */
    readonly publishCounts: (accountId: AccountId) => Effect.Effect<ReadonlyMap<StoreId, PublishCounts>>
    /** The time zones of linked stores, as far as they are known. */
    readonly timeZones: (accountId: AccountId) => Effect.Effect<ReadonlyMap<StoreId, string>>
    readonly keepTimeZone: (accountId: AccountId, id: StoreId, timeZone: string) => Effect.Effect<void>
    /** Records that an import of the store was applied now. */
    readonly recordImport: (accountId: AccountId, id: StoreId) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    StoresRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return {
        ...makeStoreReads(sql),
        ...makeStoreWrites(sql),
        ...makeStoreCredentials(sql),
        refresh: makeRefreshStore(sql),
        publishCounts: makePublishCounts(sql)
      }
    })
  )
}
