import { type Data, Either } from "effect"
import { type Aggregate, byPosition, type GalleryEntry, type VersionState } from "../catalog/Aggregate.ts"
import { type EntityKind, titleOf, valueOf } from "../model/Attribute.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { sameJson } from "../model/SameJson.ts"
import { derive, publishable, sameAttributes, sameOrder, samePublishable, type VariantSummary } from "./Aggregate.ts"
import { CatalogChange, type LockedCatalog, type Plan } from "./CatalogChange.ts"
import { withNames } from "./DeletedEntities.ts"
import { layersOf } from "./Divergence.ts"
import { withMoved } from "./MovedItem.ts"
import { importedValues, isCanonical, isOverride, withTypes, withValues } from "./PlannedValues.ts"
import { changedGallery, withMark } from "./VariantPictures.ts"

type Change<Tag extends CatalogChange["_tag"]> = Data.TaggedEnum.Value<CatalogChange, Tag>
type Outcome = Either.Either<void, NotFound | ValidationFailed>

const done: Outcome = Either.void
const invalid = (path: string, message: string): Outcome => Either.left(ValidationFailed.at(path, message))

/** Of an entry that came with no picture of a variant. */
const noMark = { storeIds: [], isNew: false }

/** The version of an entity that is added to a store. */
export const newVersion = (storeId: StoreId): VersionState => ({
  storeId,
  overrides: {},
  accepted: null,
  pendingPublish: true,
  lastPublishStatus: "never_published",
  publishedAt: null,
  lastPublishError: null,
  mayBeLive: false,
  platformId: null
})

const hasRepeats = (ids: ReadonlyArray<string>) => new Set(ids).size !== ids.length

/** The changes of the publish state of a version. */
type PublishStateChange =
  | "AcceptPublish"
  | "AcceptPinned"
  | "AcceptImported"
  | "CancelPublish"
  | "DelayPublish"
  | "RefusePublish"
  | "MarkMayBeLive"
  | "LosePicture"
  | "RequestPublish"
  | "Identify"

/** Applies changes to the locked aggregates one after the other, and collects the rows to write. */
export class ChangePlanner {
  /** Entities whose derived fields must be computed again. */
  readonly touched = new Set<EntityId>()
  private readonly aggregates: Map<EntityId, Aggregate>
  private readonly variantIds = new Map<EntityId, Array<EntityId>>()
  private readonly created = new Set<EntityId>()
  private readonly toUnlinked = new Set<EntityId>()
  private readonly deleted = new Set<EntityId>()
  private readonly stamped = new Set<EntityId>()
  private readonly drafted = new Set<EntityId>()
  private readonly locked: LockedCatalog

  constructor(locked: LockedCatalog) {
    this.locked = locked
    this.aggregates = new Map(locked.aggregates)
    for (const aggregate of locked.aggregates.values()) this.addVariant(aggregate)
    for (const summary of locked.summaries.values()) this.addVariant(summary)
  }

  apply(change: CatalogChange): Outcome {
    switch (change._tag) {
      case "CreateEntity":
        return this.create(change)
      case "DeleteEntity":
        return Either.map(this.entity(change.entityId), (aggregate) => this.delete(aggregate))
      case "SetAttributes":
        return Either.map(this.entity(change.entityId), (aggregate) => {
          const { attributes: before, kind } = aggregate
          const attributes = withValues(kind, before, layersOf(aggregate), change, isCanonical)
          if (!sameAttributes(attributes, before)) this.put({ ...aggregate, attributes }, "canonical")
        })
      case "SetOverrides":
        return Either.map(this.version(change), ({ aggregate, version }) => {
          const overrides = withValues(aggregate.kind, version.overrides, layersOf(aggregate), change, isOverride)
          if (!sameAttributes(overrides, version.overrides))
            this.putVersion(aggregate, { ...version, overrides }, "draft")
        })
      case "AddToStore":
        return Either.flatMap(this.entity(change.entityId), (aggregate) => {
          if (!this.isLinked(change.storeId)) return Either.left(new NotFound())
          if (!aggregate.storeIds.includes(change.storeId))
            this.putVersions(aggregate, [...aggregate.versions, newVersion(change.storeId)])
          return done
        })
      case "AddToUnlinkedStores":
        return Either.map(this.entity(change.entityId), ({ id }) => {
          this.toUnlinked.add(id)
        })
      case "RemoveFromStore":
        return Either.map(this.version(change), ({ aggregate, version }) =>
          this.putVersions(
            aggregate,
            aggregate.versions.filter((other) => other !== version)
          )
        )
      case "SetGallery":
        return this.setGallery(change)
      case "ChangeGallery":
        return this.changeGallery(change)
      case "SetMembers":
        return this.setMembers(change)
      case "ChangeMembers":
        return this.changeMembers(change)
      case "MoveMember":
        return this.moveMember(change)
      case "OrderVariants":
        return this.orderVariants(change)
      case "MoveVariant":
        return this.moveVariant(change)
      case "Retype":
        return Either.map(this.entity(change.entityId), (aggregate) => this.retype(aggregate, change.types))
      default:
        return Either.map(this.version(change), ({ aggregate, version }) =>
          this.putVersion(aggregate, this.publishState(aggregate, version, change), "state")
        )
    }
  }

