import { Context, Effect, Layer, Option } from "effect"
import type { GalleryEntry } from "../catalog/Aggregate.ts"
import { CatalogRepo } from "../catalog/CatalogRepo.ts"
import type { ProjectionsRecord } from "../catalog/CatalogRows.ts"
import type { EntityRecord } from "../catalog/Entity.ts"
import { CurrentActor } from "../model/Actor.ts"
import { type Attributes, EntityKind, effective, toTriples } from "../model/Attribute.ts"
import type { AttributeEdit } from "../model/AttributeRules.ts"
import { NotFound, type PimLocked, type RevisionConflict, type ValidationFailed } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import type { Decision, LockedCatalog } from "./CatalogChange.ts"
import { CatalogChanges } from "./CatalogChanges.ts"
import {
  type AttributesUpdate,
  checkUpdate,
  type Draft,
  type DraftState,
  decideAddition,
  decideGallery,
  decideUpdate,
  draftStateOf,
  type UpdatedLayer
} from "./DraftWrite.ts"
import type { HistoryEntry } from "./History.ts"
import { HistoryRepo } from "./HistoryRepo.ts"
import { MetafieldDefinitions } from "./MetafieldDefinitions.ts"
import { type Projection, toProjections } from "./Projection.ts"

const maxHistoryEntries = 250

/** New values of one layer. `storeId` null: canonical values. */
export interface LayerUpdate {
  readonly storeId: StoreId | null
  readonly attributes: ReadonlyArray<AttributeEdit>
}

/** All layers of a draft, and the rules of its keys. `stores`: by domain. */
export interface Sheet {
  readonly kind: EntityKind
  readonly attributes: Attributes
  readonly rules: KeyRules
  /** In order. `storeIds`: the stores that show the entry, of those that have the entity; by domain. */
  readonly gallery: ReadonlyArray<GalleryEntry>
  readonly stores: ReadonlyArray<{ readonly overrides: Attributes; readonly projection: Projection }>
}

/** The sheet of one of several entities, with the revision of its draft. */
export interface IdentifiedSheet extends Sheet {
  readonly id: EntityId
  readonly title: string
  readonly draftRevision: number
}

const toDraft = (
  kind: EntityKind,
  { draftRevision, id, title }: EntityRecord,
  storeId: StoreId | null,
  values: Pick<EntityRecord, "attributes" | "lastPublishStatus" | "pendingPublish">,
  overridden: ReadonlyArray<string>
): Draft => ({
  entity_id: id,
  entity_type: kind,
  draft_revision: draftRevision,
  store_id: storeId,
  title,
  attributes: toTriples(kind, values.attributes),
  overridden,
  pending_publish: values.pendingPublish,
  last_publish_status: values.lastPublishStatus
})

const mediaOf = (entries: ReadonlyArray<GalleryEntry>) => entries.map(({ mediaId }) => mediaId)

const toSheet = (kind: EntityKind, found: ProjectionsRecord, rules: KeyRules): Sheet => {
  const projections = toProjections(kind, found)
  return {
    kind,
    attributes: found.attributes,
    rules,
    gallery: found.gallery.map(({ mediaId, storeIds }) => ({
      mediaId,
      storeIds: found.versions.map(({ storeId }) => storeId).filter((id) => storeIds.includes(id))
    })),
    stores: found.versions.flatMap(({ overrides }, index) => {
      const projection = projections[index]
      return projection === undefined ? [] : [{ overrides, projection }]
    })
  }
}

/**
 * Reads and writes drafts of the actor's account, one entity at a time.
 *
 * A write succeeds or fails as a whole. Errors are checked in this order: ValidationFailed for text that cannot be stored;
 * NotFound for an entity, store or store version that does not exist or belongs to another account; ValidationFailed for an
 * unknown or read-only key, or a value that does not fit its rule (`KeyRules`); PimLocked while an import is under review or
 * applied; RevisionConflict, with the current revision. A write without effect raises no counter.
 */
