import { Array as Arr, Effect, Either, Option } from "effect"
import type { Aggregate } from "../catalog/Aggregate.ts"
import type { CatalogRepo } from "../catalog/CatalogRepo.ts"
import { type Attributes, valueOf } from "../model/Attribute.ts"
import { type AccountId, EntityId } from "../model/Ids.ts"
import { optionKeys, parseOptions } from "../model/ProductOptions.ts"
import { mediaShown } from "./Aggregate.ts"
import { CatalogChange, type LockedCatalog } from "./CatalogChange.ts"
import type { EntityUse, EntityUsesRepo } from "./EntityUsesRepo.ts"
import { decideRemoval, type Hold, holdOf, movedMeanwhile, nounOf } from "./StoreMembership.ts"

/** Deletions that were decided together. */
export interface DecidedDeletions {
  /** Of each entity that exists, or why it is refused. */
  readonly of: ReadonlyMap<EntityId, Either.Either<ReadonlyArray<CatalogChange>, string>>
  /** What the deletions change in other entities. */
  readonly along: ReadonlyArray<CatalogChange>
  /** Media of deleted entities that nothing else shows and that are refused nevertheless, and why. */
  readonly keptMedia: ReadonlyMap<EntityId, string>
}

/** Why an entity that a store has cannot be deleted, as the end of a sentence. */
const holds: Readonly<Record<Hold, string>> = {
  pending: "is being published to a store: wait until the publish has ended",
  live: "was published to a store, or imported from one: delete it in that store, then refresh the store",
  uncertain: "failed to be published to a store, but may have reached it, so it cannot be deleted"
}

/** Why an entity that something refers to cannot be deleted. A product leaves its collections. */
const wordsOfUse = ({ by, name }: EntityUse): string | undefined => {
  switch (by) {
    case "gallery":
      return `the gallery of ${JSON.stringify(name)} has it: take it out of that gallery first`
    case "scheduled_drop":
      return `the drop ${JSON.stringify(name)} will change it: cancel the drop first, or wait until the drop has ended`
    case "live_drop":
      return `the drop ${JSON.stringify(name)} changes it: wait until the drop has ended`
    case "publish":
      return `it is being published to ${name}: wait until the publish has ended`
    case "collection":
      return undefined
  }
}

const lastVariant = "its product would have no variant: delete the product instead"

/**
 * Most members of a collection that is deleted. PostgreSQL checks the deleted rows of members in the commit, which has the deadline of one
 * statement.
 */
const maxMembers = 100_000

type Uses = Readonly<Record<string, ReadonlyArray<EntityUse>>>

const usesBy = (by: EntityUse["by"], id: EntityId, uses: Uses) => (uses[id] ?? []).filter((use) => use.by === by)

/** The entity, and the variants of a product. */
const withVariants = (aggregate: Aggregate, { aggregates }: LockedCatalog): ReadonlyArray<Aggregate> => [
  aggregate,
  ...[...aggregates.values()].filter(({ parentId }) => parentId === aggregate.id)
]

/** Whether everything that the deletion writes or reads is locked. */
const isWhole = (aggregate: Aggregate, gone: ReadonlyArray<Aggregate>, uses: Uses, locked: LockedCatalog) => {
  const { id, parentId } = aggregate
  const parts = [
    ...gone.flatMap(({ gallery }) => gallery.map(({ mediaId }) => mediaId)),
    ...usesBy("collection", id, uses).flatMap((use) => use.id ?? [])
  ]
  return (
    parts.every((part) => locked.aggregates.has(part)) &&
    ![...locked.summaries.values()].some((summary) => summary.parentId === (parentId ?? id))
  )
}

const whyRefused = (aggregate: Aggregate, uses: Uses, locked: LockedCatalog): string | undefined => {
  const { members } = aggregate
  const gone = withVariants(aggregate, locked)
  for (const each of gone) {
    const hold = each.versions.flatMap((version) => holdOf(version) ?? [])[0]
    const used = (uses[each.id] ?? []).flatMap((use) => wordsOfUse(use) ?? [])[0]
    const why = hold === undefined ? used : `the ${nounOf(each.kind)} ${holds[hold]}`
    if (why !== undefined) return each === aggregate ? why : `its variant ${each.id}: ${why}`
  }
  if (members.length > maxMembers) return `the collection has more than ${maxMembers} products: take some out first`
  return isWhole(aggregate, gone, uses, locked) ? undefined : movedMeanwhile
}

/** The variants, grouped by the id of their product. */
const byProduct = (variants: ReadonlyArray<Aggregate>) =>
  Object.entries(Arr.groupBy(variants, ({ parentId }) => parentId ?? ""))

/** The values that an attribute has in the catalog and on stores. */
const valuesOf = (variants: ReadonlyArray<Aggregate>, key: string): ReadonlySet<string> =>
  new Set(
    variants.flatMap(({ attributes, versions }) =>
      [attributes, ...versions.map(({ overrides }) => overrides)].map((layer) => valueOf(layer, key))
    )
  )

