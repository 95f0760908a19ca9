import type { Aggregate } from "../../catalog/Aggregate.ts"
import type { CatalogChange } from "../../drafts/CatalogChange.ts"
import type { ImportSource, StoreEntity } from "../StoreProduct.ts"
import { readValues } from "./ImportedValues.ts"
import { ImportPlanner, type Relations } from "./ImportPlanner.ts"
import { isPublishedSince, versionOn } from "./StoreVersion.ts"

/**
 * Accepts the store's values of an entity that an export changed. If the store accepted the entity before, only the `changed`
 * keys are accepted. If another value, or the picture of a variant, was edited in the store, the next refresh finds that edit.
 */
export const planAnswer = (
  entity: Aggregate,
  inStore: StoreEntity,
  { picture, ...lists }: Relations,
  source: ImportSource,
  changed: ReadonlySet<string>
): ReadonlyArray<CatalogChange> => {
  const version = versionOn(entity, source.storeId)
  if (version === undefined || isPublishedSince(entity, source.storeId, source.begunAt)) return []
  const isFirst = version.accepted === null
  const planner = new ImportPlanner({ ...source, isComplete: isFirst })
  const isAnswered = (key: string) => isFirst || changed.has(key)
  const values = Object.entries(readValues(entity, inStore, source)).filter(([key]) => isAnswered(key))
  planner.accept(entity.id, entity, Object.fromEntries(values), inStore, {
    ...lists,
    ...(isAnswered("media_ids") && { picture })
  })
  return planner.acceptances
}
