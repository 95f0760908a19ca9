import { Either } from "effect"
import type { EntityKind } from "../../model/Attribute.ts"
import { noOption, optionKeys, titleByOptions } from "../../model/ProductOptions.ts"
import { DigestMap } from "../../runtime/DigestMap.ts"
import { ImportedProduct, type ImportedVariant, type ImportProblems, quoted } from "../ImportedProduct.ts"
import { maxImages, variantImagesOf } from "../StoreProduct.ts"
import * as Cells from "./ShopifyCsvCells.ts"
import { type Column, type Columns, entriesOf, type MetafieldColumn } from "./ShopifyCsvColumns.ts"

/** The cells of a record and the line on which it begins, from 1. */
export interface CsvRecord {
  readonly line: number
  readonly cells: ReadonlyArray<string>
}

/** Shopify's own limit. Its exports never exceed it. */
const maxVariants = 2048
const tooManyImages = `A product has at most ${maxImages} images.`

/** Rules of the cells on a product's first line that become attributes with the same key. */
const productRules = {
  title: Cells.lineOfText,
  description_html: Cells.anyText,
  vendor: Cells.lineOfText,
  product_type: Cells.lineOfText,
  tags: Cells.tagList,
  seo_title: Cells.lineOfText,
  seo_description: Cells.anyText
} satisfies Partial<Record<Column, Cells.CellRule>>

/** Rules of the cells that become attributes of a variant. `amount`: the rule for prices. */
const variantRules = (amount: Cells.CellRule) =>
  ({
    sku: Cells.skuText,
    barcode: Cells.lineOfText,
    price: amount,
    compare_at_price: amount,
    taxable: Cells.yesOrNo,
    requires_shipping: Cells.yesOrNo
  }) satisfies Partial<Record<Column, Cells.CellRule>>

const bounded = <Key extends Column>(kind: EntityKind, rules: Readonly<Record<Key, Cells.CellRule>>) =>
  entriesOf(rules).map(([key, rule]): [Key, Cells.CellRule] => [key, Cells.within(kind, key, rule)])

const productEntries = bounded("product", productRules)
/** The value of an option, or its name. */
const optionText = Cells.within("variant", "option1", Cells.lineOfText)
const altText = Cells.within("media", "alt", Cells.anyText)

const optionNames = ["option1_name", "option2_name", "option3_name"] as const

/** A line has a variant if any of these columns is filled. */
const variantMarks = [...optionKeys, "sku", "barcode", "price"] as const

type Values = Record<string, string>

interface DraftImage {
  readonly line: number
  readonly url: string
  readonly position: number | null
  readonly alt: string | null
}

/** A product whose last line may not have been read yet. */
interface Draft {
  readonly line: number
  readonly handle: string
  readonly writtenHandle: string
  readonly values: Values
  readonly options: ReadonlyArray<string>
  /** Line numbers of the variants, by option values, or by SKU if the file has no options. Finds duplicate variants. */
  readonly identities: Map<string, number>
  readonly variants: Array<ImportedVariant>
  readonly images: Map<string, DraftImage>
}

/** One line and its cells by column. Reports at most one problem per cell. */
class Line {
  readonly columns: Columns
  readonly record: CsvRecord
  readonly problems: ImportProblems
  /** Indexes of the cells that have a problem; null stands for the whole line. */
  readonly rejected: Array<number | null> = []

  constructor(columns: Columns, record: CsvRecord, problems: ImportProblems) {
    this.columns = columns
    this.record = record
    this.problems = problems
  }

  reject(column: Column | null, reason: string): void {
    const index = column === null ? undefined : this.columns.at[column]
    this.rejectAt(index ?? null, reason)
  }

  rejectAt(index: number | null, reason: string): void {
    if (this.rejected.includes(index)) return
    this.rejected.push(index)
    const before = index === null ? [] : this.record.cells.slice(0, index)
    this.problems.add({
      line: before.reduce((line, cell) => line + Cells.lineBreaks(cell), this.record.line),
      column: index === null ? null : (this.columns.names[index] ?? null),
      reason
    })
  }

  has(column: Column): boolean {
    return this.columns.at[column] !== undefined
  }

  cell(column: Column): string {
    const index = this.columns.at[column]
    return index === undefined ? "" : (this.record.cells[index] ?? "")
  }

  isFilled(column: Column): boolean {
    return !Cells.isBlank(this.cell(column))
  }

  /** The value of the cell: `""` if it is blank, null if the file has no such column. */
  read(column: Column, rule: Cells.CellRule): string | null {
    const index = this.columns.at[column]
    return index === undefined ? null : this.readAt(index, rule)
  }

  readAt(index: number, rule: Cells.CellRule): string {
    const cell = this.record.cells[index] ?? ""
    if (Cells.isBlank(cell)) return ""
    const value = rule(cell)
    if (Either.isRight(value)) return value.right
    this.rejectAt(index, value.left)
    return ""
  }

