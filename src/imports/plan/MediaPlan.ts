import type { Aggregate, GalleryEntry } from "../../catalog/Aggregate.ts"
import { mediaTypeOf } from "../../catalog/Entity.ts"
import { valueOf } from "../../model/Attribute.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import { addressOf } from "../../model/SameValue.ts"
import {
  type ImportSource,
  type StoreEntity,
  type StoreProduct,
  type Values,
  variantImagesOf
} from "../StoreProduct.ts"
import { isWebAddress } from "../StoreValue.ts"
import type { ImageAddresses, ImportMatch, ImportPlan, MatchedFile } from "./ImportPlan.ts"
import { ImportPlanner } from "./ImportPlanner.ts"
import { findRemovals, type ListState, subtract } from "./ListOrder.ts"
import { effectiveOn, galleryOn, livesOnlyOn, setGallery, versionOn } from "./StoreVersion.ts"

const lastSegment = (url: string) => addressOf(url).split("/").at(-1) ?? ""

const mediaOf = (gallery: ReadonlyArray<GalleryEntry>) => gallery.map(({ mediaId }) => mediaId)

/** Plans a media file that a refresh found. `id`: the id of the existing file, or the id for the new one. */
export const planFile = (
  imported: StoreEntity,
  file: Aggregate | undefined,
  source: ImportSource,
  id: EntityId
): ImportPlan => {
  const planner = new ImportPlanner(source)
  planner.place(id, "media", null, file, imported)
  return planner.toPlan(file === undefined)
}

const noOthers: ImageAddresses = { isNamed: () => false, findFile: () => undefined, share: () => undefined }

/**
 * The addresses of images that only variants name and that the product's gallery gets too, as in Shopify. Left out are pictures that all
 * variants that name them show on the store already, and the product never did there.
 */
export const findVariantImages = (
  imported: StoreProduct,
  matched: ReadonlyArray<Aggregate | undefined>,
  { media, product }: ImportMatch,
  storeId: StoreId
): ReadonlyArray<string> => {
  const urls = variantImagesOf(imported)
  if (urls.length === 0) return urls
  const addresses = new Map(media.map((file) => [file.id, addressOf(valueOf(effectiveOn(file, storeId), "url"))]))
  const addressesOf = (ids: ReadonlyArray<EntityId>) => new Set(ids.flatMap((id) => addresses.get(id) ?? []))
  const shownBy = (entity: Aggregate | undefined) =>
    mediaOf(galleryOn(entity, storeId).filter(({ storeIds }) => storeIds.includes(storeId)))
  const accepted = product === undefined ? undefined : versionOn(product, storeId)?.accepted?.media
  const ofProduct = addressesOf([...shownBy(product), ...(accepted ?? [])])
  const missing = new Set(
    imported.variants.flatMap(({ imageUrl }, index) => {
      if (!imageUrl) return []
      const address = addressOf(imageUrl)
      return addressesOf(shownBy(matched[index])).has(address) ? [] : [address]
    })
  )
  return urls.filter((url) => missing.has(addressOf(url)) || ofProduct.has(addressOf(url)))
}

/**
 * Plans the files of a product's images, and behind them of those that only variants name. Returns the ids of the files by address.
 * Products that name the same address share one file. A file that another product shows keeps its values.
 */
