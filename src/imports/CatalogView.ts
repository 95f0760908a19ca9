import type { Aggregate } from "../catalog/Aggregate.ts"
import type { StoreId } from "../model/Ids.ts"

/** Leaves unlinked stores out of the aggregate's gallery. A change must not name an unlinked store. */
export const omitUnlinked = (linked: ReadonlyArray<StoreId>, aggregate: Aggregate): Aggregate => ({
  ...aggregate,
  gallery: aggregate.gallery.map(({ mediaId, storeIds }) => ({
    mediaId,
    storeIds: storeIds.filter((id) => linked.includes(id))
  }))
})