  plan(): Plan {
    this.touchRelated()
    this.deriveTouched()
    const after = [...this.touched].flatMap((id) => this.aggregates.get(id) ?? [])
    return {
      created: after.filter(({ id }) => this.created.has(id)),
      updated: after.flatMap((aggregate) => {
        const before = this.locked.aggregates.get(aggregate.id)
        return before === undefined || sameJson(before, aggregate) ? [] : [{ before, after: aggregate }]
      }),
      toUnlinked: [...this.toUnlinked],
      deleted: withNames(this.deleted, this.locked.aggregates),
      stamped: [...this.stamped],
      drafted: [...this.drafted].filter((id) => !this.stamped.has(id))
    }
  }

  private entity(id: EntityId): Either.Either<Aggregate, NotFound> {
    return Either.fromNullable(this.aggregates.get(id), () => new NotFound())
  }

  private version({ entityId, storeId }: { readonly entityId: EntityId; readonly storeId: StoreId }) {
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

  private kindOf(id: EntityId): EntityKind | undefined {
    if (this.deleted.has(id)) return undefined
    return (
      this.aggregates.get(id)?.kind ??
      (this.locked.summaries.has(id) ? "variant" : undefined) ??
      this.locked.kinds.get(id)
    )
  }

  private variantsOf(productId: EntityId): ReadonlyArray<Aggregate | VariantSummary> {
    return (this.variantIds.get(productId) ?? [])
      .flatMap((id) => this.aggregates.get(id) ?? this.locked.summaries.get(id) ?? [])
      .sort(byPosition)
  }

  private addVariant({ id, parentId }: Pick<Aggregate, "id" | "parentId">): void {
    if (parentId === null) return
    const siblings = this.variantIds.get(parentId)
    if (siblings === undefined) this.variantIds.set(parentId, [id])
    else siblings.push(id)
  }

  private put(aggregate: Aggregate, effect: "canonical" | "draft" | "state"): void {
    this.aggregates.set(aggregate.id, aggregate)
    this.touched.add(aggregate.id)
    if (effect === "canonical") this.stamped.add(aggregate.id)
    if (effect === "draft") this.drafted.add(aggregate.id)
  }

  private putVersion(aggregate: Aggregate, version: VersionState, effect: "draft" | "state"): void {
    this.put(
      {
        ...aggregate,
        versions: aggregate.versions.map((other) => (other.storeId === version.storeId ? version : other))
      },
      effect
    )
  }

  private putVersions(aggregate: Aggregate, versions: ReadonlyArray<VersionState>): void {
    const position = (version: VersionState) => this.locked.storeIds.indexOf(version.storeId)
    const ordered = [...versions].sort((left, right) => position(left) - position(right))
    this.put({ ...aggregate, versions: ordered, storeIds: ordered.map(({ storeId }) => storeId) }, "draft")
  }

  private publishState(aggregate: Aggregate, version: VersionState, change: Change<PublishStateChange>): VersionState {
    const published = { lastPublishStatus: "published", publishedAt: this.locked.now, lastPublishError: null } as const
    const taken = { ...published, mayBeLive: false }
    switch (change._tag) {
      case "AcceptPublish": {
        const accepted = publishable(aggregate, version, this.variantsOf(aggregate.id))
        return { ...version, ...taken, accepted, platformId: change.platformId ?? version.platformId }
      }
      case "AcceptPinned": {
        const lastPublishStatus = change.isRequestedAgain ? "pending" : "published"
        return { ...version, ...taken, accepted: change.values, lastPublishStatus }
      }
      case "AcceptImported": {
        const before = version.accepted ?? publishable(aggregate, version, this.variantsOf(aggregate.id))
        const accepted = importedValues(aggregate, before, version.overrides, change)
        const platformId = change.platformId ?? version.platformId
        // If an import found the same values and only a new platform id, the publish state does not change.
        if (version.accepted !== null && samePublishable(version.accepted, accepted)) return { ...version, platformId }
        const { lastPublishError, lastPublishStatus } = version
        const isOpen =
          lastPublishStatus === "pending" ||
          (lastPublishStatus === "failed" &&
            !samePublishable(accepted, publishable(aggregate, version, this.variantsOf(aggregate.id))))
        // A publish that waits may have created what was found. It, or one that failed and is still needed, stays visible.
        const mayBeLive = version.mayBeLive || (version.accepted === null && lastPublishStatus === "pending")
        const status = isOpen ? { lastPublishStatus, lastPublishError } : {}
        return { ...version, ...published, ...status, accepted, mayBeLive, platformId }
      }
      case "DelayPublish":
        return version.lastPublishStatus === "pending" ? { ...version, lastPublishError: change.error } : version
      case "RefusePublish":
        return { ...version, lastPublishStatus: "failed", lastPublishError: change.error }
      case "CancelPublish": {
        const lastPublishStatus = version.accepted === null ? "never_published" : "published"
        return { ...version, lastPublishStatus, lastPublishError: null }
      }
      case "MarkMayBeLive":
        return { ...version, mayBeLive: version.mayBeLive || version.accepted === null }
      case "LosePicture":
        return version.accepted === null ? version : { ...version, accepted: { ...version.accepted, media: [] } }
      case "RequestPublish":
        return { ...version, lastPublishStatus: "pending" }
      case "Identify":
        return { ...version, platformId: change.platformId }
    }
  }

  private retype(aggregate: Aggregate, types: Readonly<Record<string, string>>): void {
    const attributes = withTypes(aggregate.attributes, types)
    const versions = aggregate.versions.map((version) => {
      const overrides = withTypes(version.overrides, types)
      const accepted =
        version.accepted === null
          ? null
          : { ...version.accepted, attributes: withTypes(version.accepted.attributes, types) }
      return { ...version, overrides, accepted }
    })
    const isCanonicalChange = !sameAttributes(attributes, aggregate.attributes)
    const isDraftChange = versions.some(
      ({ overrides }, index) => !sameAttributes(overrides, aggregate.versions[index]?.overrides ?? {})
    )
    const effect = isCanonicalChange ? "canonical" : isDraftChange ? "draft" : "state"
    this.put({ ...aggregate, attributes, versions }, effect)
  }

  private create(change: Change<"CreateEntity">): Outcome {
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
      attributes: withValues(change.kind, {}, [], change, isCanonical),
      pendingPublish: false,
      lastPublishStatus: "never_published",
      storeIds: [],
      searchText: "",
      versions: [],
      gallery: [],
      members: []
    }
    this.created.add(change.id)
    this.addVariant(aggregate)
    this.put(aggregate, "canonical")
    return done
  }

