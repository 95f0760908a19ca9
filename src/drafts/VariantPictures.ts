import { Either } from "effect"
import type { Aggregate, GalleryEntry } from "../catalog/Aggregate.ts"
import { ValidationFailed } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { CatalogChange } from "./CatalogChange.ts"

/** The largest gallery that stores accept. */
export const maxGallery = 250

/** An entry of a product's gallery that came with a picture of a variant, on these stores. `isNew`: the gallery had no such entry before. */
export interface JoinedEntry extends GalleryEntry {
  readonly isNew: boolean
}

const storesIn = (gallery: ReadonlyArray<GalleryEntry>, mediaId: EntityId): ReadonlyArray<StoreId> | undefined =>
  gallery.find((entry) => entry.mediaId === mediaId)?.storeIds

/**
 * The entries that the gallery of a product gets if the gallery of its variant becomes `entries`: those that the variant newly shows. A store
 * shows a picture of a variant only if the gallery of its product has it.
 */
export const joinedEntries = (
  product: Pick<Aggregate, "gallery">,
  variant: Pick<Aggregate, "gallery">,
  entries: ReadonlyArray<GalleryEntry>
): ReadonlyArray<JoinedEntry> =>
  entries.flatMap(({ mediaId, storeIds }) => {
    const [before, shown] = [storesIn(variant.gallery, mediaId), storesIn(product.gallery, mediaId)]
    const joined = storeIds.filter((id) => !before?.includes(id) && !shown?.includes(id))
    const isNew = shown === undefined
    return joined.length > 0 || (isNew && before === undefined) ? [{ mediaId, storeIds: joined, isNew }] : []
  })

/** The change that adds entries to the gallery of a product. ValidationFailed: it would have more than stores accept. */
export const joinGallery = (
  { gallery, id }: Pick<Aggregate, "gallery" | "id">,
  joined: ReadonlyArray<JoinedEntry>
): Either.Either<ReadonlyArray<CatalogChange>, ValidationFailed> => {
  if (joined.length === 0) return Either.right([])
  return gallery.length + joined.filter(({ isNew }) => isNew).length > maxGallery
    ? Either.left(
        ValidationFailed.at("", `The gallery of its product has ${maxGallery} pictures, the most that stores accept.`)
      )
    : Either.right([CatalogChange.ChangeGallery({ entityId: id, add: joined, remove: [] })])
}

/**
 * Those of these entries that leave the gallery of the product again with the picture of a variant. A store where another variant shows the
 * picture keeps it.
 */
export const leavingEntries = (
  joined: ReadonlyArray<JoinedEntry>,
  others: ReadonlyArray<Pick<Aggregate, "gallery">>
): ReadonlyArray<JoinedEntry> =>
  joined.map(({ isNew, mediaId, storeIds }) => {
    const elsewhere = others.flatMap(({ gallery }) => gallery.filter((entry) => entry.mediaId === mediaId))
    return {
      mediaId,
      storeIds: storeIds.filter((id) => !elsewhere.some((entry) => entry.storeIds.includes(id))),
      isNew: isNew && elsewhere.length === 0
    }
  })

/**
 * A gallery that shows `add` too, new entries last, as far as it has room: several variants of one product may come to a store in one write.
 * It no longer shows `remove`. A removed entry that was new leaves it if no store shows it.
 */
export const changedGallery = (
  gallery: ReadonlyArray<GalleryEntry>,
  add: ReadonlyArray<GalleryEntry>,
  remove: ReadonlyArray<JoinedEntry>
): ReadonlyArray<GalleryEntry> => {
  const kept = gallery.flatMap(({ mediaId, storeIds }) => {
    const removed = remove.find((entry) => entry.mediaId === mediaId)
    const left = storeIds.filter((id) => !removed?.storeIds.includes(id))
    const added = (storesIn(add, mediaId) ?? []).filter((id) => !left.includes(id))
    const isOut = removed?.isNew === true && left.length + added.length === 0
    return isOut ? [] : [{ mediaId, storeIds: [...left, ...added] }]
  })
  const joining = add
    .filter(({ mediaId }) => storesIn(gallery, mediaId) === undefined)
    .map(({ mediaId, storeIds }) => ({ mediaId, storeIds }))
  return [...kept, ...joining.slice(0, Math.max(maxGallery - kept.length, 0))]
}
