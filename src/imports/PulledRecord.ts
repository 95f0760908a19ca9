import { Schema } from "effect"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { AccountId, EntityId, ImportId } from "../model/Ids.ts"

/** A record that was read from a store's platform. It is staged until it is compared with the catalog. */
export const PulledRecord = Schema.Struct({
  /** For a variant, the ordinal of its product; for any other record, the same as `ordinal`. */
  root: Schema.Int,
  /** Position of the record in the reading of the store, from 1. */
  ordinal: Schema.Int,
  kind: EntityKind,
  platformId: Schema.String,
  /** The entity id that a publish by this service stored on the platform. null: the record was never published by this service. */
  saidId: Schema.NullOr(EntityId),
  attributes: Attributes,
  /**
   * Platform ids of a product's files, or of a collection's members. Of a variant: the id of its picture, or `""` if it has none; empty if
   * the platform does not say.
   */
  related: Schema.Array(Schema.String),
  /** The entity that the record matches; null: no match yet. */
  entityId: Schema.NullOr(EntityId)
})
export type PulledRecord = typeof PulledRecord.Type

/** The position of a record and the entity that it matches. */
export interface FoundEntity {
  readonly root: number
  readonly ordinal: number
  readonly entityId: EntityId
}

/** The rules that match records with entities. A rule applies only to records that no earlier rule matched. */
export type MatchedBy = "platformId" | "saidId" | "variants" | "sku" | "handle" | "address"

/** The records of a refresh whose `root` is greater than `from` and at most `through`. */
export const RecordRange = Schema.Struct({
  accountId: AccountId,
  id: ImportId,
  from: Schema.Int,
  through: Schema.Int
})
export type RecordRange = typeof RecordRange.Type
