import { Data } from "effect"
import type { Attributes } from "../model/Attribute.ts"
import type { EntityId } from "../model/Ids.ts"

/** An entity of a publication. */
export interface PublishedEntity {
  readonly entityId: EntityId
  /** The store's id of the entity; null: unknown, or never published there. */
  readonly platformId: string | null
  /** Effective values. A missing built-in key is empty. A metafield with the value `""` is deleted. */
  readonly attributes: Attributes
}

interface Requested extends PublishedEntity {
  /** The same for all attempts of a publication. */
  readonly key: string
}

/** The values of an entity, and the relationships of its kind, for one store. */
export type Publication = Data.TaggedEnum<{
  /**
   * `media`: the whole gallery on the store, in order. `variants`: all variants on the store, in order. Only the first publish
   * writes the values of variants that the store has.
   */
  Product: Requested & {
    readonly variants: ReadonlyArray<PublishedEntity>
    readonly media: ReadonlyArray<PublishedEntity>
  }
  /** `productPlatformId`: the store's id of the product, which is live there. */
  Variant: Requested & { readonly productPlatformId: string }
  /** `members`: the store's ids of the collection's products, in order. */
  Collection: Requested & { readonly members: ReadonlyArray<string> }
  Media: Requested
}>
export const Publication = Data.taggedEnum<Publication>()
export type ProductPublication = Extract<Publication, { _tag: "Product" }>
export type VariantPublication = Extract<Publication, { _tag: "Variant" }>
export type CollectionPublication = Extract<Publication, { _tag: "Collection" }>

/** The store's ids of all entities of a publication. */
export interface Published {
  readonly platformIds: ReadonlyMap<EntityId, string>
}
