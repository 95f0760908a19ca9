import { Schema } from "effect"
import { Timestamp } from "../model/Timestamp.ts"

/** A channel where a store sells. Shopify calls it a publication. Ids are the platform's own. */
export const SalesChannel = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  handle: Schema.String,
  catalog_kind: Schema.Literal("app", "market", "company_location", "none"),
  auto_publish: Schema.Boolean.annotations({ description: "New products are published there automatically." }),
  supports_future_publishing: Schema.Boolean
}).annotations({ identifier: "SalesChannel" })
export type SalesChannel = typeof SalesChannel.Type

/** The chosen channels that a store no longer has. Null: the platform's default. */
export const goneOf = (
  chosen: ReadonlyArray<string> | null,
  channels: ReadonlyArray<Pick<SalesChannel, "id">>
): ReadonlyArray<string> => (chosen ?? []).filter((id) => !channels.some((channel) => channel.id === id))

/** Whether an entity is sold on one of its store's channels. */
export const EntityChannel = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  is_published: Schema.Boolean,
  publish_date: Schema.NullOr(Timestamp).annotations({
    description: "When the entity was or will be published there."
  }),
  state: Schema.Literal("published", "scheduled", "unpublished")
}).annotations({ identifier: "EntityChannel" })
export type EntityChannel = typeof EntityChannel.Type
