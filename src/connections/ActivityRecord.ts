import { Schema } from "effect"
import { HistoryAction } from "../drafts/History.ts"
import { EntityKind } from "../model/Attribute.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"

/** The activity of a connection on one UTC day. */
export const ActivityDay = Schema.Struct({
  /** The day, as `YYYY-MM-DD`. */
  day: Schema.String,
  calls: Schema.Int,
  /** Number of draft revisions. */
  writes: Schema.Int,
  /** Number of publish requests, one per entity and store. */
  publishes: Schema.Int
})
export type ActivityDay = typeof ActivityDay.Type

/** The position of a change in the list of a connection's changes. */
export const ChangePlace = Schema.Struct({
  at: Timestamp,
  /** The number of the change. It is unique among the changes of one entity. */
  sequence: Schema.NumberFromString.pipe(Schema.int()),
  entityId: EntityId
})
export type ChangePlace = typeof ChangePlace.Type

/** A change by a connection of one layer of an entity: its canonical record or its values on one store. */
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
  /** The changed keys. Empty unless `action` is `attributes`. */
  keys: Schema.Array(Schema.String),
  /** Domains of the stores to which the change has been published since. */
  publishedOn: Schema.Array(Schema.String)
})
export type ConnectionChange = typeof ConnectionChange.Type
