import { type Aggregate, type GalleryEntry, inOrderOf, type VersionState } from "../drafts/Aggregate.ts"
import { CatalogChange, type Locked } from "../drafts/CatalogChange.ts"
import { builtInFields, type EntityKind, effective, typeOf, valueOf } from "../model/Attribute.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import type { ImportSource, StoreCollection, StoreEntity, StoreProduct, StoreVariant, Values } from "./StoreProduct.ts"
import { addressOf, readOptions, sameOptions, sameValue } from "./StoreValue.ts"

/** What a store's product was matched with. */
export interface ImportMatch {
  /** None: the product is new. */
  readonly product: Aggregate | undefined
  /** Files of its gallery that stores show which are not linked now. */
  readonly heldElsewhere?: ReadonlySet<EntityId>
  readonly variants: ReadonlyArray<Aggregate>
  /** The media files of the product's gallery and of its variants', where images are named by their addresses. */
  readonly media: ReadonlyArray<Aggregate>
}

/** A field that was edited here and in the store since the last publish. Lists are JSON in a string. */
export interface FieldConflict {
  readonly entityId: EntityId
  /** An attribute's key, or `media_ids`, `variant_ids` or `members` where only the order is in question. */
  readonly field: string
  /** null: the store never accepted a publish. */
  readonly accepted: string | null
  readonly draft: string
  readonly store: string
}

/** What an import does about a conflict: as it is decided. */
export interface Decided {
  readonly _tag: "Decided"
  /** Place of the conflict: in its plan, and once it is staged in its import. */
  readonly conflict: number
  readonly take: ReadonlyArray<CatalogChange>
  readonly keep: ReadonlyArray<CatalogChange>
}

export type StagedChange = CatalogChange | Decided

/** What importing a product, a collection or a file does. */
export interface ImportPlan {
  readonly outcome: "created" | "updated" | "unchanged"
  readonly conflicts: ReadonlyArray<FieldConflict>
  readonly changes: ReadonlyArray<StagedChange>
}

/** A product's plan, and the entities that it and its variants are once it is carried out. */
export interface ProductPlan extends ImportPlan {
  readonly entityId: EntityId
  /** In the order of the store's variants. */
  readonly variantIds: ReadonlyArray<EntityId>
}

/** The changes that are left when every conflict is decided. */
export const decided = (
  changes: ReadonlyArray<StagedChange>,
  isKept: (conflict: number) => boolean
): ReadonlyArray<CatalogChange> =>
  changes.flatMap((change) =>
    change._tag !== "Decided" ? [change] : isKept(change.conflict) ? change.keep : change.take
  )

const lastSegment = (url: string) => addressOf(url).split("/").at(-1) ?? ""

const versionOn = (entity: Aggregate, storeId: StoreId): VersionState | undefined =>
  entity.versions.find((version) => version.storeId === storeId)

/** Whether the store took a publish of the entity since its reading began: what was read of it may be older. */
const isPublishedSince = (entity: Aggregate | undefined, storeId: StoreId, begunAt: Timestamp | undefined) => {
  const publishedAt = entity === undefined ? null : (versionOn(entity, storeId)?.publishedAt ?? null)
  return begunAt !== undefined && publishedAt !== null && publishedAt >= begunAt
}

/**
 * The changes of a refresh without what a publish has overtaken while it was under review: the store has what was published,
 * and that is what it accepted last.
 */
export const notOvertaken = (
  { aggregates }: Locked,
  changes: ReadonlyArray<CatalogChange>,
  begunAt: Timestamp
): ReadonlyArray<CatalogChange> =>
  changes.filter(
    (change) =>
      (change._tag !== "AcceptImported" && change._tag !== "RemoveFromStore") ||
      !isPublishedSince(aggregates.get(change.entityId), change.storeId, begunAt)
  )

const effectiveOn = (entity: Aggregate, storeId: StoreId) =>
  effective(entity.attributes, versionOn(entity, storeId)?.overrides ?? {})

const optionKeys = ["option1", "option2", "option3"] as const

const optionsOf = (values: (key: string) => string) => optionKeys.map(values).join("\u0001")

const livesOnlyOn = ({ storeIds }: { readonly storeIds: ReadonlyArray<StoreId> }, storeId: StoreId) =>
  storeIds.every((id) => id === storeId)

