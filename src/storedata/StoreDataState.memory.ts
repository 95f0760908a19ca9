import type { MemorySlices } from "../database/MemoryStore.memory.ts"
import type { ImportId, RecordId, StoreId } from "../model/Ids.ts"
import type { MirrorItem, StagedMirrorItem } from "./MirrorRecords.ts"

/** A market, metaobject definition or metaobject entry of a store. */
export interface MemoryMirrorRecord {
  readonly id: RecordId
  readonly item: MirrorItem
}

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** Records of each store by kind and name. Records of unlinked stores stay here but are not returned. */
    readonly mirrors: ReadonlyMap<StoreId, ReadonlyMap<string, MemoryMirrorRecord>>
    /** Records that imports have staged, by kind and name. */
    readonly staged: ReadonlyMap<ImportId, ReadonlyMap<string, StagedMirrorItem>>
  }
}

export const emptyStoreData: Pick<MemorySlices, "mirrors" | "staged"> = { mirrors: new Map(), staged: new Map() }
