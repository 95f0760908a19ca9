import { Schema } from "effect"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { EntityId, nilUuid, StoreId } from "../model/Ids.ts"
import { PublishError, type PublishState, PublishStatus, rollUp } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { AcceptedValues } from "./Aggregate.ts"
import { type SearchedFields, searchTextOf } from "./SearchedFields.ts"
import type { Needle } from "./SearchText.ts"

/** The filters of a list. A filter that is absent does not apply. */
export interface ListFilters {
  /** Only entities whose canonical record changed at this time or later. */
  readonly updatedSince?: Timestamp | undefined
  /** Only entities on this store; `status` and `isPending` then refer to that store. */
  readonly storeId?: StoreId | undefined
  readonly status?: PublishStatus | undefined
  /** Whether the entity has changes that are not published yet. */
  readonly isPending?: boolean | undefined
  /** Only entities on one of these stores, or on none. Without `storeId`, `status` and `isPending` then refer to these stores. */
  readonly stores?: ReadonlyArray<StoreId> | undefined
  /** Strings that must all occur in the search text. */
  readonly needles?: ReadonlyArray<Needle> | undefined
  /** Only members of this collection. */
  readonly collectionId?: EntityId | undefined
  /** Only these entities. */
  readonly ids?: ReadonlyArray<EntityId> | undefined
  /** Only entities with one of these canonical handles. Only for products and collections. */
  readonly handles?: ReadonlyArray<string> | undefined
  /** Only variants with one of these canonical SKUs, and products with such a variant. */
  readonly skus?: ReadonlyArray<string> | undefined
  /** Only variants with one of these canonical barcodes, and products with such a variant. */
  readonly barcodes?: ReadonlyArray<string> | undefined
}

/** Maximum bytes of the rows on a page. A row that is longer is a page of its own. */
export const maxPageBytes = 4 * 1024 * 1024 - 256

/** A page of rows as JSON text, which is sent unchanged. */
export interface RowPage {
  /** The rows, comma-separated, without brackets. */
  readonly rows: string
  /** The number of rows. */
  readonly count: number
  /** The change_seq of the last row. Null: the page is empty. */
  readonly last: number | null
  readonly more: boolean
}

/**
 * The state and the search text of an entity for a caller that is limited to some stores. They replace those of all
 * stores.
 */
export interface LimitedRow extends PublishState {
  readonly searchText: string
}

/** `versions`: only those of the caller's stores. */
export const limitedRowOf = (
  fields: SearchedFields & { readonly versions: ReadonlyArray<PublishState> }
): LimitedRow => ({ ...rollUp(fields.versions), searchText: searchTextOf(fields) })

/** The lists of related entities, in the order in which they are read. */
export const relatedLists = ["variants", "media", "collections", "products"] as const
export type RelatedList = (typeof relatedLists)[number]

/**
 * The place of a related entity: the number of its list from 1, its position there, and its id. Rows are read in this order. Position 0:
 * the list is ordered by id; others begin at position 1.
 */
export interface RelatedPlace {
  readonly list: number
  readonly position: number
  readonly id: EntityId
}

/** The place after which to continue if the entity at `place` is gone. In a list with positions, the next entity has taken its position. */
export const placeOfGone = (place: RelatedPlace): RelatedPlace =>
  place.position > 0 ? { ...place, id: EntityId.make(nilUuid) } : place

/** Before the first row. */
export const firstRelated: RelatedPlace = { list: 0, position: 0, id: EntityId.make(nilUuid) }

/** Before the first product of a collection. */
export const firstMember: RelatedPlace = { ...firstRelated, list: relatedLists.indexOf("products") + 1 }

/** Rows of related entities as JSON text. The rows of a list are comma-separated, without brackets. */
export interface RelatedPage {
  readonly rows: Readonly<Record<RelatedList, string>>
  /** The places of the rows, in order. */
  readonly places: ReadonlyArray<RelatedPlace>
  /** The place of the last row. Null: no more rows follow. */
  readonly last: RelatedPlace | null
}

/** The page of the first `limit` of these rows. More rows than that: others follow the page. */
export const relatedPageOf = (
  rows: ReadonlyArray<RelatedPlace & { readonly row: string }>,
  limit: number
): RelatedPage => {
  const shown = rows.slice(0, limit)
  return { rows: joinLists(shown), places: shown, last: rows.length > limit ? (shown.at(-1) ?? null) : null }
}

/** Joins the rows of each list with commas. */
const joinLists = (rows: ReadonlyArray<{ readonly list: number; readonly row: string }>): RelatedPage["rows"] => {
  const of = (list: RelatedList) =>
    rows
      .filter((each) => relatedLists[each.list - 1] === list)
      .map(({ row }) => row)
      .join(",")
  return { variants: of("variants"), media: of("media"), collections: of("collections"), products: of("products") }
}

/** The request for the versions of an entity. `storeId` null: on all linked stores. */
export const VersionsRequest = Schema.Struct({
  accountId: Schema.String,
  kind: EntityKind,
  id: EntityId,
  storeId: Schema.NullOr(StoreId)
})

const version = {
  storeId: StoreId,
  storeDomain: Schema.String,
  overrides: Attributes,
  pendingPublish: Schema.Boolean,
  lastPublishStatus: PublishStatus
}

/** The canonical values of an entity, and its version on each store. */
export const VersionsRecord = Schema.Struct({
  attributes: Attributes,
  versions: Schema.Array(Schema.Struct(version))
})
export type VersionsRecord = typeof VersionsRecord.Type

/** As `VersionsRecord`, with all data that a publish sends but the members of a collection, and the outcome of the last publish. */
export const ProjectionsRecord = Schema.Struct({
  attributes: Attributes,
  /** The whole gallery in order, with the stores that show each entry. Unlinked stores may be among them. */
  gallery: Schema.Array(Schema.Struct({ mediaId: EntityId, storeIds: Schema.Array(StoreId) })),
  versions: Schema.Array(
    Schema.Struct({
      ...version,
      /** Without the members of a collection. */
      accepted: Schema.NullOr(AcceptedValues),
      /** Whether the store accepted other members of a collection than the draft has, or in another order. */
      membersDiffer: Schema.Boolean,
      publishedAt: Schema.NullOr(Timestamp),
      lastPublishError: Schema.NullOr(PublishError),
      /** `media`: the gallery on the store. `variants`: the product's variants on the store. */
      media: Schema.Array(EntityId),
      variants: Schema.Array(EntityId)
    })
  )
})
export type ProjectionsRecord = typeof ProjectionsRecord.Type

/** The projections of one of several entities, with the revision of its draft. */
export const IdentifiedProjections = Schema.Struct({
  id: EntityId,
  title: Schema.String,
  draftRevision: Schema.Number,
  ...ProjectionsRecord.fields
})
export type IdentifiedProjections = typeof IdentifiedProjections.Type
