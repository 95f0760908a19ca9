import type { AcceptedValues, Aggregate, VersionState } from "../../catalog/Aggregate.ts"
import { sameOrder } from "../../drafts/Aggregate.ts"
import { CatalogChange } from "../../drafts/CatalogChange.ts"
import { type EntityKind, valueOf } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { ImportSource, StoreEntity, Values } from "../StoreProduct.ts"
import { findNewTypes, readValues } from "./ImportedValues.ts"
import type { FieldConflict, ImportPlan, StagedChange } from "./ImportPlan.ts"
import { followOrder, intersect, type ListState } from "./ListOrder.ts"
import { effectiveOn, isPublishedSince, livesOnlyOn, versionOn } from "./StoreVersion.ts"

const listText = (ids: ReadonlyArray<EntityId>) => JSON.stringify(ids)

const isEmpty = (values: Values) => Object.keys(values).length === 0

export interface Relations {
  readonly media?: ReadonlyArray<EntityId>
  readonly variants?: ReadonlyArray<EntityId>
  readonly members?: ReadonlyArray<EntityId>
  /** The picture of a variant. null: none. undefined: unknown. */
  readonly picture?: EntityId | null | undefined
}

/** Whether the picture of a variant is recorded. A variant that never had one needs no record. */
const isPictureAccepted = (
  recorded: AcceptedValues["media"],
  picture: Relations["picture"],
  gallery: Aggregate["gallery"]
): boolean =>
  picture === undefined ||
  (recorded === undefined ? picture === null && gallery.length === 0 : (recorded[0] ?? null) === picture)

/** Whether the store has already accepted exactly these values and relationships, under this platform id. */
const isAccepted = (
  gallery: Aggregate["gallery"],
  version: VersionState | undefined,
  values: Values,
  relations: Relations,
  { platformId }: StoreEntity,
  { isComplete }: ImportSource
) => {
  const accepted = version?.accepted
  if (accepted === undefined || accepted === null) return false
  if (platformId !== undefined && platformId !== version?.platformId) return false
  const isListed = (before: ReadonlyArray<EntityId> = [], inStore: ReadonlyArray<EntityId> | undefined) =>
    inStore === undefined || sameOrder(inStore, isComplete ? before : intersect(before, inStore))
  return (
    Object.entries(values).every(([key, value]) => valueOf(accepted.attributes, key) === value) &&
    isPictureAccepted(accepted.media, relations.picture, gallery) &&
    isListed(accepted.media, relations.media) &&
    isListed(accepted.variants, relations.variants) &&
    isListed(accepted.members, relations.members)
  )
}

/** Writes canonical values if no other store has the entity, else overrides of this store. */
const writeValues = (
  entity: Aggregate,
  values: Values,
  types: Values,
  { storeId }: ImportSource
): ReadonlyArray<CatalogChange> => {
  const keys = Object.keys(values)
  if (keys.length === 0) return []
  const written = Object.fromEntries(keys.flatMap((key) => (types[key] === undefined ? [] : [[key, types[key]]])))
  const typed = isEmpty(written) ? {} : { types: written }
  const setOverrides = (overrides: Readonly<Record<string, string | null>>, withTypes: typeof typed) =>
    CatalogChange.SetOverrides({ entityId: entity.id, storeId, values: overrides, ...withTypes })
  if (!livesOnlyOn(entity, storeId))
    return [
      setOverrides(
        Object.fromEntries(
          keys.map((key) => [key, values[key] === valueOf(entity.attributes, key) ? null : (values[key] ?? null)])
        ),
        typed
      )
    ]
  const overrides = versionOn(entity, storeId)?.overrides
  const overridden = keys.filter((key) => overrides?.[key] !== undefined)
  return [
    CatalogChange.SetAttributes({ entityId: entity.id, values, ...typed }),
    ...(overridden.length === 0 ? [] : [setOverrides(Object.fromEntries(overridden.map((key) => [key, null])), {})])
  ]
}

/** Collects the changes and conflicts of one product, collection or file. */
export class ImportPlanner {
  readonly source: ImportSource
  readonly changes: Array<StagedChange> = []
  readonly acceptances: Array<CatalogChange> = []
  readonly conflicts: Array<FieldConflict> = []

  constructor(source: ImportSource) {
    this.source = source
  }

  addConflict(conflict: FieldConflict, take: ReadonlyArray<CatalogChange>, keep: ReadonlyArray<CatalogChange>): void {
    this.changes.push({ _tag: "Decided", conflict: this.conflicts.length, take, keep })
    this.conflicts.push(conflict)
  }