const listText = (ids: ReadonlyArray<EntityId>) => JSON.stringify(ids)

/** What a platform makes of a file of its own accord: it keeps files at addresses of its own. */
const madeOfFiles: ReadonlyArray<string> = Object.keys(builtInFields.media).filter((key) => key !== "alt")

/** The title that a variant has by its options. */
const titleByOptions = (value: (key: string) => string) => optionKeys.flatMap((key) => value(key) || []).join(" / ")

/** The keys that say nothing of what was published from here: the platform takes no word about them. */
const madeByStore = (entity: Aggregate, { values }: StoreEntity, storeId: StoreId): ReadonlyArray<string> => {
  switch (entity.kind) {
    case "product":
    case "collection":
      return []
    case "media":
      return madeOfFiles
    case "variant": {
      const accepted = versionOn(entity, storeId)?.accepted?.attributes ?? {}
      const isOwn = valueOf(accepted, "title") !== titleByOptions((key) => valueOf(accepted, key))
      return isOwn && values.title === titleByOptions((key) => values[key] ?? "") ? ["title"] : []
    }
  }
}

/** The keys about which a source says something. What a complete one leaves out is empty there. */
const saidKeys = (entity: Aggregate, imported: StoreEntity, { isComplete, storeId }: ImportSource) => {
  const given = Object.keys(imported.values)
  if (!isComplete) return given
  const layers = [effectiveOn(entity, storeId), versionOn(entity, storeId)?.accepted?.attributes ?? {}]
  // No platform keeps metafields of files.
  const metafields = entity.kind === "media" ? [] : layers.flatMap(Object.keys).filter((key) => key.includes("."))
  const unsaid = imported.isOurs ? madeByStore(entity, imported, storeId) : []
  const all = new Set([...Object.keys(builtInFields[entity.kind]), ...metafields, ...given])
  return [...all].filter((key) => !unsaid.includes(key))
}

/**
 * What the store has of an entity that is here, in the words of its accepted values, else of those here, wherever these mean
 * the same: a platform writes values in its own form.
 */
const saidOf = (entity: Aggregate, imported: StoreEntity, source: ImportSource): Values => {
  const accepted = versionOn(entity, source.storeId)?.accepted?.attributes
  const now = effectiveOn(entity, source.storeId)
  const isOnlyStore = livesOnlyOn(entity, source.storeId)
  return Object.fromEntries(
    saidKeys(entity, imported, source).map((key) => {
      const value = imported.values[key] ?? ""
      const type = imported.types?.[key] ?? typeOf(entity.kind, key, [now, accepted ?? {}])
      const isSame = (known: string) =>
        sameValue(key, type, known, value) ||
        // The order of variants, and so of option values, is shared by the stores.
        (key === "options" && !isOnlyStore && sameOptions(known, value))
      const known = [...(accepted === undefined ? [] : [valueOf(accepted, key)]), valueOf(now, key)]
      return [key, known.find(isSame) ?? value]
    })
  )
}

/** The types of keys that no layer of the entity knows. */
const newTypes = (entity: Aggregate, types: Values = {}): Values => {
  const layers = [
    entity.attributes,
    ...entity.versions.flatMap(({ accepted, overrides }) => [overrides, accepted?.attributes ?? {}])
  ]
  return Object.fromEntries(Object.entries(types).filter(([key]) => !layers.some((layer) => layer[key] !== undefined)))
}

const sameOrder = (left: ReadonlyArray<EntityId>, right: ReadonlyArray<EntityId>) =>
  left.length === right.length && left.every((id, index) => id === right[index])

const among = (ids: ReadonlyArray<EntityId>, others: ReadonlyArray<EntityId>) => {
  const known = new Set(others)
  return ids.filter((id) => known.has(id))
}

const without = (ids: ReadonlyArray<EntityId>, others: ReadonlyArray<EntityId>) => {
  const known = new Set(others)
  return ids.filter((id) => !known.has(id))
}

/** A list of the catalog, and how a store has it. */
interface ListState {
  /** The whole list. */
  readonly here: ReadonlyArray<EntityId>
  /** What the store has of it, in the store's order. */
  readonly named: ReadonlyArray<EntityId>
  /** What keeps its place, as other stores show it too. */
  readonly shared: ReadonlyArray<EntityId>
  /** Whether the entity is on the store already. */
  readonly isThere: boolean
  /** None: the store never accepted a publish. */
  readonly accepted: ReadonlyArray<EntityId> | undefined
}

