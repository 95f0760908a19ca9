import { Context, Effect, Layer, Ref } from "effect"
import type { ApiKey } from "../access/ApiKey.ts"
import type { Aggregate } from "../drafts/Aggregate.ts"
import type { HistoryActor, HistoryEntry } from "../drafts/History.ts"
import type { DropEffect, DropOutcome, DropStatus, PlannedDrop } from "../drops/Drop.ts"
import type { HealthRules } from "../health/Health.ts"
import type { ScannedSnapshot } from "../health/HealthScan.ts"
import type { Actor } from "../model/Actor.ts"
import type { AccountMetafieldDefinition } from "../model/Definition.ts"
import type { AccountId, DropId, EntityId, ImportId, PublicationId, RecordId, StoreId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { Store } from "../model/Store.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import type { PlatformTranslations } from "../platform/Translation.ts"
import type { PublicationContent } from "../publishing/PublicationContent.ts"
import type { PublicationState, PublishAttempt } from "../publishing/PublicationRecord.ts"
import type { MirroredTranslation, MirrorItem, StagedMirrorItem } from "../storedata/MirrorRecords.ts"

/** An entity and what the counter's last statement wrote on it. */
export interface MemoryEntity {
  readonly aggregate: Aggregate
  readonly draftRevision: number
  readonly changeSeq: number
  readonly canonicalChangedAt: Timestamp
  readonly createdAt: Timestamp
}

/** A change of a draft, and of what; the store by its id alone. */
export interface MemoryHistory extends HistoryEntry {
  readonly entityId: EntityId
}

/** A publish that was asked for; times in milliseconds since 1970. */
export interface MemoryPublication {
  readonly id: PublicationId
  readonly entityId: EntityId
  readonly storeId: StoreId
  readonly draftRevision: number
  readonly brings: ReadonlyArray<EntityId>
  readonly content: PublicationContent
  readonly actor: HistoryActor
  readonly dropId: DropId | null
  readonly state: PublicationState
  readonly givenBack: number
  readonly nextAttemptAt: number
  readonly claim: string | null
  readonly leaseUntil: number
  readonly askedAt: number
  readonly finishedAt: number | null
  readonly error: PublishError | null
  /** One an attempt that was begun. */
  readonly attempts: ReadonlyArray<PublishAttempt>
}

/** A scan that nothing has replaced yet. */
export interface MemorySnapshot extends ScannedSnapshot {
  readonly run: number
  readonly asOfVersion: number
  readonly scannedAt: Timestamp
}

export interface MemoryHealth {
  /** null: the usual ones. */
  readonly rules: HealthRules | null
  readonly snapshots: ReadonlyArray<MemorySnapshot>
}

/** A market, definition or entry of a store. */
export interface MemoryMirrorRecord {
  readonly id: RecordId
  readonly item: MirrorItem
}

export interface MemoryMirrorField {
  readonly entityId: EntityId
  readonly field: PlatformTranslations["fields"][number]
}

export interface MemoryMirrorTranslation {
  readonly entityId: EntityId
  readonly locale: string
  readonly translation: MirroredTranslation
}

/** What a store has beside its catalog. */
export interface MemoryMirror {
  /** By kind and name. */
  readonly records: ReadonlyMap<string, MemoryMirrorRecord>
  readonly fields: ReadonlyMap<string, MemoryMirrorField>
  readonly translations: ReadonlyMap<string, MemoryMirrorTranslation>
}

export const noMirror: MemoryMirror = { records: new Map(), fields: new Map(), translations: new Map() }

/** A drop and how far it is. */
export interface MemoryDrop {
  readonly id: DropId
  readonly planned: PlannedDrop
  readonly actor: Actor
  readonly status: DropStatus
  readonly nextStep: "start" | "settle_start" | "end" | "settle_end" | null
  /** Its ends that were carried out. */
  readonly claims: ReadonlyArray<string>
  readonly effects: ReadonlyArray<DropEffect>
  readonly outcomes: ReadonlyArray<{
    readonly ordinal: number
    readonly outcome: DropOutcome | null
    readonly error: PublishError | null
  }>
}

export interface MemoryAccount {
  readonly id: AccountId
  readonly name: string
  readonly createdAt: Timestamp
  readonly version: number
  readonly changeSeq: number
  readonly lastChangedAt: Timestamp
  /** Each with the hash it is looked up by, in hexadecimal. */
  readonly keys: ReadonlyArray<ApiKey & { readonly hash: string }>
  /** The linked ones. */
  readonly stores: ReadonlyMap<StoreId, Store>
  /** As they were when they were linked; entities keep their versions on them. */
  readonly unlinkedStores: ReadonlyMap<StoreId, Store>
  /** What opens the platforms of linked stores, as it was kept. */
  readonly credentials: ReadonlyMap<StoreId, Uint8Array>
  readonly entities: ReadonlyMap<EntityId, MemoryEntity>
  /** Oldest first. */
  readonly history: ReadonlyArray<MemoryHistory>
  readonly drops: ReadonlyMap<DropId, MemoryDrop>
  /** In the order in which they were asked for. */
  readonly publications: ReadonlyArray<MemoryPublication>
  /** The import that keeps the account locked. */
  readonly lockedBy: ImportId | null
  readonly health: MemoryHealth
  /** What stores have beside their catalogs; that of unlinked stores is kept and not seen. */
  readonly mirrors: ReadonlyMap<StoreId, MemoryMirror>
  /** Ids of markets and definitions by kind and name, whether or not a store still has them. */
  readonly recordIds: ReadonlyMap<string, RecordId>
  /** Metafield definitions that were made here, by id. */
  readonly definitions: ReadonlyMap<RecordId, AccountMetafieldDefinition>
  /** What imports have read beside catalogs, by kind and name. */
  readonly staged: ReadonlyMap<ImportId, ReadonlyMap<string, StagedMirrorItem>>
}

export type MemoryState = ReadonlyMap<AccountId, MemoryAccount>

/** What the memory twins of the repositories share: one immutable value, replaced as a whole. */
export class MemoryStore extends Context.Tag("catalog/MemoryStore")<MemoryStore, Ref.Ref<MemoryState>>() {
  static readonly layer = Layer.effect(MemoryStore, Ref.make<MemoryState>(new Map()))
}

/** Replaces an account. Writing to one that does not exist is a defect: every caller has it from the store itself. */
export const updateAccount = (
  store: Ref.Ref<MemoryState>,
  id: AccountId,
  change: (account: MemoryAccount) => MemoryAccount
): Effect.Effect<void> =>
  Effect.flatMap(Ref.get(store), (state) => {
    const account = state.get(id)
    return account === undefined
      ? Effect.dieMessage(`no account ${id}`)
      : Ref.set(store, new Map(state).set(id, change(account)))
  })

/** The entities that a store's platform knows by this id. */
export const entitiesAt = (account: MemoryAccount, storeId: StoreId, platformId: string): ReadonlyArray<EntityId> =>
  [...account.entities.values()]
    .map(({ aggregate }) => aggregate)
    .filter(({ versions }) =>
      versions.some((version) => version.storeId === storeId && version.platformId === platformId)
    )
    .map(({ id }) => id)
