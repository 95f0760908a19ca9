import { Either, Schema } from "effect"
import { gramsOf } from "../imports/csv/ShopifyCsvCells.ts"
import { type Column, columnNames } from "../imports/csv/ShopifyCsvColumns.ts"
import { readOptions } from "../imports/StoreValue.ts"
import { type Attributes, valueOf } from "../model/Attribute.ts"

/** A product as a store has it: values with the store's overrides, its variants and its gallery in order. */
export interface ExportedProduct {
  readonly id: string
  readonly values: Attributes
  readonly variants: ReadonlyArray<{ readonly values: Attributes; readonly imageUrl: string | null }>
  readonly images: ReadonlyArray<{ readonly values: Attributes }>
}

/** A metafield that has a column. `name`: for the header. */
export interface MetafieldColumn {
  readonly owner: "product" | "variant"
  readonly key: string
  readonly name: string
}

type Cells = Partial<Record<Column, string>>

/** The columns in the order of Shopify's own exports. */
const columns: ReadonlyArray<Column> = [
  ...(["handle", "title", "description_html", "vendor", "product_type", "tags", "published"] as const),
  ...(["option1_name", "option1", "option2_name", "option2", "option3_name", "option3"] as const),
  ...(["sku", "grams", "price", "compare_at_price", "requires_shipping", "taxable", "barcode"] as const),
  ...(["image", "image_position", "image_alt", "seo_title", "seo_description"] as const),
  ...(["variant_image", "weight_unit", "status"] as const)
]

const quote = (cell: string) =>
  /[",\r\n]/.test(cell) || cell !== cell.trim() ? `"${cell.replaceAll('"', '""')}"` : cell

const record = (cells: ReadonlyArray<string>) => `${cells.map(quote).join(",")}\r\n`

/** The header of the file. */
export const headerOf = (metafields: ReadonlyArray<MetafieldColumn>): string =>
  record([
    ...columns.map((column) => columnNames[column][0]),
    ...metafields.map(({ key, name, owner }) => `${name || key} (${owner}.metafields.${key})`)
  ])

const decodeTexts = Schema.decodeUnknownEither(Schema.parseJson(Schema.Array(Schema.String)))

const textsOf = (value: string) => Either.getOrElse(decodeTexts(value), () => [])

/** A list is written with semicolons, as in Shopify's exports, or as JSON if an import could not split it into the same items. */
const metafieldCell = (attributes: Attributes, key: string) => {
  const value = valueOf(attributes, key)
  if (!attributes[key]?.type.startsWith("list.") || attributes[key].type.endsWith("_reference")) return value
  const items = textsOf(value)
  const isPlain = items.every((item) => item !== "" && item === item.trim() && !/^\[|;/.test(item))
  return isPlain && JSON.stringify(items) === value ? items.join("; ") : value
}

const publishedOf = (status: string) =>
  status === "" ? "" : status === "active" || status === "unlisted" ? "true" : "false"

const optionNames = ["option1_name", "option2_name", "option3_name"] as const
const optionValues = ["option1", "option2", "option3"] as const

/** Shopify's words for the only variant of a product without options. */
const noOption = { option1_name: "Title", option1: "Default Title" }

/**
 * The names of the options. A position with values but without a name gets one, because the file needs a name for each column with
 * values.
 */
const optionCells = ({ values, variants }: ExportedProduct): Cells => {
  const names = readOptions(valueOf(values, "options")).map(({ name }) => name)
  const isUsed = (key: string) => variants.some((variant) => valueOf(variant.values, key) !== "")
  return Object.fromEntries(
    optionValues.flatMap((key, index) => {
      const name = names[index] ?? (isUsed(key) ? (index === 0 ? noOption.option1_name : `Option${index + 1}`) : "")
      return name === "" ? [] : [[optionNames[index] ?? key, name]]
    })
  )
}

const productCells = (product: ExportedProduct): Cells => {
  const { values, variants } = product
  const value = (key: string) => valueOf(values, key)
  const options = optionCells(product)
  return {
    title: value("title"),
    description_html: value("description_html"),
    vendor: value("vendor"),
    product_type: value("product_type"),
    tags: textsOf(value("tags")).join(", "),
    published: publishedOf(value("status")),
    seo_title: value("seo_title"),
    seo_description: value("seo_description"),
    status: value("status"),
    ...(variants.length > 0 && options.option1_name === undefined && options.option2_name === undefined
      ? { ...options, option1_name: noOption.option1_name }
      : options)
  }
}

const variantCells = ({ imageUrl, values }: ExportedProduct["variants"][number]): Cells => {
  const value = (key: string) => valueOf(values, key)
  const hasOptions = optionValues.some((key) => value(key) !== "")
  return {
    option1: hasOptions ? value("option1") : noOption.option1,
    option2: value("option2"),
    option3: value("option3"),
    sku: value("sku"),
    barcode: value("barcode"),
    price: value("price"),
    compare_at_price: value("compare_at_price"),
    requires_shipping: value("requires_shipping"),
    taxable: value("taxable"),
    grams: value("weight") === "" ? "" : gramsOf(value("weight_unit"), value("weight")),
    weight_unit: value("weight_unit"),
    variant_image: imageUrl ?? ""
  }
}

/** Whether the CSV can list a media file: an image with a web address. */
const isImage = ({ values }: ExportedProduct["images"][number]) =>
  /^https?:\/\//i.test(valueOf(values, "url")) && !/^(?:video\/|model\/|text\/html$)/.test(valueOf(values, "mime_type"))

/** The records of a product. A record has one variant and one image, which are unrelated, as in Shopify's exports. */
export const recordsOf = (product: ExportedProduct, metafields: ReadonlyArray<MetafieldColumn>): string => {
  // Each record needs a handle. Without one the id is used, because no other product has it as its handle.
  const handle = valueOf(product.values, "handle") || product.id
  const images = product.images.filter(isImage)
  let text = ""
  for (let index = 0; index < Math.max(1, product.variants.length, images.length); index++) {
    const variant = product.variants[index]
    const image = images[index]
    const cells: Cells = {
      handle,
      ...(index === 0 ? productCells(product) : {}),
      ...(variant === undefined ? {} : variantCells(variant)),
      ...(image === undefined
        ? {}
        : {
            image: valueOf(image.values, "url"),
            image_position: String(index + 1),
            image_alt: valueOf(image.values, "alt")
          })
    }
    const own = metafields.map(({ key, owner }) => {
      const attributes = owner === "variant" ? variant?.values : index === 0 ? product.values : undefined
      return attributes === undefined ? "" : metafieldCell(attributes, key)
    })
    text += record([...columns.map((column) => cells[column] ?? ""), ...own])
  }
  return text
}
