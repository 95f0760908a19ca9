import type { Aggregate, VersionState } from "../../catalog/Aggregate.ts"
import { effective } from "../../model/Attribute.ts"
import type { StoreId } from "../../model/Ids.ts"
import type { Timestamp } from "../../model/Timestamp.ts"

export const versionOn = (entity: Aggregate, storeId: StoreId): VersionState | undefined =>
  entity.versions.find((version) => version.storeId === storeId)

/** The entity's attributes with the store's overrides. */
export const effectiveOn = (entity: Aggregate, storeId: StoreId) =>
  effective(entity.attributes, versionOn(entity, storeId)?.overrides ?? {})

/** Whether no other store has the entity. */
export const livesOnlyOn = ({ storeIds }: { readonly storeIds: ReadonlyArray<StoreId> }, storeId: StoreId) =>
  storeIds.every((id) => id === storeId)

/** Whether the store accepted a publish of the entity since its reading began. If so, the values read may be older. */
export const isPublishedSince = (entity: Aggregate | undefined, storeId: StoreId, begunAt: Timestamp | undefined) => {
  const publishedAt = entity === undefined ? null : (versionOn(entity, storeId)?.publishedAt ?? null)
  return begunAt !== undefined && publishedAt !== null && publishedAt >= begunAt
}
