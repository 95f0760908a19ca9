import type { Aggregate } from "../../catalog/Aggregate.ts"
import { sameOrder } from "../../drafts/Aggregate.ts"
import { CatalogChange } from "../../drafts/CatalogChange.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { ImportSource, StoreCollection, Values } from "../StoreProduct.ts"
import { readValues } from "./ImportedValues.ts"
import type { ImportPlan } from "./ImportPlan.ts"
import { ImportPlanner } from "./ImportPlanner.ts"
import { findRemovals, intersect, type ListState, subtract } from "./ListOrder.ts"
import { isPublishedSince, livesOnlyOn, versionOn } from "./StoreVersion.ts"

/** Whether a person set the order of the members. Otherwise the store computes the order, which is not imported. */
const isOrdered = (values: Values) => values.sort_order === "manual"

/**
 * Plans a collection. Values are planned as for a product. All stores share the list of members, so it follows this store only
 * if no other store has the collection.
 */
export const planCollection = (
  imported: StoreCollection,
  collection: Aggregate | undefined,
  source: ImportSource,
  id: EntityId
): ImportPlan => {
  const planner = new ImportPlanner(source)
  const version = collection === undefined ? undefined : versionOn(collection, source.storeId)
  const accepted = version?.accepted?.members
  const before = accepted ?? collection?.members ?? []
  const members = isOrdered(imported.values)
    ? imported.members
    : [...intersect(before, imported.members), ...subtract(imported.members, before)]
  const setMembers = (here: ReadonlyArray<EntityId>) => (productIds: ReadonlyArray<EntityId>) =>
    sameOrder(here, productIds) ? [] : [CatalogChange.SetMembers({ collectionId: id, productIds })]
  if (collection === undefined) {
    planner.create(id, "collection", null, imported)
    planner.changes.push(...setMembers([])(members))
    planner.accept(id, collection, imported.values, imported, { members })
    return planner.toPlan(true)
  }
  if (isPublishedSince(collection, source.storeId, source.begunAt)) return planner.toPlan(false)
  const values = readValues(collection, imported, source)
  planner.update(collection, values, imported.types ?? {})
  if (livesOnlyOn(collection, source.storeId)) {
    const { byDraft, byStore } = findRemovals(collection.members, members, accepted, source.isComplete)
    const state: ListState = {
      here: subtract(collection.members, byStore),
      inStore: subtract(members, byDraft),
      shared: [],
      isThere: version !== undefined,
      accepted
    }
    planner.orderList("members", id, state, collection.members, setMembers(collection.members))
  }
  planner.accept(id, collection, values, imported, { members })
  return planner.toPlan(false)
}
