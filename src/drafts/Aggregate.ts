import type { AcceptedValues, Aggregate, VersionState } from "../catalog/Aggregate.ts"
import { layersOf, searchTextOf } from "../catalog/SearchedFields.ts"
import { type Attributes, effective } from "../model/Attribute.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { rollUp } from "../model/PublishState.ts"

/** The data of a variant from which derived fields of its product are computed. */
export interface VariantSummary extends Pick<Aggregate, "id" | "parentId" | "position" | "storeIds"> {
  /** The canonical SKU, then the override of each store. `""` where a layer has none. */
  readonly skus: ReadonlyArray<string>
}

export const skusOf = (variant: Aggregate | VariantSummary): ReadonlyArray<string> =>
  "skus" in variant ? variant.skus : layersOf(variant, "sku")

/** The related entities from which derived fields of an aggregate are computed. */
interface RelatedAggregates {
  /** The title of a variant's product; `""` for other kinds. */
  readonly productTitle: string
  /** The variants of a product, by position; empty for other kinds. */
  readonly variants: ReadonlyArray<Aggregate | VariantSummary>
  /** The stores whose accepted members differ from those of a collection whose members were not read. */
  readonly otherMembersOn?: ReadonlySet<StoreId> | undefined
}

/** The media of an entity's gallery that a store shows, in order. */
export const mediaShown = ({ gallery }: Pick<Aggregate, "gallery">, storeId: StoreId): ReadonlyArray<EntityId> =>
  gallery.filter(({ storeIds }) => storeIds.includes(storeId)).map(({ mediaId }) => mediaId)

/** The picture of a variant that a publish sends, as a list: the first medium that the store shows, because a store shows only one. */
export const pictureOf = (shown: ReadonlyArray<EntityId>): ReadonlyArray<EntityId> => shown.slice(0, 1)

/** The values that a publish to a store would send now. If nothing is pending, they equal the accepted values. */
export const publishable = (
  aggregate: Aggregate,
  version: Pick<VersionState, "storeId" | "overrides">,
  variants: ReadonlyArray<Pick<Aggregate, "id" | "storeIds">>
): AcceptedValues => {
  const attributes = effective(aggregate.attributes, version.overrides)
  switch (aggregate.kind) {
    case "product":
      return {
        attributes,
        media: mediaShown(aggregate, version.storeId),
        variants: variants.filter(({ storeIds }) => storeIds.includes(version.storeId)).map(({ id }) => id)
      }
    case "collection":
      return { attributes, members: aggregate.members }
    case "variant":
      return { attributes, media: pictureOf(mediaShown(aggregate, version.storeId)) }
    case "media":
      return { attributes }
  }
}

/**
 * Reorders a list. The ids that `list` and `ids` share take the order of `ids`, within the positions that they have in `list`.
 * New ids are appended. All other ids keep their positions.
 */
export const inOrderOf = (list: ReadonlyArray<EntityId>, ids: ReadonlyArray<EntityId>): ReadonlyArray<EntityId> => {
  const existing = new Set(list)
  const ordered = new Set(ids)
  const next = ordered.values()
  return [...list, ...[...ordered].filter((id) => !existing.has(id))].map((id) =>
    ordered.has(id) ? (next.next().value ?? id) : id
  )
}

/** Whether two lists have the same ids in the same order. */
export const sameOrder = (left: ReadonlyArray<string> = [], right: ReadonlyArray<string> = []): boolean =>
  left.length === right.length && left.every((item, index) => item === right[index])

/** Whether both have the same keys, values and types. The order of keys does not matter. */
export const sameAttributes = (left: Attributes, right: Attributes): boolean => {
  const keys = Object.keys(left)
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => left[key]?.value === right[key]?.value && left[key]?.type === right[key]?.type)
  )
}

export const samePublishable = (left: AcceptedValues, right: AcceptedValues) =>
  sameAttributes(left.attributes, right.attributes) &&
  sameOrder(left.media, right.media) &&
  sameOrder(left.variants, right.variants) &&
  sameOrder(left.members, right.members)

/** Computes the derived fields again: pending states, their roll-up, the stores and the search text. */
export const derive = (aggregate: Aggregate, related: RelatedAggregates): Aggregate => {
  const versions = aggregate.versions.map((version) => {
    const pendingPublish =
      version.accepted === null ||
      related.otherMembersOn?.has(version.storeId) === true ||
      !samePublishable(version.accepted, publishable(aggregate, version, related.variants))
    // An unchanged version stays the same object, which makes later comparisons cheap.
    return pendingPublish === version.pendingPublish ? version : { ...version, pendingPublish }
  })
  return {
    ...aggregate,
    ...rollUp(versions),
    versions,
    storeIds: versions.map(({ storeId }) => storeId),
    searchText: searchTextOf({
      ...aggregate,
      productTitle: related.productTitle,
      skus: related.variants.flatMap(skusOf)
    })
  }
}
