import { Schema } from "effect"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { AccountId, EntityId, ImportId } from "../model/Ids.ts"

/** A record of a store's platform, staged until it is compared with the catalog. */
export const PulledRecord = Schema.Struct({
  /** The ordinal of the record, or for a variant that of its product. */
  root: Schema.Int,
  /** Position in the pull. */
  ordinal: Schema.Int,
  kind: EntityKind,
  platformId: Schema.String,
  /** The entity id that the store keeps with the record since it was published from here. */
  saidId: Schema.NullOr(EntityId),
  attributes: Attributes,
  /** Platform ids of a product's files, or of a collection's members. */
  related: Schema.Array(Schema.String),
  /** The matched entity; null: none yet. */
  entityId: Schema.NullOr(EntityId)
})
export type PulledRecord = typeof PulledRecord.Type

/** A record's place and an entity that it matches. */
export interface FoundEntity {
  readonly root: number
  readonly ordinal: number
  readonly entityId: EntityId
}

/** The rules of matching. Each applies only to records that no earlier rule matched. */
export type MatchedBy = "platformId" | "saidId" | "variants" | "sku" | "handle" | "address"

/** The records of a refresh with roots after `from`, up to `through`. */
export const RecordRange = Schema.Struct({
  accountId: AccountId,
  id: ImportId,
  from: Schema.Int,
  through: Schema.Int
})
export type RecordRange = typeof RecordRange.Type