  put(values: Values, key: string, value: string | null): void {
    if (value !== null) values[key] = value
  }

  putMetafields(values: Values, metafields: ReadonlyArray<MetafieldColumn>): void {
    for (const { index, key } of metafields) values[key] = this.readAt(index, Cells.anyText)
  }
}

/**
 * Reads the lines of a product export into products. A product is complete when the next product begins.
 *
 * The values of a product come from its first line. A line has a variant if an option value, SKU, barcode or price is filled, and
 * an image if an image address is filled, else it is skipped. A blank cell is an empty value; a missing column changes nothing.
 */
export class ShopifyCsvProducts {
  readonly columns: Columns
  readonly problems: ImportProblems
  readonly amount: Cells.CellRule
  readonly variantEntries: ReadonlyArray<[Column, Cells.CellRule]>
  /** The handle of a product whose first line is malformed. Its further lines are skipped. */
  unreadable: string | null = null
  /** Line on which each handle first occurs. Detects a product whose lines do not follow one another. */
  readonly seen = new DigestMap()
  readonly ignoredCells: Array<number>
  current: Draft | null = null
  products = 0
  variants = 0
  images = 0
  /** Lines after a product's first line that have neither a variant nor an image. */
  skippedLines = 0
  /** Active products that are not published to the online store. */
  unpublished = 0

  constructor(columns: Columns, problems: ImportProblems) {
    this.columns = columns
    this.problems = problems
    this.amount = columns.hasDecimalCommas ? Cells.decimalCommaNumber : Cells.decimalNumber
    this.variantEntries = bounded("variant", variantRules(this.amount))
    this.ignoredCells = columns.ignored.map(() => 0)
  }

  /** Reads the next record. Adds values that do not fit to the problems. Returns the product before it, if that is complete. */
  take(record: CsvRecord): ImportedProduct | null {
    return record.cells.every(Cells.isBlank) ? null : this.read(new Line(this.columns, record, this.problems))
  }

  /** Returns the last product; null: the file had none. */
  end(): ImportedProduct | null {
    const completed = this.complete()
    this.current = null
    return completed
  }

  read(line: Line): ImportedProduct | null {
    const { cells } = line.record
    if (cells.length !== this.columns.names.length) {
      line.reject(null, `The record has ${cells.length} cells, the header has ${this.columns.names.length}.`)
      return this.passOver(line.cell("handle").trim().toLowerCase())
    }
    const handle = line.read("handle", Cells.handleText)
    if (!handle) {
      line.reject("handle", "Every line must name its product by a handle.")
      return null
    }
    if (handle === this.unreadable) return null
    this.columns.ignored.forEach((index, place) => {
      if (!Cells.isBlank(cells[index] ?? "")) this.ignoredCells[place] = (this.ignoredCells[place] ?? 0) + 1
    })
    const isFurther = this.current?.handle === handle
    const completed = isFurther ? null : this.complete()
    const draft = isFurther && this.current !== null ? this.current : this.begin(line, handle)
    if (draft === null) return completed
    const isVariant = variantMarks.some((column) => line.isFilled(column))
    const isImage = line.isFilled("image")
    if (isVariant) this.readVariant(line, draft)
    if (isImage) this.readImage(line, draft)
    if (isFurther && !isVariant && !isImage) this.skippedLines++
    return completed
  }

  /** Skips a malformed line. If a product begins on it, its further lines are skipped without another problem. */
  passOver(handle: string): ImportedProduct | null {
    if (handle === this.current?.handle) return null
    const completed = this.complete()
    this.current = null
    this.unreadable = handle
    return completed
  }

  /** Begins a product. null: an earlier product of the file has the same handle. */
  begin(line: Line, handle: string): Draft | null {
    const earlier = this.seen.get(handle)
    if (earlier !== undefined) {
      line.reject(
        "handle",
        `The product ${quoted(handle)} begins on line ${earlier}: its lines must follow one another.`
      )
      this.current = null
      this.unreadable = handle
      return null
    }
    this.unreadable = null
    this.seen.set(handle, line.record.line)
    if (line.has("title") && !line.isFilled("title"))
      line.reject("title", "The first line of a product must have its title.")
    const values: Values = { handle }
    for (const [column, rule] of productEntries) line.put(values, column, line.read(column, rule))
    line.put(values, "status", this.readStatus(line))
    line.putMetafields(values, this.columns.productMetafields)
    this.current = {
      line: line.record.line,
      handle,
      writtenHandle: line.cell("handle").trim(),
      values,
      options: optionNames.map((column) => {
        // A name that is refused is kept, so that the values of its variants are not refused too.
        line.read(column, optionText)
        // Shopify refuses " / " in the name of an option, because it separates the values in a variant's title.
        return line.cell(column).trim().replaceAll(" / ", "/")
      }),
      identities: new Map(),
      variants: [],
      images: new Map()
    }
    return this.current
  }

