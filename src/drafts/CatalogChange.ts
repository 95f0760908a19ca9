import { Data, Either, type Types } from "effect"
import { type Attributes, type EntityKind, titleOf, typeOf, valueOf } from "../model/Attribute.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { fits } from "../model/KeyRule.ts"
import type { PublishError } from "../model/PublishState.ts"
import { sameJson } from "../model/SameJson.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import {
  type AcceptedValues,
  type Aggregate,
  derive,
  type GalleryEntry,
  inOrderOf,
  publishable,
  sameAttributes,
  samePublishable,
  type VersionState
} from "./Aggregate.ts"

/**
 * New values by key. `null` empties a canonical value and removes an override; the type of a metafield that no layer
 * knows yet comes from `types`, by default a single line of text.
 */
export interface NewValues {
  readonly values: Readonly<Record<string, string | null>>
  readonly types?: Readonly<Record<string, string>>
}

/** One change of the catalog's drafts. A list of them is applied as a whole, in order, or not at all. */
export type CatalogChange = Data.TaggedEnum<{
  /** `parentId`: the product of a variant, which is appended to its variants; null for the other kinds. */
  CreateEntity: NewValues & { readonly id: EntityId; readonly kind: EntityKind; readonly parentId: EntityId | null }
  SetAttributes: NewValues & { readonly entityId: EntityId }
  SetOverrides: NewValues & { readonly entityId: EntityId; readonly storeId: StoreId }
  AddToStore: { readonly entityId: EntityId; readonly storeId: StoreId }
  RemoveFromStore: { readonly entityId: EntityId; readonly storeId: StoreId }
  /** The whole gallery, in order. */
  SetGallery: { readonly entityId: EntityId; readonly entries: ReadonlyArray<GalleryEntry> }
  /** The whole collection, in order. */
  SetMembers: { readonly collectionId: EntityId; readonly productIds: ReadonlyArray<EntityId> }
  /** All variants of the product, in their new order. */
  OrderVariants: { readonly productId: EntityId; readonly variantIds: ReadonlyArray<EntityId> }
  /** The store took the values as they are now. `platformId`: what it calls the entity, when that is news. */
  AcceptPublish: { readonly entityId: EntityId; readonly storeId: StoreId; readonly platformId?: string }
  /**
   * The store has these values and relationships, in this order, as its export or its platform says; what it had beside
   * them stays accepted, of relationships only unless they are `isComplete`. `platformId`: what the platform calls it.
   */
  AcceptImported: {
    readonly entityId: EntityId
    readonly storeId: StoreId
    readonly values: Readonly<Record<string, string>>
    readonly types?: Readonly<Record<string, string>>
    readonly media: ReadonlyArray<EntityId>
    readonly variants: ReadonlyArray<EntityId>
    readonly members?: ReadonlyArray<EntityId>
    readonly isComplete?: boolean
    readonly platformId?: string
  }
  /** The store took these values. `isAskedAgain`: a newer publish was asked for meanwhile, whose outcome is still open. */
  AcceptPinned: {
    readonly entityId: EntityId
    readonly storeId: StoreId
    readonly values: AcceptedValues
    readonly isAskedAgain: boolean
  }
  /** The store did not take them. */
  RefusePublish: { readonly entityId: EntityId; readonly storeId: StoreId; readonly error: PublishError }
  /** A publish was asked for and has no outcome yet. */
  AskPublish: { readonly entityId: EntityId; readonly storeId: StoreId }
  /**
   * Metafields get the types of their definitions, where their values fit these: the canonical ones, those of stores and those
   * that stores accepted, for all of them are under the definition.
   */
  Retype: { readonly entityId: EntityId; readonly types: Readonly<Record<string, string>> }
  /** What the store calls the entity became known. */
  Identify: { readonly entityId: EntityId; readonly storeId: StoreId; readonly platformId: string }
}>
export const CatalogChange = Data.taggedEnum<CatalogChange>()