  private delete({ id, parentId }: Aggregate): void {
    for (const variant of this.variantsOf(id)) this.forget(variant.id)
    this.forget(id)
    const product = parentId === null ? undefined : this.aggregates.get(parentId)
    if (product !== undefined) this.put(product, "canonical")
  }

  private forget(id: EntityId): void {
    this.aggregates.delete(id)
    for (const ids of [this.touched, this.created, this.stamped, this.drafted, this.toUnlinked]) ids.delete(id)
    this.deleted.add(id)
  }

  private setGallery({ entityId, entries }: Change<"SetGallery">): Outcome {
    return Either.flatMap(this.entity(entityId), (aggregate) => {
      const isLinked = (storeId: StoreId) => this.isLinked(storeId)
      const mediaIds = entries.map(({ mediaId }) => mediaId)
      if (hasRepeats(mediaIds)) return invalid("entries", "must name each media file once")
      const before = new Map(aggregate.gallery.map((entry) => [entry.mediaId, entry]))
      if (mediaIds.some((id) => !before.has(id) && this.kindOf(id) !== "media")) return Either.left(new NotFound())
      if (!entries.every(({ storeIds }) => storeIds.every(isLinked))) return Either.left(new NotFound())
      // An unlinked store keeps its entries: a change cannot name it, and it may be linked again later.
      const unlinked = (mediaId: EntityId) => (before.get(mediaId)?.storeIds ?? []).filter((id) => !isLinked(id))
      const gallery = entries.map(({ joined, mediaId, storeIds }) =>
        withMark({ mediaId, storeIds: [...storeIds, ...unlinked(mediaId)] }, joined ?? before.get(mediaId)?.joined)
      )
      const linkedStores = ({ storeIds }: GalleryEntry) => storeIds.filter(isLinked)
      if (!sameOrder([...before.keys()], mediaIds)) this.put({ ...aggregate, gallery }, "canonical")
      else if (
        aggregate.gallery.some((entry, index) => !sameOrder(linkedStores(entry), entries[index]?.storeIds ?? []))
      )
        this.put({ ...aggregate, gallery }, "draft")
      else if (aggregate.gallery.some(({ joined }, index) => !sameJson(joined, gallery[index]?.joined)))
        this.put({ ...aggregate, gallery }, "state")
      return done
    })
  }

