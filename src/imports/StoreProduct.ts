import type { EntityId, StoreId } from "../model/Ids.ts"
import { addressOf } from "../model/SameValue.ts"
import type { Timestamp } from "../model/Timestamp.ts"

/** Values by attribute key. */
export type Values = Readonly<Record<string, string>>

/** An entity in a store, read from its export or its platform. */
export interface StoreEntity {
  /** Values by attribute key. If the source has no such key, the key is absent; `""` is empty in the store. */
  readonly values: Values
  /** Types by attribute key, for keys that the entity may not have in the catalog yet. */
  readonly types?: Values
  /** The entity's id on the platform. */
  readonly platformId?: string
  /** Whether the entity was published by this service. If so, values that the platform sets itself are ignored. */
  readonly isOurs?: boolean
}

/** A variant in a store. */
export interface StoreVariant extends StoreEntity {
  /** The matching variant of the catalog, if the match is known already. */
  readonly entityId?: EntityId | null
  /** Address of the variant's own image. null: the source has no such field; `""`: the variant has no image. */
  readonly imageUrl: string | null
  /** The variant's picture, if it is matched already; null: the variant has none. In that case `imageUrl` is null. */
  readonly picture?: EntityId | null
}

/** A product in a store. */
export interface StoreProduct extends StoreEntity {
  readonly variants: ReadonlyArray<StoreVariant>
  /** Images by address, in the order of the gallery. `alt` is null if the source has no such field. */
  readonly images: ReadonlyArray<{ readonly url: string; readonly alt: string | null }>
  /** Files of the gallery in order, if they are matched already. In that case `images` is empty. */
  readonly media?: ReadonlyArray<EntityId>
}

/** Shopify's maximum number of images of a product, with those that only its variants name. */
export const maxImages = 250

/** The addresses of images that only variants of the product name, each once. */
export const variantImagesOf = ({
  images,
  variants
}: {
  readonly images: ReadonlyArray<{ readonly url: string }>
  readonly variants: ReadonlyArray<{ readonly imageUrl: string | null }>
}): ReadonlyArray<string> => {
  const urls = variants.flatMap(({ imageUrl }) => imageUrl || [])
  if (urls.length === 0) return urls
  const named = new Set(images.map(({ url }) => addressOf(url)))
  return urls.filter((url) => {
    const address = addressOf(url)
    const isNew = !named.has(address)
    named.add(address)
    return isNew
  })
}

/** The addresses of all images that the product and its variants name, each once. */
export const imageAddressesOf = (product: Pick<StoreProduct, "images" | "variants">): ReadonlySet<string> =>
  new Set([...product.images.map(({ url }) => url), ...variantImagesOf(product)].map(addressOf))

/** A collection in a store. */
export interface StoreCollection extends StoreEntity {
  /** Products, in the store's order. */
  readonly members: ReadonlyArray<EntityId>
}

/** The source of an import. */
export interface ImportSource {
  readonly storeId: StoreId
  /** The shop's name, with which a platform fills an empty vendor. Missing: it is not known. */
  readonly storeName?: string
  /** Whether the source contains the whole store. If so, values and entities that it lacks are gone in the store. */
  readonly isComplete: boolean
  /** Whether the store is read after the import. If so, accepted values come from that reading and not from this source. */
  readonly isAnsweredByStore?: boolean
  /** When the reading of the store began. A publish after that time is newer than the values that were read. */
  readonly begunAt?: Timestamp
}