/** What a list of changes is planned against: read under the locks that its writes need. */
export interface Locked {
  readonly now: Timestamp
  /** Linked stores in the order in which answers list them. */
  readonly storeIds: ReadonlyArray<StoreId>
  /** Every entity the changes own, the products of variants among them, and the variants of products among them. */
  readonly aggregates: ReadonlyMap<EntityId, Aggregate>
  /** The draft's revision of each of them. */
  readonly revisions: ReadonlyMap<EntityId, number>
  /** Kinds of the entities that the changes only refer to. */
  readonly kinds: ReadonlyMap<EntityId, EntityKind>
}

/** What is to be changed, once what is there was seen. */
export interface Decision {
  readonly changes: ReadonlyArray<CatalogChange>
  /** The draft revisions that the changes are based on; another current one refuses them. */
  readonly basedOn: ReadonlyMap<EntityId, number>
}

/** What to write. Empty lists mean that nothing changed. */
export interface Plan {
  readonly created: ReadonlyArray<Aggregate>
  readonly updated: ReadonlyArray<{ readonly before: Aggregate; readonly after: Aggregate }>
  /** Entities whose canonical record changed, in the order of their first change: each takes a new place in the walk. */
  readonly stamped: ReadonlyArray<EntityId>
  /** Entities whose draft changed on a store only: their revision rises, their place stays. */
  readonly drafted: ReadonlyArray<EntityId>
}

/** The entities whose rows a change writes. */
export const ownersOf = (change: CatalogChange): ReadonlyArray<EntityId> => {
  switch (change._tag) {
    case "CreateEntity":
      return change.parentId === null ? [change.id] : [change.id, change.parentId]
    case "SetMembers":
      return [change.collectionId]
    case "OrderVariants":
      return [change.productId]
    default:
      return [change.entityId]
  }
}

/** The entities that a change refers to and leaves as they are. */
export const referencesOf = (change: CatalogChange): ReadonlyArray<EntityId> => {
  switch (change._tag) {
    case "SetGallery":
      return change.entries.map(({ mediaId }) => mediaId)
    case "SetMembers":
      return change.productIds
    default:
      return []
  }
}

type Outcome = Either.Either<void, NotFound | ValidationFailed>

const done: Outcome = Either.void
const invalid = (path: string, message: string): Outcome => Either.left(ValidationFailed.at(path, message))

const withValues = (
  kind: EntityKind,
  layer: Attributes,
  known: ReadonlyArray<Attributes>,
  { types = {}, values }: NewValues,
  isKept: (value: string | null) => value is string
): Attributes => {
  const next: Types.Mutable<Attributes> = { ...layer }
  for (const [key, value] of Object.entries(values)) {
    if (isKept(value)) next[key] = { value, type: types[key] ?? typeOf(kind, key, known) }
    else delete next[key]
  }
  return next
}

const retyped = (attributes: Attributes, types: Readonly<Record<string, string>>): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).map(([key, { type, value }]) => {
      const defined = Object.hasOwn(types, key) ? types[key] : undefined
      return [key, { value, type: defined !== undefined && fits({ type: defined }, value) ? defined : type }]
    })
  )

/** An empty canonical value is an absent one. */
const keptCanonical = (value: string | null): value is string => value !== null && value !== ""
/** An override may be deliberately empty. */
const keptOverride = (value: string | null): value is string => value !== null

const sameOrder = (left: ReadonlyArray<string>, right: ReadonlyArray<string>) =>
  left.length === right.length && left.every((id, index) => id === right[index])

const repeated = (ids: ReadonlyArray<string>) => new Set(ids).size !== ids.length

class Planner {
  readonly aggregates: Map<EntityId, Aggregate>
  readonly kinds: ReadonlyMap<EntityId, EntityKind>
  readonly variantIds = new Map<EntityId, Array<EntityId>>()
  readonly created = new Set<EntityId>()
  readonly touched = new Set<EntityId>()
  readonly stamped = new Set<EntityId>()
  readonly drafted = new Set<EntityId>()
  readonly locked: Locked

  constructor(locked: Locked) {
    this.locked = locked
    this.aggregates = new Map(locked.aggregates)
    this.kinds = locked.kinds
    for (const aggregate of locked.aggregates.values()) this.adopt(aggregate)
  }

  adopt({ id, parentId }: Aggregate): void {
    if (parentId === null) return
    const siblings = this.variantIds.get(parentId)
    if (siblings === undefined) this.variantIds.set(parentId, [id])
    else siblings.push(id)
  }

