import { Data, Effect, Either } from "effect"
import {
  type Aggregate,
  byPosition,
  type GalleryEntry,
  type VersionState,
  variantsByProduct
} from "../catalog/Aggregate.ts"
import type { CatalogRepo } from "../catalog/CatalogRepo.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import type { AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { mediaShown } from "./Aggregate.ts"
import { CatalogChange, type LockedCatalog } from "./CatalogChange.ts"
import { marked, maxGallery } from "./VariantPictures.ts"

/**
 * The product was written after its variants and media were read. The write must start over, because locking the others now would break
 * the order of locks.
 */
export class PartsMoved extends Data.TaggedError("PartsMoved") {}

/** Why a job refuses an entity whose parts moved. */
export const movedMeanwhile = "somebody changed it at the same moment: try again"

type Decided<Change = CatalogChange> = Either.Either<ReadonlyArray<Change>, NotFound | ValidationFailed | PartsMoved>

export type Removal = Data.TaggedEnum.Value<CatalogChange, "RemoveFromStore" | "SetGallery" | "ChangeGallery">

const find = ({ aggregates }: LockedCatalog, id: EntityId) =>
  Either.fromNullable(aggregates.get(id), () => new NotFound())

export const nounOf = (kind: EntityKind) => (kind === "media" ? "media file" : kind)

const refuse = (message: string) => Either.left(ValidationFailed.at("store_id", message))

/**
 * The gallery, each entry with its linked stores only, because a change cannot name an unlinked store. PartsMoved: a media file is not
 * locked.
 */
export const lockedGallery = (
  { gallery }: Pick<Aggregate, "gallery">,
  { aggregates, storeIds: linked }: LockedCatalog
): Either.Either<ReadonlyArray<GalleryEntry>, PartsMoved> =>
  gallery.every(({ mediaId }) => aggregates.has(mediaId))
    ? Either.right(
        gallery.map(({ mediaId, storeIds }) => ({ mediaId, storeIds: storeIds.filter((id) => linked.includes(id)) }))
      )
    : Either.left(new PartsMoved())

/**
 * The entries that the gallery of an entity shows on a store that it is added to: those that another of its stores shows. If it is
 * on no linked store: those that an unlinked store shows, else all. If entries still name this store, because the entity was on it: these.
 */
const entriesFor = ({ gallery, storeIds }: Aggregate, storeId: StoreId): ReadonlyArray<GalleryEntry> => {
  const shownBy = (isMeant: (store: StoreId) => boolean) => gallery.filter((entry) => entry.storeIds.some(isMeant))
  const former = shownBy((store) => store === storeId)
  if (former.length > 0) return former
  const elsewhere = shownBy((store) => storeIds.length === 0 || storeIds.includes(store))
  return storeIds.length === 0 && elsewhere.length === 0 ? gallery : elsewhere
}

/**
 * The changes that show the galleries of a product or variant, and of the variants that are added with it, on the store. `product`: the
 * product of all these variants, whose gallery shows their pictures too, as far as it has room.
 */
const showGalleries = (
  product: Aggregate,
  added: ReadonlyArray<Aggregate>,
  storeId: StoreId,
  locked: LockedCatalog
): Either.Either<ReadonlyArray<CatalogChange>, PartsMoved> =>
  Either.gen(function* () {
    yield* Either.all(added.map((each) => lockedGallery(each, locked)))
    const shown = added.map((each) => ({ ...each, entries: entriesFor(each, storeId) }))
    const media = new Set(shown.flatMap(({ entries }) => entries.map(({ mediaId }) => mediaId)))
    const isEntry = new Set(product.gallery.map(({ mediaId }) => mediaId))
    const room = Math.max(maxGallery - product.gallery.length, 0)
    const joining = new Set([...media].filter((id) => !isEntry.has(id)).slice(0, room))
    const ofProduct = [...media].filter((id) => isEntry.has(id) || joining.has(id))
    const show = (entityId: EntityId, mediaIds: ReadonlyArray<EntityId>) => {
      const own = new Set(shown.find(({ id }) => id === entityId)?.entries.map(({ mediaId }) => mediaId))
      const add = mediaIds.map((mediaId) => {
        const entry = { mediaId, storeIds: [storeId] }
        return own.has(mediaId) ? entry : marked({ ...entry, isNew: joining.has(mediaId) })
      })
      return add.length === 0 ? [] : [CatalogChange.ChangeGallery({ entityId, add, remove: [] })]
    }
    return [
      ...[...media].map((mediaId) => CatalogChange.AddToStore({ entityId: mediaId, storeId })),
      ...show(product.id, ofProduct),
      ...shown
        .filter(({ id }) => id !== product.id)
        .flatMap(({ entries, id }) =>
          show(
            id,
            entries.map(({ mediaId }) => mediaId)
          )
        )
    ]
  })

