import { Schema } from "effect"

/** Where an entity, or one of its store versions, stands with the stores of the service. */
export const PublishStatus = Schema.Literal("never_published", "pending", "published", "failed")
export type PublishStatus = typeof PublishStatus.Type

/** Why a store did not take the last publish. */
export const PublishError = Schema.Struct({ code: Schema.String, message: Schema.String })
export type PublishError = typeof PublishError.Type

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
