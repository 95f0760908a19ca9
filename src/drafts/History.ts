import { Schema } from "effect"
import type { Aggregate, GalleryEntry } from "../catalog/Aggregate.ts"
import type { Actor } from "../model/Actor.ts"
import type { Attributes } from "../model/Attribute.ts"
import { type AccountId, ApiKeyId, ConnectionId, DropId, EntityId, ImportId, StoreId, UserId } from "../model/Ids.ts"
import { PublishError } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import type { Plan } from "./CatalogChange.ts"

/** A value before and after a change. null: no value; for an override, the canonical value is inherited. */
export const ValueChange = Schema.Struct({
  key: Schema.String,
  old: Schema.NullOr(Schema.String),
  new: Schema.NullOr(Schema.String)
})
export type ValueChange = typeof ValueChange.Type

/**
 * The kind of a change. `created` includes the first values. `variants`: a variant was added, or the order of variants changed.
 * `gallery` and `members` do not record the previous list. The last three are about a publish to the store, which does not
 * change a draft.
 */
export const HistoryAction = Schema.Literal(
  "created",
  "attributes",
  "added_to_store",
  "removed_from_store",
  "gallery",
  "members",
  "variants",
  "publish_asked",
  "published",
  "publish_failed"
)

/** The actions that are about a publish and do not change a draft. */
export const publishActions: ReadonlyArray<typeof HistoryAction.Type> = ["publish_asked", "published", "publish_failed"]

/** A change of the canonical record or of one store version, without its author. */
export const LayerChange = Schema.Struct({
  entityId: EntityId,
  /** The revision of the draft after the change. */
  draftRevision: Schema.Int,
  /** The store whose version changed; null: the canonical record. */
  storeId: Schema.NullOr(StoreId),
  action: HistoryAction,
  /** The changed values; empty for actions other than `attributes`. */
  changes: Schema.Array(ValueChange)
})
export type LayerChange = typeof LayerChange.Type

/** A publish request or its outcome, without its author. */
export interface PublishEvent {
  readonly entityId: EntityId
  /** The draft revision that the publish request fixed. */
  readonly draftRevision: number
  readonly storeId: StoreId
  readonly action: "publish_asked" | "published" | "publish_failed"
  /** Set for `publish_failed`, and for `published` if the store did not do everything; null for other actions. */
  readonly error: PublishError | null
}

/** The author of a change, with the name at that time. */
export const HistoryActor = Schema.Struct({
  kind: Schema.Literal("user", "key", "connection", "cli"),
  id: Schema.NullOr(Schema.String),
  name: Schema.NullOr(Schema.String)
})
export type HistoryActor = typeof HistoryActor.Type

/** The kind and id of an actor, as rows of history store them. The name is stored beside them. */
export const authorOf = (actor: Actor): Pick<HistoryActor, "kind" | "id"> => {
  switch (actor._tag) {
    case "Key":
      return { kind: "key", id: actor.keyId }
    case "Connection":
      return { kind: "connection", id: actor.connectionId }
    case "User":
      return { kind: "user", id: actor.userId }
    case "Cli":
      return { kind: "cli", id: null }
  }
}

/** The reverse of `authorOf`. */
export const actorOf = (accountId: AccountId, { id, kind }: Pick<HistoryActor, "kind" | "id">): Actor => {
  if (id === null) return { _tag: "Cli", accountId }
  switch (kind) {
    case "key":
      return { _tag: "Key", accountId, keyId: ApiKeyId.make(id) }
    case "connection":
      return { _tag: "Connection", accountId, connectionId: ConnectionId.make(id) }
    case "user":
      return { _tag: "User", accountId, userId: UserId.make(id) }
    case "cli":
      return { _tag: "Cli", accountId }
  }
}

/** An entry of an entity's history: a change of its draft, or a publish. */
export const HistoryEntry = Schema.Struct({
  draft_revision: Schema.Int.annotations({
    description: "The draft's revision after this change; for a publish, the revision that was published."
  }),
  at: Timestamp,
  actor: HistoryActor,
  import_id: Schema.NullOr(ImportId).annotations({ description: "The import that the actor accepted." }),
  drop: Schema.NullOr(Schema.Struct({ id: DropId, name: Schema.String })).annotations({
    description: "The drop that the actor scheduled."
  }),
  undo_of: Schema.NullOr(Schema.Struct({ id: ConnectionId, name: Schema.NullOr(Schema.String) })).annotations({
    description: "The connection whose writes the actor undid."
  }),
  store_id: Schema.NullOr(StoreId).annotations({ description: "null: the canonical record." }),
  store_domain: Schema.NullOr(Schema.String),
  action: HistoryAction,
  changes: Schema.Array(ValueChange),
  error: Schema.NullOr(PublishError).annotations({
    description: "Why a publish failed, or what it did not do; else null."
  })
}).annotations({ identifier: "HistoryEntry" })
export type HistoryEntry = typeof HistoryEntry.Type

