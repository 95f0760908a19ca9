import { Context, Effect, Layer, Ref } from "effect"
import type { Aggregate } from "../domain/Aggregate.ts"
import type { ApiKey } from "../domain/ApiKey.ts"
import type { HistoryEntry } from "../domain/History.ts"
import type { AccountId, EntityId, ImportId, StoreId } from "../domain/Ids.ts"
import type { Store } from "../domain/Store.ts"
import type { Timestamp } from "../domain/Timestamp.ts"

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
  readonly entities: ReadonlyMap<EntityId, MemoryEntity>
  /** Oldest first. */
  readonly history: ReadonlyArray<MemoryHistory>
  /** The import that keeps the account locked. */
  readonly lockedBy: ImportId | null
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
