import { Schema } from "effect"
import type { Aggregate, VersionState } from "../catalog/Aggregate.ts"
import { type Attributes, EntityKind } from "../model/Attribute.ts"
import { type EntityId, StoreId } from "../model/Ids.ts"
import { sameJson } from "../model/SameJson.ts"
import { sameOrder } from "./Aggregate.ts"
import type { Plan } from "./CatalogChange.ts"

export const ChangeType = Schema.Literal(
  "entity.created",
  "entity.updated",
  "entity.deleted",
  "relationships.updated",
  "store_version.added",
  "store_version.updated",
  "store_version.removed",
  "translations.updated",
  "definitions.updated",
  "store.linked",
  "store.unlinked",
  "store.updated"
)
export type ChangeType = typeof ChangeType.Type

export const ChangedKind = Schema.Literal(...EntityKind.literals, "store", "metafield_definition")
export type ChangedKind = typeof ChangedKind.Type

const group = {
  type: ChangeType,
  kind: ChangedKind,
  store: Schema.NullOr(StoreId),
  /** The parts that changed: keys of attributes, members of a detail, or parts of a store version. */
  what: Schema.Array(Schema.String)
}

/** Changes that differ only in their entity. */
export interface ChangeGroup extends Schema.Struct.Type<typeof group> {
  readonly ids: ReadonlyArray<string>
}

/**
 * A group as it is stored. The ids of all groups are in one list, in the order of the groups; `count` is the number of this
 * group's ids.
 */
export const StoredGroup = Schema.Struct({ ...group, count: Schema.Number })
export type StoredGroup = typeof StoredGroup.Type

/** Changes of one transaction that are stored together. */
export interface ChangeSlice {
  readonly groups: ReadonlyArray<StoredGroup>
  readonly ids: ReadonlyArray<string>
}

/** The group of the entity at a place of a slice. */
export const groupAt = (groups: ReadonlyArray<StoredGroup>, index: number): StoredGroup => {
  let first = 0
  for (const group of groups) {
    first += group.count
    if (index < first) return group
  }
  throw new Error("the groups of a slice have fewer entities than the slice")
}

/** Maximum number of changes in a slice. */
export const maxSlice = 250

/** Divides groups into slices, in order. */
export const slicesOf = (groups: ReadonlyArray<ChangeGroup>): ReadonlyArray<ChangeSlice> => {
  const slices: Array<{ readonly groups: Array<StoredGroup>; readonly ids: Array<string> }> = []
  for (const { ids, ...group } of groups)
    for (let from = 0; from < ids.length; ) {
      let slice = slices.at(-1)
      if (slice === undefined || slice.ids.length >= maxSlice) {
        slice = { groups: [], ids: [] }
        slices.push(slice)
      }
      const some = ids.slice(from, from + maxSlice - slice.ids.length)
      slice.groups.push({ ...group, count: some.length })
      slice.ids.push(...some)
      from += some.length
    }
  return slices
}

/** Collects changes and groups those that differ only in their entity. A group has each entity once. */
class Groups {
  private readonly groups = new Map<string, Omit<ChangeGroup, "ids"> & { readonly ids: Set<string> }>()
  private readonly named = new Set<string>()

  add(type: ChangeType, kind: ChangedKind, id: string, store: StoreId | null = null, what: ReadonlyArray<string> = []) {
    const key = `${type} ${kind} ${store ?? ""} ${what.join("\n")}`
    this.named.add(id)
    const group = this.groups.get(key)
    if (group === undefined) this.groups.set(key, { type, kind, store, what, ids: new Set([id]) })
    else group.ids.add(id)
  }

  /** Whether a change names the entity. */
  has(id: string) {
    return this.named.has(id)
  }

  /** Created entities come first, deleted ones last. */
  list(): ReadonlyArray<ChangeGroup> {
    const placeOf = ({ type }: ChangeGroup) => (type === "entity.created" ? 0 : type === "entity.deleted" ? 2 : 1)
    return [...this.groups.values()]
      .map(({ ids, ...group }) => ({ ...group, ids: [...ids] }))
      .sort((left, right) => placeOf(left) - placeOf(right))
  }
}

const changedKeys = (before: Attributes, after: Attributes): ReadonlyArray<string> =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((key) => before[key]?.value !== after[key]?.value || before[key]?.type !== after[key]?.type)
    .sort()

/** The parts of a store version that changed. */
const changedParts = (before: VersionState, after: VersionState): ReadonlyArray<string> => [
  ...(sameJson(before.overrides, after.overrides) ? [] : ["overrides"]),
  ...(before.pendingPublish === after.pendingPublish &&
  before.lastPublishStatus === after.lastPublishStatus &&
  before.publishedAt === after.publishedAt &&
  sameJson(before.lastPublishError, after.lastPublishError)
    ? []
    : ["publish_state"]),
  ...(sameJson(before.accepted, after.accepted) ? [] : ["accepted_values"])
]

