import { Data, Schema } from "effect"
import type { AcceptedValues, Aggregate, GalleryEntry } from "../catalog/Aggregate.ts"
import { EntityKind } from "../model/Attribute.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import type { VariantSummary } from "./Aggregate.ts"
import type { JoinedEntry } from "./VariantPictures.ts"

/**
 * New values by key. `null` empties a canonical value and removes an override. The type of a metafield that the entity does not
 * have yet comes from `types`; the default is `single_line_text_field`.
 */
export interface NewValues {
  readonly values: Readonly<Record<string, string | null>>
  readonly types?: Readonly<Record<string, string>>
}

/** Where a move puts an item of an ordered list: one place up or down from where it is then, or at a place. The first place is 1. */
export type Target = "up" | "down" | number

/** One change of the catalog. A list of changes is applied in order, either completely or not at all. */
export type CatalogChange = Data.TaggedEnum<{
  /** `parentId`: the product of a variant; null for other kinds. A new variant comes after the other variants of the product. */
  CreateEntity: NewValues & { readonly id: EntityId; readonly kind: EntityKind; readonly parentId: EntityId | null }
  /** Deletes an entity with its history, a product with its variants. What refers to it from outside must have been taken away before. */
  DeleteEntity: { readonly entityId: EntityId }
  SetAttributes: NewValues & { readonly entityId: EntityId }
  SetOverrides: NewValues & { readonly entityId: EntityId; readonly storeId: StoreId }
  AddToStore: { readonly entityId: EntityId; readonly storeId: StoreId }
  /** Adds a new variant to the unlinked stores that have its product, so that it is there when they are linked again. */
  AddToUnlinkedStores: { readonly entityId: EntityId }
  RemoveFromStore: { readonly entityId: EntityId; readonly storeId: StoreId }
  /** `entries`: the whole new gallery, in order. */
  SetGallery: { readonly entityId: EntityId; readonly entries: ReadonlyArray<GalleryEntry> }
  /**
   * Shows entries of a gallery on more stores, new ones at its end, and takes others off stores. All others stay as they are. `keep`: media
   * that the gallery of a product keeps from now on, although they came with pictures of variants.
   */
  ChangeGallery: {
    readonly entityId: EntityId
    readonly add: ReadonlyArray<GalleryEntry>
    readonly remove: ReadonlyArray<JoinedEntry>
    readonly keep?: ReadonlyArray<EntityId>
  }
  /** `productIds`: all members of the collection, in order. */
  SetMembers: { readonly collectionId: EntityId; readonly productIds: ReadonlyArray<EntityId> }
  /** Adds products at the end of a collection, and takes others out. Those that are there already, or not there, stay as they are. */
  ChangeMembers: {
    readonly collectionId: EntityId
    readonly add: ReadonlyArray<EntityId>
    readonly remove: ReadonlyArray<EntityId>
  }
  /** Moves a product of a collection. All others keep their order. */
  MoveMember: { readonly collectionId: EntityId; readonly productId: EntityId; readonly to: Target }
  /** `variantIds`: all variants of the product, in their new order. */
  OrderVariants: { readonly productId: EntityId; readonly variantIds: ReadonlyArray<EntityId> }
  /** Moves a variant of a product. All others keep their order. */
  MoveVariant: { readonly productId: EntityId; readonly variantId: EntityId; readonly to: Target }
  /** The store accepted the current values. `platformId`: the entity's id on the platform, if the publish returned one. */
  AcceptPublish: { readonly entityId: EntityId; readonly storeId: StoreId; readonly platformId?: string }
  /**
   * According to an export or its platform, the store has these values and relationships. Other accepted values do not change.
   * Other accepted relationships do not change either, unless `isComplete`. `platformId`: the entity's id on the platform.
   */
  AcceptImported: {
    readonly entityId: EntityId
    readonly storeId: StoreId
    readonly values: Readonly<Record<string, string>>
    readonly types?: Readonly<Record<string, string>>
    readonly media: ReadonlyArray<EntityId>
    readonly variants: ReadonlyArray<EntityId>
    readonly members?: ReadonlyArray<EntityId>
    /** The picture of a variant. null: none. Absent: unknown. */
    readonly picture?: EntityId | null
    readonly isComplete?: boolean
    readonly platformId?: string
  }
  /** The store accepted these values. `isRequestedAgain`: a newer publish request is pending. */
  AcceptPinned: {
    readonly entityId: EntityId
    readonly storeId: StoreId
    readonly values: AcceptedValues
    readonly isRequestedAgain: boolean
  }
  /** The publish waits, because the store's platform does not answer. Changes nothing if no publish is pending. */
  DelayPublish: { readonly entityId: EntityId; readonly storeId: StoreId; readonly error: PublishError }
  /** The publish failed. */
  RefusePublish: { readonly entityId: EntityId; readonly storeId: StoreId; readonly error: PublishError }
  /** The publish was cancelled before it was sent. */
  CancelPublish: { readonly entityId: EntityId; readonly storeId: StoreId }
  /** A publish failed, but the store may have the entity. Changes nothing if the store has accepted it before. */
  MarkMayBeLive: { readonly entityId: EntityId; readonly storeId: StoreId }
  /** The store has taken the picture off a variant, by a publish of its product. The state of the variant's own publish stays. */
  LosePicture: { readonly entityId: EntityId; readonly storeId: StoreId }
  /** A publish is requested. */
  RequestPublish: { readonly entityId: EntityId; readonly storeId: StoreId }
  /**
   * Changes the types of metafields, by key: canonical values, overrides and accepted values. Values that do not fit are skipped.
   */
  Retype: { readonly entityId: EntityId; readonly types: Readonly<Record<string, string>> }
  /** Sets the entity's id on the platform of the store. */
  Identify: { readonly entityId: EntityId; readonly storeId: StoreId; readonly platformId: string }
}>
export const CatalogChange = Data.taggedEnum<CatalogChange>()

