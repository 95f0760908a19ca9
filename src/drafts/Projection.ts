import { Schema } from "effect"
import type { ProjectionsRecord } from "../catalog/CatalogRows.ts"
import { AttributeTriple, type EntityKind, effective, toTriples } from "../model/Attribute.ts"
import { compareFields, relationships } from "../model/FieldOrder.ts"
import { StoreId } from "../model/Ids.ts"
import { PublishError, PublishStatus } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { pictureOf } from "./Aggregate.ts"
import { differencesOf } from "./Difference.ts"

/** The draft of an entity for one store, with the values that the store accepted last. */
export const Projection = Schema.Struct({
  store_id: StoreId,
  store_domain: Schema.String,
  /** Draft values. `live`: the accepted value, if it differs from the draft. Absent if the store never accepted the entity. */
  attributes: Schema.Array(
    Schema.Struct({ ...AttributeTriple.fields, live: Schema.optionalWith(Schema.String, { exact: true }) })
  ),
  pending_publish: Schema.Boolean,
  /** Keys of attributes and names of relationships that a publish would change. */
  pending_keys: Schema.Array(Schema.String),
  last_publish_status: PublishStatus,
  /** null: the entity was never published to the store. */
  published_at: Schema.NullOr(Timestamp),
  last_publish_error: Schema.NullOr(PublishError)
})
export type Projection = typeof Projection.Type

export const toProjections = (
  kind: EntityKind,
  { attributes: canonical, versions }: ProjectionsRecord
): ReadonlyArray<Projection> =>
  versions.map((version) => {
    const attributes = effective(canonical, version.overrides)
    // A picture of a variant that an earlier version did not publish is no draft until the variant changes.
    const differences = version.pendingPublish
      ? differencesOf(kind, version.accepted, {
          attributes,
          ...(kind === "product" && { media: version.media, variants: version.variants }),
          ...(kind === "variant" && { media: pictureOf(version.media) })
        })
      : []
    const pending = [...differences.map(({ key }) => key), ...(version.membersDiffer ? ["members"] : [])]
    const live = new Map(version.accepted === null ? [] : differences.map((each) => [each.key, each.live]))
    const drafted = toTriples(kind, attributes)
    const keys = new Set([...drafted.map(({ key }) => key), ...relationships])
    // Metafields that the store has accepted and the draft does not have any more.
    const removed = Object.entries(version.accepted?.attributes ?? {})
      .filter(([key]) => !keys.has(key))
      .map(([key, { type }]) => ({ key, value: "", type }))
    const compare = compareFields(kind)
    return {
      store_id: version.storeId,
      store_domain: version.storeDomain,
      attributes: [...drafted, ...removed]
        .sort((left, right) => compare(left.key, right.key))
        .map((each) => {
          const value = live.get(each.key)
          return value === undefined ? each : { ...each, live: value }
        }),
      pending_publish: version.pendingPublish,
      pending_keys: pending.sort(compare),
      last_publish_status: version.lastPublishStatus,
      published_at: version.publishedAt,
      last_publish_error: version.lastPublishError
    }
  })