/**
 * Adds an entity to a store. A product is added with all its variants, because its first publish includes them, and their galleries are shown
 * there. A variant can be added only after its product, whose gallery then shows its pictures too. NotFound: the entity or the store does not
 * exist. PartsMoved: a variant, or a media file of a gallery, is not locked.
 */
export const decideAddition =
  (entityId: EntityId, storeId: StoreId) =>
  (locked: LockedCatalog): Decided =>
    Either.gen(function* () {
      const aggregate = yield* find(locked, entityId)
      if (!locked.storeIds.includes(storeId)) return yield* Either.left(new NotFound())
      if (aggregate.storeIds.includes(storeId))
        return yield* refuse(`the ${nounOf(aggregate.kind)} is on this store already`)
      const product = aggregate.parentId === null ? undefined : locked.aggregates.get(aggregate.parentId)
      if (product !== undefined && !product.storeIds.includes(storeId))
        return yield* refuse(`the variant's product ${product.id} is not on this store: add the product first`)
      if ([...locked.summaries.values()].some(({ parentId }) => parentId === entityId))
        return yield* Either.left(new PartsMoved())
      const variants = [...locked.aggregates.values()].filter(({ parentId }) => parentId === entityId).sort(byPosition)
      const added = [aggregate, ...variants]
      const shows = aggregate.kind === "product" || aggregate.kind === "variant"
      return [
        ...added.map(({ id }) => CatalogChange.AddToStore({ entityId: id, storeId })),
        ...(shows ? yield* showGalleries(product ?? aggregate, added, storeId, locked) : [])
      ]
    })

const versionOn = ({ versions }: Aggregate, storeId: StoreId) => versions.find((version) => version.storeId === storeId)

/** What keeps an entity on a store: an open publish, or that the store has it, or may have it. */
export type Hold = "pending" | "live" | "uncertain"

/** What keeps an entity on the store of this version. */
export const holdOf = ({ accepted, lastPublishStatus, mayBeLive, platformId }: VersionState): Hold | undefined => {
  if (lastPublishStatus === "pending") return "pending"
  if (accepted !== null || platformId !== null) return "live"
  return mayBeLive ? "uncertain" : undefined
}

/** Why an entity cannot be taken off a store, as the end of a sentence. */
const whyKept: Readonly<Record<Hold, string>> = {
  pending: "is being published to this store",
  live: "was published to this store, or imported from it, so it cannot be taken off",
  uncertain: "failed to be published to this store, but may have reached it, so it cannot be taken off"
}

const shownByGallery = "a gallery shows the media file on this store: take it out of that gallery first"
const lastVariant = "its product would have no variant on this store: take the product off instead"

/** Takes an entity off the store, and the store out of its gallery. PartsMoved: a media file of that gallery is not locked. */
const leave = (
  aggregate: Aggregate,
  storeId: StoreId,
  locked: LockedCatalog
): Either.Either<ReadonlyArray<Removal>, PartsMoved> => {
  const { id } = aggregate
  const removal = CatalogChange.RemoveFromStore({ entityId: id, storeId })
  if (mediaShown(aggregate, storeId).length === 0) return Either.right([removal])
  return Either.map(lockedGallery(aggregate, locked), (gallery) => {
    const entries = gallery.map((entry) => ({
      ...entry,
      storeIds: entry.storeIds.filter((store) => store !== storeId)
    }))
    return [CatalogChange.SetGallery({ entityId: id, entries }), removal]
  })
}

/**
 * Takes an entity off a store that it was never published to, a product with its variants. NotFound: the entity does not exist, or is not on
 * the store. PartsMoved: a variant, or a media file of a gallery, is not locked.
 */
export const decideRemoval =
  (entityId: EntityId, storeId: StoreId) =>
  (locked: LockedCatalog): Decided<Removal> =>
    Either.gen(function* () {
      const aggregate = yield* find(locked, entityId)
      const version = yield* Either.fromNullable(versionOn(aggregate, storeId), () => new NotFound())
      const hold = holdOf(version)
      if (hold !== undefined) return yield* refuse(`the ${nounOf(aggregate.kind)} ${whyKept[hold]}`)
      const isOurs = ({ parentId, storeIds }: Pick<Aggregate, "parentId" | "storeIds">) =>
        parentId === entityId && storeIds.includes(storeId)
      if ([...locked.summaries.values()].some(isOurs)) return yield* Either.left(new PartsMoved())
      const changes = [...(yield* leave(aggregate, storeId, locked))]
      for (const variant of [...locked.aggregates.values()].filter(isOurs)) {
        const theirs = versionOn(variant, storeId)
        const held = theirs === undefined ? undefined : holdOf(theirs)
        if (held !== undefined) return yield* refuse(`its variant ${variant.id} ${whyKept[held]}`)
        changes.push(...(yield* leave(variant, storeId, locked)))
      }
      return changes
    })

