import { inOrderOf, sameOrder } from "../../drafts/Aggregate.ts"
import type { EntityId } from "../../model/Ids.ts"

type Ids = ReadonlyArray<EntityId>

// Most lists of a refresh are equal. A set of a million members would take time and memory.

export const intersect = (ids: Ids, others: Ids): Ids => {
  if (sameOrder(ids, others)) return ids
  const included = new Set(others)
  return ids.filter((id) => included.has(id))
}

export const subtract = (ids: Ids, others: Ids): Ids => {
  if (sameOrder(ids, others)) return []
  const excluded = new Set(others)
  return ids.filter((id) => !excluded.has(id))
}

/** A list of the catalog, and the same list in a store. */
export interface ListState {
  /** The whole list in the catalog. */
  readonly here: Ids
  /** The list in the store, in the store's order, without entities that the draft removed. */
  readonly inStore: Ids
  /** Entities that keep their position because other stores show them too. */
  readonly shared: Ids
  /** Whether the entity is on the store already. */
  readonly isThere: boolean
  /** The list that the store last accepted. undefined: none yet. */
  readonly accepted: Ids | undefined
}

/**
 * Puts the list in the store's order. If the order changed only in the catalog since it was last accepted, that order stays and
 * there is no conflict. New entities are added in either case. `kept`: the list in the catalog's order.
 */
export const followOrder = ({ accepted, here, inStore, isThere, shared }: ListState) => {
  const own = subtract(inStore, shared)
  const allIds = [...here, ...subtract(inStore, here)]
  const ids = inOrderOf(here, own)
  const before = intersect(accepted ?? [], own)
  const isDrafted = accepted === undefined || !sameOrder(intersect(before, here), intersect(here, before))
  const isMoved = accepted === undefined || !sameOrder(before, intersect(own, before))
  if (isDrafted && !isMoved) return { ids: allIds, kept: allIds, isKept: true, isConflict: false }
  return { ids, kept: allIds, isKept: false, isConflict: isThere && isDrafted && !sameOrder(ids, allIds) }
}

/**
 * Finds the entities that were removed since the list was last accepted: `byDraft` in the catalog, `byStore` in the store. A
 * partial source cannot tell what the store removed.
 */
export const findRemovals = (shown: Ids, inStore: Ids, accepted: Ids | undefined, isComplete: boolean) => ({
  byDraft: subtract(intersect(inStore, accepted ?? []), shown),
  byStore: isComplete ? subtract(intersect(shown, accepted ?? []), inStore) : []
})
