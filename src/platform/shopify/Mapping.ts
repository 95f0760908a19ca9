import { Either, Option, Schema } from "effect"
import { type Attributes, builtInFields, type EntityKind, isReservedKey, valueOf } from "../../model/Attribute.ts"
import { EntityId } from "../../model/Ids.ts"
import { hasNoOptions, noOption, optionKeys, type ProductOptions, readOptions } from "../../model/ProductOptions.ts"
import { handleOf, sameOnPlatform } from "../../model/SameValue.ts"
import type { PlatformRecord } from "../PlatformRecord.ts"
import type { PublishedEntity } from "../Publication.ts"
import type {
  CollectionValues,
  FileValues,
  LiveVariant,
  MetafieldValues,
  ProductValues,
  VariantValues
} from "./Answers.ts"

/** The metafield that holds our entity id on a record. Its value is unique among the records of a kind. */
export const idMetafield = { namespace: "catalog", key: "entity_id" }
const idKey = `${idMetafield.namespace}.${idMetafield.key}`

/**
 * Metafields that are no attributes. Shopify keeps the SEO title and description in two of them: sent beside `seo`, an older copy would
 * replace the new value.
 */
const ownKeys: ReadonlySet<string> = new Set([idKey, "global.title_tag", "global.description_tag"])

export const customIdOf = (entityId: EntityId) => ({ ...idMetafield, value: entityId })

const isEntityId = Schema.is(EntityId)

/** The entity that a record was published from; null: unknown. */
export const entityIdOf = (metafields: ReadonlyArray<MetafieldValues>): EntityId | null => {
  const value = metafields.find(({ key, namespace }) => `${namespace}.${key}` === idKey)?.value
  return isEntityId(value) ? value : null
}

type Texts = Readonly<Record<string, string>>

const toAttributes = (kind: EntityKind, texts: Texts, metafields: ReadonlyArray<MetafieldValues> = []): Attributes => ({
  ...Object.fromEntries(
    Object.entries(texts)
      .filter(([, value]) => value !== "")
      .map(([key, value]) => [key, { value, type: builtInFields[kind][key] ?? "single_line_text_field" }])
  ),
  ...Object.fromEntries(
    metafields
      .map(({ key, namespace, type, value }) => [`${namespace}.${key}`, { value, type }] as const)
      .filter(([key, { value }]) => !ownKeys.has(key) && value !== "")
  )
})

// Conversions of values that Shopify and the catalog write in different forms.

const unitByShopify: Texts = { GRAMS: "g", KILOGRAMS: "kg", POUNDS: "lb", OUNCES: "oz" }
const shopifyByUnit: Texts = Object.fromEntries(Object.entries(unitByShopify).map(([shopify, unit]) => [unit, shopify]))
/** The unit of a weight that has none. */
const defaultUnit = "g"

const fromConstant = (text: string) => text.toLowerCase().replaceAll("_", "-")
const toConstant = (text: string) => text.toUpperCase().replaceAll("-", "_")

const Tags = Schema.parseJson(Schema.Array(Schema.String))

const listOf = (text: string): ReadonlyArray<string> =>
  text === "" ? [] : Either.getOrElse(Schema.decodeEither(Tags)(text), () => [text])

const productTexts = (product: ProductValues): Texts => ({
  title: product.title,
  handle: product.handle,
  description_html: product.descriptionHtml,
  vendor: product.vendor,
  product_type: product.productType,
  tags: product.tags.length === 0 ? "" : JSON.stringify(product.tags),
  status: product.status.toLowerCase(),
  options: JSON.stringify(
    product.options.map(({ name, optionValues }) => ({ name, values: optionValues.map((value) => value.name) }))
  ),
  seo_title: product.seo.title ?? "",
  seo_description: product.seo.description ?? ""
})

