import { Data } from "effect"
import type { AcceptedValues, Aggregate, GalleryEntry } from "../catalog/Aggregate.ts"
import type { EntityKind } from "../model/Attribute.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { Timestamp } from "../model/Timestamp.ts"

/**
 * New values by key. `null` empties a canonical value and removes an override. A metafield that no layer has yet gets its
 * type from `types`, by default a single line of text.
 */
export interface NewValues {
  readonly values: Readonly<Record<string, string | null>>
  readonly types?: Readonly<Record<string, string>>
}

/** One change of the catalog. A list of changes is applied in order, as a whole or not at all. */
export type CatalogChange = Data.TaggedEnum<{
  /** `parentId`: the product of a variant, null for other kinds. A new variant becomes the last of its product. */
  CreateEntity: NewValues & { readonly id: EntityId; readonly kind: EntityKind; readonly parentId: EntityId | null }
  SetAttributes: NewValues & { readonly entityId: EntityId }
  SetOverrides: NewValues & { readonly entityId: EntityId; readonly storeId: StoreId }
  AddToStore: { readonly entityId: EntityId; readonly storeId: StoreId }
  RemoveFromStore: { readonly entityId: EntityId; readonly storeId: StoreId }
  /** The whole gallery, in order. */
  SetGallery: { readonly entityId: EntityId; readonly entries: ReadonlyArray<GalleryEntry> }
  /** The whole collection, in order. */
  SetMembers: { readonly collectionId: EntityId; readonly productIds: ReadonlyArray<EntityId> }
  /** All variants of the product, in their new order. */
  OrderVariants: { readonly productId: EntityId; readonly variantIds: ReadonlyArray<EntityId> }
  /** The store accepted the current values. `platformId`: the entity's id on the platform, if it is new. */
  AcceptPublish: { readonly entityId: EntityId; readonly storeId: StoreId; readonly platformId?: string }
  /**
   * The store has these values and relationships, according to its export or its platform. Other accepted values stay, and
   * so do other accepted relationships unless the given ones are complete. `platformId`: the entity's id on the platform.
   */
  AcceptImported: {
    readonly entityId: EntityId
    readonly storeId: StoreId
    readonly values: Readonly<Record<string, string>>
    readonly types?: Readonly<Record<string, string>>
    readonly media: ReadonlyArray<EntityId>
    readonly variants: ReadonlyArray<EntityId>
    readonly members?: ReadonlyArray<EntityId>
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
  /** The publish failed. */
  RefusePublish: { readonly entityId: EntityId; readonly storeId: StoreId; readonly error: PublishError }
  /** A publish is requested. */
  RequestPublish: { readonly entityId: EntityId; readonly storeId: StoreId }
  /**
   * Gives metafields the types of their definitions, where their values fit: canonical values, overrides and accepted values.
   */
  Retype: { readonly entityId: EntityId; readonly types: Readonly<Record<string, string>> }
  /** Sets the entity's id on the platform of the store. */
  Identify: { readonly entityId: EntityId; readonly storeId: StoreId; readonly platformId: string }
}>
export const CatalogChange = Data.taggedEnum<CatalogChange>()

/** The state that changes are planned against, read under the locks that their writes need. */
export interface Locked {
  readonly now: Timestamp
  /** Linked stores, by domain. */
  readonly storeIds: ReadonlyArray<StoreId>
  /** The entities that the changes write, the products of the variants among them, and the variants of the products. */
  readonly aggregates: ReadonlyMap<EntityId, Aggregate>
  /** The draft revision of each aggregate. */
  readonly revisions: ReadonlyMap<EntityId, number>
  /** Kinds of the entities that the changes only refer to. */
  readonly kinds: ReadonlyMap<EntityId, EntityKind>
}

/** Changes that were decided from the locked state. */
export interface Decision {
  readonly changes: ReadonlyArray<CatalogChange>
  /** The draft revisions that the changes are based on. They are refused if a current revision differs. */
  readonly basedOn: ReadonlyMap<EntityId, number>
}

/** The rows to write. All lists are empty if nothing changed. */
export interface Plan {
  readonly created: ReadonlyArray<Aggregate>
  readonly updated: ReadonlyArray<{ readonly before: Aggregate; readonly after: Aggregate }>
  /** Entities whose canonical record changed, in the order of their first change. Each gets a new place in the change order. */
  readonly stamped: ReadonlyArray<EntityId>
  /** Entities whose draft changed only on stores: their revision rises, their place stays. */
  readonly drafted: ReadonlyArray<EntityId>
}

/** The entities whose rows a change writes. */
export const ownersOf = (change: CatalogChange): ReadonlyArray<EntityId> => {
  switch (change._tag) {
    case "CreateEntity":
      return change.parentId === null ? [change.id] : [change.id, change.parentId]
    case "SetMembers":
      return [change.collectionId]
    case "OrderVariants":
      return [change.productId]
    default:
      return [change.entityId]
  }
}

/** The entities that a change refers to and does not write. */
export const referencesOf = (change: CatalogChange): ReadonlyArray<EntityId> => {
  switch (change._tag) {
    case "SetGallery":
      return change.entries.map(({ mediaId }) => mediaId)
    case "SetMembers":
      return change.productIds
    default:
      return []
  }
}