  private changeGallery({ add, entityId, keep = [], remove }: Change<"ChangeGallery">): Outcome {
    return Either.flatMap(this.entity(entityId), ({ gallery }) => {
      const entries = changedGallery(gallery, add, remove).map(({ joined, mediaId, storeIds }) => ({
        mediaId,
        storeIds: storeIds.filter((id) => this.isLinked(id)),
        joined: joined === undefined || keep.includes(mediaId) ? noMark : joined
      }))
      return this.setGallery({ _tag: "SetGallery", entityId, entries })
    })
  }

  private isLinked(storeId: StoreId): boolean {
    return this.locked.storeIds.includes(storeId)
  }

  private setMembers({ collectionId, productIds }: Change<"SetMembers">): Outcome {
    return hasRepeats(productIds)
      ? invalid("productIds", "must name each product once")
      : this.putMembers(collectionId, productIds, productIds)
  }

  private changeMembers({ add, collectionId, remove }: Change<"ChangeMembers">): Outcome {
    const removed = new Set(remove)
    const kept = (this.aggregates.get(collectionId)?.members ?? []).filter((id) => !removed.has(id))
    return this.putMembers(collectionId, [...new Set([...kept, ...add])], add)
  }

  private moveMember({ collectionId, productId, to }: Change<"MoveMember">): Outcome {
    return Either.flatMap(withMoved(this.aggregates.get(collectionId)?.members ?? [], productId, to), (members) =>
      this.putMembers(collectionId, members, [])
    )
  }

  /** `named`: the members that must be checked, because the change names them. */
  private putMembers(
    collectionId: EntityId,
    members: ReadonlyArray<EntityId>,
    named: ReadonlyArray<EntityId>
  ): Outcome {
    const aggregate = this.aggregates.get(collectionId)
    if (aggregate?.kind !== "collection") return Either.left(new NotFound())
    if (named.some((id) => this.kindOf(id) !== "product")) return Either.left(new NotFound())
    if (!sameOrder(aggregate.members, members)) this.put({ ...aggregate, members }, "canonical")
    return done
  }

  private orderVariants({ productId, variantIds }: Change<"OrderVariants">): Outcome {
    const product = this.aggregates.get(productId)
    if (product?.kind !== "product") return Either.left(new NotFound())
    const before = this.variantsOf(productId).map(({ id }) => id)
    if (!sameOrder([...before].sort(), [...variantIds].sort()))
      return invalid("variantIds", "must name every variant of the product once")
    if (sameOrder(before, variantIds)) return done
    for (const variant of before.flatMap((id) => this.aggregates.get(id) ?? []))
      this.put({ ...variant, position: variantIds.indexOf(variant.id) }, "state")
    this.put(product, "canonical")
    return done
  }

  private moveVariant({ productId, to, variantId }: Change<"MoveVariant">): Outcome {
    const before = this.variantsOf(productId).map(({ id }) => id)
    return Either.flatMap(withMoved(before, variantId, to), (variantIds) =>
      this.orderVariants(CatalogChange.OrderVariants({ productId, variantIds }))
    )
  }

  /** Adds entities whose derived fields change too: the variants of renamed products, and the products of changed variants. */
  private touchRelated(): void {
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

  private deriveTouched(): void {
    const touched = [...this.touched].flatMap((id) => this.aggregates.get(id) ?? [])
    // Variants come first, because the derived fields of a product depend on its variants.
    for (const aggregate of [
      ...touched.filter(({ kind }) => kind === "variant"),
      ...touched.filter(({ kind }) => kind !== "variant")
    ]) {
      const product = aggregate.parentId === null ? undefined : this.aggregates.get(aggregate.parentId)
      this.aggregates.set(
        aggregate.id,
        derive(aggregate, {
          productTitle: product === undefined ? "" : valueOf(product.attributes, "title"),
          variants: aggregate.kind === "product" ? this.variantsOf(aggregate.id) : [],
          otherMembersOn: this.locked.unreadMembers.get(aggregate.id)
        })
      )
    }
  }
}
