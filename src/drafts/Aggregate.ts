import { Either, Schema } from "effect"
import { AcceptedValues, type Aggregate, type GalleryEntry, type VersionState } from "../catalog/Aggregate.ts"
import { searchText } from "../catalog/SearchText.ts"
import { type Attributes, type EntityKind, effective, titleOf, valueOf } from "../model/Attribute.ts"
import type { EntityId } from "../model/Ids.ts"
import { rollUp } from "../model/PublishState.ts"

export { AcceptedValues, type Aggregate, type GalleryEntry, type VersionState }

/** What an aggregate's derived fields read beside the aggregate itself. */
export interface Surroundings {
  /** The product's name, for a variant. */
  readonly productTitle: string
  /** The product's variants, by position. */
  readonly variants: ReadonlyArray<Aggregate>
}

/** What a store would publish now; equal to what it accepted when nothing is pending. */
export const publishable = (
  aggregate: Aggregate,
  version: Pick<VersionState, "storeId" | "overrides">,
  variants: ReadonlyArray<Aggregate>
): AcceptedValues => {
  const attributes = effective(aggregate.attributes, version.overrides)
  switch (aggregate.kind) {
    case "product":
      return {
        attributes,
        media: aggregate.gallery
          .filter(({ storeIds }) => storeIds.includes(version.storeId))
          .map(({ mediaId }) => mediaId),
        variants: variants.filter(({ storeIds }) => storeIds.includes(version.storeId)).map(({ id }) => id)
      }
    case "collection":
      return { attributes, members: aggregate.members }
    case "variant":
    case "media":
      return { attributes }
  }
}

/**
 * A list in which these ids follow one another in their own order: they share the places that they have, new ones come
 * last, and the others stay where they are.
 */
export const inOrderOf = (list: ReadonlyArray<EntityId>, ids: ReadonlyArray<EntityId>): ReadonlyArray<EntityId> => {
  const known = new Set(list)
  const named = new Set(ids)
  const next = named.values()
  return [...list, ...[...named].filter((id) => !known.has(id))].map((id) =>
    named.has(id) ? (next.next().value ?? id) : id
  )
}

const sameList = (left: ReadonlyArray<string> = [], right: ReadonlyArray<string> = []) =>
  left.length === right.length && left.every((item, index) => item === right[index])

/** Same keys with the same values and types, whatever their order. */
export const sameAttributes = (left: Attributes, right: Attributes): boolean => {
  const keys = Object.keys(left)
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => left[key]?.value === right[key]?.value && left[key]?.type === right[key]?.type)
  )
}

/** Whether a store has the same of both. */
export const samePublishable = (left: AcceptedValues, right: AcceptedValues) =>
  sameAttributes(left.attributes, right.attributes) &&
  sameList(left.media, right.media) &&
  sameList(left.variants, right.variants) &&
  sameList(left.members, right.members)

/** The keys whose values, canonical and of every store, a search looks into. */
const searchedKeys: Readonly<Record<EntityKind, ReadonlyArray<string>>> = {
  product: ["title", "vendor"],
  variant: ["title", "sku", "barcode"],
  collection: ["title", "handle"],
  media: ["alt", "file_name"]
}

/** The keys whose overrides a search looks into: some kind's. */
export const everySearchedKey: ReadonlyArray<string> = [...new Set([...Object.values(searchedKeys).flat(), "tags"])]

const layered = (aggregate: Aggregate, key: string) =>
  [aggregate.attributes, ...aggregate.versions.map(({ overrides }) => overrides)].map((layer) => valueOf(layer, key))

const decodeTags = Schema.decodeUnknownEither(Schema.parseJson(Schema.Array(Schema.String)))

/** The tags of a product: its list value is JSON in a string; text that is no list is searched as it stands. */
const tagsOf = (value: string): ReadonlyArray<string> =>
  // Most versions have no tags of their own, and a decoder that fails takes as long as all the rest.
  value.trimStart().startsWith("[") ? Either.getOrElse(decodeTags(value), () => [value]) : [value]

const searchTextOf = (aggregate: Aggregate, { productTitle, variants }: Surroundings) =>
  searchText([
    titleOf(aggregate.kind, aggregate.attributes),
    ...searchedKeys[aggregate.kind].flatMap((key) => layered(aggregate, key)),
    ...(aggregate.kind === "product" ? layered(aggregate, "tags").flatMap(tagsOf) : []),
    ...variants.flatMap((variant) => layered(variant, "sku")),
    productTitle
  ])

/** Recomputes what is kept beside its sources: pending states, their roll-up, the stores and the search text. */
export const derive = (aggregate: Aggregate, surroundings: Surroundings): Aggregate => {
  const versions = aggregate.versions.map((version) => {
    const pendingPublish =
      version.accepted === null ||
      !samePublishable(version.accepted, publishable(aggregate, version, surroundings.variants))
    // The same object where nothing changes: who compares before and after need not look inside.
    return pendingPublish === version.pendingPublish ? version : { ...version, pendingPublish }
  })
  return {
    ...aggregate,
    ...rollUp(versions),
    versions,
    storeIds: versions.map(({ storeId }) => storeId),
    searchText: searchTextOf(aggregate, surroundings)
  }
}