/** The state that changes are planned against. It is read under the locks that the later writes need. */
export interface LockedCatalog {
  readonly now: Timestamp
  /** The linked stores, ordered by domain. */
  readonly storeIds: ReadonlyArray<StoreId>
  /** The entities to be written, the products of variants among them, and all variants of these products but for `summaries`. */
  readonly aggregates: ReadonlyMap<EntityId, Aggregate>
  /** Variants that are read in part, because the changes are not expected to write them. */
  readonly summaries: ReadonlyMap<EntityId, VariantSummary>
  /**
   * Collections whose members were not read, because the changes are not expected to need them: their current and their accepted members
   * are empty here. The set has the stores whose accepted members differ from the current ones.
   */
  readonly unreadMembers: ReadonlyMap<EntityId, ReadonlySet<StoreId>>
  /** The draft revision of each aggregate. */
  readonly revisions: ReadonlyMap<EntityId, number>
  /** The number of the newest entry of each aggregate's history; 0: it has none. */
  readonly sequences: ReadonlyMap<EntityId, number>
  /** The kinds of entities that the changes refer to but do not write. */
  readonly kinds: ReadonlyMap<EntityId, EntityKind>
}

/** Changes that were decided from a locked state. */
export interface Decision {
  readonly changes: ReadonlyArray<CatalogChange>
  /** The draft revision of each entity that the changes are based on. If a current revision differs, the changes are refused. */
  readonly basedOn: ReadonlyMap<EntityId, number>
}

/** The rows to write. All lists are empty if nothing changed. */
export interface Plan {
  readonly created: ReadonlyArray<Aggregate>
  readonly updated: ReadonlyArray<{ readonly before: Aggregate; readonly after: Aggregate }>
  /** New variants that are also added to the unlinked stores of their products. */
  readonly toUnlinked: ReadonlyArray<EntityId>
  /** As they were. `name`: as lists named them. */
  readonly deleted: ReadonlyArray<Aggregate & { readonly name: string }>
  /** Entities whose canonical record changed, in the order of their first change. Each gets a new change_seq. */
  readonly stamped: ReadonlyArray<EntityId>
  /** Entities whose draft changed only on stores. Their revision rises, their change_seq does not. */
  readonly drafted: ReadonlyArray<EntityId>
}

