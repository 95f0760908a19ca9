import { Data } from "effect"
import type { Attributes } from "../model/Attribute.ts"
import type { EntityId } from "../model/Ids.ts"
import type { FirstOption } from "../model/ProductOptions.ts"
import type { PublishError } from "../model/PublishState.ts"

/** An entity in a publication, with the values to send. */
export interface PublishedEntity {
  readonly entityId: EntityId
  /** The entity's id on the platform; null: unknown, or never published there. */
  readonly platformId: string | null
  /** Effective values. If a built-in key is missing, its value is empty. A metafield with the value `""` is deleted. */
  readonly attributes: Attributes
  /**
   * Whether the store has accepted values of the entity without telling its id, as in an imported file of the store. Then a record with its
   * handle, SKU or address is the entity's. Otherwise such a record is one that the catalog has not read. Default: false.
   */
  readonly isAccepted?: boolean
  /** Whether an earlier publication, which failed, may have created the record, and none has succeeded since. Default: false. */
  readonly mayBeCreated?: boolean
}

/** A picture in the gallery of a variant's product. */
export interface VariantPicture {
  readonly entityId: EntityId
  /** The picture's id on the platform; null: the publication brings it to the store. */
  readonly platformId: string | null
}

/** A variant. `picture`: the picture that the store shows of it; null: none. Absent: the store keeps the one that it has. */
export interface PublishedVariant extends PublishedEntity {
  readonly picture?: VariantPicture | null
}

/** `firstOption`: the option to give to a product that the store has without options. */
interface OptionedPublication {
  readonly firstOption?: FirstOption
}

interface RequestedPublication extends PublishedEntity {
  /** Identifies the publication. All attempts have the same key. */
  readonly key: string
}

/** The values of an entity, and the relationships of its kind, for one store. */
export type Publication = Data.TaggedEnum<{
  /**
   * `media`: the whole gallery on the store, in order. `variants`: all variants on the store, in order. Values and pictures of variants
   * are written by the first publish of the product only, except the option value of the variant that gets `firstOption.former`. A picture
   * that leaves the gallery leaves the variants that show it.
   */
  Product: RequestedPublication &
    OptionedPublication & {
      readonly variants: ReadonlyArray<PublishedVariant>
      readonly media: ReadonlyArray<PublishedEntity>
    }
  /** `productPlatformId`: the platform id of the variant's product, which is published already. */
  Variant: RequestedPublication & PublishedVariant & OptionedPublication & { readonly productPlatformId: string }
  /** `members`: the platform ids of the collection's products, in order. */
  Collection: RequestedPublication & { readonly members: ReadonlyArray<string> }
  Media: RequestedPublication
}>
export const Publication = Data.taggedEnum<Publication>()
export type ProductPublication = Extract<Publication, { _tag: "Product" }>
export type VariantPublication = Extract<Publication, { _tag: "Variant" }>
export type CollectionPublication = Extract<Publication, { _tag: "Collection" }>

export interface Published {
  /** What the store did not do although it has accepted the publication. */
  readonly notDone?: PublishError
  /** The platform ids of all entities of a publication. */
  readonly platformIds: ReadonlyMap<EntityId, string>
  /** The first option of the publication, if the store has given its live variant the value `former`. */
  readonly firstOption?: FirstOption
}
