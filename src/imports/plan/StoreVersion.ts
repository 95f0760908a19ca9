import type { Aggregate, GalleryEntry, VersionState } from "../../catalog/Aggregate.ts"
import { CatalogChange } from "../../drafts/CatalogChange.ts"
import { effective } from "../../model/Attribute.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import type { Timestamp } from "../../model/Timestamp.ts"

export const versionOn = (entity: Aggregate, storeId: StoreId): VersionState | undefined =>
  entity.versions.find((version) => version.storeId === storeId)

/** The entity's attributes with the store's overrides. */
export const effectiveOn = (entity: Aggregate, storeId: StoreId) =>
  effective(entity.attributes, versionOn(entity, storeId)?.overrides ?? {})

/**
 * The gallery of an entity as the plan of a store sees it. If a refresh took the entity off the store, its gallery still names the store,
 * which has none of the pictures any more.
 */
export const galleryOn = (entity: Aggregate | undefined, storeId: StoreId): ReadonlyArray<GalleryEntry> => {
  const gallery = entity?.gallery ?? []
  if (entity === undefined || versionOn(entity, storeId) !== undefined) return gallery
  return gallery.map(({ mediaId, storeIds }) => ({ mediaId, storeIds: storeIds.filter((id) => id !== storeId) }))
}

/** The change that writes a gallery, if it differs from that of the entity. */
export const setGallery = (
  entityId: EntityId,
  entity: Aggregate | undefined,
  entries: ReadonlyArray<GalleryEntry>
): ReadonlyArray<CatalogChange> =>
  JSON.stringify(entries) === JSON.stringify(entity?.gallery ?? [])
    ? []
    : [CatalogChange.SetGallery({ entityId, entries })]

/** Whether no other store has the entity. */
export const livesOnlyOn = ({ storeIds }: { readonly storeIds: ReadonlyArray<StoreId> }, storeId: StoreId) =>
  storeIds.every((id) => id === storeId)

/** Whether the store accepted a publish of the entity since its reading began. If so, the values read may be older. */
export const isPublishedSince = (entity: Aggregate | undefined, storeId: StoreId, begunAt: Timestamp | undefined) => {
  const publishedAt = entity === undefined ? null : (versionOn(entity, storeId)?.publishedAt ?? null)
  return begunAt !== undefined && publishedAt !== null && publishedAt >= begunAt
}
