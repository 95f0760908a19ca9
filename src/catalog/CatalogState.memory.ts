import type { MemoryAccount, MemorySlices } from "../database/MemoryStore.memory.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { compareStores, type Store } from "../model/Store.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import type { Aggregate } from "./Aggregate.ts"

/** An entity with its revision and the times of its changes. */
export interface MemoryEntity {
  readonly aggregate: Aggregate
  readonly draftRevision: number
  readonly changeSeq: number
  readonly canonicalChangedAt: Timestamp
  readonly createdAt: Timestamp
}

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    readonly entities: ReadonlyMap<EntityId, MemoryEntity>
    /** The linked stores. */
    readonly stores: ReadonlyMap<StoreId, Store>
    /** Unlinked stores, with the data from before the unlinking. Entities keep their versions on these stores. */
    readonly unlinkedStores: ReadonlyMap<StoreId, Store>
  }
}

export const emptyCatalog: Pick<MemorySlices, "entities" | "stores" | "unlinkedStores"> = {
  entities: new Map(),
  stores: new Map(),
  unlinkedStores: new Map()
}

/** The linked stores, ordered by domain. */
export const linkedStores = (account: MemoryAccount | undefined): ReadonlyArray<Store> =>
  [...(account?.stores.values() ?? [])].sort(compareStores)