export const planImages = (
  planner: ImportPlanner,
  imported: StoreProduct,
  variantImages: ReadonlyArray<string>,
  { addresses = noOthers, media, product, sharedMedia = new Set() }: ImportMatch,
  mint: () => EntityId
): ReadonlyMap<string, EntityId> => {
  const { storeId } = planner.source
  const images = [...imported.images, ...variantImages.map((url) => ({ url, alt: null }))]
  const byAddress = new Map(media.map((file) => [addressOf(valueOf(file.attributes, "url")), file]))
  const byId = new Map(media.map((file) => [file.id, file]))
  const addressHere = (file: Aggregate) => addressOf(valueOf(effectiveOn(file, storeId), "url"))
  // The images that the store's export lists: an image with a new address replaces the one at its index.
  const listed = galleryOn(product, storeId)
    .filter(({ storeIds }) => storeIds.includes(storeId))
    .flatMap(({ mediaId }) => byId.get(mediaId) ?? [])
    .filter((file) => mediaTypeOf(valueOf(effectiveOn(file, storeId), "mime_type")) === "image")
    .filter((file) => isWebAddress(addressHere(file)))
  const canonicallyNamed = new Set(images.map(({ url }) => byAddress.get(addressOf(url))?.id))
  // An image matches a file by the canonical address first, then by the address on this store.
  const others = media.filter(({ id }) => !canonicallyNamed.has(id))
  const byOwnAddress = new Map(others.map((file) => [addressHere(file), file]))
  const findShown = (url: string) => byAddress.get(addressOf(url)) ?? byOwnAddress.get(addressOf(url))
  const imageIds = new Set(images.map(({ url }) => findShown(url)?.id))
  const isReplaceable = (file: Aggregate) =>
    !imageIds.has(file.id) && !sharedMedia.has(file.id) && !addresses.isNamed(addressHere(file))
  const findFile = (address: string): MatchedFile | undefined => {
    const file = findShown(address)
    return file === undefined ? addresses.findFile(address) : { file, isShared: sharedMedia.has(file.id), isNew: true }
  }
  const mediaIds = new Map<string, EntityId>()
  for (const [index, { alt, url }] of images.entries()) {
    const address = addressOf(url)
    if (mediaIds.has(address)) continue
    const matched = findFile(address)
    const shared = matched === undefined ? addresses.share(address) : undefined
    const replaced = index < imported.images.length ? listed[index] : undefined
    const file = matched?.file ?? (shared === undefined && replaced && isReplaceable(replaced) ? replaced : undefined)
    const altValue: Values = alt === null ? {} : { alt }
    // Stores add a version to the address. Without the version it is the same address, so the file is unchanged.
    const isSameAddress = file !== undefined && addressHere(file) === address
    const values: Values = matched?.isShared ? {} : isSameAddress ? altValue : { url, ...altValue }
    const id = file?.id ?? shared?.id ?? mint()
    if ((matched ?? shared)?.isNew !== false)
      planner.place(id, "media", null, file, {
        values: file === undefined ? { ...values, file_name: lastSegment(url) } : values
      })
    mediaIds.set(address, id)
  }
  return mediaIds
}

/**
 * Builds the gallery of these files. The store shows the files of `inStore` and no longer those that are `gone` there. A file
 * leaves the gallery if no other store shows it, unlinked stores (`heldElsewhere`) included.
 */
const toGallery = (
  ids: ReadonlyArray<EntityId>,
  gallery: ReadonlyArray<GalleryEntry>,
  { gone, inStore }: { readonly gone: ReadonlySet<EntityId>; readonly inStore: ReadonlyArray<EntityId> },
  storeId: StoreId,
  heldElsewhere: ReadonlySet<EntityId> = new Set()
): ReadonlyArray<GalleryEntry> => {
  const before = new Map(gallery.map((entry) => [entry.mediaId, entry]))
  const shown = new Set(inStore)
  return ids.flatMap((mediaId) => {
    const storeIds = before.get(mediaId)?.storeIds ?? []
    if (gone.has(mediaId)) {
      const others = storeIds.filter((id) => id !== storeId)
      return others.length > 0 || heldElsewhere.has(mediaId) ? [{ mediaId, storeIds: others }] : []
    }
    return [
      { mediaId, storeIds: shown.has(mediaId) && !storeIds.includes(storeId) ? [...storeIds, storeId] : storeIds }
    ]
  })
}

/** Plans the product's gallery: its files and their order. */
export const planGallery = (
  planner: ImportPlanner,
  productId: EntityId,
  { heldElsewhere, product }: ImportMatch,
  media: ReadonlyArray<EntityId>
): void => {
  const { isComplete, storeId } = planner.source
  const version = product === undefined ? undefined : versionOn(product, storeId)
  const accepted = version?.accepted?.media
  const isOnlyStore = product === undefined || livesOnlyOn(product, storeId)
  const gallery = galleryOn(product, storeId)
  const shown = mediaOf(gallery.filter(({ storeIds }) => storeIds.includes(storeId)))
  const { byDraft, byStore } = findRemovals(shown, media, accepted, isComplete)
  const inStore = subtract(media, byDraft)
  const state: ListState = {
    here: mediaOf(gallery),
    inStore,
    shared: isOnlyStore ? [] : mediaOf(gallery.filter((entry) => !livesOnlyOn(entry, storeId))),
    isThere: version !== undefined,
    accepted
  }
  const gone = new Set(byStore)
  planner.orderList("media_ids", productId, state, shown, (ids) =>
    setGallery(productId, product, toGallery(ids, gallery, { gone, inStore }, storeId, heldElsewhere))
  )
}
