import { Schema } from "effect"
import { EntityId, StoreId } from "../model/Ids.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** The number of some entities, and the first of them. */
export const SomeEntities = Schema.Struct({ count: Schema.Int, entity_ids: Schema.Array(EntityId) })

/**
 * The result of one request: the outcome of the request itself; `published` or `failed` if its publication was waited for;
 * `would_publish` of a dry run.
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
  /** Of a dry run. `live` null: the store never had the entity. */
  changes: optional(
    Schema.Array(Schema.Struct({ key: Schema.String, live: Schema.NullOr(Schema.String), new: Schema.String }))
  ),
  /** Of a dry run: what is published together with the entity. */
  included: optional(SomeEntities)
}

/** One entity on one of its stores. */
export const PublishedToStore = Schema.Struct({ store_id: StoreId, store_domain: Schema.String, ...result })
export type PublishedToStore = typeof PublishedToStore.Type

/** One of several entities on one store. `draft_revision`: the current one. */
export const PublishedEntity = Schema.Struct({
  entity_id: EntityId,
  title: optional(Schema.String),
  draft_revision: optional(Schema.Int),
  ...result
})
export type PublishedEntity = typeof PublishedEntity.Type

/** The result of publishing one entity to its stores (`stores`), or several to one store (`masters`). */
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
