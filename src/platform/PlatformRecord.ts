import { Schema } from "effect"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { EntityId } from "../model/Ids.ts"

/**
 * An entity as a store's platform holds it. Ids are the platform's own; lists are in the store's order.
 */
export const PlatformRecord = Schema.Struct({
  kind: EntityKind,
  platformId: Schema.String,
  /** The entity that the record was published from; null: the record does not say. */
  entityId: Schema.NullOr(EntityId),
  /** The product of a variant, else null. */
  parentId: Schema.NullOr(Schema.String),
  /** Empty values are left out. */
  attributes: Attributes,
  /** The gallery of a product. */
  media: Schema.Array(Schema.String),
  /** The products of a collection. */
  members: Schema.Array(Schema.String)
})
export type PlatformRecord = typeof PlatformRecord.Type
