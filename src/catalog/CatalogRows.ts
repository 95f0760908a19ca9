import { Schema } from "effect"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import { PublishError, PublishStatus } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { AcceptedValues } from "./Aggregate.ts"
import type { Needle } from "./SearchText.ts"

/** The filters of a list. An absent one filters nothing. */
export interface ListFilters {
  /** Only entities whose canonical record changed at this time or later. */
  readonly updatedSince?: Timestamp | undefined
  /** Only entities on this store; then `status` and `isPending` are those on it. */
  readonly storeId?: StoreId | undefined
  readonly status?: PublishStatus | undefined
  /** Whether a draft is not yet published. */
  readonly isPending?: boolean | undefined
  /** All of them must occur in the search text. */
  readonly needles?: ReadonlyArray<Needle> | undefined
  /** Only members of this collection. */
  readonly collectionId?: EntityId | undefined
}

/** A page of rows as JSON text, which is sent unchanged. */
export interface RowPage {
  /** The rows, comma-separated, without brackets. */
  readonly rows: string
  /** The last row's place in the change order. Null on an empty page. */
  readonly last: number | null
  readonly more: boolean
}

/** Lists of related entities, in the order in which they are read. */
export const relatedLists = ["variants", "media", "collections", "products"] as const
export type RelatedList = (typeof relatedLists)[number]

/** Rows of related entities as JSON text. Each list is comma-separated, without brackets. */
export interface RelatedPage {
  readonly rows: Readonly<Record<RelatedList, string>>
  readonly more: boolean
}

/** Joins the rows of each list. */
export const joinLists = (
  rows: ReadonlyArray<{ readonly list: RelatedList; readonly row: string }>
): RelatedPage["rows"] => {
  const of = (list: RelatedList) =>
    rows
      .filter((each) => each.list === list)
      .map(({ row }) => row)
      .join(",")
  return { variants: of("variants"), media: of("media"), collections: of("collections"), products: of("products") }
}

/** The request for the versions of an entity. `storeId` null: those on all linked stores. */
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

/** As `VersionsRecord`, with the outcome of the last publish and all that a publish sends. */
export const ProjectionsRecord = Schema.Struct({
  attributes: Attributes,
  /** Products of a collection. */
  members: Schema.Array(EntityId),
  versions: Schema.Array(
    Schema.Struct({
      ...version,
      accepted: Schema.NullOr(AcceptedValues),
      publishedAt: Schema.NullOr(Timestamp),
      lastPublishError: Schema.NullOr(PublishError),
      /** The gallery, and the variants of a product, on the store. */
      media: Schema.Array(EntityId),
      variants: Schema.Array(EntityId)
    })
  )
})
export type ProjectionsRecord = typeof ProjectionsRecord.Type
