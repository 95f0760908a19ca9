import { Schema } from "effect"

/** The result of the last publish of an entity or a store version. */
export const PublishStatus = Schema.Literal("never_published", "pending", "published", "failed")
export type PublishStatus = typeof PublishStatus.Type

/** Why the last publish failed, or why it waits (`delayedCode`). */
export const PublishError = Schema.Struct({ code: Schema.String, message: Schema.String })
export type PublishError = typeof PublishError.Type

/** The code while a publish waits, because the store's whole platform does not answer. */
export const delayedCode = "PUBLISH_DELAYED"

/** The code of a publish that somebody cancelled before it was sent. */
export const cancelledCode = "PUBLISH_CANCELLED"

/** Why a publish waits for its platform, from the error of its last attempt; null: it does not. */
export const delayOf = (error: PublishError | null): string | null =>
  error?.code === delayedCode ? error.message : null

export const isDelayed = (error: PublishError | null): boolean => delayOf(error) !== null

/** Number of a store's versions by status. `pendingPublish`: number of versions, of any status, with unpublished changes. */
export const PublishCounts = Schema.Struct({
  neverPublished: Schema.Int,
  pending: Schema.Int,
  published: Schema.Int,
  failed: Schema.Int,
  pendingPublish: Schema.Int
})
export type PublishCounts = typeof PublishCounts.Type

export const nothingToCount: PublishCounts = {
  neverPublished: 0,
  pending: 0,
  published: 0,
  failed: 0,
  pendingPublish: 0
}

export interface PublishState {
  readonly pendingPublish: boolean
  readonly lastPublishStatus: PublishStatus
}

/** The status of an entity is the first of these that one of its store versions has. */
export const statusesByPrecedence = ["failed", "pending", "published", "never_published"] as const

/** The state of an entity: the worst state of its store versions. An entity without versions was never published. */
export const rollUp = (versions: ReadonlyArray<PublishState>): PublishState => ({
  pendingPublish: versions.some((version) => version.pendingPublish),
  lastPublishStatus:
    statusesByPrecedence.find((status) => versions.some((version) => version.lastPublishStatus === status)) ??
    "never_published"
})