/**
 * The list in the order of the store. As with values, an order that only the draft changed since the store accepted it stays,
 * and is no conflict; what is new comes either way. `kept`: the list in the order that it has here.
 */
const follow = ({ accepted, here, isThere, named, shared }: ListState) => {
  const own = without(named, shared)
  const kept = [...here, ...without(named, here)]
  const ids = inOrderOf(here, own)
  const before = among(accepted ?? [], own)
  const isDrafted = accepted === undefined || !sameOrder(among(before, here), among(here, before))
  const isMoved = accepted === undefined || !sameOrder(before, among(own, before))
  if (isDrafted && !isMoved) return { ids: kept, kept, isKept: true, isConflict: false }
  return { ids, kept, isKept: false, isConflict: isThere && isDrafted && !sameOrder(ids, kept) }
}

/** What only the draft took away since the store accepted it, and, of a complete source, what only the store did. */
const takenAway = (
  shown: ReadonlyArray<EntityId>,
  named: ReadonlyArray<EntityId>,
  accepted: ReadonlyArray<EntityId> | undefined,
  isComplete: boolean
) => ({
  byDraft: without(among(named, accepted ?? []), shown),
  byStore: isComplete ? without(among(shown, accepted ?? []), named) : []
})

interface Relations {
  readonly media?: ReadonlyArray<EntityId>
  readonly variants?: ReadonlyArray<EntityId>
  readonly members?: ReadonlyArray<EntityId>
}

/** Whether the store is already known to have exactly these values and relationships, under this name. */
const isAccepted = (
  version: VersionState | undefined,
  values: Values,
  relations: Relations,
  { platformId }: StoreEntity,
  { isComplete }: ImportSource
) => {
  const accepted = version?.accepted
  if (accepted === undefined || accepted === null) return false
  if (platformId !== undefined && platformId !== version?.platformId) return false
  const isListed = (known: ReadonlyArray<EntityId> = [], named: ReadonlyArray<EntityId> | undefined) =>
    named === undefined || sameOrder(named, isComplete ? known : among(known, named))
  return (
    Object.entries(values).every(([key, value]) => valueOf(accepted.attributes, key) === value) &&
    isListed(accepted.media, relations.media) &&
    isListed(accepted.variants, relations.variants) &&
    isListed(accepted.members, relations.members)
  )
}

/** Gathers what importing one product, collection or file does. */
class Planning {
  readonly source: ImportSource
  readonly changes: Array<StagedChange> = []
  readonly accepts: Array<CatalogChange> = []
  readonly conflicts: Array<FieldConflict> = []

  constructor(source: ImportSource) {
    this.source = source
  }

  decide(conflict: FieldConflict, take: ReadonlyArray<CatalogChange>, keep: ReadonlyArray<CatalogChange>): void {
    this.changes.push({ _tag: "Decided", conflict: this.conflicts.length, take, keep })
    this.conflicts.push(conflict)
  }

  create(id: EntityId, kind: EntityKind, parentId: EntityId | null, { types, values }: StoreEntity): void {
    const known = types === undefined || Object.keys(types).length === 0 ? {} : { types }
    this.changes.push(
      CatalogChange.CreateEntity({ id, kind, parentId, values, ...known }),
      CatalogChange.AddToStore({ entityId: id, storeId: this.source.storeId })
    )
  }

