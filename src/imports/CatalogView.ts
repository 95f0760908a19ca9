import { type Aggregate, byPosition } from "../catalog/Aggregate.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"

/** Leaves unlinked stores out of the aggregate's gallery. A change must not name an unlinked store. */
export const omitUnlinked = (linked: ReadonlyArray<StoreId>, aggregate: Aggregate): Aggregate => ({
  ...aggregate,
  gallery: aggregate.gallery.map(({ mediaId, storeIds }) => ({
    mediaId,
    storeIds: storeIds.filter((id) => linked.includes(id))
  }))
})

/** Groups variants by product, in the order of the product's variants. */
export const variantsByProduct = (aggregates: Iterable<Aggregate>): ReadonlyMap<EntityId, ReadonlyArray<Aggregate>> => {
  const byProduct = new Map<EntityId, Array<Aggregate>>()
  for (const aggregate of aggregates) {
    if (aggregate.parentId === null) continue
    const variants = byProduct.get(aggregate.parentId)
    if (variants === undefined) byProduct.set(aggregate.parentId, [aggregate])
    else variants.push(aggregate)
  }
  for (const variants of byProduct.values()) variants.sort(byPosition)
  return byProduct
}