const addVersions = (groups: Groups, before: Aggregate | undefined, after: Aggregate) => {
  if (before?.versions === after.versions) return
  const old = new Map(before?.versions.map((version) => [version.storeId, version]))
  for (const version of after.versions) {
    const previous = old.get(version.storeId)
    old.delete(version.storeId)
    if (previous === undefined) groups.add("store_version.added", after.kind, after.id, version.storeId)
    else {
      const parts = changedParts(previous, version)
      if (parts.length > 0) groups.add("store_version.updated", after.kind, after.id, version.storeId, parts)
    }
  }
  for (const storeId of old.keys()) groups.add("store_version.removed", after.kind, after.id, storeId)
}

/** The ids that are in only one of two lists. */
const differing = (before: ReadonlyArray<EntityId>, after: ReadonlyArray<EntityId>): ReadonlyArray<EntityId> => {
  const [old, now] = [new Set(before), new Set(after)]
  return [...before.filter((id) => !now.has(id)), ...after.filter((id) => !old.has(id))]
}

const userMember = (kind: EntityKind) => `${kind}_ids`

const addRelationships = (groups: Groups, before: Aggregate | undefined, after: Aggregate) => {
  const { id, kind } = after
  const relate = (member: string) => groups.add("relationships.updated", kind, id, null, [member])
  if (before?.gallery !== after.gallery) {
    const [old, now] = [before?.gallery ?? [], after.gallery].map((gallery) => gallery.map(({ mediaId }) => mediaId))
    if (!sameOrder(old ?? [], now ?? [])) relate("media_ids")
    for (const media of differing(old ?? [], now ?? []))
      groups.add("relationships.updated", "media", media, null, [userMember(kind)])
    const shown = new Map(before?.gallery.map(({ mediaId, storeIds }) => [mediaId, storeIds]))
    // Added and removed versions are announced as a whole.
    for (const { mediaId, storeIds } of before === undefined ? [] : after.gallery)
      for (const store of new Set([...(shown.get(mediaId) ?? []), ...storeIds]))
        if (
          before?.storeIds.includes(store) &&
          after.storeIds.includes(store) &&
          shown.has(mediaId) &&
          shown.get(mediaId)?.includes(store) !== storeIds.includes(store)
        )
          groups.add("store_version.updated", kind, id, store, ["media_ids"])
  }
  if (before?.members !== after.members && !sameOrder(before?.members ?? [], after.members)) {
    relate("members")
    for (const product of differing(before?.members ?? [], after.members))
      groups.add("relationships.updated", "product", product, null, ["collection_ids"])
  }
  if (after.parentId !== null && before?.position !== after.position)
    groups.add("relationships.updated", "product", after.parentId, null, ["variant_ids"])
}

/** The deletion of entities, and the entities whose relationships change by it. */
const addDeletions = (groups: Groups, deleted: Plan["deleted"]) => {
  const gone = new Set(deleted.map(({ id }) => id))
  for (const { gallery, id, kind, members, parentId } of deleted) {
    const relate = (other: ChangedKind, otherId: EntityId, member: string) => {
      if (!gone.has(otherId)) groups.add("relationships.updated", other, otherId, null, [member])
    }
    groups.add("entity.deleted", kind, id)
    if (parentId !== null) relate("product", parentId, "variant_ids")
    for (const { mediaId } of gallery) relate("media", mediaId, userMember(kind))
    for (const product of members) relate("product", product, "collection_ids")
  }
}

/** The changes of a plan, as the feed shows them: at least one for each entity whose detail or store versions change. */
export const changesOf = ({ created, deleted, drafted, stamped, updated }: Plan): ReadonlyArray<ChangeGroup> => {
  const groups = new Groups()
  for (const after of created) {
    groups.add("entity.created", after.kind, after.id)
    addVersions(groups, undefined, after)
    addRelationships(groups, undefined, after)
  }
  for (const { after, before } of updated) {
    const keys = before.attributes === after.attributes ? [] : changedKeys(before.attributes, after.attributes)
    if (keys.length > 0) groups.add("entity.updated", after.kind, after.id, null, keys)
    addVersions(groups, before, after)
    addRelationships(groups, before, after)
    const isVisible =
      before.pendingPublish !== after.pendingPublish ||
      before.lastPublishStatus !== after.lastPublishStatus ||
      !sameOrder(before.storeIds, after.storeIds)
    if (isVisible && !groups.has(after.id)) groups.add("entity.updated", after.kind, after.id, null, ["publish_state"])
  }
  addDeletions(groups, deleted)
  const kinds = new Map(updated.map(({ after }) => [after.id, after.kind]))
  // An entity with a new revision but without an update is a product whose variants changed.
  for (const id of [...stamped, ...drafted])
    if (!groups.has(id)) groups.add("entity.updated", kinds.get(id) ?? "product", id)
  return groups.list()
}

/** One change of many entities. Empty if there are none. */
export const changesOfAll = (
  type: ChangeType,
  kind: ChangedKind,
  ids: ReadonlyArray<string>,
  store: StoreId | null = null,
  what: ReadonlyArray<string> = []
): ReadonlyArray<ChangeGroup> => (ids.length === 0 ? [] : [{ type, kind, store, what, ids }])
