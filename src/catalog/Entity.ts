import { Schema } from "effect"
import { type Attributes, AttributeTriple, type EntityKind, toTriples } from "../model/Attribute.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import { PublishError, PublishStatus } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"

const publishState = {
  pending_publish: Schema.Boolean.annotations({
    description: "Whether the draft has changes that are not published to a store yet."
  }),
  last_publish_status: PublishStatus
}

const identity = <Kind extends EntityKind>(kind: Kind) => ({
  id: EntityId,
  type: Schema.Literal(kind),
  title: Schema.String
})

const draftRevision = Schema.Int.annotations({
  description: "The revision of the draft. Send it with the next write (optimistic concurrency)."
})

const row = <Kind extends EntityKind>(kind: Kind) => ({
  ...identity(kind),
  draft_revision: draftRevision,
  ...publishState,
  store_ids: Schema.Array(StoreId).annotations({ description: "Stores that have the entity, by domain." }),
  updated_at: Timestamp.annotations({ description: "When the canonical record last changed." })
})

export const ProductRow = Schema.Struct(row("product")).annotations({ identifier: "ProductRow" })

export const VariantRow = Schema.Struct({ ...row("variant"), product_id: EntityId, sku: Schema.String }).annotations({
  identifier: "VariantRow"
})

export const CollectionRow = Schema.Struct({ ...row("collection"), handle: Schema.String }).annotations({
  identifier: "CollectionRow"
})

export const MediaType = Schema.Literal("image", "video", "model_3d", "external_video")
export type MediaType = typeof MediaType.Type

/** The media type of a MIME type. text/html is a page with a video player. An unknown type counts as an image. */
export const mediaTypeOf = (mimeType: string): MediaType =>
  mimeType.startsWith("video/")
    ? "video"
    : mimeType.startsWith("model/")
      ? "model_3d"
      : mimeType === "text/html"
        ? "external_video"
        : "image"

export const MediaRow = Schema.Struct({
  ...row("media"),
  url: Schema.String,
  media_type: MediaType,
  alt: Schema.String
}).annotations({ identifier: "MediaRow" })

/** A list row of any kind. */
export const EntityRow = Schema.Union(ProductRow, VariantRow, CollectionRow, MediaRow)
export type EntityRow = typeof EntityRow.Type

/** The publish state of an entity on one store. The values are in `StoreVersion`. */
export const StorePublishState = Schema.Struct({
  store_id: StoreId,
  store_domain: Schema.String,
  ...publishState,
  published_at: Schema.NullOr(Timestamp),
  last_publish_error: Schema.NullOr(PublishError)
}).annotations({ identifier: "StorePublishState" })
export type StorePublishState = typeof StorePublishState.Type

const detail = <Kind extends EntityKind>(kind: Kind) => ({
  ...identity(kind),
  attributes: Schema.Array(AttributeTriple).annotations({ description: "Canonical values." }),
  draft_revision: draftRevision,
  ...publishState
})

const detailTail = {
  stores: Schema.Array(StorePublishState).annotations({ description: "By domain." }),
  created_at: Timestamp,
  updated_at: Timestamp
}

const entityIds = (description: string) => Schema.Array(EntityId).annotations({ description })

export const Product = Schema.Struct({
  ...detail("product"),
  variant_ids: entityIds("The product's variants, by position."),
  media_ids: entityIds("In gallery order, across every store."),
  collection_ids: entityIds("Collections the product is a member of, by id."),
  ...detailTail
}).annotations({ identifier: "Product" })

export const Variant = Schema.Struct({
  ...detail("variant"),
  product_id: EntityId,
  media_ids: entityIds("In gallery order, across every store."),
  ...detailTail
}).annotations({ identifier: "Variant" })

export const Collection = Schema.Struct({
  ...detail("collection"),
  media_ids: entityIds("In gallery order, across every store."),
  products_count: Schema.Int,
  ...detailTail
}).annotations({ identifier: "Collection" })

export const Media = Schema.Struct({
  ...detail("media"),
  product_ids: entityIds("Products that use the file, by id."),
  variant_ids: entityIds("Variants that use the file, by id."),
  collection_ids: entityIds("Collections that use the file, by id."),
  ...detailTail
}).annotations({ identifier: "Media" })

/** The groups of members that a list can include: `attributes`, publish states on `stores`, and relationships. */
export const Include = Schema.Literal("attributes", "stores", "relationships")
export type Include = typeof Include.Type

/** The members of each group, in the details of all kinds. */
const membersOfGroup = {
  attributes: ["attributes"],
  stores: ["stores"],
  relationships: ["product_id", "variant_ids", "media_ids", "collection_ids", "products_count", "product_ids"]
} as const satisfies Record<Include, ReadonlyArray<string>>

