import { gramsOf } from "../imports/csv/ShopifyCsvCells.ts"
import { type Column, columnNames } from "../imports/csv/ShopifyCsvColumns.ts"
import { maxImages, variantImagesOf } from "../imports/StoreProduct.ts"
import { isWebAddress } from "../imports/StoreValue.ts"
import { noOption, readOptions } from "../model/ProductOptions.ts"

/** The keys of the values that the file has, by owner. */
export const csvKeys = {
  product: [
    ...(["handle", "title", "description_html", "vendor", "product_type", "tags", "status", "options"] as const),
    ...(["seo_title", "seo_description"] as const)
  ],
  variant: [
    ...(["option1", "option2", "option3", "sku", "weight", "weight_unit", "price", "compare_at_price"] as const),
    ...(["requires_shipping", "taxable", "barcode"] as const)
  ],
  image: ["url", "alt", "mime_type"]
} as const

/**
 * The values of an entity: those of `csvKeys`, then the value and the type of each metafield of its kind that has a column. Lists, because
 * parsing objects of values with their types took most of an export's time in this process.
 */
export interface Valued {
  readonly values: ReadonlyArray<string | null>
}

/** A product as a store has it: values with the store's overrides, its variants and its gallery in order. */
export interface ExportedProduct extends Valued {
  readonly id: string
  readonly variants: ReadonlyArray<Valued & { readonly imageUrl: string | null }>
  readonly images: ReadonlyArray<Valued>
}

/** A metafield that has a column. `name`: for the header. */
export interface MetafieldColumn {
  readonly owner: "product" | "variant"
  readonly key: string
  readonly name: string
}

