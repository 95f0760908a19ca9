import { Data } from "effect"
import type { Attributes } from "../model/Attribute.ts"
import type { EntityId } from "../model/Ids.ts"

/** An entity as a publication names it. */
export interface PublishedEntity {
  readonly entityId: EntityId
  /** What the store calls it; null: it was never published there, or nobody remembers. */
  readonly platformId: string | null
  /** Effective values. A built-in key that is absent is empty; a metafield that is present and `""` is taken away. */
  readonly attributes: Attributes
}

interface Asked extends PublishedEntity {
  /** The id of the ask: one for all attempts to carry it out. */
  readonly key: string
}

/** What one ask brings to one store: an entity's values and the relationships that its kind publishes. */
export type Publication = Data.TaggedEnum<{
  /**
   * `media`: the whole gallery on that store, in order. `variants`: all of that store, in order; the first publish
   * carries their values, a later one leaves those of variants that are there alone.
   */
  Product: Asked & {
    readonly variants: ReadonlyArray<PublishedEntity>
    readonly media: ReadonlyArray<PublishedEntity>
  }
  /** `productPlatformId`: what the store calls the product, which is live there. */
  Variant: Asked & { readonly productPlatformId: string }
  /** `members`: what the store calls the collection's products, in order. */
  Collection: Asked & { readonly members: ReadonlyArray<string> }
  Media: Asked
}>
export const Publication = Data.taggedEnum<Publication>()

/** What the store calls the entities that a publication brought there: the one that was asked for, and those it carried. */
export interface Published {
  readonly platformIds: ReadonlyMap<EntityId, string>
}
