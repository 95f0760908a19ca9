import type { MemorySlices } from "../database/MemoryStore.memory.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import type { PlatformTranslations, Translation } from "./Translation.ts"

export interface MemoryMirrorField {
  readonly entityId: EntityId
  readonly field: PlatformTranslations["fields"][number]
}

export interface MemoryMirrorTranslation {
  readonly entityId: EntityId
  readonly locale: string
  /** `digest`: the digest of the current source. */
  readonly translation: Translation & { readonly digest: string | null }
}

/** Translations and translatable fields of one store. */
export interface MemoryTranslations {
  readonly fields: ReadonlyMap<string, MemoryMirrorField>
  readonly translations: ReadonlyMap<string, MemoryMirrorTranslation>
}

export const noTranslations: MemoryTranslations = { fields: new Map(), translations: new Map() }

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** By store, including unlinked stores. */
    readonly mirroredTranslations: ReadonlyMap<StoreId, MemoryTranslations>
  }
}

export const emptyTranslations: Pick<MemorySlices, "mirroredTranslations"> = { mirroredTranslations: new Map() }
