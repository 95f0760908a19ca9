import { Either } from "effect"
import type { Aggregate, GalleryEntry, Joined } from "../catalog/Aggregate.ts"
import { ValidationFailed } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { CatalogChange } from "./CatalogChange.ts"

/** The largest gallery that stores accept. */
export const maxGallery = 250

/** An entry of a product's gallery that came with a picture of a variant, on these stores. `isNew`: the gallery had no such entry before. */
export interface JoinedEntry extends Joined {
  readonly mediaId: EntityId
}

const find = (gallery: ReadonlyArray<GalleryEntry>, mediaId: EntityId): GalleryEntry | undefined =>
  gallery.find((entry) => entry.mediaId === mediaId)

/** The mark of an entry that these stores show. */
const keptMark = (joined: Joined | undefined, storeIds: ReadonlyArray<StoreId>): Joined | undefined => {
  const kept = joined?.storeIds.filter((id) => storeIds.includes(id)) ?? []
  return joined?.isNew === true || kept.length > 0 ? { storeIds: kept, isNew: joined?.isNew === true } : undefined
}

/**
 * What the gallery of a product has with its variant if the gallery of the variant becomes `entries`: what the variant newly shows, and what
 * came with another variant before. A store shows a picture of a variant only if the gallery of its product has it.
 */
export const joinedEntries = (
  product: Pick<Aggregate, "gallery">,
  variant: Pick<Aggregate, "gallery">,
  entries: ReadonlyArray<GalleryEntry>
): ReadonlyArray<JoinedEntry> =>
  entries.flatMap(({ mediaId, storeIds }) => {
    const [before, shown] = [find(variant.gallery, mediaId)?.storeIds, find(product.gallery, mediaId)]
    const isOwn = (id: StoreId) => shown?.storeIds.includes(id) === true && shown.joined?.storeIds.includes(id) !== true
    const joined = storeIds.filter((id) => !before?.includes(id) && !isOwn(id))
    const isNew = shown === undefined || shown.joined?.isNew === true
    return joined.length > 0 || (isNew && before === undefined) ? [{ mediaId, storeIds: joined, isNew }] : []
  })

/** The change that adds entries to the gallery of a product. ValidationFailed: it would have more than stores accept. */
export const joinGallery = (
  { gallery, id }: Pick<Aggregate, "gallery" | "id">,
  joined: ReadonlyArray<JoinedEntry>
): Either.Either<ReadonlyArray<CatalogChange>, ValidationFailed> => {
  if (joined.length === 0) return Either.right([])
  return gallery.length + joined.filter(({ mediaId }) => find(gallery, mediaId) === undefined).length > maxGallery
    ? Either.left(
        ValidationFailed.at("", `The gallery of its product has ${maxGallery} pictures, the most that stores accept.`)
      )
    : Either.right([CatalogChange.ChangeGallery({ entityId: id, add: joined.map(marked), remove: [] })])
}

/** An entry that comes to the gallery of a product with a picture of a variant. */
export const marked = ({ isNew, mediaId, storeIds }: JoinedEntry): GalleryEntry => ({
  mediaId,
  storeIds,
  joined: { storeIds, isNew }
})

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
  const kept = gallery.flatMap(({ joined, mediaId, storeIds }) => {
    const removed = remove.find((entry) => entry.mediaId === mediaId)
    const left = storeIds.filter((id) => !removed?.storeIds.includes(id))
    const adding = find(add, mediaId)
    const added = (adding?.storeIds ?? []).filter((id) => !left.includes(id))
    const isOut = removed?.isNew === true && left.length + added.length === 0
    const came = added.filter((id) => adding?.joined?.storeIds.includes(id))
    const mark = { storeIds: [...(joined?.storeIds ?? []), ...came], isNew: joined?.isNew === true }
    return isOut ? [] : [withMark({ mediaId, storeIds: [...left, ...added] }, mark)]
  })
  const joining = add.filter(({ mediaId }) => find(gallery, mediaId) === undefined)
  return [...kept, ...joining.slice(0, Math.max(maxGallery - kept.length, 0))]
}

/** The entry with what is left of the mark. */
export const withMark = ({ mediaId, storeIds }: GalleryEntry, joined: Joined | undefined): GalleryEntry => {
  const mark = keptMark(joined, storeIds)
  return { mediaId, storeIds, ...(mark !== undefined && { joined: mark }) }
}
