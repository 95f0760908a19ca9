import type { EntityId, StoreId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"

/** Values by attribute key. */
export type Values = Readonly<Record<string, string>>

/** An entity as a store has it, whether its export or its platform says so. */
export interface StoreEntity {
  /** A key that is absent: the source does not say; `""`: it is empty there. */
  readonly values: Values
  /** Of keys that may be new here. */
  readonly types?: Values
  /** What the platform calls it. */
  readonly platformId?: string
  /** Whether it was published from here: what a platform makes of its own accord then says nothing. */
  readonly isOurs?: boolean
}

/** A variant as a store has it. */
export interface StoreVariant extends StoreEntity {
  /** The variant here that it is, when that is known ahead. */
  readonly entityId?: EntityId | null
  /** Its own picture: null when the source does not say, `""` when it has none. */
  readonly imageUrl: string | null
}

/** A product as a store has it. */
export interface StoreProduct extends StoreEntity {
  readonly variants: ReadonlyArray<StoreVariant>
  /** Files that are named by their addresses, in the order of the gallery; `alt` null: the source does not say. */
  readonly images: ReadonlyArray<{ readonly url: string; readonly alt: string | null }>
  /** The files of the gallery, in its order, where they are known ahead: no images then. */
  readonly media?: ReadonlyArray<EntityId>
}

/** A collection as a store has it. */
export interface StoreCollection extends StoreEntity {
  /** Products, in the store's order. */
  readonly members: ReadonlyArray<EntityId>
}

/** Where what is imported comes from. */
export interface ImportSource {
  readonly storeId: StoreId
  /** Whether it holds all that the store has: what it does not hold is gone there. */
  readonly isComplete: boolean
  /** The store has a platform, which is asked afterwards what it holds: the source itself says nothing about that. */
  readonly isAnsweredByStore?: boolean
  /** When the reading of the store began: what it took from here since then is newer than what was read. */
  readonly begunAt?: Timestamp
}
