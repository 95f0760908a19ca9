import { Either } from "effect"
import { ImportFileRejected, quoted } from "../ImportedProduct.ts"

/**
 * The imported columns. Each has two names: in Shopify's exports, and in Shopify's newer template file if that differs.
 * Source: Shopify Help Center, "Using CSV files to import and export products".
 */
export const columnNames = {
  handle: ["Handle", "URL handle"],
  title: ["Title"],
  description_html: ["Body (HTML)", "Description"],
  vendor: ["Vendor"],
  product_type: ["Type"],
  tags: ["Tags"],
  status: ["Status"],
  published: ["Published", "Published on online store"],
  seo_title: ["SEO Title", "SEO title"],
  seo_description: ["SEO Description", "SEO description"],
  option1_name: ["Option1 Name", "Option1 name"],
  option2_name: ["Option2 Name", "Option2 name"],
  option3_name: ["Option3 Name", "Option3 name"],
  option1: ["Option1 Value", "Option1 value"],
  option2: ["Option2 Value", "Option2 value"],
  option3: ["Option3 Value", "Option3 value"],
  sku: ["Variant SKU", "SKU"],
  barcode: ["Variant Barcode", "Barcode"],
  price: ["Variant Price", "Price"],
  compare_at_price: ["Variant Compare At Price", "Compare-at price"],
  grams: ["Variant Grams", "Weight value (grams)"],
  weight_unit: ["Variant Weight Unit", "Weight unit for display"],
  taxable: ["Variant Taxable", "Charge tax"],
  requires_shipping: ["Variant Requires Shipping", "Requires shipping"],
  variant_image: ["Variant Image", "Variant image URL"],
  image: ["Image Src", "Product image URL"],
  image_position: ["Image Position", "Image position"],
  image_alt: ["Image Alt Text", "Image alt text"]
} as const

/** An imported column. Most columns have the same key as their attribute. */
export type Column = keyof typeof columnNames

/** The entries of a record, with typed keys. */
export const entriesOf = <Key extends string, Value>(record: Readonly<Record<Key, Value>>) =>
  Object.entries(record) as Array<[Key, Value]>

const columnOf: ReadonlyMap<string, Column> = new Map(
  entriesOf<Column, ReadonlyArray<string>>(columnNames).flatMap(([column, names]) =>
    names.map((name) => [name, column])
  )
)

/** A column with the values of one metafield. */
export interface MetafieldColumn {
  /** `namespace.key` */
  readonly key: string
  /** The metafield's name in the header; `""`: the header has only the key. */
  readonly name: string
  readonly index: number
}

/** The columns of a file. */
export interface Columns {
  /** Names of the columns, by index. A column without a name is called `(column <number>)`. */
  readonly names: ReadonlyArray<string>
  /** Indexes of the imported columns in the file. */
  readonly at: Readonly<Partial<Record<Column, number>>>
  readonly productMetafields: ReadonlyArray<MetafieldColumn>
  readonly variantMetafields: ReadonlyArray<MetafieldColumn>
  /** Indexes of the columns that are not imported. */
  readonly ignored: ReadonlyArray<number>
  /** Whether numbers may have a decimal comma, because commas do not separate the cells. */
  readonly hasDecimalCommas: boolean
}

const metafieldKey = /^[\w-]{1,255}\.[\w-]{1,64}$/

/** Finds the metafield key in a header such as `Color (product.metafields.shopify.color-pattern)`. null: not a metafield. */
const metafieldOf = (owner: "product" | "variant", name: string): string | null => {
  const mark = `(${owner}.metafields.`
  const start = name.lastIndexOf(mark)
  const key = start >= 0 && name.endsWith(")") ? name.slice(start + mark.length, -1) : ""
  return metafieldKey.test(key) ? key : null
}

/** Finds the metafield's name in a header such as `Color (product.metafields.shopify.color-pattern)`. */
const metafieldName = (column: string): string => column.slice(0, column.lastIndexOf("(")).trim()

/** Separators of cells. Excel uses semicolons in locales with decimal commas, and tabs in Unicode text. */
const separators = [",", ";", "\t", "|"] as const
type Separator = (typeof separators)[number]

const isHandle = (cell: string) => columnOf.get(cell.replaceAll('"', "").trim()) === "handle"

/** A line such as `sep=;`, which tells Excel the separator. Some programs write it in quotes. */
export const isSeparatorLine = (line: string): boolean => /^sep=.?\s*$/i.test(line)