const quote = (cell: string) =>
  cell !== "" && (/[",\r\n]/.test(cell) || cell !== cell.trim()) ? `"${cell.replaceAll('"', '""')}"` : cell

const record = (cells: ReadonlyArray<string>) => `${cells.map(quote).join(",")}\r\n`

/** The texts of a list. Empty: the value is not a list of texts. Not by a schema, which took longer than the rest of the record. */
const textsOf = (value: string): ReadonlyArray<string> => {
  if (value === "") return []
  try {
    const items: unknown = JSON.parse(value)
    return Array.isArray(items) && items.every((item) => typeof item === "string") ? items : []
  } catch {
    return []
  }
}

/** A list is written with semicolons, as in Shopify's exports, or as JSON if an import could not split it into the same items. */
const metafieldCell = (value: string, type: string) => {
  if (!type.startsWith("list.") || type.endsWith("_reference")) return value
  const items = textsOf(value)
  const isPlain = items.every((item) => item !== "" && item === item.trim() && !/^\[|;/.test(item))
  return isPlain && JSON.stringify(items) === value ? items.join("; ") : value
}

/** Makes the functions that return the value of a key. */
const reader =
  <Key extends string>(keys: ReadonlyArray<Key>) =>
  (key: Key) => {
    const place = keys.indexOf(key)
    return ({ values }: Valued) => values[place] ?? ""
  }
const ofProduct = reader(csvKeys.product)
const ofVariant = reader(csvKeys.variant)
const ofImage = reader(csvKeys.image)

const publishedOf = (status: string) =>
  status === "" ? "" : status === "active" || status === "unlisted" ? "true" : "false"

const options = ofProduct("options")
const optionValues = [ofVariant("option1"), ofVariant("option2"), ofVariant("option3")] as const

/** The names of the options. Options with values but without a name get one, because the file needs it. */
const optionNamesOf = (product: ExportedProduct): ReadonlyArray<string> => {
  const { variants } = product
  const names = readOptions(options(product))
  const [first = "", second = "", third = ""] = optionValues.map((valueOf, index) => {
    const isUsed = () => variants.some((variant) => valueOf(variant) !== "")
    return names[index]?.name ?? (!isUsed() ? "" : index === 0 ? noOption.name : `Option${index + 1}`)
  })
  return [variants.length > 0 && first === "" && second === "" ? noOption.name : first, second, third]
}

type Product = ExportedProduct & { readonly optionNames: ReadonlyArray<string> }
type Variant = ExportedProduct["variants"][number]

/** How the cells of a column are filled: from the product in its first record, from the variant or from the image. Other cells are empty. */
interface Cells {
  readonly column: Column
  readonly product?: (product: Product) => string
  readonly variant?: (variant: Variant) => string
  readonly image?: (image: Valued, index: number) => string
}

/** The handle and the title of a product. Empty: it has none. */
export const [handleOf, titleOf] = [ofProduct("handle"), ofProduct("title")]
const [tags, status] = [ofProduct("tags"), ofProduct("status")]
const [weight, weightUnit] = [ofVariant("weight"), ofVariant("weight_unit")]

/** Whether a product has a tag with a comma, at which an import splits the cell of the tags. */
export const hasTagWithComma = (product: ExportedProduct): boolean =>
  textsOf(tags(product)).some((tag) => tag.includes(","))

const product = (column: Column & (typeof csvKeys.product)[number]): Cells => ({ column, product: ofProduct(column) })
const variant = (column: Column & (typeof csvKeys.variant)[number]): Cells => ({ column, variant: ofVariant(column) })
const optionName = (column: Column, index: number): Cells => ({
  column,
  product: ({ optionNames }) => optionNames[index] ?? ""
})

/** The columns after the handle, in the order of Shopify's own exports. */
const columns: ReadonlyArray<Cells> = [
  ...(["title", "description_html", "vendor", "product_type"] as const).map(product),
  { column: "tags", product: (each) => textsOf(tags(each)).join(", ") },
  { column: "published", product: (each) => publishedOf(status(each)) },
  optionName("option1_name", 0),
  {
    column: "option1",
    variant: (each) => (optionValues.every((valueOf) => valueOf(each) === "") ? noOption.value : optionValues[0](each))
  },
  optionName("option2_name", 1),
  variant("option2"),
  optionName("option3_name", 2),
  ...(["option3", "sku"] as const).map(variant),
  { column: "grams", variant: (each) => (weight(each) === "" ? "" : gramsOf(weightUnit(each), weight(each))) },
  ...(["price", "compare_at_price", "requires_shipping", "taxable", "barcode"] as const).map(variant),
  { column: "image", image: ofImage("url") },
  { column: "image_position", image: (_, index) => String(index + 1) },
  { column: "image_alt", image: ofImage("alt") },
  ...(["seo_title", "seo_description"] as const).map(product),
  { column: "variant_image", variant: ({ imageUrl }) => imageUrl ?? "" },
  variant("weight_unit"),
  product("status")
]

/** The places in a record, after its handle, of the cells that an owner has. */
const cellsOf = <Owner extends "product" | "variant" | "image">(owner: Owner) =>
  columns.flatMap(({ [owner]: cell }, index) => (cell === undefined ? [] : [{ place: 1 + index, cell }]))
const ofOwner = { product: cellsOf("product"), variant: cellsOf("variant"), image: cellsOf("image") }

/** The header of the file. */
export const headerOf = (metafields: ReadonlyArray<MetafieldColumn>): string =>
  record([
    columnNames.handle[0],
    ...columns.map(({ column }) => columnNames[column][0]),
    ...metafields.map(({ key, name, owner }) => `${name || key} (${owner}.metafields.${key})`)
  ])

const [handle, url, mimeType] = [ofProduct("handle"), ofImage("url"), ofImage("mime_type")]

/** Whether the CSV can list a media file: an image with a web address. */
const isImage = (media: Valued) => isWebAddress(url(media)) && !/^(?:video\/|model\/|text\/html$)/.test(mimeType(media))

/** Whether the file has more images of a product than an import accepts. */
export const hasTooManyImages = ({ images, variants }: ExportedProduct): boolean => {
  // Most products have too few of both, whatever their addresses: an export looks at each.
  if (images.length + variants.length <= maxImages) return false
  const listed = images.filter(isImage).map((image) => ({ url: url(image) }))
  return listed.length + variantImagesOf({ images: listed, variants }).length > maxImages
}

/** The records of a product. A record has one variant and one image, which are unrelated, as in Shopify's exports. */
export const recordsOf = (exported: ExportedProduct, metafields: ReadonlyArray<MetafieldColumn>): string => {
  const { variants } = exported
  // Each record needs a handle. Without one the id is used, because no other product has it as its handle.
  const name = handle(exported) || exported.id
  const images = exported.images.filter(isImage)
  let product: Product | undefined = { ...exported, optionNames: optionNamesOf(exported) }
  let text = ""
  for (let index = 0; index < Math.max(1, variants.length, images.length); index++) {
    const variant = variants[index]
    const image = images[index]
    const cells = Array<string>(1 + columns.length).fill("")
    cells[0] = name
    if (product) for (const { cell, place } of ofOwner.product) cells[place] = cell(product)
    if (variant) for (const { cell, place } of ofOwner.variant) cells[place] = cell(variant)
    if (image) for (const { cell, place } of ofOwner.image) cells[place] = cell(image, index)
    const places = { product: csvKeys.product.length, variant: csvKeys.variant.length }
    for (const { owner } of metafields) {
      const values = (owner === "variant" ? variant : product)?.values ?? []
      cells.push(metafieldCell(values[places[owner]++] ?? "", values[places[owner]++] ?? ""))
    }
    text += record(cells)
    product = undefined
  }
  return text
}
