import { type Aggregate, type GalleryEntry, inOrderOf, type VersionState } from "./Aggregate.ts"
import { effective, valueOf } from "./Attribute.ts"
import { CatalogChange } from "./CatalogChange.ts"
import type { EntityId, StoreId } from "./Ids.ts"
import type { ImportedProduct, ImportedVariant } from "./ImportedProduct.ts"

/** What a file's product was matched with. */
export interface ImportMatch {
  /** None: the product is new. */
  readonly product: Aggregate | undefined
  readonly variants: ReadonlyArray<Aggregate>
  /** The media files of the product's gallery and of its variants'. */
  readonly media: ReadonlyArray<Aggregate>
}

/** What importing a product does. */
export interface ImportPlan {
  readonly outcome: "created" | "updated" | "unchanged"
  /** Fields that were edited here and in the store since the last publish; the store's value is the one written. */
  readonly conflicts: number
  readonly changes: ReadonlyArray<CatalogChange>
}

type Values = Readonly<Record<string, string>>

/** The address of an image as it is compared: stores add a version as a query. */
const addressOf = (url: string) => {
  const query = url.indexOf("?")
  return query === -1 ? url : url.slice(0, query)
}

const lastSegment = (url: string) => addressOf(url).split("/").at(-1) ?? ""

const versionOn = (entity: Aggregate, storeId: StoreId): VersionState | undefined =>
  entity.versions.find((version) => version.storeId === storeId)

const optionsOf = (values: (key: string) => string) => ["option1", "option2", "option3"].map(values).join("\u0001")

const livesOnlyOn = ({ storeIds }: { readonly storeIds: ReadonlyArray<StoreId> }, storeId: StoreId) =>
  storeIds.every((id) => id === storeId)

/** The changes that bring one entity, which is here already, to the values of a file. */
const valueChanges = (entity: Aggregate, storeId: StoreId, values: Values) => {
  const changes: Array<CatalogChange> = []
  const version = versionOn(entity, storeId)
  const isOnlyStore = livesOnlyOn(entity, storeId)
  const now = effective(entity.attributes, version?.overrides ?? {})
  const canonical: Record<string, string | null> = {}
  const overrides: Record<string, string | null> = {}
  let conflicts = 0
  for (const [key, imported] of Object.entries(values)) {
    const here = valueOf(now, key)
    if (imported === here) continue
    const accepted =
      version?.accepted === undefined || version.accepted === null
        ? undefined
        : valueOf(version.accepted.attributes, key)
    // Only the draft moved on since the store accepted it.
    if (version !== undefined && accepted === imported) continue
    if (version !== undefined && accepted !== here) conflicts += 1
    if (isOnlyStore) {
      canonical[key] = imported
      if (version?.overrides[key] !== undefined) overrides[key] = null
    } else overrides[key] = imported === valueOf(entity.attributes, key) ? null : imported
  }
  if (version === undefined) changes.push(CatalogChange.AddToStore({ entityId: entity.id, storeId }))
  if (Object.keys(canonical).length > 0)
    changes.push(CatalogChange.SetAttributes({ entityId: entity.id, values: canonical }))
  if (Object.keys(overrides).length > 0)
    changes.push(CatalogChange.SetOverrides({ entityId: entity.id, storeId, values: overrides }))
  return { changes, conflicts }
}

const sameOrder = (left: ReadonlyArray<EntityId>, right: ReadonlyArray<EntityId>) =>
  left.length === right.length && left.every((id, index) => id === right[index])

const among = (ids: ReadonlyArray<EntityId>, others: ReadonlyArray<EntityId>) => {
  const known = new Set(others)
  return ids.filter((id) => known.has(id))
}

/**
 * A list of the catalog in the order of a file that names some of it; `shared` keep their places. As with values, an order
 * that only the draft changed since the store accepted it stays, and is no conflict.
 */