export class Drafts extends Context.Tag("catalog/Drafts")<
  Drafts,
  {
    /** Writes canonical values. `null` empties a value. */
    readonly updateAttributes: (
      id: EntityId,
      update: AttributesUpdate
    ) => Effect.Effect<DraftState, ValidationFailed | NotFound | PimLocked | RevisionConflict, CurrentActor>
    /**
     * Writes overrides of one store. `null` removes an override; `""` is an empty override. With `addsToStore`, an entity that is not
     * on the store is added in the same write. ValidationFailed: also as for `addStoreVersion`.
     */
    readonly updateVersionAttributes: (
      id: EntityId,
      storeId: StoreId,
      update: AttributesUpdate,
      addsToStore?: boolean
    ) => Effect.Effect<DraftState, ValidationFailed | NotFound | PimLocked | RevisionConflict, CurrentActor>
    /** Writes several layers at once: all of them or none. Each layer may be given once. */
    readonly updateLayers: (
      id: EntityId,
      draftRevision: number,
      layers: ReadonlyArray<LayerUpdate>
    ) => Effect.Effect<DraftState, ValidationFailed | NotFound | PimLocked | RevisionConflict, CurrentActor>
    /**
     * Writes the order of a gallery, and the stores that show each entry. `entries`: each entry of the current gallery once. Stores
     * that do not have the entity keep their entries. ValidationFailed: other entries. NotFound: also for a store without the entity.
     */
    readonly updateGallery: (
      id: EntityId,
      draftRevision: number,
      entries: ReadonlyArray<GalleryEntry>
    ) => Effect.Effect<DraftState, ValidationFailed | NotFound | PimLocked | RevisionConflict, CurrentActor>
    /**
     * Adds an entity to a store; a product with all its variants. ValidationFailed: the entity is on the store already, or it is a
     * variant whose product is not on the store.
     */
    readonly addStoreVersion: (
      id: EntityId,
      storeId: StoreId
    ) => Effect.Effect<DraftState, ValidationFailed | NotFound | PimLocked, CurrentActor>
    /** The values of a draft. `storeId` null: canonical. NotFound: the entity does not exist, or is not on the store. */
    readonly get: (id: EntityId, storeId: StoreId | null) => Effect.Effect<Draft, NotFound, CurrentActor>
    /**
     * The draft of an entity for each store, with the values that the store accepted last, ordered by domain. `storeId`: only this
     * store. NotFound: the entity does not exist, or is not on that store.
     */
    readonly projections: (
      id: EntityId,
      storeId?: StoreId
    ) => Effect.Effect<ReadonlyArray<Projection>, NotFound, CurrentActor>
    /** NotFound: the entity does not exist. */
    readonly sheet: (id: EntityId) => Effect.Effect<Sheet, NotFound, CurrentActor>
    /** The sheets of these entities of a kind, in this order and at one moment. Unknown ids are left out. */
    readonly sheets: (
      kind: EntityKind,
      ids: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyArray<IdentifiedSheet>, never, CurrentActor>
    /** The newest changes of an entity's draft, newest first. `limit`: 1 to 250. NotFound: no such entity. */
    readonly history: (
      id: EntityId,
      limit: number
    ) => Effect.Effect<ReadonlyArray<HistoryEntry>, NotFound, CurrentActor>
  }
>() {
  static readonly layer = Layer.effect(
    Drafts,
    Effect.gen(function* () {
      const catalog = yield* CatalogRepo
      const changes = yield* CatalogChanges
      const history = yield* HistoryRepo
      const definitions = yield* MetafieldDefinitions

      const write = <E>(
        id: EntityId,
        decide: (locked: LockedCatalog) => Effect.Effect<Decision, E>,
        references: ReadonlyArray<EntityId> = []
      ) => Effect.flatMap(changes.applyDecided([id], decide, references), (locked) => draftStateOf(locked, id))

      const updateAll = (
        id: EntityId,
        updates: ReadonlyArray<readonly [layer: UpdatedLayer, request: AttributesUpdate]>
      ) =>
        Effect.gen(function* () {
          for (const [, request] of updates) yield* checkUpdate(request)
          const { accountId } = yield* CurrentActor
          const keys = updates.flatMap(([, { attributes }]) => attributes.map(({ key }) => key))
          return yield* write(id, (locked) =>
            Effect.gen(function* () {
              const kind = locked.aggregates.get(id)?.kind
              if (kind === undefined) return yield* new NotFound()
              const rules = yield* definitions.rulesFor(accountId, kind, keys)
              const decisions = yield* Effect.forEach(updates, ([layer, request]) =>
                decideUpdate(id, layer, request, rules)(locked)
              )
              return {
                changes: decisions.flatMap(({ changes }) => changes),
                basedOn: new Map(decisions.flatMap(({ basedOn }) => [...basedOn]))
              }
            })
          )
        })

      const update = (id: EntityId, layer: UpdatedLayer, request: AttributesUpdate) => updateAll(id, [[layer, request]])

      /** Finds an entity of any kind. */
      const find = (id: EntityId) =>
        Effect.gen(function* () {
          const { accountId } = yield* CurrentActor
          for (const kind of EntityKind.literals) {
            const record = yield* catalog.find(accountId, kind, id)
            if (Option.isSome(record)) return { kind, record: record.value }
          }
          return yield* new NotFound()
        })

      return {
        updateAttributes: Effect.fn("Drafts.updateAttributes")((id, request) => update(id, { storeId: null }, request)),
        updateVersionAttributes: Effect.fn("Drafts.updateVersionAttributes")(
          (id, storeId, request, addsToStore = false) => update(id, { storeId, addsToStore }, request)
        ),
        updateLayers: Effect.fn("Drafts.updateLayers")((id, draftRevision, layers) =>
          updateAll(
            id,
            layers.map(({ attributes, storeId }) => [{ storeId }, { draft_revision: draftRevision, attributes }])
          )
        ),
        updateGallery: Effect.fn("Drafts.updateGallery")((id, draftRevision, entries) =>
          write(id, decideGallery(id, draftRevision, entries), mediaOf(entries))
        ),
        addStoreVersion: Effect.fn("Drafts.addStoreVersion")((id, storeId) =>
          // An addition is based on no revision, because it overwrites nothing. So RevisionConflict is a defect.
          Effect.catchTag(write(id, decideAddition(id, storeId)), "RevisionConflict", Effect.die)
        ),
        get: Effect.fn("Drafts.get")(function* (id, storeId) {
          const { accountId } = yield* CurrentActor
          const { kind, record } = yield* find(id)
          if (storeId === null) return toDraft(kind, record, null, record, [])
          // The values are read after the revision. If the draft changes between both reads, a write with this revision is refused.
          const found = yield* catalog.versions(accountId, kind, id, storeId)
          const version = Option.flatMapNullable(found, ({ versions }) => versions[0])
          if (Option.isNone(found) || Option.isNone(version)) return yield* new NotFound()
          const { overrides } = version.value
          const attributes = effective(found.value.attributes, overrides)
          return toDraft(kind, record, storeId, { ...version.value, attributes }, Object.keys(overrides).sort())
        }),
        projections: Effect.fn("Drafts.projections")(function* (id, storeId) {
          const { accountId } = yield* CurrentActor
          const kind = yield* catalog.kindOf(accountId, id)
          if (Option.isNone(kind)) return yield* new NotFound()
          const record = yield* catalog.projections(accountId, kind.value, id, storeId)
          const projections = Option.match(record, {
            onNone: () => [],
            onSome: (found) => toProjections(kind.value, found)
          })
          return storeId !== undefined && projections.length === 0 ? yield* new NotFound() : projections
        }),
        sheet: Effect.fn("Drafts.sheet")(function* (id) {
          const { accountId } = yield* CurrentActor
          const { kind } = yield* find(id)
          const found = yield* Effect.orDie(Effect.flatten(catalog.projections(accountId, kind, id)))
          return toSheet(kind, found, yield* definitions.rules(accountId))
        }),
        sheets: Effect.fn("Drafts.sheets")(function* (kind, ids) {
          const { accountId } = yield* CurrentActor
          const found = yield* catalog.projectionsOfAll(accountId, kind, ids)
          const rules = yield* definitions.rules(accountId)
          return found.map((record) => ({ ...record, ...toSheet(kind, record, rules) }))
        }),
        history: Effect.fn("Drafts.history")(function* (id, limit) {
          const { accountId } = yield* CurrentActor
          yield* find(id)
          return yield* history.list(accountId, id, Math.min(Math.max(limit, 1), maxHistoryEntries))
        })
      }
    })
  )
}