  kindOf(id: EntityId): EntityKind | undefined {
    return this.aggregates.get(id)?.kind ?? this.kinds.get(id)
  }

  variantsOf(productId: EntityId): ReadonlyArray<Aggregate> {
    return (this.variantIds.get(productId) ?? [])
      .flatMap((id) => this.aggregates.get(id) ?? [])
      .sort((left, right) => (left.position ?? 0) - (right.position ?? 0))
  }

  put(aggregate: Aggregate, effect: "canonical" | "draft" | "state"): void {
    this.aggregates.set(aggregate.id, aggregate)
    this.touched.add(aggregate.id)
    if (effect === "canonical") this.stamped.add(aggregate.id)
    if (effect === "draft") this.drafted.add(aggregate.id)
  }

  entity(id: EntityId): Either.Either<Aggregate, NotFound> {
    return Either.fromNullable(this.aggregates.get(id), () => new NotFound())
  }

  version(
    entityId: EntityId,
    storeId: StoreId
  ): Either.Either<{ readonly aggregate: Aggregate; readonly version: VersionState }, NotFound> {
    return Either.flatMap(this.entity(entityId), (aggregate) =>
      Either.map(
        Either.fromNullable(
          aggregate.versions.find((version) => version.storeId === storeId),
          () => new NotFound()
        ),
        (version) => ({ aggregate, version })
      )
    )
  }

  putVersion(aggregate: Aggregate, version: VersionState, effect: "draft" | "state"): void {
    this.put(
      {
        ...aggregate,
        versions: aggregate.versions.map((other) => (other.storeId === version.storeId ? version : other))
      },
      effect
    )
  }

  putVersions(aggregate: Aggregate, versions: ReadonlyArray<VersionState>): void {
    const position = (version: VersionState) => this.locked.storeIds.indexOf(version.storeId)
    const ordered = [...versions].sort((left, right) => position(left) - position(right))
    this.put({ ...aggregate, versions: ordered, storeIds: ordered.map(({ storeId }) => storeId) }, "draft")
  }