/** Detects the separator in the first line with text: the one that yields a handle column, else the most frequent one. */
export const separatorOf = (text: string): Separator => {
  const line = /^.*[^\s",;|].*$/m.exec(text.replace(/^\uFEFF?(?:sep=.\s|"sep=."\s)?/i, ""))?.[0] ?? ""
  const unquoted = line.replaceAll(/"[^"]*"/g, "")
  const count = (separator: string) => unquoted.split(separator).length
  return (
    separators.find((separator) => line.split(separator).some(isHandle)) ??
    separators.reduce((best, separator) => (count(separator) > count(best) ? separator : best))
  )
}

/** Shopify's other exports. No product export has all `columns` of an entry, so these columns identify the other export. */
const otherExports: ReadonlyArray<{ readonly name: string; readonly columns: ReadonlyArray<string> }> = [
  { name: "an inventory export", columns: ["HS Code", "COO"] },
  { name: "an inventory export", columns: ["Location", "On hand"] },
  { name: "an inventory export", columns: ["Location", "On hand (current)"] },
  { name: "an inventory export", columns: ["Location", "On hand (new)"] },
  { name: "an inventory export", columns: ["Location", "Available"] },
  { name: "an inventory export", columns: ["Location", "Available (not editable)"] },
  { name: "a customer export", columns: ["First Name", "Last Name", "Email"] },
  { name: "an order export", columns: ["Financial Status", "Fulfillment Status"] },
  { name: "an order export", columns: ["Lineitem name", "Lineitem quantity"] },
  { name: "a discount export", columns: ["Discount Code", "Usage Limit"] },
  { name: "a gift card export", columns: ["Last Characters", "Initial Balance"] }
]

/** Explains which other export the file is. undefined: it is none of them. */
const otherExport = (names: ReadonlyArray<string>): string | undefined => {
  const columnNames = new Set(names)
  const found = otherExports.find(({ columns }) => columns.every((column) => columnNames.has(column)))
  return found === undefined
    ? undefined
    : `This is ${found.name} (it has the columns ${listed(found.columns)}), not a product export: in the Shopify admin, open Products, choose Export and import that file.`
}

/** Matches text that is a typical value of a product and never the name of a column. */
const telling = /^(?:true|false|deny|continue|active|draft|archived|unlisted|[\d.,-]+|https?:.*|<.*)$/is

/** Whether the first line has values instead of column names: at most one known name, and repeated or typical values. */
const isNoHeader = (cells: ReadonlyArray<string>): boolean => {
  const names = cells.flatMap((cell) => cell.trim() || [])
  const isColumn = (name: string) => columnOf.has(name) || metafieldOf("product", name) || metafieldOf("variant", name)
  if (names.some((name) => name.toLowerCase() === "handle") || names.filter(isColumn).length > 1) return false
  return new Set(names).size < names.length || names.some((name) => telling.test(name))
}

const listed = (names: ReadonlyArray<string>) => names.map(quoted).join(" and ")

/** Reads the columns of a header, or explains why it is not the header of a product export. */
export const readHeader = (
  line: number,
  cells: ReadonlyArray<string>,
  separator: string
): Either.Either<Columns, ImportFileRejected> => {
  const names = cells.map((cell, index) => cell.trim() || `(column ${index + 1})`)
  const refused = (reason: string) => Either.left(ImportFileRejected.at(line, null, reason))
  const other = otherExport(names)
  if (other !== undefined) return refused(other)
  if (isNoHeader(cells))
    return refused(
      "The first line is not a header: it has values, not the names of a product export's columns (Handle, Title, ...). Add the header line, or export the products again."
    )
  const at: Partial<Record<Column, number>> = {}
  const metafields = { product: new Map<string, number>(), variant: new Map<string, number>() }
  const ignored: Array<number> = []
  const places = new Map<string, number>()
  for (const [index, name] of names.entries()) {
    const rejected = (reason: string) => Either.left(ImportFileRejected.at(line, name, reason))
    const column = columnOf.get(name)
    const owner = (["product", "variant"] as const).find((kind) => metafieldOf(kind, name) !== null)
    const key = owner === undefined ? null : metafieldOf(owner, name)
    const first = places.get(name)
    if (first !== undefined)
      return rejected(`This column occurs twice: it is number ${first + 1} and number ${index + 1}.`)
    places.set(name, index)
    if (column !== undefined) {
      const same = at[column]
      if (same !== undefined) return rejected(`This column means the same as ${quoted(names[same] ?? "")}: keep one.`)
      at[column] = index
    } else if (owner !== undefined && key !== null) {
      const same = metafields[owner].get(key)
      if (same !== undefined) return rejected(`This column means the same as ${quoted(names[same] ?? "")}: keep one.`)
      metafields[owner].set(key, index)
    } else ignored.push(index)
  }
  const missing = [...(at.handle === undefined ? ["Handle"] : []), ...(at.title === undefined ? ["Title"] : [])]
  const spelled = missing.flatMap((name) => {
    const other = names.find((each) => each.toLowerCase() === name.toLowerCase())
    return other === undefined ? [] : [`the file has ${quoted(other)} instead of ${quoted(name)}`]
  })
  const isWrong = (reason: string) => refused(`This is not a header of a Shopify product export: ${reason}`)
  if (at.handle === undefined)
    return isWrong(`${[`${listed(missing)} ${missing.length === 1 ? "is" : "are"} missing`, ...spelled].join("; ")}.`)
  if (Object.keys(at).length + metafields.product.size + metafields.variant.size === 1)
    return isWrong('"Handle" is the only known column.')
  // A weight unit without a weight column is ignored.
  if (at.grams === undefined && at.weight_unit !== undefined) ignored.push(at.weight_unit)
  const columnsOf = (owner: "product" | "variant") =>
    [...metafields[owner]].map(([key, index]) => ({ key, name: metafieldName(names[index] ?? ""), index }))
  return Either.right({
    names,
    at,
    productMetafields: columnsOf("product"),
    variantMetafields: columnsOf("variant"),
    ignored: ignored.sort((left, right) => left - right),
    hasDecimalCommas: separator !== ","
  })
}