const follow = (
  here: ReadonlyArray<EntityId>,
  named: ReadonlyArray<EntityId>,
  shared: ReadonlyArray<EntityId>,
  version: VersionState | undefined,
  accepted: ReadonlyArray<EntityId> | undefined
) => {
  const [known, others] = [new Set(here), new Set(shared)]
  const own = named.filter((id) => !others.has(id))
  const kept = [...here, ...named.filter((id) => !known.has(id))]
  const ids = inOrderOf(here, own)
  const before = among(accepted ?? [], own)
  const isDrafted = accepted === undefined || !sameOrder(among(before, here), among(here, before))
  const isMoved = accepted === undefined || !sameOrder(before, among(own, before))
  if (isDrafted && !isMoved) return { ids: kept, isKept: true, conflicts: 0 }
  return { ids, isKept: false, conflicts: version !== undefined && isDrafted && !sameOrder(ids, kept) ? 1 : 0 }
}

/** Whether the store is already known to have exactly these values and relationships. */
const isAccepted = (
  entity: Aggregate | undefined,
  storeId: StoreId,
  values: Values,
  {
    media = [],
    variants = []
  }: { readonly media?: ReadonlyArray<EntityId>; readonly variants?: ReadonlyArray<EntityId> }
) => {
  const accepted = entity === undefined ? undefined : versionOn(entity, storeId)?.accepted
  return (
    accepted !== undefined &&
    accepted !== null &&
    Object.entries(values).every(([key, value]) => valueOf(accepted.attributes, key) === value) &&
    sameOrder(media, among(accepted.media ?? [], media)) &&
    sameOrder(variants, among(accepted.variants ?? [], variants))
  )
}

/** Pairs each of the file's variants with the one that is here: by SKU, else by option values. */
const matchVariants = (imported: ReadonlyArray<ImportedVariant>, here: ReadonlyArray<Aggregate>, storeId: StoreId) => {
  const free = new Set(here)
  const effectiveOf = new Map(
    here.map((variant) => [variant, effective(variant.attributes, versionOn(variant, storeId)?.overrides ?? {})])
  )
  const take = (matches: (variant: Aggregate) => boolean) => {
    const found = [...free].filter(matches)
    const [only] = found
    if (only === undefined || found.length > 1) return undefined
    free.delete(only)
    return only
  }
  const bySku = imported.map(({ values }) => {
    const { sku } = values
    return sku === undefined || sku === ""
      ? undefined
      : take(
          (variant) =>
            valueOf(variant.attributes, "sku") === sku || valueOf(effectiveOf.get(variant) ?? {}, "sku") === sku
        )
  })
  return imported.map(
    ({ values }, index) =>
      bySku[index] ??
      take(
        (variant) =>
          optionsOf((key) => valueOf(effectiveOf.get(variant) ?? {}, key)) === optionsOf((key) => values[key] ?? "") ||
          optionsOf((key) => valueOf(variant.attributes, key)) === optionsOf((key) => values[key] ?? "")
      )
  )
}

/**
 * What importing a product of one store's export changes (decisions on imports). A new entity is canonical with its
 * values. A new value for one that is here becomes canonical where this is the only store it lives on, else the store's
 * override. What the file holds counts as accepted by the store. A file is a partial pull: nothing is taken away.
 */
