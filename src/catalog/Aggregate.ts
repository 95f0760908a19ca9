import { Schema } from "effect"
import { Attributes, type EntityKind } from "../model/Attribute.ts"
import { EntityId, type StoreId } from "../model/Ids.ts"
import type { PublishError, PublishStatus } from "../model/PublishState.ts"
import type { Timestamp } from "../model/Timestamp.ts"

/**
 * The values and relationships that a store accepted. A kind has only the relationships that it publishes. `media`: the gallery of a
 * product, or the picture of a variant.
 */
export const AcceptedValues = Schema.Struct({
  attributes: Attributes,
  media: Schema.optionalWith(Schema.Array(EntityId), { exact: true }),
  variants: Schema.optionalWith(Schema.Array(EntityId), { exact: true }),
  members: Schema.optionalWith(Schema.Array(EntityId), { exact: true })
})
export type AcceptedValues = typeof AcceptedValues.Type

/** An entity on one store. */
export interface VersionState {
  readonly storeId: StoreId
  readonly overrides: Attributes
  /** null: the store has not accepted any values yet. */
  readonly accepted: AcceptedValues | null
  readonly pendingPublish: boolean
  readonly lastPublishStatus: PublishStatus
  readonly publishedAt: Timestamp | null
  readonly lastPublishError: PublishError | null
  /**
   * Whether a failed publish may have brought the entity to the store: its outcome was uncertain, it wrote a part, or it ended before
   * another publish that sends the entity. A later refusal, or a refresh that finds the entity, does not clear this. A publish that succeeds does.
   */
  readonly mayBeLive: boolean
  /** The entity's id on the store's platform. null: unknown, or never published there. */
  readonly platformId: string | null
}

export interface GalleryEntry {
  readonly mediaId: EntityId
  /** The stores that show the entry. */
  readonly storeIds: ReadonlyArray<StoreId>
  /** What came to the gallery of a product with pictures of its variants, and leaves it with them. */
  readonly joined?: Joined
}

/** `storeIds`: the stores where an entry came with the picture of a variant. `isNew`: whether the entry itself did. */
export interface Joined {
  readonly storeIds: ReadonlyArray<StoreId>
  readonly isNew: boolean
}

/** An entity with all data that is written together with it. */
export interface Aggregate {
  readonly id: EntityId
  readonly kind: EntityKind
  /** The product of a variant, else null. */
  readonly parentId: EntityId | null
  /** The position of a variant among the variants of its product, else null. */
  readonly position: number | null
  readonly attributes: Attributes
  readonly pendingPublish: boolean
  readonly lastPublishStatus: PublishStatus
  /** The linked stores that have the entity, ordered by domain, then id. */
  readonly storeIds: ReadonlyArray<StoreId>
  readonly searchText: string
  /** Ordered by domain, then id. */
  readonly versions: ReadonlyArray<VersionState>
  readonly gallery: ReadonlyArray<GalleryEntry>
  /** Products of a collection, in order; empty for other kinds. */
  readonly members: ReadonlyArray<EntityId>
  /** The positions of the rows of `members`. Absent or null: they are 0, 1, 2 and so on. */
  readonly memberPositions?: ReadonlyArray<number> | null
}

/** Compares variants of a product by position. */
export const byPosition = (left: Pick<Aggregate, "position">, right: Pick<Aggregate, "position">): number =>
  (left.position ?? 0) - (right.position ?? 0)

/** Groups variants by product, in the order of the product's variants. */
export const variantsByProduct = (aggregates: Iterable<Aggregate>): ReadonlyMap<EntityId, ReadonlyArray<Aggregate>> => {
  const byProduct = new Map<EntityId, Array<Aggregate>>()
  for (const aggregate of aggregates) {
    if (aggregate.parentId === null) continue
    const variants = byProduct.get(aggregate.parentId)
    if (variants === undefined) byProduct.set(aggregate.parentId, [aggregate])
    else variants.push(aggregate)
  }
  for (const variants of byProduct.values()) variants.sort(byPosition)
  return byProduct
}