  apply(change: CatalogChange): Outcome {
    switch (change._tag) {
      case "CreateEntity":
        return this.create(change)
      case "SetAttributes":
        return Either.map(this.entity(change.entityId), (aggregate) => {
          const known = [aggregate.attributes, ...aggregate.versions.map(({ overrides }) => overrides)]
          const attributes = withValues(aggregate.kind, aggregate.attributes, known, change, keptCanonical)
          if (!sameAttributes(attributes, aggregate.attributes)) this.put({ ...aggregate, attributes }, "canonical")
        })
      case "SetOverrides":
        return Either.map(this.version(change.entityId, change.storeId), ({ aggregate, version }) => {
          const known = [aggregate.attributes, ...aggregate.versions.map(({ overrides }) => overrides)]
          const overrides = withValues(aggregate.kind, version.overrides, known, change, keptOverride)
          if (!sameAttributes(overrides, version.overrides))
            this.putVersion(aggregate, { ...version, overrides }, "draft")
        })
      case "AddToStore":
        return Either.flatMap(this.entity(change.entityId), (aggregate) => {
          if (!this.locked.storeIds.includes(change.storeId)) return Either.left(new NotFound())
          if (!aggregate.storeIds.includes(change.storeId)) {
            const version: VersionState = {
              storeId: change.storeId,
              overrides: {},
              accepted: null,
              pendingPublish: true,
              lastPublishStatus: "never_published",
              publishedAt: null,
              lastPublishError: null,
              platformId: null
            }
            this.putVersions(aggregate, [...aggregate.versions, version])
          }
          return done
        })
      case "RemoveFromStore":
        return Either.map(this.version(change.entityId, change.storeId), ({ aggregate, version }) =>
          this.putVersions(
            aggregate,
            aggregate.versions.filter((other) => other !== version)
          )
        )
      case "SetGallery":
        return this.setGallery(change.entityId, change.entries)
      case "SetMembers":
        return this.setMembers(change.collectionId, change.productIds)
      case "OrderVariants":
        return this.orderVariants(change.productId, change.variantIds)
      case "AcceptPublish":
        return Either.map(this.version(change.entityId, change.storeId), ({ aggregate, version }) =>
          this.putVersion(
            aggregate,
            {
              ...version,
              accepted: publishable(aggregate, version, this.variantsOf(aggregate.id)),
              lastPublishStatus: "published",
              publishedAt: this.locked.now,
              lastPublishError: null,
              platformId: change.platformId ?? version.platformId
            },
            "state"
          )
        )
      case "AcceptPinned":
        return Either.map(this.version(change.entityId, change.storeId), ({ aggregate, version }) =>
          this.putVersion(
            aggregate,
            {
              ...version,
              accepted: change.values,
              lastPublishStatus: change.isAskedAgain ? "pending" : "published",
              publishedAt: this.locked.now,
              lastPublishError: null
            },
            "state"
          )
        )
      case "AcceptImported":
        return Either.map(this.version(change.entityId, change.storeId), ({ aggregate, version }) => {
          const accepted = this.importedValues(aggregate, version, change)
          const known = { ...version, platformId: change.platformId ?? version.platformId }
          // To learn what the store calls it says nothing about its last publish.
          const isKnown = version.accepted !== null && samePublishable(version.accepted, accepted)
          this.putVersion(
            aggregate,
            isKnown
              ? known
              : {
                  ...known,
                  accepted,
                  lastPublishStatus: "published",
                  publishedAt: this.locked.now,
                  lastPublishError: null
                },
            "state"
          )
        })
      case "RefusePublish":
        return Either.map(this.version(change.entityId, change.storeId), ({ aggregate, version }) =>
          this.putVersion(
            aggregate,
            { ...version, lastPublishStatus: "failed", lastPublishError: change.error },
            "state"
          )
        )
      case "AskPublish":
        return Either.map(this.version(change.entityId, change.storeId), ({ aggregate, version }) =>
          this.putVersion(aggregate, { ...version, lastPublishStatus: "pending" }, "state")
        )
      case "Retype":
        return Either.map(this.entity(change.entityId), (aggregate) => this.retype(aggregate, change.types))
      case "Identify":
        return Either.map(this.version(change.entityId, change.storeId), ({ aggregate, version }) =>
          this.putVersion(aggregate, { ...version, platformId: change.platformId }, "state")
        )
    }
  }

  retype(aggregate: Aggregate, types: Readonly<Record<string, string>>): void {
    const attributes = retyped(aggregate.attributes, types)
    const versions = aggregate.versions.map((version) => {
      const overrides = retyped(version.overrides, types)
      const accepted =
        version.accepted === null
          ? null
          : { ...version.accepted, attributes: retyped(version.accepted.attributes, types) }
      return { ...version, overrides, accepted }
    })
    const isCanonical = !sameAttributes(attributes, aggregate.attributes)
    const isDraft = versions.some(
      ({ overrides }, index) => !sameAttributes(overrides, aggregate.versions[index]?.overrides ?? {})
    )
    this.put({ ...aggregate, attributes, versions }, isCanonical ? "canonical" : isDraft ? "draft" : "state")
  }

  importedValues(
    aggregate: Aggregate,
    version: VersionState,
    change: Data.TaggedEnum.Value<CatalogChange, "AcceptImported">
  ): AcceptedValues {
    const before = version.accepted ?? publishable(aggregate, version, this.variantsOf(aggregate.id))
    const known = [aggregate.attributes, version.overrides, before.attributes]
    const attributes = withValues(aggregate.kind, before.attributes, known, change, keptCanonical)
    const listed = (accepted: ReadonlyArray<EntityId> | undefined, named: ReadonlyArray<EntityId>) =>
      change.isComplete ? named : inOrderOf(accepted ?? [], named)
    switch (aggregate.kind) {
      case "product":
        return {
          ...before,
          attributes,
          media: listed(before.media, change.media),
          variants: listed(before.variants, change.variants)
        }
      case "collection":
        return { ...before, attributes, members: change.members ?? before.members ?? [] }
      case "variant":
      case "media":
        return { ...before, attributes }
    }
  }

