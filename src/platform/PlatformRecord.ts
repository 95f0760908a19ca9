import { Schema } from "effect"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { EntityId } from "../model/Ids.ts"

/** A store's record of an entity. All ids except `entityId` are the platform's ids. Lists are in the store's order. */
export const PlatformRecord = Schema.Struct({
  kind: EntityKind,
  platformId: Schema.String,
  /** The entity that the record was published from; null: unknown. */
  entityId: Schema.NullOr(EntityId),
  /** The platform id of a variant's product; null for other kinds. */
  parentId: Schema.NullOr(Schema.String),
  /** Values that are not empty. */
  attributes: Attributes,
  /** The gallery of a product, as platform ids. */
  media: Schema.Array(Schema.String),
  /** The products of a collection, as platform ids. */
  members: Schema.Array(Schema.String),
  /** The picture that the store shows of a variant, as a platform id. null: none. Absent: the platform does not say. */
  picture: Schema.optionalWith(Schema.NullOr(Schema.String), { exact: true })
})
export type PlatformRecord = typeof PlatformRecord.Type