/** Maximum number of an entity's newest entries that `Drafts` reads or searches. */
export const maxHistoryEntries = 250

/** Which entries are read. A member that is absent does not apply. */
export interface HistoryFilter {
  /** Only those with this revision of the draft. */
  readonly revision?: number
  /** Only those that change this field, without their changes of other fields. */
  readonly key?: string
  /** Only those of this store; null: of the canonical record. */
  readonly storeId?: StoreId | null
}

/** In the order of their keys: databases and memory keep the keys of attributes in orders of their own. */
const valueChanges = (before: Attributes, after: Attributes): ReadonlyArray<ValueChange> =>
  before === after
    ? []
    : [...new Set([...Object.keys(before), ...Object.keys(after)])].sort().flatMap((key) => {
        const [old, now] = [before[key]?.value ?? null, after[key]?.value ?? null]
        // A value that keeps its text but gets another type is listed too.
        return old === now && before[key]?.type === after[key]?.type ? [] : [{ key, old, new: now }]
      })

const galleryText = (gallery: ReadonlyArray<GalleryEntry>) =>
  gallery.map(({ mediaId, storeIds }) => [mediaId, ...storeIds].join()).join(";")

const isSame = <Item>(
  before: ReadonlyArray<Item>,
  after: ReadonlyArray<Item>,
  textOf: (items: ReadonlyArray<Item>) => string
) => before === after || textOf(before) === textOf(after)

type Layer = Omit<LayerChange, "entityId" | "draftRevision">

const whole = (action: Layer["action"], storeId: StoreId | null = null): Layer => ({ storeId, action, changes: [] })

const attributeLayer = (storeId: StoreId | null, changes: ReadonlyArray<ValueChange>): ReadonlyArray<Layer> =>
  changes.length === 0 ? [] : [{ storeId, action: "attributes", changes }]

const layersOf = (before: Aggregate, after: Aggregate): ReadonlyArray<Layer> => {
  const old = new Map(before.versions.map((version) => [version.storeId, version]))
  return [
    ...attributeLayer(null, valueChanges(before.attributes, after.attributes)),
    ...(isSame(before.gallery, after.gallery, galleryText) ? [] : [whole("gallery")]),
    ...(isSame(before.members, after.members, String) ? [] : [whole("members")]),
    ...before.versions
      .filter(({ storeId }) => !after.storeIds.includes(storeId))
      .map(({ storeId }) => whole("removed_from_store", storeId)),
    ...after.versions.flatMap(({ overrides, storeId }) => {
      const version = old.get(storeId)
      return [
        ...(version === undefined ? [whole("added_to_store", storeId)] : []),
        ...attributeLayer(storeId, valueChanges(version?.overrides ?? {}, overrides))
      ]
    })
  ]
}

/**
 * The changes of drafts in a plan. Each revision that rises has at least one change. Derived fields and publish states have
 * none. `revisions`: the revisions before the plan is written.
 */
export const layerChanges = (
  { created, drafted, stamped, updated }: Plan,
  revisions: ReadonlyMap<EntityId, number>
): ReadonlyArray<LayerChange> => {
  const createdIds = new Set(created.map(({ id }) => id))
  const pairs = new Map(updated.map((pair) => [pair.after.id, pair]))
  return [...stamped, ...drafted].flatMap((entityId) => {
    const pair = pairs.get(entityId)
    const layers = createdIds.has(entityId)
      ? [whole("created")]
      : pair === undefined
        ? []
        : layersOf(pair.before, pair.after)
    const draftRevision = (revisions.get(entityId) ?? 0) + 1
    // A product's revision rises when variants are added or reordered, although only the rows of the variants change.
    return (layers.length === 0 ? [whole("variants")] : layers).map((layer) => ({ entityId, draftRevision, ...layer }))
  })
}