const variantTexts = (variant: VariantValues): Texts => {
  const { requiresShipping, measurement } = variant.inventoryItem
  const [option1 = "", option2 = "", option3 = ""] = variant.selectedOptions.map(({ value }) => value)
  return {
    title: variant.selectedOptions.map(({ value }) => value).join(" / "),
    sku: variant.sku ?? "",
    barcode: variant.barcode ?? "",
    price: variant.price,
    compare_at_price: variant.compareAtPrice ?? "",
    weight: measurement.weight === null ? "" : String(measurement.weight.value),
    weight_unit: measurement.weight === null ? "" : (unitByShopify[measurement.weight.unit] ?? ""),
    option1,
    option2,
    option3,
    taxable: String(variant.taxable),
    requires_shipping: String(requiresShipping)
  }
}

const collectionTexts = (collection: CollectionValues): Texts => ({
  title: collection.title,
  handle: collection.handle,
  description_html: collection.descriptionHtml,
  sort_order: fromConstant(collection.sortOrder),
  seo_title: collection.seo.title ?? "",
  seo_description: collection.seo.description ?? ""
})

// Shopify's files have no metafields, so our entity id is part of the file name. If the name is taken, Shopify adds "_" and an id of
// its own.

const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
const namedAfter = new RegExp(`^(.*)-(${uuid})(?:_${uuid})?(\\.[^.]*)?$`)

