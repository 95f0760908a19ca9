import { Schema } from "effect"

/** Values by attribute key. An absent key inherits; `""` is deliberately empty. */
const ImportedValues = Schema.Record({ key: Schema.String, value: Schema.String })

/** A variant as a store's export holds it. */
export const ImportedVariant = Schema.Struct({
  /** Line of the file on which it stands, from 1. */
  line: Schema.Int,
  values: ImportedValues,
  /** Its own picture: null when the file does not say, `""` when it has none. */
  imageUrl: Schema.NullOr(Schema.String)
})
export type ImportedVariant = typeof ImportedVariant.Type

/** An image of a product's gallery as a store's export holds it. */
export const ImportedImage = Schema.Struct({
  /** Line of the file on which it stands, from 1. */
  line: Schema.Int,
  /** Absolute http or https address, as it stands in the file. */
  url: Schema.String,
  /** Its place in the gallery; an image without one comes after those that have one. */
  position: Schema.Int,
  /** Null when the file does not say. */
  alt: Schema.NullOr(Schema.String)
})
export type ImportedImage = typeof ImportedImage.Type

/** A product as a store's export holds it: a `StoreProduct` with its places in the file. Keys with a dot are metafields. */
export const ImportedProduct = Schema.Struct({
  /** First of its lines in the file, from 1. */
  line: Schema.Int,
  /** In lower case, as Shopify keeps handles. */
  handle: Schema.String,
  /** As the file spells it, where that is another one. */
  writtenHandle: Schema.optionalWith(Schema.String, { exact: true }),
  values: ImportedValues,
  /** In the order of the file. */
  variants: Schema.Array(ImportedVariant),
  /** By position, each address once. */
  images: Schema.Array(ImportedImage)
})
export type ImportedProduct = typeof ImportedProduct.Type

/**
 * A reason why a file cannot be imported: the line on which the record or cell begins, from 1, and the column by its header;
 * null when it is about the file as a whole, or about the whole line.
 */
export const ImportProblem = Schema.Struct({
  line: Schema.NullOr(Schema.Int),
  column: Schema.NullOr(Schema.String),
  reason: Schema.String
})
export type ImportProblem = typeof ImportProblem.Type

/** The problem on one line. */
export const problemText = ({ column, line, reason }: ImportProblem): string =>
  line === null ? reason : `Line ${line}${column === null ? "" : `, column ${quoted(column)}`}: ${reason}`

/** Problems of one file that are kept; the others are counted. */
export const maxProblems = 100

/** A file that cannot be imported. */
export class ImportFileRejected extends Schema.TaggedError<ImportFileRejected>()("ImportFileRejected", {
  /** The first ones, in the order in which they were found. */
  problems: Schema.NonEmptyArray(ImportProblem),
  /** How many there are in all. */
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

/** Collects the problems of a file while it is read on: the first ones, and how many there are. */
export class ImportProblems {
  private readonly first: Array<ImportProblem> = []
  count = 0

  add(problem: ImportProblem): void {
    this.count += 1
    if (this.first.length < maxProblems) this.first.push(problem)
  }

  /** Null while there are none. */
  get rejected(): ImportFileRejected | null {
    const [first, ...others] = this.first
    return first === undefined ? null : new ImportFileRejected({ problems: [first, ...others], count: this.count })
  }
}

const shownCharacters = 40

/** Text of a file as messages may repeat it: on one line, in quotes, no more than its beginning. */
export const quoted = (text: string): string =>
  text.length > shownCharacters ? `${JSON.stringify(text.slice(0, shownCharacters))}...` : JSON.stringify(text)