/** Takes the option values that only deleted variants have out of the options of their product, in the catalog and on stores. */
const withoutValues = (
  product: Aggregate,
  deleted: ReadonlyArray<Aggregate>,
  others: ReadonlyArray<Aggregate>
): ReadonlyArray<CatalogChange> => {
  /** The options of a layer without these values. Undefined: it has no options of its own, or keeps all values. */
  const left = (layer: Attributes) =>
    Option.getOrUndefined(
      Option.flatMap(parseOptions(valueOf(layer, "options")), (options) => {
        const kept = options.map(({ name, values }, index) => {
          const [gone, used] = [deleted, others].map((variants) => valuesOf(variants, optionKeys[index] ?? ""))
          return { name, values: values.filter((value) => used?.has(value) || !gone?.has(value)) }
        })
        return kept.every(({ values }, index) => values.length === options[index]?.values.length)
          ? Option.none()
          : Option.some(JSON.stringify(kept))
      })
    )
  const entityId = product.id
  const options = left(product.attributes)
  return [
    ...(options === undefined ? [] : [CatalogChange.SetAttributes({ entityId, values: { options } })]),
    ...product.versions.flatMap(({ overrides, storeId }) => {
      const own = left(overrides)
      return own === undefined ? [] : [CatalogChange.SetOverrides({ entityId, storeId, values: { options: own } })]
    })
  ]
}

/** Takes deleted products out of their collections. */
const leaveCollections = (deleted: ReadonlyArray<Aggregate>, uses: Uses): ReadonlyArray<CatalogChange> => {
  const members = deleted.flatMap(({ id }) => usesBy("collection", id, uses))
  return Object.entries(Arr.groupBy(members, ({ id }) => id ?? "")).map(([collectionId, own]) =>
    CatalogChange.ChangeMembers({
      collectionId: EntityId.make(collectionId),
      add: [],
      remove: own.map(({ entityId }) => entityId)
    })
  )
}

/**
 * Decides the deletion of each of these entities, a product with its variants. With `withMedia`, the pictures of their galleries that no
 * other gallery shows are deleted too, by the rules of every media file. Other pictures stay in the catalog, but leave the stores where no
 * other gallery shows them, unless a store has them.
 */
export const makeDecideDeletions = (catalog: CatalogRepo["Type"], entityUses: EntityUsesRepo["Type"]) => {
  const takePicturesOff = (accountId: AccountId, gone: ReadonlyArray<Aggregate>, locked: LockedCatalog) =>
    Effect.forEach(locked.storeIds, (storeId) =>
      Effect.gen(function* () {
        const there = gone.filter(({ storeIds }) => storeIds.includes(storeId))
        const taken = Arr.dedupe(there.flatMap((each) => mediaShown(each, storeId)))
        const except = there.map(({ id }) => id)
        const shown = new Set(yield* catalog.mediaShownByOthers(accountId, storeId, taken, except))
        return taken
          .filter((id) => !shown.has(id))
          .flatMap((id): ReadonlyArray<CatalogChange> => Either.getOrElse(decideRemoval(id, storeId)(locked), () => []))
      })
    ).pipe(Effect.map(Arr.flatten))

  /** The media that only the deleted entities show. Each has the reason why it is kept, or `undefined` if it is deleted too. */
  const decideMedia = (accountId: AccountId, gone: ReadonlyArray<Aggregate>, locked: LockedCatalog) =>
    Effect.gen(function* () {
      const media = Arr.dedupe(gone.flatMap(({ gallery }) => gallery.map(({ mediaId }) => mediaId)))
      if (media.length === 0) return []
      const read = [...gone.map(({ id }) => id), ...media]
      const uses = Arr.groupBy(yield* entityUses.usesOf(accountId, read), ({ entityId }) => entityId)
      return media
        .filter((id) => usesBy("gallery", id, uses).length === 0)
        .flatMap((id) => locked.aggregates.get(id) ?? [])
        .map((each) => [each.id, whyRefused(each, uses, locked)] as const)
    })

  return (accountId: AccountId, ids: ReadonlyArray<EntityId>, withMedia: boolean, locked: LockedCatalog) =>
    Effect.gen(function* () {
      const targets = ids.flatMap((id) => locked.aggregates.get(id) ?? [])
      const read = targets.flatMap((each) => withVariants(each, locked)).map(({ id }) => id)
      const uses = Arr.groupBy(yield* entityUses.usesOf(accountId, read), ({ entityId }) => entityId)
      const refused = new Map(targets.map((each) => [each.id, whyRefused(each, uses, locked)] as const))
      const isDeleted = ({ id }: Aggregate) => refused.has(id) && refused.get(id) === undefined
      const options: Array<CatalogChange> = []
      for (const [productId, variants] of byProduct(
        targets.filter((each) => each.parentId !== null && isDeleted(each))
      )) {
        const product = locked.aggregates.get(EntityId.make(productId))
        const others = [...locked.aggregates.values()].filter((each) => each.parentId === productId && !isDeleted(each))
        if (others.length === 0) for (const { id } of variants) refused.set(id, lastVariant)
        else if (product !== undefined) options.push(...withoutValues(product, variants, others))
      }
      const deleted = targets.filter(isDeleted)
      const gone = deleted.flatMap((each) => withVariants(each, locked))
      const media = withMedia ? yield* decideMedia(accountId, gone, locked) : []
      const deletedMedia = media.flatMap(([id, why]) => (why === undefined ? [id] : []))
      const decided: DecidedDeletions = {
        of: new Map(
          targets.map((each) => [
            each.id,
            isDeleted(each)
              ? Either.right([CatalogChange.DeleteEntity({ entityId: each.id })])
              : Either.left(refused.get(each.id) ?? movedMeanwhile)
          ])
        ),
        along: [
          ...options,
          ...leaveCollections(deleted, uses),
          ...(yield* takePicturesOff(accountId, gone, locked)),
          ...deletedMedia.map((entityId) => CatalogChange.DeleteEntity({ entityId }))
        ],
        keptMedia: new Map(media.flatMap(([id, why]) => (why === undefined ? [] : [[id, why] as const])))
      }
      return decided
    })
}