  create(change: Data.TaggedEnum.Value<CatalogChange, "CreateEntity">): Outcome {
    if (this.kindOf(change.id) !== undefined) return invalid("id", "an entity with this id exists already")
    if ((change.kind === "variant") !== (change.parentId !== null))
      return invalid("parentId", "variants, and only variants, belong to a product")
    let position: number | null = null
    if (change.parentId !== null) {
      const product = this.aggregates.get(change.parentId)
      if (product?.kind !== "product") return Either.left(new NotFound())
      position = Math.max(-1, ...this.variantsOf(change.parentId).map((variant) => variant.position ?? 0)) + 1
      this.put(product, "canonical")
    }
    const aggregate: Aggregate = {
      id: change.id,
      kind: change.kind,
      parentId: change.parentId,
      position,
      attributes: withValues(change.kind, {}, [], change, keptCanonical),
      pendingPublish: false,
      lastPublishStatus: "never_published",
      storeIds: [],
      searchText: "",
      versions: [],
      gallery: [],
      members: []
    }
    this.created.add(change.id)
    this.adopt(aggregate)
    this.put(aggregate, "canonical")
    return done
  }

  setGallery(entityId: EntityId, entries: ReadonlyArray<GalleryEntry>): Outcome {
    return Either.flatMap(this.entity(entityId), (aggregate) => {
      const mediaIds = entries.map(({ mediaId }) => mediaId)
      if (repeated(mediaIds)) return invalid("entries", "a gallery holds a media file once")
      if (mediaIds.some((id) => this.kindOf(id) !== "media")) return Either.left(new NotFound())
      if (entries.some((entry) => entry.storeIds.some((id) => !this.locked.storeIds.includes(id))))
        return Either.left(new NotFound())
      const shownBy = ({ storeIds }: GalleryEntry) => storeIds.filter((id) => this.locked.storeIds.includes(id))
      const before = new Map(aggregate.gallery.map((entry) => [entry.mediaId, entry]))
      // Nobody can name an unlinked store: the entries that it showed are still its own when it is linked again.
      const unlinked = (mediaId: EntityId) =>
        (before.get(mediaId)?.storeIds ?? []).filter((id) => !this.locked.storeIds.includes(id))
      const gallery = entries.map(({ mediaId, storeIds }) => ({
        mediaId,
        storeIds: [...storeIds, ...unlinked(mediaId)]
      }))
      if (!sameOrder([...before.keys()], mediaIds)) this.put({ ...aggregate, gallery }, "canonical")
      else if (aggregate.gallery.some((entry, index) => !sameOrder(shownBy(entry), entries[index]?.storeIds ?? [])))
        this.put({ ...aggregate, gallery }, "draft")
      return done
    })
  }

  setMembers(collectionId: EntityId, productIds: ReadonlyArray<EntityId>): Outcome {
    const aggregate = this.aggregates.get(collectionId)
    if (aggregate?.kind !== "collection") return Either.left(new NotFound())
    if (repeated(productIds)) return invalid("productIds", "a collection holds a product once")
    if (productIds.some((id) => this.kindOf(id) !== "product")) return Either.left(new NotFound())
    if (!sameOrder(aggregate.members, productIds)) this.put({ ...aggregate, members: productIds }, "canonical")
    return done
  }

  orderVariants(productId: EntityId, variantIds: ReadonlyArray<EntityId>): Outcome {
    const product = this.aggregates.get(productId)
    if (product?.kind !== "product") return Either.left(new NotFound())
    const variants = this.variantsOf(productId)
    const before = variants.map(({ id }) => id)
    if (!sameOrder([...before].sort(), [...variantIds].sort()))
      return invalid("variantIds", "must name every variant of the product once")
    if (sameOrder(before, variantIds)) return done
    for (const variant of variants) this.put({ ...variant, position: variantIds.indexOf(variant.id) }, "state")
    this.put(product, "canonical")
    return done
  }

  /** Variants whose product was renamed, and products whose variants changed: their derived fields change with it. */
  spread(): void {
    for (const id of [...this.touched]) {
      const aggregate = this.aggregates.get(id)
      const before = this.locked.aggregates.get(id)
      if (aggregate?.kind === "product" && before !== undefined) {
        if (titleOf("product", aggregate.attributes) !== titleOf("product", before.attributes))
          for (const variant of this.variantsOf(id)) this.touched.add(variant.id)
      }
      if (aggregate?.parentId) this.touched.add(aggregate.parentId)
    }
  }