/** The products that stay on the store, of whose variants there these are all. */
const emptiedProducts = (removed: ReadonlySet<EntityId>, storeId: StoreId, locked: LockedCatalog) => {
  const variants = [...locked.aggregates.values(), ...locked.summaries.values()].filter(
    ({ parentId, storeIds }) => parentId !== null && storeIds.includes(storeId)
  )
  const kept = new Set(variants.filter(({ id }) => !removed.has(id)).map(({ parentId }) => parentId))
  const left = variants.flatMap(({ id, parentId }) =>
    removed.has(id) && parentId !== null && !removed.has(parentId) && !kept.has(parentId) ? [parentId] : []
  )
  return new Set(left)
}

/** Removals that were decided together. */
export interface DecidedRemovals {
  /** By entity. */
  readonly of: ReadonlyMap<EntityId, Decided<Removal>>
  /**
   * What leaves the galleries of products with pictures of removed variants. Then the removals of media that only removed galleries and entries
   * showed.
   */
  readonly along: ReadonlyArray<Removal>
}

const removedBy = (decided: ReadonlyArray<Decided<Removal>>): ReadonlySet<EntityId> =>
  new Set(decided.flatMap((result) => Either.getOrElse(result, () => [])).map(({ entityId }) => entityId))

/**
 * What leaves the galleries of products on the store with these variants: pictures that came there with variants, and that no other variant
 * shows there. `unshown`: those of these pictures that nothing else shows there.
 */
const makeLeavingPictures =
  (catalog: CatalogRepo["Type"]) =>
  (accountId: AccountId, removed: ReadonlyArray<Aggregate>, storeId: StoreId, { aggregates }: LockedCatalog) =>
    Effect.gen(function* () {
      const ids = removed.map(({ id }) => id)
      const changes: Array<Removal> = []
      const unshown: Array<EntityId> = []
      for (const [productId, variants] of variantsByProduct(removed)) {
        const lost = new Set(variants.flatMap((variant) => mediaShown(variant, storeId)))
        const entries = (aggregates.get(productId)?.gallery ?? []).flatMap(({ joined, mediaId }) =>
          joined?.storeIds.includes(storeId) && lost.has(mediaId)
            ? [{ mediaId, storeIds: [storeId], isNew: joined.isNew }]
            : []
        )
        if (ids.includes(productId) || entries.length === 0) continue
        const media = entries.map(({ mediaId }) => mediaId)
        const kept = yield* catalog.mediaShownByOthers(accountId, storeId, media, ids, productId)
        const remove = entries.filter(({ mediaId }) => !kept.includes(mediaId))
        const shown = yield* catalog.mediaShownByOthers(accountId, storeId, media, [...ids, productId])
        changes.push(CatalogChange.ChangeGallery({ entityId: productId, add: [], remove }))
        unshown.push(...media.filter((id) => !shown.includes(id)))
      }
      return { changes, unshown }
    })

/**
 * Decides the removal of each of these entities. Media of their galleries leave the store too if they were never published there and no
 * other entity on it shows them. A media file that another entity shows there is refused.
 */
export const makeDecideRemovals = (catalog: CatalogRepo["Type"]) => {
  const leavingPictures = makeLeavingPictures(catalog)
  return (accountId: AccountId, ids: ReadonlyArray<EntityId>, storeId: StoreId, locked: LockedCatalog) =>
    Effect.gen(function* () {
      const first = ids.map((id) => [id, decideRemoval(id, storeId)(locked)] as const)
      const emptied = emptiedProducts(removedBy(first.map(([, result]) => result)), storeId, locked)
      const decided = first.map(([id, result]) => {
        const parentId = locked.aggregates.get(id)?.parentId ?? null
        return [id, parentId !== null && emptied.has(parentId) ? refuse(lastVariant) : result] as const
      })
      const removed = [...removedBy(decided.map(([, result]) => result))]
      const aggregates = removed.flatMap((id) => locked.aggregates.get(id) ?? [])
      const taken = new Set(aggregates.flatMap((each) => mediaShown(each, storeId)))
      const named = aggregates.filter(({ kind }) => kind === "media").map(({ id }) => id)
      const media = [...new Set([...taken, ...named])]
      const leaving = yield* leavingPictures(accountId, aggregates, storeId, locked)
      const others = yield* catalog.mediaShownByOthers(accountId, storeId, media, removed)
      const shown = new Set(others.filter((id) => !leaving.unshown.includes(id)))
      const removals: DecidedRemovals = {
        of: new Map(
          decided.map(([id, result]) => [id, shown.has(id) && named.includes(id) ? refuse(shownByGallery) : result])
        ),
        along: [
          ...leaving.changes,
          ...[...taken]
            .filter((id) => !shown.has(id) && !named.includes(id))
            .flatMap((id) => Either.getOrElse(decideRemoval(id, storeId)(locked), () => []))
        ]
      }
      return removals
    })
}
