import type { Aggregate } from "../../catalog/Aggregate.ts"
import { mediaShown } from "../../drafts/Aggregate.ts"
import type { CatalogChange } from "../../drafts/CatalogChange.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { ImportSource, StoreEntity } from "../StoreProduct.ts"
import { readValues } from "./ImportedValues.ts"
import { ImportPlanner, type Relations } from "./ImportPlanner.ts"
import { intersect, subtract } from "./ListOrder.ts"
import { isPublishedSince, versionOn } from "./StoreVersion.ts"

type Ids = ReadonlyArray<EntityId>

/**
 * The part of a store's list that is accepted: not the order, unless the export changed it, and no entity that only the store has. The next
 * refresh finds both.
 */
const toAnsweredList = (accepted: Ids = [], inStore: Ids, shown: Ids, isOrdered: boolean): Ids => {
  const added = intersect(subtract(inStore, accepted), shown)
  return isOrdered ? intersect(inStore, [...accepted, ...added]) : [...intersect(accepted, inStore), ...added]
}

/**
 * Accepts the store's values of an entity that an export changed. If the store accepted the entity before, only the `changed`
 * keys are accepted. If another value, an order, or the picture of a variant was edited in the store, the next refresh finds that edit.
 */
export const planAnswer = (
  entity: Aggregate,
  inStore: StoreEntity,
  { media, picture, variants, ...lists }: Relations,
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
    ...(media !== undefined && {
      media: isFirst
        ? media
        : toAnsweredList(version.accepted?.media, media, mediaShown(entity, source.storeId), isAnswered("media_ids"))
    }),
    ...(variants !== undefined && {
      variants: isFirst
        ? variants
        : toAnsweredList(version.accepted?.variants, variants, variants, isAnswered("variant_ids"))
    }),
    ...(isAnswered("media_ids") && { picture })
  })
  return planner.acceptances
}