  create(id: EntityId, kind: EntityKind, parentId: EntityId | null, { types = {}, values }: StoreEntity): void {
    this.changes.push(
      CatalogChange.CreateEntity({ id, kind, parentId, values, ...(isEmpty(types) ? {} : { types }) }),
      CatalogChange.AddToStore({ entityId: id, storeId: this.source.storeId })
    )
  }

  /** Updates an existing entity to the store's values. If a value was edited in the catalog too, it becomes a conflict. */
  update(entity: Aggregate, values: Values, types: Values): void {
    const { storeId } = this.source
    const version = versionOn(entity, storeId)
    const now = effectiveOn(entity, storeId)
    const accepted = version?.accepted?.attributes
    if (version === undefined) this.changes.push(CatalogChange.AddToStore({ entityId: entity.id, storeId }))
    const differing = Object.entries(values).filter(
      ([key, value]) =>
        value !== valueOf(now, key) &&
        // If the store's value is the accepted value, only the draft changed.
        (accepted === undefined || value !== valueOf(accepted, key))
    )
    const isDrafted = (key: string) =>
      version !== undefined && (accepted === undefined || valueOf(accepted, key) !== valueOf(now, key))
    const undrafted = Object.fromEntries(differing.filter(([key]) => !isDrafted(key)))
    this.changes.push(...writeValues(entity, undrafted, types, this.source))
    for (const [field, store] of differing.filter(([key]) => isDrafted(key)))
      this.addConflict(
        {
          entityId: entity.id,
          field,
          accepted: accepted === undefined ? null : valueOf(accepted, field),
          draft: valueOf(now, field),
          store
        },
        writeValues(entity, { [field]: store }, types, this.source),
        []
      )
  }

  /** Records the store's state as accepted. Decisions on conflicts do not matter for that. */
  accept(
    id: EntityId,
    entity: Aggregate | undefined,
    values: Values,
    imported: StoreEntity,
    relations: Relations
  ): void {
    const { isAnsweredByStore, isComplete, storeId } = this.source
    if (isAnsweredByStore) return
    const version = entity === undefined ? undefined : versionOn(entity, storeId)
    if (isAccepted(entity?.gallery ?? [], version, values, relations, imported, this.source)) return
    const { media = [], members, picture, variants = [] } = relations
    const types = entity === undefined ? {} : findNewTypes(entity, imported.types)
    this.acceptances.push(
      CatalogChange.AcceptImported({
        entityId: id,
        storeId,
        // A new entity is created with the store's values, so no difference is listed: all its values are accepted.
        values: entity === undefined ? {} : values,
        media,
        variants,
        ...(isEmpty(types) ? {} : { types }),
        ...(members === undefined ? {} : { members }),
        ...(picture === undefined ? {} : { picture }),
        ...(isComplete ? { isComplete } : {}),
        ...(imported.platformId === undefined ? {} : { platformId: imported.platformId })
      })
    )
  }

  /** Plans the values of a variant or a file, and accepts them with the variant's picture. */
  place(
    id: EntityId,
    kind: EntityKind,
    parentId: EntityId | null,
    entity: Aggregate | undefined,
    imported: StoreEntity,
    relations: Pick<Relations, "picture"> = {}
  ): void {
    if (entity === undefined) {
      this.create(id, kind, parentId, imported)
      this.accept(id, entity, imported.values, imported, relations)
    } else if (!isPublishedSince(entity, this.source.storeId, this.source.begunAt)) {
      const values = readValues(entity, imported, this.source)
      this.update(entity, values, imported.types ?? {})
      this.accept(id, entity, values, imported, relations)
    }
  }

  /** Plans the order of a list. If it changed both in the catalog and in the store, it becomes a conflict. */
  orderList(
    field: string,
    entityId: EntityId,
    state: ListState,
    shown: ReadonlyArray<EntityId>,
    change: (ids: ReadonlyArray<EntityId>) => ReadonlyArray<CatalogChange>
  ): void {
    const { ids, isConflict, kept } = followOrder(state)
    if (!isConflict) {
      this.changes.push(...change(ids))
      return
    }
    this.addConflict(
      {
        entityId,
        field,
        accepted: state.accepted === undefined ? null : listText(state.accepted),
        draft: listText(shown),
        store: listText(state.inStore)
      },
      change(ids),
      change(kept)
    )
  }

  toPlan(isNew: boolean): ImportPlan {
    const changes = [...this.changes, ...this.acceptances]
    return {
      outcome: isNew ? "created" : changes.length === 0 ? "unchanged" : "updated",
      conflicts: this.conflicts,
      changes
    }
  }
}
