import { Either, Schema } from "effect"
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

const optionKeys = ["option1", "option2", "option3"] as const

const optionsOf = (values: (key: string) => string) => optionKeys.map(values).join("\u0001")

const decodeOptions = Schema.decodeUnknownEither(
  Schema.parseJson(Schema.Array(Schema.Struct({ name: Schema.String, values: Schema.Array(Schema.String) })))
)

/** None in a text that holds no options. */
const readOptions = (text: string) => Either.getOrElse(decodeOptions(text), () => [])

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

/** The values, once the file was imported, of the product's variants on the store, in the order of `ids`. */
const valuesOnStore = (
  imported: ImportedProduct,
  variantIds: ReadonlyArray<EntityId>,
  ids: ReadonlyArray<EntityId>,
  { variants }: ImportMatch,
  storeId: StoreId
): ReadonlyArray<Values> => {
  const before = new Map(variants.map((variant) => [variant.id, variant]))
  const fromFile = new Map(imported.variants.map(({ values }, index) => [variantIds[index], values]))
  return ids.flatMap((id) => {
    const variant = before.get(id)
    const values = fromFile.get(id)
    const version = variant === undefined ? undefined : versionOn(variant, storeId)
    if (values === undefined && version === undefined) return []
    const now = effective(variant?.attributes ?? {}, version?.overrides ?? {})
    return [{ ...Object.fromEntries(optionKeys.map((key) => [key, valueOf(now, key)])), ...values }]
  })
}

/**
 * The file's values of a product that is here. Its options also have the values of the variants that stay on the store
 * without being in the file. Unless the variants follow the order of the file, they list what is here in its own order.
 */
const withOptions = (
  imported: ImportedProduct,
  product: Aggregate,
  variants: ReadonlyArray<Values>,
  { isOrdered, storeId }: { readonly isOrdered: boolean; readonly storeId: StoreId }
): Values => {
  const { options } = imported.values
  if (options === undefined) return imported.values
  const fromFile = [...readOptions(options)]
  const now = effective(product.attributes, versionOn(product, storeId)?.overrides ?? {})
  const here = readOptions(valueOf(now, "options"))
  const all = optionKeys.flatMap((key, index) => {
    const used = new Set(variants.flatMap((values) => values[key] || []))
    const said = new Set(imported.variants.flatMap(({ values }) => values[key] || []))
    // A file may name its second option and not its first.
    const isNamed = JSON.stringify(fromFile[0]?.values) === JSON.stringify([...said])
    const name = isNamed ? fromFile.shift()?.name : used.size > 0 ? here[index]?.name : undefined
    const first = isOrdered ? [] : (here[index]?.values ?? []).filter((value) => used.has(value))
    return name === undefined ? [] : [{ name, values: [...new Set([...first, ...used])] }]
  })
  return { ...imported.values, options: all.length === 0 ? "" : JSON.stringify(all) }
}

/**
 * What importing a product of one store's export changes (decisions on imports). A new entity is canonical with its
 * values. A new value for one that is here becomes canonical where this is the only store it lives on, else the store's
 * override; so with the order of variants and images, which stores share and which therefore stays where there are several.
 * What the file holds counts as accepted by the store. A file is a partial pull: nothing is taken away.
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
    values: Values,
    created: Parameters<typeof CatalogChange.CreateEntity>[0]
  ): void => {
    if (entity === undefined) {
      changes.push(CatalogChange.CreateEntity(created), CatalogChange.AddToStore({ entityId: created.id, storeId }))
      return
    }
    const brought = valueChanges(entity, storeId, values)
    changes.push(...brought.changes)
    conflicts += brought.conflicts
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

  const productId = match.product?.id ?? mint()
  const matched = matchVariants(imported.variants, match.variants, storeId)
  const variantIds = matched.map((here) => here?.id ?? mint())
  const variants = follow(
    match.variants.map(({ id }) => id),
    variantIds,
    isOnlyStore ? [] : match.variants.map(({ id }) => id),
    version,
    version?.accepted?.variants
  )
  conflicts += variants.conflicts
  const isOrdered = isOnlyStore && !variants.isKept
  const values =
    match.product === undefined
      ? imported.values
      : withOptions(imported, match.product, valuesOnStore(imported, variantIds, variants.ids, match, storeId), {
          storeId,
          isOrdered
        })

  bring(match.product, values, { id: productId, kind: "product", parentId: null, values })

  const byAddress = new Map(match.media.map((media) => [addressOf(valueOf(media.attributes, "url")), media]))
  const gallery = match.product?.gallery ?? []
  const canonicallyNamed = new Set(imported.images.map(({ url }) => byAddress.get(addressOf(url))?.id))
  const addressHere = (media: Aggregate) =>
    addressOf(valueOf(effective(media.attributes, versionOn(media, storeId)?.overrides ?? {}), "url"))
  // By its canonical address, else by the one that it has on this store.
  const others = match.media.filter(({ id }) => !canonicallyNamed.has(id))
  const byOwnAddress = new Map(others.map((media) => [addressHere(media), media]))
  const found = (url: string) => byAddress.get(addressOf(url)) ?? byOwnAddress.get(addressOf(url))
  const named = new Set(imported.images.map(({ url }) => found(url)?.id))
  const mediaIds = new Map<string, EntityId>()
  for (const [index, image] of imported.images.entries()) {
    const address = addressOf(image.url)
    if (mediaIds.has(address)) continue
    const inPlace = gallery[index]?.mediaId
    const media =
      found(address) ??
      match.media.find(({ id }) => id === inPlace && !named.has(id) && ![...mediaIds.values()].includes(id))
    const values: Values = { url: image.url, ...(image.alt === null ? {} : { alt: image.alt }) }
    // A store's version of an address is no news.
    const kept: Values =
      media !== undefined && addressHere(media) === address ? (image.alt === null ? {} : { alt: image.alt }) : values
    const id = media?.id ?? mint()
    const all = { ...values, file_name: lastSegment(image.url) }
    bring(media, kept, { id, kind: "media", parentId: null, values: all })
    mediaIds.set(address, id)
    accept(media, id, kept)
  }

  for (const [index, variant] of imported.variants.entries()) {
    const here = matched[index]
    const id = variantIds[index] ?? mint()
    bring(here, variant.values, { id, kind: "variant", parentId: productId, values: variant.values })
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
  }
  const appended = inOrderOf(
    match.variants.map(({ id }) => id),
    variantIds.filter((_, index) => matched[index] === undefined)
  )
  if (!sameOrder(variants.ids, appended))
    changes.push(CatalogChange.OrderVariants({ productId, variantIds: variants.ids }))

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
  accept(match.product, productId, values, { media: mediaNamed, variants: variantIds })

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
