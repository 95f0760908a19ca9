import type { EntityKind } from "../model/Attribute.ts"
import { valueOf } from "../model/Attribute.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import type { Plan } from "./CatalogChange.ts"
import { type ChangeGroup, changesOf } from "./FeedChanges.ts"

/** Entities of one kind whose set of stores changed in the same way. `from` null: they were created. `to` null: they were deleted. */
export interface MovedEntities {
  readonly kind: EntityKind
  readonly from: ReadonlyArray<StoreId> | null
  readonly to: ReadonlyArray<StoreId> | null
  readonly ids: ReadonlyArray<EntityId>
}

/**
 * The changes of a transaction. The feed shows `changes`. The other fields are for scans of data health, which update an earlier
 * result: facts that a scan cannot derive from the current state of the changed entities.
 */
export interface ChangeNote {
  readonly changes: ReadonlyArray<ChangeGroup>
  /** The entities with another value, version, publish state, gallery or translation; and media that entered or left a gallery. */
  readonly entities: ReadonlyArray<EntityId>
  /** SKUs that variants had before. */
  readonly skus: ReadonlyArray<string>
  /** Entities that were created or deleted, or changed their stores. They are in `entities` too. */
  readonly moved: ReadonlyArray<MovedEntities>
}

export const emptyNote: ChangeNote = { changes: [], entities: [], skus: [], moved: [] }

const ofGallery = (before: Plan["updated"][number]["before"], after: Plan["updated"][number]["after"]) => {
  if (before.gallery === after.gallery) return []
  const [old, now] = [before, after].map(({ gallery }) => new Set(gallery.map(({ mediaId }) => mediaId)))
  return [...(old ?? []), ...(now ?? [])].filter((id) => old?.has(id) !== now?.has(id))
}

/** The changes that a plan makes. */
export const noteOf = (plan: Plan): ChangeNote => {
  const { created, deleted, drafted, stamped, updated } = plan
  const entities = new Set<EntityId>([...stamped, ...drafted])
  const skus = new Set<string>()
  const moved = new Map<
    string,
    { kind: EntityKind; from: MovedEntities["from"]; to: MovedEntities["to"]; ids: Array<EntityId> }
  >()
  const move = (kind: EntityKind, id: EntityId, from: MovedEntities["from"], to: MovedEntities["to"]) => {
    const key = `${kind} ${from?.join()} ${to?.join()}`
    const others = moved.get(key)
    if (others === undefined) moved.set(key, { kind, from, to, ids: [id] })
    else others.ids.push(id)
  }
  for (const { gallery, id, kind, storeIds } of created) {
    entities.add(id)
    for (const { mediaId } of gallery) entities.add(mediaId)
    move(kind, id, null, storeIds)
  }
  for (const { after, before } of updated) {
    entities.add(after.id)
    for (const id of ofGallery(before, after)) entities.add(id)
    if (after.kind === "variant") {
      const sku = valueOf(before.attributes, "sku")
      if (sku !== "" && sku !== valueOf(after.attributes, "sku")) skus.add(sku)
    }
    if (before.storeIds.join() !== after.storeIds.join()) move(after.kind, after.id, before.storeIds, after.storeIds)
  }
  for (const { attributes, gallery, id, kind, storeIds } of deleted) {
    entities.add(id)
    for (const { mediaId } of gallery) entities.add(mediaId)
    const sku = kind === "variant" ? valueOf(attributes, "sku") : ""
    if (sku !== "") skus.add(sku)
    move(kind, id, storeIds, null)
  }
  return { changes: changesOf(plan), entities: [...entities], skus: [...skus], moved: [...moved.values()] }
}

/** All changes of several notes. */
export const joinNotes = (notes: ReadonlyArray<ChangeNote>): ChangeNote => ({
  changes: notes.flatMap(({ changes }) => changes),
  entities: [...new Set(notes.flatMap(({ entities }) => entities))],
  skus: [...new Set(notes.flatMap(({ skus }) => skus))],
  moved: notes.flatMap(({ moved }) => moved)
})