export const planImport = (
  imported: ImportedProduct,
  match: ImportMatch,
  storeId: StoreId,
  mint: () => EntityId
): ImportPlan => {
  const changes: Array<CatalogChange> = []
  const accepts: Array<CatalogChange> = []
  let conflicts = 0
  const version = match.product === undefined ? undefined : versionOn(match.product, storeId)
  const isOnlyStore = match.product === undefined || livesOnlyOn(match.product, storeId)

  const bring = (
    entity: Aggregate | undefined,
    create: () => { readonly id: EntityId; readonly change: CatalogChange },
    values: Values
  ): EntityId => {
    if (entity === undefined) {
      const { change, id } = create()
      changes.push(change, CatalogChange.AddToStore({ entityId: id, storeId }))
      return id
    }
    const brought = valueChanges(entity, storeId, values)
    changes.push(...brought.changes)
    conflicts += brought.conflicts
    return entity.id
  }

  const accept = (
    entity: Aggregate | undefined,
    entityId: EntityId,
    values: Values,
    related: { readonly media?: ReadonlyArray<EntityId>; readonly variants?: ReadonlyArray<EntityId> } = {}
  ) => {
    if (!isAccepted(entity, storeId, values, related))
      accepts.push(
        CatalogChange.AcceptImported({
          entityId,
          storeId,
          values,
          media: related.media ?? [],
          variants: related.variants ?? []
        })
      )
  }

  const productId = bring(
    match.product,
    () => {
      const id = mint()
      return {
        id,
        change: CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: imported.values })
      }
    },
    imported.values
  )

  const byAddress = new Map(match.media.map((media) => [addressOf(valueOf(media.attributes, "url")), media]))
  const gallery = match.product?.gallery ?? []
  const named = new Set(imported.images.map(({ url }) => byAddress.get(addressOf(url))?.id))
  const mediaIds = new Map<string, EntityId>()
  for (const [index, image] of imported.images.entries()) {
    const address = addressOf(image.url)
    if (mediaIds.has(address)) continue
    const inPlace = gallery[index]?.mediaId
    const media =
      byAddress.get(address) ??
      match.media.find(({ id }) => id === inPlace && !named.has(id) && ![...mediaIds.values()].includes(id))
    const values: Values = { url: image.url, ...(image.alt === null ? {} : { alt: image.alt }) }
    // A store's version of an address is no news.
    const kept: Values =
      media !== undefined && byAddress.has(address) ? (image.alt === null ? {} : { alt: image.alt }) : values
    const id = bring(
      media,
      () => {
        const id = mint()
        const all = { ...values, file_name: lastSegment(image.url) }
        return { id, change: CatalogChange.CreateEntity({ id, kind: "media", parentId: null, values: all }) }
      },
      kept
    )
    mediaIds.set(address, id)
    accept(media, id, kept)
  }

  const matched = matchVariants(imported.variants, match.variants, storeId)
  const variantIds = imported.variants.map((variant, index) => {
    const here = matched[index]
    const id = bring(
      here,
      () => {
        const id = mint()
        return {
          id,
          change: CatalogChange.CreateEntity({ id, kind: "variant", parentId: productId, values: variant.values })
        }
      },
      variant.values
    )
    const mediaId =
      variant.imageUrl === null || variant.imageUrl === "" ? undefined : mediaIds.get(addressOf(variant.imageUrl))
    const shown = here?.gallery ?? []
    if (mediaId !== undefined && !shown.some((entry) => entry.mediaId === mediaId && entry.storeIds.includes(storeId)))
      changes.push(
        CatalogChange.SetGallery({
          entityId: id,
          entries: galleryOf(inOrderOf(mediaOf(shown), [mediaId]), shown, [mediaId], storeId)
        })
      )
    accept(here, id, variant.values)
    return id
  })

  const mediaNamed = [...mediaIds.values()]
  const media = follow(
    mediaOf(gallery),
    mediaNamed,
    isOnlyStore ? [] : mediaOf(gallery.filter((entry) => !livesOnlyOn(entry, storeId))),
    version,
    version?.accepted?.media
  )
  conflicts += media.conflicts
  const entries = galleryOf(media.ids, gallery, mediaNamed, storeId)
  if (JSON.stringify(entries) !== JSON.stringify(gallery))
    changes.push(CatalogChange.SetGallery({ entityId: productId, entries }))
  accept(match.product, productId, imported.values, { media: mediaNamed, variants: variantIds })

  const all = [...changes, ...accepts]
  return {
    outcome: match.product === undefined ? "created" : all.length === 0 ? "unchanged" : "updated",
    conflicts,
    changes: all
  }
}

const mediaOf = (gallery: ReadonlyArray<GalleryEntry>) => gallery.map(({ mediaId }) => mediaId)

/** The gallery of these files in which the store shows those that its file names. */
const galleryOf = (
  ids: ReadonlyArray<EntityId>,
  gallery: ReadonlyArray<GalleryEntry>,
  named: ReadonlyArray<EntityId>,
  storeId: StoreId
): ReadonlyArray<GalleryEntry> => {
  const [before, shown] = [new Map(gallery.map((entry) => [entry.mediaId, entry])), new Set(named)]
  return ids.map((mediaId) => {
    const storeIds = before.get(mediaId)?.storeIds ?? []
    return { mediaId, storeIds: shown.has(mediaId) && !storeIds.includes(storeId) ? [...storeIds, storeId] : storeIds }
  })
}