  /** Brings an entity that is here to what the store has of it. What is written has the type that the source gives it. */
  bring(entity: Aggregate, values: Values, types: Values): void {
    const { storeId } = this.source
    const version = versionOn(entity, storeId)
    const now = effectiveOn(entity, storeId)
    const accepted = version?.accepted?.attributes
    const taking = (taken: Values): ReadonlyArray<CatalogChange> => {
      const keys = Object.keys(taken)
      if (keys.length === 0) return []
      const said = Object.fromEntries(keys.flatMap((key) => (types[key] === undefined ? [] : [[key, types[key]]])))
      const known = Object.keys(said).length === 0 ? {} : { types: said }
      const overridden = keys.filter((key) => version?.overrides[key] !== undefined)
      if (!livesOnlyOn(entity, storeId)) {
        const overrides = Object.fromEntries(
          keys.map((key) => [key, taken[key] === valueOf(entity.attributes, key) ? null : (taken[key] ?? null)])
        )
        return [CatalogChange.SetOverrides({ entityId: entity.id, storeId, values: overrides, ...known })]
      }
      return [
        CatalogChange.SetAttributes({ entityId: entity.id, values: taken, ...known }),
        ...(overridden.length === 0
          ? []
          : [
              CatalogChange.SetOverrides({
                entityId: entity.id,
                storeId,
                values: Object.fromEntries(overridden.map((key) => [key, null]))
              })
            ])
      ]
    }
    if (version === undefined) this.changes.push(CatalogChange.AddToStore({ entityId: entity.id, storeId }))
    const differing = Object.entries(values).filter(
      ([key, value]) =>
        value !== valueOf(now, key) &&
        // Else only the draft moved on since the store accepted it.
        (accepted === undefined || value !== valueOf(accepted, key))
    )
    const isDrafted = (key: string) =>
      version !== undefined && (accepted === undefined || valueOf(accepted, key) !== valueOf(now, key))
    this.changes.push(...taking(Object.fromEntries(differing.filter(([key]) => !isDrafted(key)))))
    for (const [field, store] of differing.filter(([key]) => isDrafted(key)))
      this.decide(
        {
          entityId: entity.id,
          field,
          accepted: accepted === undefined ? null : valueOf(accepted, field),
          draft: valueOf(now, field),
          store
        },
        taking({ [field]: store }),
        []
      )
  }

  /** What the store has counts as accepted, whatever is decided. */
  accept(
    id: EntityId,
    entity: Aggregate | undefined,
    values: Values,
    imported: StoreEntity,
    relations: Relations
  ): void {
    const { isAnsweredByStore, isComplete, storeId } = this.source
    if (isAnsweredByStore) return
    const version = entity === undefined ? undefined : versionOn(entity, storeId)
    if (isAccepted(version, values, relations, imported, this.source)) return
    const { media = [], members, variants = [] } = relations
    const types = entity === undefined ? {} : newTypes(entity, imported.types)
    this.accepts.push(
      CatalogChange.AcceptImported({
        entityId: id,
        storeId,
        // All that a new entity has came from the store.
        values: entity === undefined ? {} : values,
        media,
        variants,
        ...(Object.keys(types).length === 0 ? {} : { types }),
        ...(members === undefined ? {} : { members }),
        ...(isComplete ? { isComplete } : {}),
        ...(imported.platformId === undefined ? {} : { platformId: imported.platformId })
      })
    )
  }

  /** An entity without relationships of its own: a variant or a file. */
  place(
    id: EntityId,
    kind: EntityKind,
    parentId: EntityId | null,
    entity: Aggregate | undefined,
    imported: StoreEntity
  ): void {
    if (entity === undefined) {
      this.create(id, kind, parentId, imported)
      this.accept(id, entity, imported.values, imported, {})
    } else if (!isPublishedSince(entity, this.source.storeId, this.source.begunAt)) {
      const values = saidOf(entity, imported, this.source)
      this.bring(entity, values, imported.types ?? {})
      this.accept(id, entity, values, imported, {})
    }
  }

  /** The change of a list whose order the store may have changed too. */
  list(
    field: string,
    entityId: EntityId,
    state: ListState,
    shown: ReadonlyArray<EntityId>,
    change: (ids: ReadonlyArray<EntityId>) => ReadonlyArray<CatalogChange>
  ) {
    const followed = follow(state)
    if (followed.isConflict)
      this.decide(
        {
          entityId,
          field,
          accepted: state.accepted === undefined ? null : listText(state.accepted),
          draft: listText(shown),
          store: listText(state.named)
        },
        change(followed.ids),
        change(followed.kept)
      )
    else this.changes.push(...change(followed.ids))
    return followed
  }

  plan(isNew: boolean): ImportPlan {
    const changes = [...this.changes, ...this.accepts]
    return {
      outcome: isNew ? "created" : changes.length === 0 ? "unchanged" : "updated",
      conflicts: this.conflicts,
      changes
    }
  }
}