/** The entities whose database rows a change writes. */
export const ownersOf = (change: CatalogChange): ReadonlyArray<EntityId> => {
  switch (change._tag) {
    case "CreateEntity":
      return change.parentId === null ? [change.id] : [change.id, change.parentId]
    case "SetMembers":
    case "ChangeMembers":
    case "MoveMember":
      return [change.collectionId]
    case "OrderVariants":
    case "MoveVariant":
      return [change.productId]
    default:
      return [change.entityId]
  }
}

/** The entities that a change refers to but does not write. */
const referencesOf = (change: CatalogChange): ReadonlyArray<EntityId> => {
  switch (change._tag) {
    case "SetGallery":
      return change.entries.map(({ mediaId }) => mediaId)
    case "ChangeGallery":
      return change.add.map(({ mediaId }) => mediaId)
    case "SetMembers":
      return change.productIds
    case "ChangeMembers":
      return change.add
    default:
      return []
  }
}

/**
 * The products all of whose variants a change may write: they get a new position, the new title of their product in their search
 * text, or they are added to a store or deleted with their product.
 */
export const wholeProductsOf = (change: CatalogChange): ReadonlyArray<EntityId> => {
  switch (change._tag) {
    case "OrderVariants":
    case "MoveVariant":
      return [change.productId]
    case "AddToStore":
    case "DeleteEntity":
      return [change.entityId]
    case "SetAttributes":
      return Object.hasOwn(change.values, "title") ? [change.entityId] : []
    default:
      return []
  }
}

/** The collections whose members a change writes or compares, or whose accepted values it writes. */
export const wholeCollectionsOf = (change: CatalogChange): ReadonlyArray<EntityId> => {
  switch (change._tag) {
    case "SetMembers":
    case "ChangeMembers":
    case "MoveMember":
      return [change.collectionId]
    case "AcceptPublish":
    case "AcceptPinned":
    case "AcceptImported":
    case "DeleteEntity":
    case "Retype":
      return [change.entityId]
    default:
      return []
  }
}

/** The entities that changes write (`owners`) and refer to (`references`), each once. */
export const idsOf = (changes: ReadonlyArray<CatalogChange>) => ({
  owners: [...new Set(changes.flatMap(ownersOf))],
  references: [...new Set(changes.flatMap(referencesOf))]
})

const Values = Schema.Record({ key: Schema.String, value: Schema.NullOr(Schema.String) })
const Texts = Schema.Record({ key: Schema.String, value: Schema.String })
const Types = Schema.optionalWith(Texts, { exact: true })
const Ids = Schema.Array(EntityId)
const onStore = { entityId: EntityId, storeId: StoreId }

const Change = Schema.Union(
  Schema.TaggedStruct("CreateEntity", {
    id: EntityId,
    kind: EntityKind,
    parentId: Schema.NullOr(EntityId),
    values: Values,
    types: Types
  }),
  Schema.TaggedStruct("SetAttributes", { entityId: EntityId, values: Values, types: Types }),
  Schema.TaggedStruct("SetOverrides", { ...onStore, values: Values, types: Types }),
  Schema.TaggedStruct("AddToStore", onStore),
  Schema.TaggedStruct("RemoveFromStore", onStore),
  Schema.TaggedStruct("SetGallery", {
    entityId: EntityId,
    entries: Schema.Array(Schema.Struct({ mediaId: EntityId, storeIds: Schema.Array(StoreId) }))
  }),
  Schema.TaggedStruct("SetMembers", { collectionId: EntityId, productIds: Ids }),
  Schema.TaggedStruct("OrderVariants", { productId: EntityId, variantIds: Ids }),
  Schema.TaggedStruct("AcceptImported", {
    ...onStore,
    values: Texts,
    types: Types,
    media: Ids,
    variants: Ids,
    members: Schema.optionalWith(Ids, { exact: true }),
    picture: Schema.optionalWith(Schema.NullOr(EntityId), { exact: true }),
    isComplete: Schema.optionalWith(Schema.Boolean, { exact: true }),
    platformId: Schema.optionalWith(Schema.String, { exact: true })
  })
)

/** The changes of an import. They are stored until the import is accepted. */
export const StagedChangeJson = Schema.Union(
  Change,
  Schema.TaggedStruct("Decided", { conflict: Schema.Int, take: Schema.Array(Change), keep: Schema.Array(Change) })
)