  /**
   * An active product that is not published to the online store is invisible there. It is imported as a draft, because the next
   * publish of an active product would make it visible.
   */
  readStatus(line: Line): string | null {
    const status = line.read("status", Cells.productStatus)
    const published = line.read("published", Cells.publishedStatus)
    if (status !== "active" || published !== "draft") return status ?? published
    this.unpublished++
    return published
  }

  readVariant(line: Line, draft: Draft): void {
    if (draft.variants.length === maxVariants) {
      line.reject(null, `A product has at most ${maxVariants} variants.`)
      return
    }
    const values: Values = {}
    for (const [column, rule] of this.variantEntries) line.put(values, column, line.read(column, rule))
    this.readWeight(line, values)
    this.readOptions(line, draft, values)
    line.putMetafields(values, this.columns.variantMetafields)
    const byOptions = line.has("option1")
    const identity = JSON.stringify(byOptions ? optionKeys.map((column) => values[column]) : (values.sku ?? ""))
    const twin = draft.identities.get(identity)
    if (twin !== undefined)
      line.reject(
        byOptions ? "option1" : line.has("sku") ? "sku" : null,
        byOptions
          ? `The variant on line ${twin} has the same option values.`
          : `This variant cannot be distinguished from the one on line ${twin}: variants need option values or different SKUs.`
      )
    draft.identities.set(identity, line.record.line)
    draft.variants.push({
      line: line.record.line,
      values,
      imageUrl: line.read("variant_image", Cells.webAddress)
    })
    this.variants++
  }

  /** Reads the weight and its unit. Grams without a unit stay grams. */
  readWeight(line: Line, values: Values): void {
    const grams = line.read("grams", this.amount)
    if (grams === null) return
    const unit = line.read("weight_unit", Cells.weightUnit) || "g"
    values.weight = grams === "" ? "" : Cells.weightIn(unit, grams)
    values.weight_unit = unit
  }

  readOptions(line: Line, draft: Draft, values: Values): void {
    for (const column of optionKeys) line.put(values, column, line.read(column, optionText))
    if (!line.has("option1")) return
    const [firstName = ""] = draft.options
    if (optionKeys.every((column) => !values[column]) && (firstName === "" || firstName === noOption.name))
      values.option1 = noOption.value
    for (const [index, column] of optionKeys.entries()) {
      const nameColumn = optionNames[index] ?? "option1_name"
      if (!line.has(nameColumn) || !line.has(column)) continue
      const name = draft.options[index] ?? ""
      if (name !== "" && values[column] === "")
        line.reject(column, `The product has the option ${quoted(name)}, but this variant has no value for it.`)
      if (name === "" && values[column] !== "" && values[column] !== noOption.value)
        line.reject(
          column,
          `This option has no name: fill in ${quoted(this.columns.names[this.columns.at[nameColumn] ?? 0] ?? "")} on the product's first line.`
        )
    }
    values.title = titleByOptions((column) => values[column] ?? "")
  }

  readImage(line: Line, draft: Draft): void {
    const url = line.read("image", Cells.webAddress) ?? ""
    const position = line.read("image_position", Cells.wholeNumber)
    const alt = line.read("image_alt", altText)
    // Handwritten files repeat the same image on several lines. The first image above the limit is kept, so that it is reported once.
    if (draft.images.has(url) || draft.images.size > maxImages) return
    draft.images.set(url, { line: line.record.line, url, position: position ? Number(position) : null, alt })
    if (draft.images.size > maxImages) line.reject(null, tooManyImages)
    this.images++
  }

  complete(): ImportedProduct | null {
    const draft = this.current
    if (draft === null) return null
    this.products++
    const images = [...draft.images.values()]
    const ofVariants = variantImagesOf({ images, variants: draft.variants }).length
    if (images.length <= maxImages && images.length + ofVariants > maxImages)
      this.problems.add({ line: draft.line, column: null, reason: tooManyImages })
    const last = Math.max(0, ...images.flatMap(({ position }) => position ?? []))
    let behind = 0
    return ImportedProduct.make(
      {
        line: draft.line,
        handle: draft.handle,
        ...(draft.writtenHandle === draft.handle ? {} : { writtenHandle: draft.writtenHandle }),
        values: this.columns.at.option1 === undefined ? draft.values : { ...draft.values, ...this.optionsOf(draft) },
        variants: draft.variants,
        images: images
          .map((image) => ({ ...image, position: image.position ?? last + ++behind }))
          .sort((left, right) => left.position - right.position)
      },
      { disableValidation: true }
    )
  }

  /** The product's options: names from the first line, values in the order of the file. */
  optionsOf({ options, variants }: Draft): Values {
    if (this.columns.at.option1_name === undefined) return {}
    const optionNames = optionKeys.flatMap((column, index) => {
      const values = [...new Set(variants.flatMap((variant) => variant.values[column] || []))]
      const name = options[index] || (values.length > 0 ? noOption.name : "")
      return name === "" ? [] : [{ name, values }]
    })
    return { options: optionNames.length === 0 ? "" : JSON.stringify(optionNames) }
  }
}
