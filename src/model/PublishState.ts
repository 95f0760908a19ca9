import { Schema } from "effect"

/** Where an entity, or one of its store versions, stands with the stores of the service. */
export const PublishStatus = Schema.Literal("never_published", "pending", "published", "failed")
export type PublishStatus = typeof PublishStatus.Type

/** Why a store did not take the last publish. */
export const PublishError = Schema.Struct({ code: Schema.String, message: Schema.String })
export type PublishError = typeof PublishError.Type

/** How many of a store's versions stand where; `pendingPublish`: those whose draft the store has not, wherever they stand. */
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

interface PublishState {
  readonly pendingPublish: boolean
  readonly lastPublishStatus: PublishStatus
}

const precedence = ["failed", "pending", "published"] as const

/** The state of an entity from those of its store versions: the worst one counts; on no store it was never published. */
export const rollUp = (versions: ReadonlyArray<PublishState>): PublishState => ({
  pendingPublish: versions.some((version) => version.pendingPublish),
  lastPublishStatus:
    precedence.find((status) => versions.some((version) => version.lastPublishStatus === status)) ?? "never_published"
})
