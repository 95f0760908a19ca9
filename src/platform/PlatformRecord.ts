import { Schema } from "effect"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { EntityId } from "../model/Ids.ts"

/** A store's record of an entity. Ids are the platform's own. Lists are in the store's order. */
export const PlatformRecord = Schema.Struct({
  kind: EntityKind,
  platformId: Schema.String,
  /** The entity that the record was published from; null: unknown. */
  entityId: Schema.NullOr(EntityId),
  /** The product of a variant, else null. */
  parentId: Schema.NullOr(Schema.String),
  /** Without empty values. */
  attributes: Attributes,
  /** The gallery of a product. */
  media: Schema.Array(Schema.String),
  /** The products of a collection. */
  members: Schema.Array(Schema.String)
})
export type PlatformRecord = typeof PlatformRecord.Type
