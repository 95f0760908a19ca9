import { Schema } from "effect"
import { EntityKind } from "../model/Attribute.ts"
import { EntityId, PublicationId, StoreId } from "../model/Ids.ts"
import { PublishError } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"

/** Where a publish that was asked for stands: `pending` until the store took it or certainly did not. */
export const PublicationState = Schema.Literal("pending", "published", "failed")
export type PublicationState = typeof PublicationState.Type

/**
 * How an attempt ended. `refused`: the platform said no; `unavailable`: it could not be used, and nothing was changed there;
 * `unknown`: no usable answer came, so it is read back; `interrupted`: its process was told to stop; `lost`: its process is
 * gone.
 */
export const AttemptOutcome = Schema.Literal("published", "refused", "unavailable", "unknown", "interrupted", "lost")
export type AttemptOutcome = typeof AttemptOutcome.Type

/**
 * How many versions of a kind a store has not the draft of: `waiting` for somebody to ask, or on their way: `underWay`. What
 * was edited again on its way is under way.
 */
export const PendingCount = Schema.Struct({ kind: EntityKind, waiting: Schema.Int, underWay: Schema.Int })
export type PendingCount = typeof PendingCount.Type

/** An entity of which a store waits for the draft. */
export const PendingEntity = Schema.Struct({ id: EntityId, kind: EntityKind, title: Schema.String })
export type PendingEntity = typeof PendingEntity.Type

/** One attempt to carry a publish out. */
export const PublishAttempt = Schema.Struct({
  startedAt: Timestamp,
  endedAt: Schema.NullOr(Timestamp),
  /** null: it is under way, or its process is gone. */
  outcome: Schema.NullOr(AttemptOutcome),
  /** The class of the failure, or the platform's own code. */
  reason: Schema.NullOr(Schema.String)
})
export type PublishAttempt = typeof PublishAttempt.Type

/** A publish of one entity to one store that somebody asked for. */
export const PublicationRecord = Schema.Struct({
  id: PublicationId,
  entityId: EntityId,
  storeId: StoreId,
  storeDomain: Schema.String,
  /** The revision that was pinned. */
  draftRevision: Schema.Int,
  state: PublicationState,
  /** Attempts that were begun. */
  attempts: Schema.Int,
  askedAt: Timestamp,
  finishedAt: Schema.NullOr(Timestamp),
  /** Why it failed; of a pending one why the last attempt did. */
  error: Schema.NullOr(PublishError)
})
export type PublicationRecord = typeof PublicationRecord.Type

/** An entity whose last publish on a store failed. */
export const FailedPublication = Schema.Struct({
  entityId: EntityId,
  entityType: EntityKind,
  /** The entity's name here. */
  title: Schema.String,
  storeId: StoreId,
  storeDomain: Schema.String,
  /** Attempts of that publish, and when it ended; null: its record was deleted after 30 days. */
  attempts: Schema.NullOr(Schema.Int),
  finishedAt: Schema.NullOr(Timestamp),
  error: PublishError
})
export type FailedPublication = typeof FailedPublication.Type
