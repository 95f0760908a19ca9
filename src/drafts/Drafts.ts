import { Context, Effect, Either, Layer, Option } from "effect"
import { type GalleryEntry, variantsByProduct } from "../catalog/Aggregate.ts"
import { CatalogRepo } from "../catalog/CatalogRepo.ts"
import type { ProjectionsRecord } from "../catalog/CatalogRows.ts"
import type { EntityRecord } from "../catalog/Entity.ts"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import { type Attributes, EntityKind, effective, toTriples } from "../model/Attribute.ts"
import type { AttributeEdit } from "../model/AttributeRules.ts"
import { NotFound } from "../model/Errors.ts"
import type { AccountId, EntityId, StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import { CatalogChange, type LockedCatalog, type Target } from "./CatalogChange.ts"
import { CatalogChanges } from "./CatalogChanges.ts"
import { decideCreation, handleOfTitle, type NewEntity, ownerOf } from "./Creation.ts"
import { type AttributesUpdate, checkUpdate, type Draft, decideUpdate, type UpdatedLayer } from "./DraftWrite.ts"
import { EntityUsesRepo } from "./EntityUsesRepo.ts"
import {
  makeUpdateGallery,
  makeWrite,
  makeWriteMoved,
  makeWriteWithParts,
  mediaOf,
  onAnyRevision
} from "./EntityWrites.ts"
import { type HistoryFilter, maxHistoryEntries } from "./History.ts"
import { HistoryRepo } from "./HistoryRepo.ts"
import { MetafieldDefinitions } from "./MetafieldDefinitions.ts"
import { copyOf, withoutDrops } from "./ProductCopy.ts"
import { type Projection, toProjections } from "./Projection.ts"
import { decideAddition, makeDecideRemovals } from "./StoreMembership.ts"

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

/** Finds an entity of any kind. */
const makeFind = (catalog: CatalogRepo["Type"]) => (id: EntityId) =>
  Effect.gen(function* () {
    const { accountId } = yield* CurrentActor
    for (const kind of EntityKind.literals) {
      const record = yield* catalog.find(accountId, kind, id)
      if (Option.isSome(record)) return { kind, record: record.value }
    }
    return yield* new NotFound()
  })

/**
 * The entities that a new one is written with: its owner, and the other variants of its product or pictures of its gallery. A copy is
 * written with its variants, and with those of the original and all their pictures.
 */
const makePartsOf = (catalog: CatalogRepo["Type"], find: ReturnType<typeof makeFind>) => (entity: NewEntity) => {
  if (entity._tag === "Product") return Effect.succeed([entity.variantId])
  const owner = ownerOf(entity)
  if (owner === null) return Effect.succeed([])
  return find(owner).pipe(
    Effect.flatMap(({ record: { mediaIds, variantIds } }) => {
      if (entity._tag !== "Copy") return Effect.succeed([owner, ...(entity._tag === "Variant" ? variantIds : mediaIds)])
      const copies = variantIds.map((id) => copyOf(entity.id, id))
      return withAccountId((accountId) => catalog.projectionsOfAll(accountId, "variant", variantIds)).pipe(
        Effect.map((variants) => variants.flatMap(({ gallery }) => mediaOf(gallery))),
        Effect.map((ofVariants) => [...new Set([owner, ...variantIds, ...copies, ...mediaIds, ...ofVariants])])
      )
    }),
    // An owner that does not exist is refused later, when the creation is decided.
    Effect.catchTag("NotFound", () => Effect.succeed([]))
  )
}

/** Handles that are tried before one that ends with the entity's id. Handles need not differ, but a shop refuses a second one. */
const maxHandles = 20

/**
 * Gives a product or collection without a handle a free one, made of its title. A CSV import finds the product again by its handle. Each
 * handle is locked before it is looked up, in the transaction of the creation, so that two creations at once get two handles. The order of
 * the locks is that of the numbers at the end of the handles, so creations do not wait for each other in a circle.
 */
const makeWithHandle = (catalog: CatalogRepo["Type"]) => (accountId: AccountId, entity: NewEntity) =>
  Effect.gen(function* () {
    if (entity._tag === "Variant" || entity._tag === "Media") return entity
    const valueIn = (key: string) => entity.attributes.find((edit) => edit.key === key)?.value ?? ""
    const base = handleOfTitle(valueIn("title"))
    if (valueIn("handle") !== "" || base === "") return entity
    let handle = base
    for (let number = 2; number <= maxHandles + 1; number++) {
      yield* catalog.lockHandle(accountId, handle)
      if ((yield* catalog.withHandle(accountId, handle)).length === 0) break
      handle = `${base}-${number <= maxHandles ? number : entity.id}`
    }
    return { ...entity, attributes: [...entity.attributes, { key: "handle", value: handle }] }
  })

const makeCreate = (
  catalog: CatalogRepo["Type"],
  find: ReturnType<typeof makeFind>,
  definitions: MetafieldDefinitions["Type"],
  history: HistoryRepo["Type"],
  write: ReturnType<typeof makeWrite>
) => {
  const partsOf = makePartsOf(catalog, find)
  const withHandle = makeWithHandle(catalog)
  const writeWithParts = makeWriteWithParts(write)
  return Effect.fn("Drafts.create")(function* (given: NewEntity) {
    const { accountId } = yield* CurrentActor
    const decide = (locked: LockedCatalog) =>
      Effect.gen(function* () {
        const entity = yield* withHandle(accountId, given)
        const rules = yield* definitions.rules(accountId)
        const read =
          entity._tag === "Copy"
            ? withoutDrops(locked, yield* history.ofOpenDrops(accountId, [...locked.aggregates.keys()]))
            : locked
        return yield* Either.map(decideCreation(entity, rules)(read), onAnyRevision)
      })
    return yield* Effect.catchTag(writeWithParts(given.id, partsOf(given), decide), "RevisionConflict", Effect.die)
  })
}

const makeMoves = (catalog: CatalogRepo["Type"], writeMoved: ReturnType<typeof makeWriteMoved>) => {
  const decideRemovals = makeDecideRemovals(catalog)
  return {
    /**
     * Adds an entity to a store; a product with all its variants and its gallery. ValidationFailed: the entity is on the store already, or it is a
     * variant whose product is not on the store.
     */
    addStoreVersion: Effect.fn("Drafts.addStoreVersion")((id: EntityId, storeId: StoreId) =>
      Effect.catchTag(
        writeMoved(id, { storeId, isThere: false }, (locked) =>
          Either.map(decideAddition(id, storeId)(locked), onAnyRevision)
        ),
        "RevisionConflict",
        Effect.die
      )
    ),
    /**
     * Takes an entity off a store that it was never published to; a product with its variants, and with the media of its gallery that no
     * other gallery shows there. NotFound: the entity is not on the store. ValidationFailed: it, or a variant of the product, was published
     * to the store or is being published, or it is a media file that a gallery shows there.
     */
    removeStoreVersion: Effect.fn("Drafts.removeStoreVersion")(function* (id: EntityId, storeId: StoreId) {
      const { accountId } = yield* CurrentActor
      const decide = (locked: LockedCatalog) =>
        Effect.gen(function* () {
          const { along, of } = yield* decideRemovals(accountId, [id], storeId, locked)
          return onAnyRevision([...(yield* of.get(id) ?? Either.left(new NotFound())), ...along])
        })
      return yield* Effect.catchTag(writeMoved(id, { storeId, isThere: true }, decide), "RevisionConflict", Effect.die)
    })
  }
}

/** The places of a moved item before and after the move, from 1, and the number of items in its list. */
interface NewPlace {
  readonly before: number
  readonly place: number
  readonly count: number
}

const makeOrders = (changes: CatalogChanges["Type"]) => {
  const move = (
    owner: EntityId,
    id: EntityId,
    change: CatalogChange,
    orderIn: (locked: LockedCatalog) => ReadonlyArray<EntityId>
  ) =>
    Effect.suspend(() => {
      let before = 0
      const decide = (locked: LockedCatalog) => {
        before = orderIn(locked).indexOf(id) + 1
        return Effect.succeed(onAnyRevision([change]))
      }
      return changes.applyDecided([owner], decide, [], "complete").pipe(
        Effect.map((locked): NewPlace => {
          const order = orderIn(locked)
          return { before, place: order.indexOf(id) + 1, count: order.length }
        }),
        Effect.catchTag("RevisionConflict", Effect.die)
      )
    })
  return {
    /**
     * Moves a variant among the variants of its product, whatever else changed meanwhile. NotFound: the variant is not one of the product.
     * ValidationFailed: the product has no such place.
     */
    moveVariant: Effect.fn("Drafts.moveVariant")((productId: EntityId, variantId: EntityId, to: Target) =>
      move(productId, variantId, CatalogChange.MoveVariant({ productId, variantId, to }), ({ aggregates }) =>
        (variantsByProduct(aggregates.values()).get(productId) ?? []).map(({ id }) => id)
      )
    ),
    /**
     * Moves a product within a collection, whatever else changed meanwhile. NotFound: the product is not in the collection.
     * ValidationFailed: the collection has no such place.
     */
    moveMember: Effect.fn("Drafts.moveMember")((collectionId: EntityId, productId: EntityId, to: Target) =>
      move(
        collectionId,
        productId,
        CatalogChange.MoveMember({ collectionId, productId, to }),
        ({ aggregates }) => aggregates.get(collectionId)?.members ?? []
      )
    )
  }
}

const makeReads = (
  catalog: CatalogRepo["Type"],
  find: ReturnType<typeof makeFind>,
  definitions: MetafieldDefinitions["Type"],
  history: HistoryRepo["Type"]
) => ({
  /** The values of a draft. `storeId` null: canonical. NotFound: the entity does not exist, or is not on the store. */
  get: Effect.fn("Drafts.get")(function* (id: EntityId, storeId: StoreId | null) {
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
  /**
   * The draft of an entity for each store, with the values that the store accepted last, ordered by domain. `storeId`: only this
   * store. NotFound: the entity does not exist, or is not on that store.
   */
  projections: Effect.fn("Drafts.projections")(function* (id: EntityId, storeId?: StoreId) {
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
  /** NotFound: the entity does not exist. */
  sheet: Effect.fn("Drafts.sheet")(function* (id: EntityId) {
    const { accountId } = yield* CurrentActor
    const { kind } = yield* find(id)
    const found = yield* Effect.orDie(Effect.flatten(catalog.projections(accountId, kind, id)))
    return toSheet(kind, found, yield* definitions.rules(accountId))
  }),
  /** The sheets of these entities of a kind, in this order and at one moment. Unknown ids are left out. */
  sheets: Effect.fn("Drafts.sheets")(function* (kind: EntityKind, ids: ReadonlyArray<EntityId>) {
    const { accountId } = yield* CurrentActor
    const found = yield* catalog.projectionsOfAll(accountId, kind, ids)
    const rules = yield* definitions.rules(accountId)
    return found.map((record) => ({ ...record, ...toSheet(kind, record, rules) }))
  }),
  /**
   * The newest changes of an entity's draft that the filter finds, newest first. `limit`: 1 to `maxHistoryEntries`. NotFound: no such
   * entity.
   */
  history: Effect.fn("Drafts.history")(function* (id: EntityId, limit: number, filter: HistoryFilter = {}) {
    const { accountId } = yield* CurrentActor
    yield* find(id)
    return yield* history.list(accountId, id, Math.min(Math.max(limit, 1), maxHistoryEntries), filter)
  })
})

const make = Effect.gen(function* () {
  const catalog = yield* CatalogRepo
  const find = makeFind(catalog)
  const changes = yield* CatalogChanges
  const write = makeWrite(changes)
  const writeMoved = makeWriteMoved(catalog, write)
  const definitions = yield* MetafieldDefinitions
  const uses = yield* EntityUsesRepo
  const history = yield* HistoryRepo

  const updateAll = (
    id: EntityId,
    updates: ReadonlyArray<readonly [layer: UpdatedLayer, request: AttributesUpdate]>,
    undone?: number
  ) =>
    Effect.gen(function* () {
      for (const [, request] of updates) yield* checkUpdate(request)
      const { accountId } = yield* CurrentActor
      const added = updates.find(([{ addsToStore }]) => addsToStore)?.[0].storeId ?? null
      const keys = updates.flatMap(([, { attributes }]) => attributes.map(({ key }) => key))
      const decide = (locked: LockedCatalog) =>
        Effect.gen(function* () {
          const kind = locked.aggregates.get(id)?.kind
          if (kind === undefined) return yield* new NotFound()
          const rules = yield* definitions.rulesFor(accountId, kind, keys)
          // Read under the locks: an end of a drop that leaves the field to its later writer does not raise the revision.
          const beforeDrops = undone === undefined ? [] : yield* history.beforeEndedDrops(accountId, id, undone)
          const decisions = yield* Effect.forEach(updates, ([layer, request]) => {
            const attributes = request.attributes.map(
              (edit) => beforeDrops.find(({ key, storeId }) => key === edit.key && storeId === layer.storeId) ?? edit
            )
            return decideUpdate(id, layer, { ...request, attributes }, rules)(locked)
          })
          return {
            changes: decisions.flatMap(({ changes }) => changes),
            basedOn: new Map(decisions.flatMap(({ basedOn }) => [...basedOn]))
          }
        })
      return yield* writeMoved(id, { storeId: added, isThere: false }, decide)
    })

  const update = (id: EntityId, layer: UpdatedLayer, request: AttributesUpdate) => updateAll(id, [[layer, request]])

  return {
    /** The linked stores that a product cannot leave because of its variants, and the unlinked stores that have the entity. */
    holdersOf: (id: EntityId) => withAccountId((accountId) => uses.holdersOf(accountId, id)),
    /** The number of media that nothing but these entities and their variants shows. */
    countOwnMedia: (ids: ReadonlyArray<EntityId>) => withAccountId((accountId) => uses.countOwnMedia(accountId, ids)),
    /**
     * Creates an entity with canonical values; a product with its first variant, or as a copy of another, a variant on all stores of its
     * product. ValidationFailed: also if the id is taken (`id`), another variant of the product has the same option values, or the product to
     * copy is not on a store (`store_ids`). NotFound: the product, the entity whose gallery shows the picture, or a store does not exist.
     */
    create: makeCreate(catalog, find, definitions, history, write),
    /** Writes canonical values. `null` empties a value. */
    updateAttributes: Effect.fn("Drafts.updateAttributes")((id: EntityId, request: AttributesUpdate) =>
      update(id, { storeId: null }, request)
    ),
    /**
     * Writes overrides of one store. `null` removes an override; `""` is an empty override. With `addsToStore`, an entity that is not
     * on the store is added in the same write. ValidationFailed: also as for `addStoreVersion`.
     */
    updateVersionAttributes: Effect.fn("Drafts.updateVersionAttributes")(
      (id: EntityId, storeId: StoreId, request: AttributesUpdate, addsToStore: boolean = false) =>
        update(id, { storeId, addsToStore }, request)
    ),
    /**
     * Writes several layers at once: all of them or none. Each layer may be given once. `undone`: the revision whose earlier values these
     * are. A value of a drop that has ended or failed since is replaced by the one before the drop.
     */
    updateLayers: Effect.fn("Drafts.updateLayers")(
      (id: EntityId, draftRevision: number, layers: ReadonlyArray<LayerUpdate>, undone?: number) =>
        updateAll(
          id,
          layers.map(({ attributes, storeId }) => [{ storeId }, { draft_revision: draftRevision, attributes }]),
          undone
        )
    ),
    /**
     * Writes the entries of a gallery in order, and the stores that show each. Stores that do not have the entity keep their entries.
     * `shown`: the media that a store newly shows; they are added to these stores. What a variant newly shows joins the gallery of its
     * product (`joined`). `leaving`: entries that joined it by an earlier write, and leave it unless another variant shows them.
     * ValidationFailed: an entry is given twice, or there are too many. NotFound: also for a store without the entity, and for a newly shown
     * media file that `shown` does not name.
     */
    updateGallery: makeUpdateGallery(write),
    /**
     * Adds products at the end of a collection, and takes others out, whatever else changed meanwhile. NotFound: the collection, or a product
     * to add, does not exist.
     */
    changeMembers: Effect.fn("Drafts.changeMembers")(
      (collectionId: EntityId, add: ReadonlyArray<EntityId>, remove: ReadonlyArray<EntityId>) =>
        Effect.catchTag(
          write(
            collectionId,
            () => Effect.succeed(onAnyRevision([CatalogChange.ChangeMembers({ collectionId, add, remove })])),
            add,
            [],
            "complete"
          ),
          "RevisionConflict",
          Effect.die
        )
    ),
    ...makeOrders(changes),
    ...makeMoves(catalog, writeMoved),
    ...makeReads(catalog, find, definitions, history)
  }
})

/**
 * Reads and writes drafts of the actor's account, one entity at a time.
 *
 * A write succeeds or fails as a whole. Errors are checked in this order: ValidationFailed for text that cannot be stored;
 * NotFound for an entity, store or store version that does not exist or belongs to another account; ValidationFailed for an
 * unknown or read-only key, or a value that does not fit its rule (`KeyRules`); PimLocked while an import locks the
 * account; RevisionConflict, with the current revision. A write without effect raises no counter.
 */
export class Drafts extends Context.Tag("catalog/Drafts")<Drafts, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Drafts, make)
}
