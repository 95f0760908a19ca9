import { Either } from "effect"
import { type Aggregate, variantsByProduct } from "../catalog/Aggregate.ts"
import type { Attributes, EntityKind } from "../model/Attribute.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { EntityId, type StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import { uuidOf } from "../runtime/Identifiers.ts"
import { CatalogChange, type LockedCatalog } from "./CatalogChange.ts"
import type { DroppedOverride } from "./OpenDrops.sql.ts"
import { lockedGallery, PartsMoved } from "./StoreMembership.ts"

/** The copy of an entity that belongs to a copied product. */
interface Copy {
  readonly id: EntityId
  readonly parentId: EntityId | null
  /** Values in place of those of the original. */
  readonly values: Readonly<Record<string, string | null>>
}

/** The built-in keys whose values name one product or variant. A copy gets its own values, or none. */
const namingKeys: Readonly<Record<EntityKind, ReadonlyArray<string>>> = {
  product: ["title", "handle", "seo_title"],
  variant: ["sku", "barcode"],
  collection: [],
  media: []
}

/** The id of a variant's copy. It follows from the id of the product's copy, so that a copy that is made twice is one copy. */
export const copyOf = (productCopyId: EntityId, variantId: EntityId): EntityId =>
  EntityId.make(uuidOf(productCopyId, variantId))

/** The type of metafields that name one product or variant: Shopify refuses a value that another one has. */
const namingType = "id"

const copiedValues = (kind: EntityKind, attributes: Attributes, rules: KeyRules) => {
  // Shopify's own duplicates leave out unique values too (https://shopify.dev/docs/api/admin-graphql/2026-07/mutations/productDuplicate).
  const names = (key: string) =>
    namingKeys[kind].includes(key) ||
    rules.find(kind, key)?.isUnique === true ||
    rules.typeOf(kind, key, [attributes]) === namingType
  const copied = Object.entries(attributes).filter(([key]) => !names(key))
  return {
    values: Object.fromEntries(copied.map(([key, { value }]) => [key, value])),
    types: Object.fromEntries(copied.flatMap(([key, { type }]) => (key.includes(".") ? [[key, type]] : [])))
  }
}

/** The changes that copy an entity, to those of these stores that have it. PartsMoved: a media file of its gallery is not locked. */
const copyEntity = (
  original: Aggregate,
  { id, parentId, values }: Copy,
  storeIds: ReadonlyArray<StoreId>,
  rules: KeyRules,
  locked: LockedCatalog
): Either.Either<ReadonlyArray<CatalogChange>, PartsMoved> =>
  Either.map(lockedGallery(original, locked), (gallery) => {
    const { attributes, kind, versions } = original
    const canonical = copiedValues(kind, attributes, rules)
    const onStores = versions.filter(({ storeId }) => storeIds.includes(storeId))
    const entries = gallery.map(({ mediaId, storeIds: shown }) => ({
      mediaId,
      storeIds: shown.filter((storeId) => storeIds.includes(storeId))
    }))
    return [
      CatalogChange.CreateEntity({ id, kind, parentId, ...canonical, values: { ...canonical.values, ...values } }),
      ...onStores.flatMap(({ overrides, storeId }) => [
        CatalogChange.AddToStore({ entityId: id, storeId }),
        CatalogChange.SetOverrides({ entityId: id, storeId, ...copiedValues(kind, overrides, rules) })
      ]),
      ...(entries.length === 0 ? [] : [CatalogChange.SetGallery({ entityId: id, entries })])
    ]
  })

/**
 * Copies a product with its variants, their values on these stores, and their pictures. `values`: the product's own values of the copy.
 * ValidationFailed: the product is not on one of the stores. PartsMoved: a variant, or a media file of a gallery, is not locked.
 */
export const decideCopy = (
  {
    id,
    productId,
    storeIds,
    values
  }: Pick<Copy, "id" | "values"> & { readonly productId: EntityId; readonly storeIds: ReadonlyArray<StoreId> },
  rules: KeyRules,
  locked: LockedCatalog
): Either.Either<ReadonlyArray<CatalogChange>, NotFound | ValidationFailed | PartsMoved> =>
  Either.gen(function* () {
    const product = locked.aggregates.get(productId)
    if (product?.kind !== "product") return yield* Either.left(new NotFound())
    if ([...locked.summaries.values()].some(({ parentId }) => parentId === productId))
      return yield* Either.left(new PartsMoved())
    if (storeIds.some((storeId) => !product.storeIds.includes(storeId)))
      return yield* Either.left(ValidationFailed.at("store_ids", "the product is not on one of these stores"))
    const variants = variantsByProduct(locked.aggregates.values()).get(productId) ?? []
    const copies = [
      yield* copyEntity(product, { id, parentId: null, values }, storeIds, rules, locked),
      ...(yield* Either.all(
        variants.map((variant) =>
          copyEntity(variant, { id: copyOf(id, variant.id), parentId: id, values: {} }, storeIds, rules, locked)
        )
      ))
    ]
    return copies.flat()
  })

/**
 * Replaces the overrides that open drops have written by those before the drop, because no drop would end them on a copy. An override
 * that was edited since then stays.
 */
export const withoutDrops = (locked: LockedCatalog, dropped: ReadonlyArray<DroppedOverride>): LockedCatalog => {
  const aggregates = new Map(locked.aggregates)
  for (const { before, entityId, key, storeId, value } of dropped) {
    const aggregate = aggregates.get(entityId)
    if (aggregate === undefined) continue
    const versions = aggregate.versions.map((version) => {
      const { [key]: current, ...others } = version.overrides
      return version.storeId === storeId && current?.value === value
        ? { ...version, overrides: before === null ? others : { ...others, [key]: before } }
        : version
    })
    aggregates.set(entityId, { ...aggregate, versions })
  }
  return { ...locked, aggregates }
}
