import { Either, Schema } from "effect"
import type { GalleryEntry } from "../catalog/Aggregate.ts"
import { AttributeTriple, EntityKind } from "../model/Attribute.ts"
import { AttributeEdit, attributeIssues, textIssues } from "../model/AttributeRules.ts"
import { type Issue, NotFound, ValidationFailed } from "../model/Errors.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import { PublishStatus } from "../model/PublishState.ts"
import { CatalogChange, type Decision, type LockedCatalog } from "./CatalogChange.ts"
import { layersOf } from "./Divergence.ts"
import { decideAddition, type PartsMoved } from "./StoreMembership.ts"
import { type JoinedEntry, joinedEntries, joinGallery, leavingEntries, maxGallery } from "./VariantPictures.ts"

const draftRevision = Schema.Int.annotations({ description: "The revision of the draft." })
const pendingPublish = Schema.Boolean.annotations({
  description: "Whether the draft has changes that are not published to a store yet."
})

/** New values of an entity: canonical values, or overrides of one store. All of them are written or none. */
export const AttributesUpdate = Schema.Struct({
  draft_revision: Schema.Int.annotations({
    description: "The revision of the last read. The write is refused if it is not the current one."
  }),
  attributes: Schema.Array(AttributeEdit).annotations({
    description: "Each key at most once. Keys that are left out do not change."
  })
}).annotations({ identifier: "AttributesUpdate" })
export type AttributesUpdate = typeof AttributesUpdate.Type

/** The state of a draft after a write. */
export const DraftState = Schema.Struct({
  entity_id: EntityId,
  entity_type: EntityKind,
  draft_revision: draftRevision,
  pending_publish: pendingPublish,
  stores: Schema.Array(Schema.Struct({ store_id: StoreId, pending_publish: pendingPublish })).annotations({
    description: "By domain."
  })
}).annotations({ identifier: "DraftState" })
export type DraftState = typeof DraftState.Type

/** The values of a draft: canonical values, or the effective values on one store. */
export const Draft = Schema.Struct({
  entity_id: EntityId,
  entity_type: EntityKind,
  title: Schema.String,
  draft_revision: draftRevision,
  store_id: Schema.NullOr(StoreId).annotations({ description: "null: the canonical values." }),
  attributes: Schema.Array(AttributeTriple),
  overridden: Schema.Array(Schema.String).annotations({ description: "The keys with an override of the store." }),
  pending_publish: pendingPublish,
  last_publish_status: PublishStatus
}).annotations({ identifier: "Draft" })
export type Draft = typeof Draft.Type

type Decided<E = NotFound | ValidationFailed> = Either.Either<Decision, E>

export const unlessAny = (issues: ReadonlyArray<Issue>): Either.Either<void, ValidationFailed> =>
  issues.length === 0 ? Either.void : Either.left(new ValidationFailed({ issues }))

const find = ({ aggregates }: LockedCatalog, id: EntityId) =>
  Either.fromNullable(aggregates.get(id), () => new NotFound())

/** Checks the parts of an update that do not depend on the entity. */
export const checkUpdate = ({ attributes }: AttributesUpdate): Either.Either<void, ValidationFailed> =>
  unlessAny(textIssues(attributes))

/** The metafield types for these keys, by the account's rules. Built-in keys are left out. */
export const typesFor = (rules: KeyRules, kind: EntityKind, keys: Iterable<string>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...keys].flatMap((key) => {
      const type = key.includes(".") ? rules.find(kind, key)?.type : undefined
      return type === undefined ? [] : [[key, type]]
    })
  )

/** The layer of values that an update writes. */
export interface UpdatedLayer {
  /** null: the canonical values. */
  readonly storeId: StoreId | null
  /** Adds the entity to the store if it is not there. */
  readonly addsToStore?: boolean
}

/**
 * Checks new values by the rules of their keys and decides the changes. NotFound: the entity does not exist or is not on the
 * store. With `addsToStore`, an entity that is not on the store is added first, as by `decideAddition`.
 */
export const decideUpdate =
  (
    entityId: EntityId,
    { addsToStore = false, storeId }: UpdatedLayer,
    { attributes, draft_revision }: AttributesUpdate,
    rules: KeyRules
  ) =>
  (locked: LockedCatalog): Decided<NotFound | ValidationFailed | PartsMoved> =>
    Either.gen(function* () {
      const aggregate = yield* find(locked, entityId)
      const isThere = storeId === null || aggregate.storeIds.includes(storeId)
      if (!isThere && !addsToStore) return yield* Either.left(new NotFound())
      const addition = isThere ? [] : yield* decideAddition(entityId, storeId)(locked)
      yield* unlessAny(attributeIssues(aggregate.kind, attributes, rules, layersOf(aggregate)))
      const values = Object.fromEntries(attributes.map(({ key, value }) => [key, value]))
      const types = typesFor(rules, aggregate.kind, Object.keys(values))
      return {
        changes: [
          ...addition,
          storeId === null
            ? CatalogChange.SetAttributes({ entityId, values, types })
            : CatalogChange.SetOverrides({ entityId, storeId, values, types })
        ],
        basedOn: new Map([[entityId, draft_revision]])
      }
    })

