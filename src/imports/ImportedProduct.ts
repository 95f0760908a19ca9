import { Schema } from "effect"

/** Values by attribute key. A key that is absent inherits; `""` is deliberately empty. */
const ImportedValues = Schema.Record({ key: Schema.String, value: Schema.String })

/** A variant in a store's export. */
export const ImportedVariant = Schema.Struct({
  /** Line of the file, from 1. */
  line: Schema.Int,
  values: ImportedValues,
  /** Address of the variant's own image. null: the file has no such column; `""`: the variant has no image. */
  imageUrl: Schema.NullOr(Schema.String)
})
export type ImportedVariant = typeof ImportedVariant.Type

/** An image of a product's gallery in a store's export. */
const ImportedImage = Schema.Struct({
  /** Line of the file, from 1. */
  line: Schema.Int,
  /** Absolute http or https address, unchanged. */
  url: Schema.String,
  /** Position in the gallery. Images without one in the file come last. */
  position: Schema.Int,
  /** null: the file has no such column. */
  alt: Schema.NullOr(Schema.String)
})
export type ImportedImage = typeof ImportedImage.Type

/** A product in a store's export: a `StoreProduct` with line numbers. Keys with a dot are metafields. */
export const ImportedProduct = Schema.Struct({
  /** The first line of the product in the file, from 1. */
  line: Schema.Int,
  /** In lower case, as Shopify keeps handles. */
  handle: Schema.String,
  /** The handle as the file spells it, if that differs. */
  writtenHandle: Schema.optionalWith(Schema.String, { exact: true }),
  values: ImportedValues,
  /** In the order of the file. */
  variants: Schema.Array(ImportedVariant),
  /** By position, without duplicate addresses. */
  images: Schema.Array(ImportedImage)
})
export type ImportedProduct = typeof ImportedProduct.Type

/**
 * A problem of a file. `line`: the line on which the record or cell begins, from 1; null: the problem concerns the whole file.
 * `column`: the header of the column; null: the problem concerns the whole line.
 */
export const ImportProblem = Schema.Struct({
  line: Schema.NullOr(Schema.Int),
  column: Schema.NullOr(Schema.String),
  reason: Schema.String
})
export type ImportProblem = typeof ImportProblem.Type

/** The problem as one line of text. */
export const problemText = ({ column, line, reason }: ImportProblem): string =>
  line === null ? reason : `Line ${line}${column === null ? "" : `, column ${quoted(column)}`}: ${reason}`

/** Maximum number of problems that are kept. Further problems are only counted. */
const maxProblems = 100

/** A file that cannot be imported. */
export class ImportFileRejected extends Schema.TaggedError<ImportFileRejected>()("ImportFileRejected", {
  /** The first problems, in the order of the file. */
  problems: Schema.NonEmptyArray(ImportProblem),
  /** The number of all problems, which may be more than `problems` has. */
  count: Schema.Int
}) {
  /** A file with one problem. */
  static readonly at = (line: number | null, column: string | null, reason: string) =>
    new ImportFileRejected({ problems: [{ line, column, reason }], count: 1 })

  override get message() {
    const first = problemText(this.problems[0])
    return this.count === 1 ? first : `The file has ${this.count} problems. The first: ${first}`
  }
}

/** Collects the first problems of a file and counts all. */
export class ImportProblems {
  private readonly first: Array<ImportProblem> = []
  count = 0

  add(problem: ImportProblem): void {
    this.count += 1
    if (this.first.length < maxProblems) this.first.push(problem)
  }

  /** null: no problems. */
  get rejected(): ImportFileRejected | null {
    const [first, ...others] = this.first
    return first === undefined ? null : new ImportFileRejected({ problems: [first, ...others], count: this.count })
  }
}

const shownCharacters = 40

/** Quotes text of a file for a message, on one line and shortened to 40 characters. */
export const quoted = (text: string): string =>
  text.length > shownCharacters ? `${JSON.stringify(text.slice(0, shownCharacters))}...` : JSON.stringify(text)
