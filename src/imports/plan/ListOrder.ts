import { inOrderOf, sameOrder } from "../../drafts/Aggregate.ts"
import type { EntityId } from "../../model/Ids.ts"

type Ids = ReadonlyArray<EntityId>

export const intersect = (ids: Ids, others: Ids) => {
  const included = new Set(others)
  return ids.filter((id) => included.has(id))
}

export const subtract = (ids: Ids, others: Ids) => {
  const excluded = new Set(others)
  return ids.filter((id) => !excluded.has(id))
}

/** A list of the catalog, and the same list in a store. */
export interface ListState {
  /** The whole list. */
  readonly here: Ids
  /** The entities of the list that the store has, in the store's order. */
  readonly inStore: Ids
  /** Entities that keep their place because other stores show them too. */
  readonly shared: Ids
  /** Whether the entity is on the store already. */
  readonly isThere: boolean
  /** None: the store never accepted a publish. */
  readonly accepted: Ids | undefined
}

/**
 * Puts the list in the order of the store. If only the draft changed the order since the last publish, it stays and is no
 * conflict. New entities are added in either case. `kept`: the list in its order here.
 */
export const followOrder = ({ accepted, here, inStore, isThere, shared }: ListState) => {
  const own = subtract(inStore, shared)
  const kept = [...here, ...subtract(inStore, here)]
  const ids = inOrderOf(here, own)
  const before = intersect(accepted ?? [], own)
  const isDrafted = accepted === undefined || !sameOrder(intersect(before, here), intersect(here, before))
  const isMoved = accepted === undefined || !sameOrder(before, intersect(own, before))
  if (isDrafted && !isMoved) return { ids: kept, kept, isKept: true, isConflict: false }
  return { ids, kept, isKept: false, isConflict: isThere && isDrafted && !sameOrder(ids, kept) }
}

/**
 * Finds the entities that were removed since the last publish: `byDraft` only here, `byStore` only in the store. A partial
 * source does not tell what the store removed.
 */
export const findRemovals = (shown: Ids, inStore: Ids, accepted: Ids | undefined, isComplete: boolean) => ({
  byDraft: subtract(intersect(inStore, accepted ?? []), shown),
  byStore: isComplete ? subtract(intersect(shown, accepted ?? []), inStore) : []
})