/**
 * Writes the order of a gallery, and the stores that show each entry. Stores that do not have the entity keep their entries.
 * A media file is added to each store that newly shows it, and what a variant newly shows joins the gallery of its product. `leaving`:
 * entries that joined it earlier, and leave it again. `joined`: the entries that join it now. ValidationFailed: an entry is given twice, or
 * there are more than `maxGallery`. NotFound: also for a store that does not have the entity.
 */
export const decideGallery =
  (
    entityId: EntityId,
    draftRevision: number,
    entries: ReadonlyArray<GalleryEntry>,
    leaving: ReadonlyArray<JoinedEntry> = []
  ) =>
  (
    locked: LockedCatalog
  ): Either.Either<Decision & { readonly joined: ReadonlyArray<JoinedEntry> }, NotFound | ValidationFailed> =>
    Either.gen(function* () {
      const aggregate = yield* find(locked, entityId)
      const { gallery, parentId, storeIds } = aggregate
      const product = parentId === null ? undefined : locked.aggregates.get(parentId)
      const before = new Map(gallery.map((entry) => [entry.mediaId, entry.storeIds]))
      yield* unlessAny([
        ...(new Set(entries.map(({ mediaId }) => mediaId)).size === entries.length
          ? []
          : [{ path: "entries", message: "must name each media file once" }]),
        ...(entries.length <= maxGallery
          ? []
          : [{ path: "entries", message: `must have at most ${maxGallery} media files` }])
      ])
      if (entries.some((entry) => entry.storeIds.some((id) => !storeIds.includes(id))))
        return yield* Either.left(new NotFound())
      // Stores stay in their order, so that a gallery with the same stores is not a change.
      const storesOf = ({ mediaId, storeIds: shown }: GalleryEntry) => {
        const linked = (before.get(mediaId) ?? []).filter((id) => locked.storeIds.includes(id))
        return [
          ...linked.filter((id) => shown.includes(id) || !storeIds.includes(id)),
          ...shown.filter((id) => !linked.includes(id))
        ]
      }
      const joined = product === undefined ? [] : joinedEntries(product, aggregate, entries)
      const siblings = [...locked.aggregates.values()].filter(
        (each) => each.parentId === parentId && each !== aggregate
      )
      const left = leavingEntries(leaving, siblings)
      // A picture that the variant loses otherwise stays, also if another variant that shows it loses it by an undo.
      const keep = (product?.gallery ?? []).flatMap(({ joined, mediaId }) => {
        const shown = entries.find((entry) => entry.mediaId === mediaId)
        const after = shown === undefined ? [] : storesOf(shown)
        const isLost = before.get(mediaId)?.some((id) => locked.storeIds.includes(id) && !after.includes(id))
        return joined !== undefined && isLost && !leaving.some((entry) => entry.mediaId === mediaId) ? [mediaId] : []
      })
      return {
        joined,
        changes: [
          ...entries.flatMap(({ mediaId, storeIds: shown }) =>
            shown
              .filter((id) => !before.get(mediaId)?.includes(id))
              .map((storeId) => CatalogChange.AddToStore({ entityId: mediaId, storeId }))
          ),
          CatalogChange.SetGallery({
            entityId,
            entries: entries.map((entry) => ({ mediaId: entry.mediaId, storeIds: storesOf(entry) }))
          }),
          ...(product === undefined ? [] : yield* joinGallery(product, joined)),
          ...(product === undefined || left.length + keep.length === 0
            ? []
            : [CatalogChange.ChangeGallery({ entityId: product.id, add: [], remove: left, keep })])
        ],
        basedOn: new Map([[entityId, draftRevision]])
      }
    })

export const draftStateOf = (
  { aggregates, revisions }: LockedCatalog,
  id: EntityId
): Either.Either<DraftState, NotFound> =>
  Either.map(
    Either.fromNullable(aggregates.get(id), () => new NotFound()),
    ({ kind, pendingPublish, versions }) => ({
      entity_id: id,
      entity_type: kind,
      draft_revision: revisions.get(id) ?? 0,
      pending_publish: pendingPublish,
      stores: versions.map((version) => ({ store_id: version.storeId, pending_publish: version.pendingPublish }))
    })
  )
