import { Schema } from "effect"
import { HistoryAction } from "../drafts/History.ts"
import { EntityKind } from "../model/Attribute.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"

/** The activity of a connection on one UTC day. */
export const ActivityDay = Schema.Struct({
  /** `YYYY-MM-DD`. */
  day: Schema.String,
  calls: Schema.Int,
  /** Revisions of drafts. */
  writes: Schema.Int,
  /** Publish requests, one per entity and store. */
  publishes: Schema.Int
})
export type ActivityDay = typeof ActivityDay.Type

/** The position of a change in the list of a connection's changes. */
export const ChangePlace = Schema.Struct({
  at: Timestamp,
  /** Changes of one entity have different numbers. */
  sequence: Schema.NumberFromString.pipe(Schema.int()),
  entityId: EntityId
})
export type ChangePlace = typeof ChangePlace.Type

/** A change of one layer of an entity by a connection. */
export const ConnectionChange = Schema.Struct({
  at: Timestamp,
  sequence: Schema.Int,
  entityId: EntityId,
  kind: EntityKind,
  title: Schema.String,
  /** null: the canonical record. */
  storeId: Schema.NullOr(StoreId),
  storeDomain: Schema.NullOr(Schema.String),
  action: HistoryAction,
  /** Of `attributes` only. */
  keys: Schema.Array(Schema.String),
  /** The stores that the change was published to since, by domain. */
  publishedOn: Schema.Array(Schema.String)
})
export type ConnectionChange = typeof ConnectionChange.Type
