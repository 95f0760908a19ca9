import type { Aggregate, GalleryEntry } from "../../catalog/Aggregate.ts"
import { mediaShown } from "../../drafts/Aggregate.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import type { ImportPlanner } from "./ImportPlanner.ts"
import { galleryOn, isPublishedSince, setGallery, versionOn } from "./StoreVersion.ts"

/**
 * The gallery of a variant after the store shows this picture of it, or none. The picture comes first on the store. All stores share the
 * order, so a picture that another store shows too keeps its place, and the store no longer shows those before it.
 */
const withPicture = (
  gallery: ReadonlyArray<GalleryEntry>,
  picture: EntityId | null,
  storeId: StoreId
): ReadonlyArray<GalleryEntry> => {
  const hidden = ({ mediaId, storeIds }: GalleryEntry) => ({
    mediaId,
    storeIds: storeIds.filter((id) => id !== storeId)
  })
  if (picture === null) return gallery.map(hidden)
  const place = gallery.findIndex(({ mediaId }) => mediaId === picture)
  const elsewhere = (gallery[place]?.storeIds ?? []).filter((id) => id !== storeId)
  const shown: GalleryEntry = { mediaId: picture, storeIds: [...elsewhere, storeId] }
  if (elsewhere.length > 0)
    return gallery.map((entry, index) => (index < place ? hidden(entry) : index === place ? shown : entry))
  const others = gallery.filter((_, index) => index !== place)
  const first = others.findIndex(({ storeIds }) => storeIds.includes(storeId))
  return others.toSpliced(first === -1 ? others.length : first, 0, shown)
}

const listText = (picture: EntityId | null) => JSON.stringify(picture === null ? [] : [picture])

/**
 * Plans the picture of a variant: the first that its gallery shows on the store, because a store shows one. `picture`: the one of the
 * source; null: none; undefined: the source does not say. A picture that was replaced on both sides since the store accepted one is a
 * conflict. A partial source removes none.
 */
export const planVariantPicture = (
  planner: ImportPlanner,
  variantId: EntityId,
  variant: Aggregate | undefined,
  picture: EntityId | null | undefined
): void => {
  const { begunAt, isComplete, storeId } = planner.source
  if (isPublishedSince(variant, storeId, begunAt)) return
  const gallery = galleryOn(variant, storeId)
  const [shown = null] = mediaShown({ gallery }, storeId)
  // undefined: no publish or import has recorded a picture of the variant yet.
  const list = variant === undefined ? undefined : versionOn(variant, storeId)?.accepted?.media
  const [accepted = null] = list ?? []
  if (picture === undefined || picture === shown || picture === accepted || (picture === null && !isComplete)) {
    planner.changes.push(...setGallery(variantId, variant, gallery))
    return
  }
  const take = setGallery(variantId, variant, withPicture(gallery, picture, storeId))
  if (list === undefined || shown === accepted) planner.changes.push(...take)
  else
    planner.addConflict(
      {
        entityId: variantId,
        field: "media_ids",
        accepted: listText(accepted),
        draft: listText(shown),
        store: listText(picture)
      },
      take,
      []
    )
}