const lastSegment = (url: string) => {
  const path = url.split(/[?#]/, 1)[0] ?? ""
  return path.slice(path.lastIndexOf("/") + 1)
}

/** Splits a file name before its last dot. */
const splitEnding = (name: string) => {
  const dot = name.lastIndexOf(".")
  return dot <= 0 ? { stem: name, ending: "" } : { stem: name.slice(0, dot), ending: name.slice(dot) }
}

/**
 * Adds our entity id to a file name, before the ending: `fair.jpg` becomes `fair-<id>.jpg`. The ending is that of the address, because
 * Shopify refuses another one, also if only its case differs.
 */
export const fileNameFor = ({ attributes, entityId }: PublishedEntity): string => {
  const source = lastSegment(valueOf(attributes, "url"))
  const { ending, stem } = splitEnding(valueOf(attributes, "file_name") || source)
  return `${stem || "file"}-${entityId}${splitEnding(source).ending || ending}`
}

/** Splits a file name into the original name and our entity id. */
const readFileName = (name: string): { readonly fileName: string; readonly entityId: EntityId | null } => {
  const [, stem = "", id, ending = ""] = namedAfter.exec(name) ?? []
  return isEntityId(id) ? { fileName: `${stem}${ending}`, entityId: id } : { fileName: name, entityId: null }
}

/** Whether a file of the store is this one: by our id in its name. An external video has no name, but the address of the video. */
export const isNamedAfter = (
  file: {
    readonly id: string
    readonly image?: { readonly url: string } | null | undefined
    readonly filename?: string | undefined
    readonly originUrl?: string | undefined
  },
  { attributes, entityId }: PublishedEntity
): boolean =>
  file.originUrl === undefined
    ? readFileName(file.filename ?? lastSegment(file.image?.url ?? "")).entityId === entityId
    : file.originUrl === valueOf(attributes, "url")

const fileTexts = (file: Exclude<FileValues, { __typename: "GenericFile" }>): Texts => {
  switch (file.__typename) {
    case "MediaImage":
      return {
        url: file.image?.url ?? "",
        mime_type: file.mimeType ?? "",
        width: String(file.image?.width ?? ""),
        height: String(file.image?.height ?? ""),
        file_size: String(file.originalSource?.fileSize ?? ""),
        file_name: lastSegment(file.image?.url ?? "")
      }
    case "Video": {
      const [source] = file.sources
      return {
        url: source?.url ?? "",
        mime_type: source?.mimeType ?? "video/mp4",
        width: String(source?.width ?? ""),
        height: String(source?.height ?? ""),
        file_size: String(source?.fileSize ?? ""),
        file_name: file.filename
      }
    }
    case "Model3d": {
      const [source] = file.sources
      return {
        url: source?.url ?? "",
        mime_type: source?.mimeType ?? "model/gltf-binary",
        file_size: String(source?.filesize ?? ""),
        file_name: file.filename
      }
    }
    case "ExternalVideo":
      return { url: file.originUrl, mime_type: "text/html" }
  }
}

const record = (
  kind: EntityKind,
  platformId: string,
  attributes: Attributes,
  more: Partial<Pick<PlatformRecord, "entityId" | "parentId" | "media" | "members" | "picture">> = {}
): PlatformRecord => ({ kind, platformId, entityId: null, parentId: null, attributes, media: [], members: [], ...more })

export const productRecord = (
  product: ProductValues,
  metafields: ReadonlyArray<MetafieldValues>,
  media: ReadonlyArray<string>
): PlatformRecord =>
  record("product", product.id, toAttributes("product", productTexts(product), metafields), {
    entityId: entityIdOf(metafields),
    media
  })

/** `picture`: the id of the variant's picture; null: none; undefined: unknown. */
export const variantRecord = (
  variant: VariantValues,
  metafields: ReadonlyArray<MetafieldValues>,
  parentId: string,
  picture: string | null | undefined
): PlatformRecord =>
  record("variant", variant.id, toAttributes("variant", variantTexts(variant), metafields), {
    entityId: entityIdOf(metafields),
    parentId,
    ...(picture !== undefined && { picture })
  })

/** The id of the picture that a store shows of a variant; null: none. */
export const pictureIdOf = ({ media }: Pick<LiveVariant, "media">): string | null => media.nodes[0]?.id ?? null

/** The record of a variant that was read by itself. */
export const liveVariantRecord = (variant: LiveVariant, parentId: string): PlatformRecord =>
  variantRecord(variant, variant.metafields.nodes, parentId, pictureIdOf(variant))

export const collectionRecord = (
  collection: CollectionValues,
  metafields: ReadonlyArray<MetafieldValues>,
  members: ReadonlyArray<string>
): PlatformRecord =>
  record("collection", collection.id, toAttributes("collection", collectionTexts(collection), metafields), {
    entityId: entityIdOf(metafields),
    members
  })

/** Converts a file to a record. None: the catalog has no such kind of media, for example a document. */
export const fileRecord = (file: FileValues): Option.Option<PlatformRecord> => {
  if (file.__typename === "GenericFile") return Option.none()
  const texts = fileTexts(file)
  const { entityId, fileName } = readFileName(texts.file_name ?? "")
  return Option.some(
    record("media", file.id, toAttributes("media", { ...texts, alt: file.alt ?? "", file_name: fileName }), {
      entityId
    })
  )
}

/** The sort order of a collection in which its members have the order that somebody gave them. */
export const manualOrder = "MANUAL"

// Inputs of mutations. A key that is missing in an entity's values is empty in the store.

/**
 * The handle of a record. If it replaces another one, the former address leads to the new one, as in Shopify's admin: by default there is no
 * redirect. The documentation of `redirectNewHandle` names no further access scope.
 */
const handleInput = (handle: string, current: { readonly handle: string } | null) =>
  handle === ""
    ? {}
    : { handle, ...(current !== null && current.handle !== handleOf(handle) && { redirectNewHandle: true }) }

/** `current`: the product that the store has. */
export const productInput = ({ attributes }: PublishedEntity, current: ProductValues | null) => {
  const text = (key: string) => valueOf(attributes, key)
  const status = text("status")
  return {
    title: text("title"),
    ...handleInput(text("handle"), current),
    descriptionHtml: text("description_html"),
    vendor: text("vendor"),
    productType: text("product_type"),
    tags: listOf(text("tags")),
    ...(status === "" ? {} : { status: toConstant(status) }),
    seo: { title: text("seo_title"), description: text("seo_description") }
  }
}

/** The product's options for the first publish. An option without a definition is added if a variant has a value for it. */
export const optionsOf = (product: PublishedEntity, variants: ReadonlyArray<PublishedEntity>): ProductOptions => {
  const definedOptions = readOptions(valueOf(product.attributes, "options"))
  const filled = optionKeys.map((key) => [...new Set(variants.map(({ attributes }) => valueOf(attributes, key)))])
  const used = filled.filter((values) => values.some((value) => value !== "")).length
  const options = Array.from({ length: Math.max(definedOptions.length, used) }, (_, index) => ({
    name: definedOptions[index]?.name ?? (index === 0 ? noOption.name : `Option ${index + 1}`),
    values: [...new Set([...(definedOptions[index]?.values ?? []), ...(filled[index] ?? [])])].filter(
      (value) => value !== ""
    )
  })).filter(({ values }) => values.length > 0)
  return options.length > 0 ? options : [{ name: noOption.name, values: [noOption.value] }]
}

export const optionValuesOf = ({ attributes }: PublishedEntity, names: ReadonlyArray<string>) =>
  names.map((optionName, index) => ({
    optionName,
    name: valueOf(attributes, optionKeys[index] ?? "") || (optionName === noOption.name ? noOption.value : "")
  }))

/** Whether a variant of the store has exactly these option values. */
export const hasOptions = ({ selectedOptions }: VariantValues, wanted: ReturnType<typeof optionValuesOf>): boolean =>
  selectedOptions.length === wanted.length &&
  selectedOptions.every(({ name, value }, index) => wanted[index]?.optionName === name && wanted[index].name === value)

/** The fields of a variant that the inputs of productSet and of the bulk mutations share. */
export const variantInput = ({ attributes }: PublishedEntity) => {
  const text = (key: string) => valueOf(attributes, key)
  const unit = shopifyByUnit[text("weight_unit") || defaultUnit]
  return {
    barcode: text("barcode"),
    ...(text("price") === "" ? {} : { price: text("price") }),
    compareAtPrice: text("compare_at_price") || null,
    ...(text("taxable") === "" ? {} : { taxable: text("taxable") === "true" }),
    inventoryItem: {
      sku: text("sku"),
      ...(text("requires_shipping") === "" ? {} : { requiresShipping: text("requires_shipping") === "true" }),
      // An emptied weight is sent as 0, because Shopify has no empty one. A weight that is not given stays as it is.
      ...(attributes.weight === undefined
        ? {}
        : { measurement: { weight: { value: Number(text("weight") || 0), unit } } })
    }
  }
}

/** `current`: the collection that the store has. */
export const collectionInput = ({ attributes }: PublishedEntity, current: CollectionValues | null) => {
  const text = (key: string) => valueOf(attributes, key)
  return {
    title: text("title"),
    ...handleInput(text("handle"), current),
    descriptionHtml: text("description_html"),
    ...(text("sort_order") === "" ? {} : { sortOrder: toConstant(text("sort_order")) }),
    seo: { title: text("seo_title"), description: text("seo_description") }
  }
}

const contentTypeOf = (mimeType: string) =>
  mimeType === "text/html"
    ? "EXTERNAL_VIDEO"
    : mimeType.startsWith("video/")
      ? "VIDEO"
      : mimeType.startsWith("model/")
        ? "MODEL_3D"
        : "IMAGE"

/** The input of a new file. An external video has no file name. */
export const fileInput = (media: PublishedEntity) => {
  const contentType = contentTypeOf(valueOf(media.attributes, "mime_type"))
  return {
    alt: valueOf(media.attributes, "alt"),
    originalSource: valueOf(media.attributes, "url"),
    contentType,
    ...(contentType === "EXTERNAL_VIDEO" ? {} : { filename: fileNameFor(media) })
  }
}

/**
 * The input of a file in a gallery. `id`: the file in the store, if there is one. A file with another id than `platformId` was found by
 * its name: its alt text may be from a publish that failed.
 */
export const galleryInput = (media: PublishedEntity, id: string | undefined) => {
  if (id === undefined) return fileInput(media)
  return id === media.platformId ? { id } : { id, alt: valueOf(media.attributes, "alt") }
}

const isMetafield = (key: string) => key.includes(".") && !ownKeys.has(key)

/** The metafields of a publication: all attributes whose key contains a dot. */
export const metafieldsOf = ({ attributes }: PublishedEntity): ReadonlyArray<MetafieldValues> =>
  Object.entries(attributes)
    .filter(([key]) => isMetafield(key))
    .map(([name, { type, value }]) => {
      const dot = name.lastIndexOf(".")
      return { namespace: name.slice(0, dot), key: name.slice(dot + 1), type, value }
    })

// Checks whether a store has the published values. Shopify normalizes some values, so they are compared by meaning.

const sameText = (key: string, type: string, ours: string, theirs: string): boolean =>
  sameOnPlatform(key, type, ours, theirs) || (key === "weight_unit" && (ours || defaultUnit) === theirs)

/** Keys for which Shopify chooses a value if the published value is empty. */
const filledByStore: ReadonlySet<string> = new Set([
  "handle",
  "status",
  "sort_order",
  "price",
  "taxable",
  "requires_shipping",
  "vendor",
  "option1",
  "option2",
  "option3"
])

/**
 * Whether the store may have any value. An emptied weight is 0 in any unit. A reserved metafield is not sent to a store that lacks it. A
 * variant without option values has one in the store if its product got its first option meanwhile.
 */
const isLeftToStore = (key: string, attributes: Attributes, theirs: Attributes): boolean => {
  if (isReservedKey(key)) return valueOf(theirs, key) === ""
  if (key === "weight") return attributes.weight === undefined
  if (key === "weight_unit") return Number(valueOf(attributes, "weight") || 0) === 0
  if (key === "option1" && hasNoOptions(attributes)) return true
  return filledByStore.has(key) && valueOf(attributes, key) === ""
}

/** Keys that a publication does not send, so they are not compared. */
const notSent: Readonly<Record<EntityKind, ReadonlySet<string>>> = {
  product: new Set(["options"]),
  variant: new Set(["title"]),
  collection: new Set(),
  media: new Set(["url", "mime_type", "width", "height", "file_size", "file_name"])
}

export const holds = (kind: EntityKind, { attributes }: PublishedEntity, theirs: Attributes): boolean =>
  [...Object.entries(builtInFields[kind]).map(([key, type]) => ({ key, type })), ...metafieldKeys(attributes)]
    .filter(({ key }) => !notSent[kind].has(key))
    .every(
      ({ key, type }) =>
        isLeftToStore(key, attributes, theirs) || sameText(key, type, valueOf(attributes, key), valueOf(theirs, key))
    )

const metafieldKeys = (attributes: Attributes) =>
  Object.entries(attributes).flatMap(([key, { type }]) => (isMetafield(key) ? [{ key, type }] : []))

/** Pairs each of our variants with at most one of the store's: by entity id, platform id, SKU, then option values. */
export const matchVariants = <Live extends LiveVariant>(
  ours: ReadonlyArray<PublishedEntity>,
  live: ReadonlyArray<Live>
): ReadonlyMap<EntityId, Live> => {
  const free = new Set(live)
  const matched = new Map<EntityId, Live>()
  const match = (isSame: (variant: PublishedEntity, other: Live) => boolean) => {
    for (const variant of ours) {
      if (matched.has(variant.entityId)) continue
      const found = [...free].filter((other) => isSame(variant, other))
      const [only] = found
      if (only === undefined || found.length > 1) continue
      matched.set(variant.entityId, only)
      free.delete(only)
    }
  }
  const isFree = ({ metafields }: Live) => entityIdOf(metafields.nodes) === null
  match((variant, other) => entityIdOf(other.metafields.nodes) === variant.entityId)
  match((variant, other) => isFree(other) && other.id === variant.platformId)
  match((variant, other) => {
    const sku = valueOf(variant.attributes, "sku")
    return isFree(other) && sku !== "" && other.sku === sku
  })
  match(
    (variant, other) =>
      isFree(other) &&
      other.selectedOptions.every(
        ({ name, value }, index) =>
          optionValuesOf(
            variant,
            other.selectedOptions.map((option) => option.name)
          )[index]?.name === value || name === ""
      )
  )
  return matched
}
