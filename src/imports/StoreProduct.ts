import type { EntityId, StoreId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"

/** Values by attribute key. */
export type Values = Readonly<Record<string, string>>

/** An entity in a store, read from its export or its platform. */
export interface StoreEntity {
  /** An absent key is not covered by the source; `""` is empty in the store. */
  readonly values: Values
  /** Types of keys that may be new here. */
  readonly types?: Values
  /** Its id on the platform. */
  readonly platformId?: string
  /** Whether it was published from here. Values that the platform sets itself are then ignored. */
  readonly isOurs?: boolean
}

/** A variant in a store. */
export interface StoreVariant extends StoreEntity {
  /** The matching variant here, if it was matched already. */
  readonly entityId?: EntityId | null
  /** Its own image; null: not covered by the source, `""`: none. */
  readonly imageUrl: string | null
}

/** A product in a store. */
export interface StoreProduct extends StoreEntity {
  readonly variants: ReadonlyArray<StoreVariant>
  /** Images by address, in the order of the gallery; `alt` null: not covered by the source. */
  readonly images: ReadonlyArray<{ readonly url: string; readonly alt: string | null }>
  /** Files of the gallery, in its order, if they were matched already. `images` is empty then. */
  readonly media?: ReadonlyArray<EntityId>
}

/** A collection in a store. */
export interface StoreCollection extends StoreEntity {
  /** Products, in the store's order. */
  readonly members: ReadonlyArray<EntityId>
}

/** The source of an import. */
export interface ImportSource {
  readonly storeId: StoreId
  /** Whether it contains the whole store, so that missing values and entities are gone in the store. */
  readonly isComplete: boolean
  /** Whether the store is read after the import. The source itself then accepts nothing. */
  readonly isAnsweredByStore?: boolean
  /** The start of the reading. A later publish is newer than the values that were read. */
  readonly begunAt?: Timestamp
}
