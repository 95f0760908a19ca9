import { Schema } from "effect"
import type { HistoryAction } from "../drafts/History.ts"
import { EntityKind } from "../model/Attribute.ts"
import { DropId, EntityId, PublicationId, StoreId } from "../model/Ids.ts"
import { PublishError } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { PublicationContent } from "./PublicationContent.ts"

/** Days after which ended publications and their attempts are deleted. */
export const keptDays = 30

/** State of a publication. `pending` until the outcome is certain. */
export const PublicationState = Schema.Literal("pending", "published", "failed")
export type PublicationState = typeof PublicationState.Type

/**
 * Outcome of one attempt. `refused`: the platform rejected the publication. `unavailable`: the platform could not be used and
 * changed nothing. `unknown`: there was no usable answer; the next attempt reads the store back. `interrupted`: the process
 * was told to stop, or the store was unlinked. `lost`: the process died.
 */
export const AttemptOutcome = Schema.Literal("published", "refused", "unavailable", "unknown", "interrupted", "lost")
export type AttemptOutcome = typeof AttemptOutcome.Type

/** The outcomes that a platform decides, if the publication was sent. */
export const answeredOutcomes: ReadonlySet<AttemptOutcome> = new Set(["published", "refused"])

/**
 * Number of entities of one kind whose draft is unpublished on a store. `waiting`: they have no open publish request.
 * `underWay`: they have one, even if the draft was edited again since then.
 */
export const PendingCount = Schema.Struct({ kind: EntityKind, waiting: Schema.Int, underWay: Schema.Int })
export type PendingCount = typeof PendingCount.Type

/** An entity whose draft is unpublished on a store. `title`: that of a variant begins with the title of its product. */
export const PendingEntity = Schema.Struct({ id: EntityId, kind: EntityKind, title: Schema.String })
export type PendingEntity = typeof PendingEntity.Type

/**
 * The error of an attempt, as its publication and its store have it. `isAlone`: whether only this publish waits, or all publishes to the
 * store. Absent: the publish does not wait, or an earlier version of the service has saved it.
 */
export const AttemptError = Schema.Struct({
  ...PublishError.fields,
  isAlone: Schema.optionalWith(Schema.Boolean, { exact: true })
})
export type AttemptError = typeof AttemptError.Type

/** The part of an attempt's error that versions have, and that people read. */
export const toShownError = ({ code, message }: AttemptError): PublishError => ({ code, message })

/** One attempt of a publication. */
export const PublishAttempt = Schema.Struct({
  startedAt: Timestamp,
  endedAt: Schema.NullOr(Timestamp),
  /** null: the attempt is running, or its process died and the publication was not claimed again yet. */
  outcome: Schema.NullOr(AttemptOutcome),
  /** The class of the failure, or the platform's error code. */
  reason: Schema.NullOr(Schema.String)
})
export type PublishAttempt = typeof PublishAttempt.Type

/** A requested publish of one entity to one store. */
export const PublicationRecord = Schema.Struct({
  id: PublicationId,
  entityId: EntityId,
  storeId: StoreId,
  storeDomain: Schema.String,
  /** The draft revision at the time of the request. */
  draftRevision: Schema.Int,
  state: PublicationState,
  /** Attempts started so far. */
  attempts: Schema.Int,
  requestedAt: Timestamp,
  finishedAt: Schema.NullOr(Timestamp),
  /**
   * The error of a failed publication, or of the last attempt of a pending publication. Of a published one: what the store did not do
   * although it has accepted it.
   */
  error: Schema.NullOr(PublishError)
})
export type PublicationRecord = typeof PublicationRecord.Type

/** The actions in an entity's history after which the outcomes of earlier publishes to the store say nothing about it. */
export const outcomeActions: ReadonlyArray<typeof HistoryAction.Type> = [
  "published",
  "publish_failed",
  "added_to_store",
  "removed_from_store"
]

/** The failures of versions before a request, by the ids of their entities. null: the version had not failed. */
export const FailuresBefore = Schema.Record({ key: Schema.String, value: Schema.NullOr(PublishError) })
export type FailuresBefore = typeof FailuresBefore.Type

/** An open publication, which the transaction has locked. `outcomes`: of its attempts; null: one has not ended. */
export const OpenPublication = Schema.Struct({
  id: PublicationId,
  entityId: EntityId,
  draftRevision: Schema.Int,
  content: PublicationContent,
  dropId: Schema.NullOr(DropId),
  /** Whether an attempt holds it, or its process died. */
  isClaimed: Schema.Boolean,
  /** null: they are not known. */
  failuresBefore: Schema.NullOr(FailuresBefore),
  outcomes: Schema.Array(Schema.NullOr(AttemptOutcome))
})
export type OpenPublication = typeof OpenPublication.Type

/** A place in the queue of a store. Publications that have no entity in common can have the same `sequence`. */
export const QueuePlace = Schema.Struct({ sequence: Schema.Number, id: PublicationId })
export type QueuePlace = typeof QueuePlace.Type

/** An entity whose last publish to a store failed. */
export const FailedPublication = Schema.Struct({
  entityId: EntityId,
  entityType: EntityKind,
  /** The canonical title. The store may have another one. */
  title: Schema.String,
  storeId: StoreId,
  storeDomain: Schema.String,
  /** Number of attempts of the failed publish, and the time when it ended. null: the publication was deleted after 30 days. */
  attempts: Schema.NullOr(Schema.Int),
  finishedAt: Schema.NullOr(Timestamp),
  error: PublishError
})
export type FailedPublication = typeof FailedPublication.Type
