import { Schema } from "effect"
import { MerchantFilters } from "../catalog/MerchantLists.ts"
import { EntityKind } from "../model/Attribute.ts"
import type { EntityId } from "../model/Ids.ts"

/** The entities that a job finds by itself: those of these kinds that the filters of a list find. */
export const FoundEntities = Schema.Struct({ kinds: Schema.Array(EntityKind), filters: MerchantFilters })
export type FoundEntities = typeof FoundEntities.Type

/** Where a walk by id continues. `limit`: the maximum number of entities to find; `looked`: the maximum number to look at. */
export interface WalkPlace {
  readonly after: EntityId
  readonly looked: number
  readonly limit: number
}

/** The found entities of one statement, by id. `next`: the id after which the walk continues; null: it has ended. */
export interface FoundPage {
  readonly ids: ReadonlyArray<EntityId>
  readonly next: EntityId | null
}

/** Entities that a step of a job looks at for each item that it would process. Most of them may not match the filters. */
export const lookedPerItem = 5

/** The page of entities that were looked at in the order of their ids. */
export const pageOf = (
  candidates: ReadonlyArray<{ readonly id: EntityId; readonly fits: boolean }>,
  { limit, looked }: WalkPlace
): FoundPage => {
  const ids = candidates.flatMap(({ fits, id }) => (fits ? [id] : []))
  if (ids.length > limit) return { ids: ids.slice(0, limit), next: ids[limit - 1] ?? null }
  return { ids, next: candidates.length < looked ? null : (candidates.at(-1)?.id ?? null) }
}