  plan(): Plan {
    this.spread()
    // Variants first: a product's derived fields read theirs.
    const inOrder = [...this.touched].flatMap((id) => this.aggregates.get(id) ?? [])
    for (const aggregate of [
      ...inOrder.filter(({ kind }) => kind === "variant"),
      ...inOrder.filter(({ kind }) => kind !== "variant")
    ]) {
      const product = aggregate.parentId === null ? undefined : this.aggregates.get(aggregate.parentId)
      const current = this.aggregates.get(aggregate.id) ?? aggregate
      this.aggregates.set(
        aggregate.id,
        derive(current, {
          productTitle: product === undefined ? "" : valueOf(product.attributes, "title"),
          variants: aggregate.kind === "product" ? this.variantsOf(aggregate.id) : []
        })
      )
    }
    const after = [...this.touched].flatMap((id) => this.aggregates.get(id) ?? [])
    return {
      created: after.filter(({ id }) => this.created.has(id)),
      updated: after.flatMap((aggregate) => {
        const before = this.locked.aggregates.get(aggregate.id)
        return before === undefined || sameJson(before, aggregate) ? [] : [{ before, after: aggregate }]
      }),
      stamped: [...this.stamped],
      drafted: [...this.drafted].filter((id) => !this.stamped.has(id))
    }
  }
}

/** Whether a plan has nothing to write. */
export const isEmpty = (plan: Plan): boolean =>
  plan.created.length + plan.updated.length + plan.stamped.length + plan.drafted.length === 0

/**
 * Applies the changes, in order, to what was locked. Pure: the same plan is carried out by the SQL repository and by its
 * in-memory repository. NotFound for an entity, store or store version that is not there; ValidationFailed for a change that
 * cannot hold.
 */
export const planChanges = (
  locked: Locked,
  changes: ReadonlyArray<CatalogChange>
): Either.Either<Plan, NotFound | ValidationFailed> => {
  const planner = new Planner(locked)
  for (const change of changes) {
    const outcome = planner.apply(change)
    if (Either.isLeft(outcome)) return Either.left(outcome.left)
  }
  return Either.right(planner.plan())
}

/**
 * What is derived of everything that was locked, afresh: for whoever changed which stores are linked. It stamps nothing and
 * raises no revision. Of a product all variants must be among the locked, of a variant its product.
 */
export const planDerivations = (locked: Locked): Plan => {
  const planner = new Planner(locked)
  for (const id of locked.aggregates.keys()) planner.touched.add(id)
  return planner.plan()
}

/**
 * The plan with the versions that it publishes published no earlier than `time`: the moment of the last of its stamps, so that an
 * entity is not published before it was created or changed by the same plan.
 */
export const publishedFrom = (plan: Plan, time: Timestamp): Plan => {
  const dated = (after: Aggregate, before: Aggregate | undefined): Aggregate => {
    const known = new Map(before?.versions.map(({ publishedAt, storeId }) => [storeId, publishedAt]))
    const isEarly = ({ publishedAt, storeId }: VersionState) =>
      publishedAt !== null && publishedAt !== known.get(storeId) && publishedAt < time
    return after.versions.some(isEarly)
      ? {
          ...after,
          versions: after.versions.map((version) => (isEarly(version) ? { ...version, publishedAt: time } : version))
        }
      : after
  }
  return {
    ...plan,
    created: plan.created.map((after) => dated(after, undefined)),
    updated: plan.updated.map(({ after, before }) => ({ before, after: dated(after, before) }))
  }
}

/** What was locked, once a plan for it is carried out. */
export const carriedOut = (locked: Locked, plan: Plan): Locked => ({
  ...locked,
  aggregates: new Map([
    ...locked.aggregates,
    ...[...plan.created, ...plan.updated.map(({ after }) => after)].map(
      (aggregate) => [aggregate.id, aggregate] as const
    )
  ]),
  revisions: new Map([
    ...locked.revisions,
    ...[...plan.stamped, ...plan.drafted].map((id) => [id, (locked.revisions.get(id) ?? 0) + 1] as const)
  ])
})
