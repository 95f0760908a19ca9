import type { Aggregate } from "../../catalog/Aggregate.ts"
import { sameOrder } from "../../drafts/Aggregate.ts"
import { CatalogChange } from "../../drafts/CatalogChange.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import { addressOf } from "../../model/SameValue.ts"
import type { ImportSource, StoreProduct } from "../StoreProduct.ts"
import { readValues } from "./ImportedValues.ts"
import type { ImportMatch, ProductPlan } from "./ImportPlan.ts"
import { ImportPlanner } from "./ImportPlanner.ts"
import { followOrder, intersect, type ListState } from "./ListOrder.ts"
import { findVariantImages, planGallery, planImages } from "./MediaPlan.ts"
import { isPublishedSince, livesOnlyOn, versionOn } from "./StoreVersion.ts"
import { planVariantPicture } from "./VariantPicturePlan.ts"
import { makeIsLater, matchVariants, valuesOnStore, withOptions } from "./VariantPlan.ts"

const idsOnStore = (entities: ReadonlyArray<Aggregate>, storeId: StoreId) =>
  entities.filter(({ storeIds }) => storeIds.includes(storeId)).map(({ id }) => id)

/**
 * Plans a product with its variants and images.
 *
 * - The values of a new entity are canonical.
 * - A new value of an existing entity is canonical if no other store has the entity, else an override of this store.
 * - All stores share the order of variants and images, so it follows this store only if no other store has the product.
 * - If a value was also edited in the catalog since the store last accepted it, it is a conflict.
 * - The store's values count as accepted.
 * - A partial source removes nothing. A complete source removes files from the gallery. Missing variants are removed by the
 *   refresh, after it compared the whole store.
 * - A product that was published since the reading began does not change. The next refresh compares it.
 */
export const planProduct = (
  imported: StoreProduct,
  match: ImportMatch,
  source: ImportSource,
  mint: () => EntityId
): ProductPlan => {
  const { isComplete, storeId } = source
  const planner = new ImportPlanner(source)
  const { product } = match
  const version = product === undefined ? undefined : versionOn(product, storeId)
  const isOnlyStore = product === undefined || livesOnlyOn(product, storeId)

  const productId = product?.id ?? mint()
  const matched = matchVariants(imported.variants, match.variants, storeId)
  const variantIds = matched.map((here) => here?.id ?? mint())
  const variantsHere = match.variants.map(({ id }) => id)
  const variantOrder: ListState = {
    here: variantsHere,
    inStore: variantIds,
    shared: isOnlyStore ? [] : variantsHere,
    isThere: version !== undefined,
    accepted: version?.accepted?.variants
  }

  const isOvertaken = isPublishedSince(product, storeId, source.begunAt)
  let values = imported.values
  if (product === undefined) planner.create(productId, "product", null, imported)
  else if (!isOvertaken) {
    const { ids, isKept } = followOrder(variantOrder)
    const withAllOptions = () =>
      withOptions(imported, product, valuesOnStore(imported, variantIds, ids, match, storeId), {
        storeId,
        isOrdered: isOnlyStore && !isKept
      })
    values = isComplete
      ? readValues(product, imported, source, makeIsLater(imported, variantIds, match, storeId))
      : readValues(product, { ...imported, values: withAllOptions() }, source)
    planner.update(product, values, imported.types ?? {})
  }

  const variantImages = findVariantImages(imported, matched, match, storeId)
  const files = planImages(planner, imported, variantImages, match, mint)
  for (const [index, variant] of imported.variants.entries()) {
    const here = matched[index]
    const id = variantIds[index] ?? mint()
    const { imageUrl, picture = files.get(addressOf(imageUrl ?? "")) } = variant
    planner.place(id, "variant", productId, here, variant, { picture })
    planVariantPicture(planner, id, here, picture)
  }

  if (isOvertaken) return { ...planner.toPlan(false), entityId: productId, variantIds }

  // Without a new order, the catalog appends new variants in this order.
  const appended = [...variantsHere, ...variantIds.filter((_, index) => matched[index] === undefined)]
  const shownVariants = intersect(variantsHere, idsOnStore(match.variants, storeId))
  planner.orderList("variant_ids", productId, variantOrder, shownVariants, (ids) =>
    sameOrder(ids, appended) ? [] : [CatalogChange.OrderVariants({ productId, variantIds: ids })]
  )
  const media = imported.media ?? [...files.values()]
  planGallery(planner, productId, match, media)
  planner.accept(productId, product, values, imported, { media, variants: variantIds })
  return { ...planner.toPlan(product === undefined), entityId: productId, variantIds }
}