/** The members of these groups. */
export type IncludedMember<Group extends Include> = (typeof membersOfGroup)[Group][number]

const groupOf = new Map<string, Include>(
  Include.literals.flatMap((group) => membersOfGroup[group].map((name) => [name, group] as const))
)

/** Whether a list row with these groups has this member of the detail. */
export const isIncluded = (include: ReadonlyArray<Include>, member: string): boolean => {
  const group = groupOf.get(member)
  return group === undefined || include.includes(group)
}

/** A list row with included groups: the detail without the members of other groups, in the same order. */
export const includedOf = (kind: EntityKind, record: EntityRecord, include: ReadonlyArray<Include>): object =>
  Object.fromEntries(Object.entries(details[kind](record)).filter(([member]) => isIncluded(include, member)))

const toIncludedRow = <Fields extends Schema.Struct.Fields>(identifier: string, { fields }: Schema.Struct<Fields>) =>
  Schema.Struct(
    Object.fromEntries(
      Object.entries(fields as unknown as Record<string, Schema.Schema.AnyNoContext>).map(([member, schema]) => [
        member,
        groupOf.has(member) ? Schema.optionalWith(schema, { exact: true }) : schema
      ])
    )
  ).annotations({
    identifier,
    description:
      "A row of a list with `include`: the single read's members, in its order, without the groups that were not named."
  }) as unknown as Schema.Schema<Partial<Schema.Struct.Type<Fields>>, Partial<Schema.Struct.Encoded<Fields>>>

export const IncludedProduct = toIncludedRow("IncludedProduct", Product)
export const IncludedVariant = toIncludedRow("IncludedVariant", Variant)
export const IncludedCollection = toIncludedRow("IncludedCollection", Collection)
export const IncludedMedia = toIncludedRow("IncludedMedia", Media)

export const StoreVersion = Schema.Struct({
  store_id: StoreId,
  store_domain: Schema.String,
  attributes: Schema.Array(AttributeTriple).annotations({
    description: "The values this store publishes: canonical values with the store's overrides on top."
  }),
  ...publishState
}).annotations({ identifier: "StoreVersion" })
export type StoreVersion = typeof StoreVersion.Type

/** The data for the details of every kind. Ids are in the order of the API answers. */
export interface EntityRecord {
  readonly id: EntityId
  readonly title: string
  readonly attributes: Attributes
  readonly draftRevision: number
  readonly pendingPublish: boolean
  readonly lastPublishStatus: PublishStatus
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
  /** The product of a variant. */
  readonly parentId: EntityId | null
  readonly variantIds: ReadonlyArray<EntityId>
  readonly mediaIds: ReadonlyArray<EntityId>
  /** Collections a product is a member of. */
  readonly collectionIds: ReadonlyArray<EntityId>
  /** Members of a collection. */
  readonly productsCount: number
  /** Entities with this media file in their gallery. */
  readonly usedBy: ReadonlyArray<{ readonly id: EntityId; readonly kind: EntityKind }>
  readonly stores: ReadonlyArray<StorePublishState>
}

const head = <Kind extends EntityKind>(kind: Kind, record: EntityRecord) => ({
  id: record.id,
  type: kind,
  title: record.title,
  attributes: toTriples(kind, record.attributes),
  draft_revision: record.draftRevision,
  pending_publish: record.pendingPublish,
  last_publish_status: record.lastPublishStatus
})

const tail = (record: EntityRecord) => ({
  stores: record.stores,
  created_at: record.createdAt,
  updated_at: record.updatedAt
})

const users = (record: EntityRecord, kind: EntityKind) =>
  record.usedBy.filter((user) => user.kind === kind).map(({ id }) => id)

/** Builds the detail of each kind from a record. */
export const details = {
  product: (record: EntityRecord): typeof Product.Type => ({
    ...head("product", record),
    variant_ids: record.variantIds,
    media_ids: record.mediaIds,
    collection_ids: record.collectionIds,
    ...tail(record)
  }),
  variant: (record: EntityRecord): typeof Variant.Type => ({
    ...head("variant", record),
    // The database guarantees by a constraint that every variant has a product.
    product_id: record.parentId ?? record.id,
    media_ids: record.mediaIds,
    ...tail(record)
  }),
  collection: (record: EntityRecord): typeof Collection.Type => ({
    ...head("collection", record),
    media_ids: record.mediaIds,
    products_count: record.productsCount,
    ...tail(record)
  }),
  media: (record: EntityRecord): typeof Media.Type => ({
    ...head("media", record),
    product_ids: users(record, "product"),
    variant_ids: users(record, "variant"),
    collection_ids: users(record, "collection"),
    ...tail(record)
  })
}
