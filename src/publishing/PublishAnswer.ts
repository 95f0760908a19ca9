import { Schema } from "effect"
import { EntityId, StoreId } from "../model/Ids.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** The number of entities, and the ids of the first ones. */
export const SomeEntities = Schema.Struct({ count: Schema.Int, entity_ids: Schema.Array(EntityId) })

/**
 * The result of one publish request. `published` and `failed` are outcomes of the publication, if the caller waited for it.
 * `would_publish` is the outcome of a dry run. All others are outcomes of the request itself.
 */
const result = {
  outcome: Schema.Literal(
    "pending",
    "published",
    "failed",
    "nothing_to_publish",
    "would_publish",
    "refused",
    "conflict",
    "not_found",
    "not_on_channel"
  ),
  message: optional(Schema.String),
  /** Only in a dry run. `live` null: the store never accepted the entity. */
  changes: optional(
    Schema.Array(Schema.Struct({ key: Schema.String, live: Schema.NullOr(Schema.String), new: Schema.String }))
  ),
  /** Only in a dry run: the entities that would be published together with this one. */
  included: optional(SomeEntities)
}

/** The result for one entity on one of its stores. */
export const PublishedToStore = Schema.Struct({ store_id: StoreId, store_domain: Schema.String, ...result })
export type PublishedToStore = typeof PublishedToStore.Type

/** The result for one of several entities on one store. `draft_revision`: the current revision. */
export const PublishedEntity = Schema.Struct({
  entity_id: EntityId,
  title: optional(Schema.String),
  draft_revision: optional(Schema.Int),
  ...result
})
export type PublishedEntity = typeof PublishedEntity.Type

/** The result of publishing one entity to its stores (`stores`), or several entities to one store (`masters`). */
export const PublishAnswer = Schema.Struct({
  entity_id: optional(EntityId),
  title: optional(Schema.String),
  draft_revision: optional(Schema.Int),
  message: optional(Schema.String),
  stores: optional(Schema.Array(PublishedToStore)),
  masters: optional(Schema.Array(PublishedEntity)),
  /** Related entities whose drafts for these stores stay unpublished. */
  waiting: optional(SomeEntities)
})
export type PublishAnswer = typeof PublishAnswer.Type