/**
 * What a store holds of an entity that an export changed counts as accepted. Of an entity that the store had accepted before, only
 * the `changed` keys: an edit of another value in the store is left to the next refresh, which sees it.
 */
export const planAnswer = (
  entity: Aggregate,
  held: StoreEntity,
  relations: Relations,
  source: ImportSource,
  changed: ReadonlySet<string>
): ReadonlyArray<CatalogChange> => {
  const version = versionOn(entity, source.storeId)
  if (version === undefined || isPublishedSince(entity, source.storeId, source.begunAt)) return []
  const isFirst = version.accepted === null
  const planning = new Planning({ ...source, isComplete: isFirst })
  const values = Object.entries(saidOf(entity, held, source)).filter(([key]) => isFirst || changed.has(key))
  planning.accept(entity.id, entity, Object.fromEntries(values), held, relations)
  return planning.accepts
}

/** Pairs each of the store's variants with the one that is here: known ahead, else by SKU, else by option values. */
export const matchVariants = (
  imported: ReadonlyArray<StoreVariant>,
  here: ReadonlyArray<Aggregate>,
  storeId: StoreId
) => {
  const free = new Set(here)
  const effectiveOf = new Map(here.map((variant) => [variant, effectiveOn(variant, storeId)]))
  const take = (matches: (variant: Aggregate) => boolean) => {
    const found = [...free].filter(matches)
    const [only] = found
    if (only === undefined || found.length > 1) return undefined
    free.delete(only)
    return only
  }
  const known = imported.map(({ entityId }) => (entityId ? take(({ id }) => id === entityId) : undefined))
  const bySku = imported.map(({ values }, index) => {
    const { sku } = values
    return sku === undefined || sku === "" || known[index] !== undefined
      ? undefined
      : take(
          (variant) =>
            valueOf(variant.attributes, "sku") === sku || valueOf(effectiveOf.get(variant) ?? {}, "sku") === sku
        )
  })
  return imported.map(
    ({ values }, index) =>
      known[index] ??
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
  imported: StoreProduct,
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
  imported: StoreProduct,
  product: Aggregate,
  variants: ReadonlyArray<Values>,
  { isOrdered, storeId }: { readonly isOrdered: boolean; readonly storeId: StoreId }
): Values => {
  const { options } = imported.values
  if (options === undefined) return imported.values
  const fromFile = [...readOptions(options)]
  const now = effectiveOn(product, storeId)
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

/** What a product's images are here: those that are, and those that are made. */
const placeImages = (
  planning: Planning,
  { images }: StoreProduct,
  { media, product }: ImportMatch,
  mint: () => EntityId
) => {
  const { storeId } = planning.source
  const byAddress = new Map(media.map((file) => [addressOf(valueOf(file.attributes, "url")), file]))
  const gallery = product?.gallery ?? []
  const canonicallyNamed = new Set(images.map(({ url }) => byAddress.get(addressOf(url))?.id))
  const addressHere = (file: Aggregate) => addressOf(valueOf(effectiveOn(file, storeId), "url"))
  // By its canonical address, else by the one that it has on this store.
  const others = media.filter(({ id }) => !canonicallyNamed.has(id))
  const byOwnAddress = new Map(others.map((file) => [addressHere(file), file]))
  const found = (url: string) => byAddress.get(addressOf(url)) ?? byOwnAddress.get(addressOf(url))
  const named = new Set(images.map(({ url }) => found(url)?.id))
  const mediaIds = new Map<string, EntityId>()
  for (const [index, { alt, url }] of images.entries()) {
    const address = addressOf(url)
    if (mediaIds.has(address)) continue
    const inPlace = gallery[index]?.mediaId
    const file =
      found(address) ?? media.find(({ id }) => id === inPlace && !named.has(id) && ![...mediaIds.values()].includes(id))
    const said: Values = alt === null ? {} : { alt }
    // A store's version of an address is no news.
    const isKnown = file !== undefined && addressHere(file) === address
    const values: Values = isKnown ? said : { url, ...said }
    const id = file?.id ?? mint()
    planning.place(id, "media", null, file, {
      values: file === undefined ? { ...values, file_name: lastSegment(url) } : values
    })
    mediaIds.set(address, id)
  }
  return mediaIds
}

const mediaOf = (gallery: ReadonlyArray<GalleryEntry>) => gallery.map(({ mediaId }) => mediaId)

/**
 * The gallery of these files in which the store shows those that are named, and no longer those that are `gone` there. What
 * no store shows any more leaves it.
 */
const galleryOf = (
  ids: ReadonlyArray<EntityId>,
  gallery: ReadonlyArray<GalleryEntry>,
  { gone, named }: { readonly gone: ReadonlySet<EntityId>; readonly named: ReadonlyArray<EntityId> },
  storeId: StoreId,
  heldElsewhere: ReadonlySet<EntityId> = new Set()
): ReadonlyArray<GalleryEntry> => {
  const before = new Map(gallery.map((entry) => [entry.mediaId, entry]))
  const shown = new Set(named)
  return ids.flatMap((mediaId) => {
    const storeIds = before.get(mediaId)?.storeIds ?? []
    if (gone.has(mediaId)) {
      const others = storeIds.filter((id) => id !== storeId)
      return others.length > 0 || heldElsewhere.has(mediaId) ? [{ mediaId, storeIds: others }] : []
    }
    return [
      { mediaId, storeIds: shown.has(mediaId) && !storeIds.includes(storeId) ? [...storeIds, storeId] : storeIds }
    ]
  })
}

const setGallery = (entityId: EntityId, before: ReadonlyArray<GalleryEntry>, entries: ReadonlyArray<GalleryEntry>) =>
  JSON.stringify(entries) === JSON.stringify(before) ? [] : [CatalogChange.SetGallery({ entityId, entries })]

/**
 * What importing a product changes (decisions on imports). A new entity is canonical with its values. A new value for one
 * that is here becomes canonical where this is the only store it lives on, else the store's override; so with the order of
 * variants and images, which stores share and which therefore stays where there are several. A value that was edited here,
 * too, since the store accepted it is a conflict. What the store has counts as accepted by it. Of a partial source nothing
 * is taken away; of a complete one the files that left the gallery are, and the variants that are gone are left to whoever
 * sees all of it. What the store took from here since its reading began is left as it is: the next refresh sees it.
 */
export const planImport = (
  imported: StoreProduct,
  match: ImportMatch,
  source: ImportSource,
  mint: () => EntityId
): ProductPlan => {
  const { isComplete, storeId } = source
  const planning = new Planning(source)
  const { product } = match
  const version = product === undefined ? undefined : versionOn(product, storeId)
  const isOnlyStore = product === undefined || livesOnlyOn(product, storeId)
  const isThere = version !== undefined
  const accepted = version?.accepted ?? undefined

  const productId = product?.id ?? mint()
  const matched = matchVariants(imported.variants, match.variants, storeId)
  const variantIds = matched.map((here) => here?.id ?? mint())
  const variantsHere = match.variants.map(({ id }) => id)
  const variantOrder: ListState = {
    here: variantsHere,
    named: variantIds,
    shared: isOnlyStore ? [] : variantsHere,
    isThere,
    accepted: accepted?.variants
  }
  const variants = follow(variantOrder)
  const options = () =>
    withOptions(imported, product as Aggregate, valuesOnStore(imported, variantIds, variants.ids, match, storeId), {
      storeId,
      isOrdered: isOnlyStore && !variants.isKept
    })

  const isOvertaken = isPublishedSince(product, storeId, source.begunAt)
  let values = imported.values
  if (product === undefined) planning.create(productId, "product", null, imported)
  else if (!isOvertaken) {
    values = saidOf(product, isComplete ? imported : { ...imported, values: options() }, source)
    planning.bring(product, values, imported.types ?? {})
  }

  const files = placeImages(planning, imported, match, mint)
  for (const [index, variant] of imported.variants.entries()) {
    const here = matched[index]
    const id = variantIds[index] ?? mint()
    planning.place(id, "variant", productId, here, variant)
    const mediaId =
      variant.imageUrl === null || variant.imageUrl === "" ? undefined : files.get(addressOf(variant.imageUrl))
    const shown = here?.gallery ?? []
    if (mediaId !== undefined && !shown.some((entry) => entry.mediaId === mediaId && entry.storeIds.includes(storeId)))
      planning.changes.push(
        CatalogChange.SetGallery({
          entityId: id,
          entries: galleryOf(
            inOrderOf(mediaOf(shown), [mediaId]),
            shown,
            { gone: new Set(), named: [mediaId] },
            storeId
          )
        })
      )
  }

  if (isOvertaken) return { ...planning.plan(false), entityId: productId, variantIds }

  // New variants are appended, in this order.
  const appended = [...variantsHere, ...variantIds.filter((_, index) => matched[index] === undefined)]
  planning.list("variant_ids", productId, variantOrder, among(variantsHere, onStore(match.variants, storeId)), (ids) =>
    sameOrder(ids, appended) ? [] : [CatalogChange.OrderVariants({ productId, variantIds: ids })]
  )

  const gallery = product?.gallery ?? []
  const mediaNamed = imported.media ?? [...files.values()]
  const shown = mediaOf(gallery.filter(({ storeIds }) => storeIds.includes(storeId)))
  const { byDraft, byStore } = takenAway(shown, mediaNamed, accepted?.media, isComplete)
  const named = without(mediaNamed, byDraft)
  const galleryState: ListState = {
    here: mediaOf(gallery),
    named,
    shared: isOnlyStore ? [] : mediaOf(gallery.filter((entry) => !livesOnlyOn(entry, storeId))),
    isThere,
    accepted: accepted?.media
  }
  const gone = new Set(byStore)
  planning.list("media_ids", productId, galleryState, shown, (ids) =>
    setGallery(productId, gallery, galleryOf(ids, gallery, { gone, named }, storeId, match.heldElsewhere))
  )
  planning.accept(productId, product, values, imported, { media: mediaNamed, variants: variantIds })
  return { ...planning.plan(product === undefined), entityId: productId, variantIds }
}

const onStore = (entities: ReadonlyArray<Aggregate>, storeId: StoreId) =>
  entities.filter(({ storeIds }) => storeIds.includes(storeId)).map(({ id }) => id)

/** What importing a file that no product names changes; `id`: of the file that is here, else the one that it gets. */
export const planFile = (
  imported: StoreEntity,
  file: Aggregate | undefined,
  source: ImportSource,
  id: EntityId
): ImportPlan => {
  const planning = new Planning(source)
  planning.place(id, "media", null, file, imported)
  return planning.plan(file === undefined)
}

/** The orders of a collection that somebody gave it: any other is the store's own doing, and says nothing. */
const isOrdered = (values: Values) => values.sort_order === "manual"

/**
 * What importing a collection changes: its values as a product's. Its members are shared by its stores, so they follow the
 * store where it lives on this one alone, and stay where there are several.
 */
export const planCollection = (
  imported: StoreCollection,
  collection: Aggregate | undefined,
  source: ImportSource,
  id: EntityId
): ImportPlan => {
  const planning = new Planning(source)
  const version = collection === undefined ? undefined : versionOn(collection, source.storeId)
  const accepted = version?.accepted?.members
  const members = isOrdered(imported.values)
    ? imported.members
    : [
        ...among(accepted ?? collection?.members ?? [], imported.members),
        ...without(imported.members, accepted ?? collection?.members ?? [])
      ]
  const setMembers = (before: ReadonlyArray<EntityId>) => (productIds: ReadonlyArray<EntityId>) =>
    sameOrder(before, productIds) ? [] : [CatalogChange.SetMembers({ collectionId: id, productIds })]
  if (collection === undefined) {
    planning.create(id, "collection", null, imported)
    planning.changes.push(...setMembers([])(members))
    planning.accept(id, collection, imported.values, imported, { members })
    return planning.plan(true)
  }
  if (isPublishedSince(collection, source.storeId, source.begunAt)) return planning.plan(false)
  const values = saidOf(collection, imported, source)
  planning.bring(collection, values, imported.types ?? {})
  if (livesOnlyOn(collection, source.storeId)) {
    const { byDraft, byStore } = takenAway(collection.members, members, accepted, source.isComplete)
    const state: ListState = {
      here: without(collection.members, byStore),
      named: without(members, byDraft),
      shared: [],
      isThere: version !== undefined,
      accepted
    }
    planning.list("members", id, state, collection.members, setMembers(collection.members))
  }
  planning.accept(id, collection, values, imported, { members })
  return planning.plan(false)
}
