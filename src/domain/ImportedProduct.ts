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
  handle: Schema.String,
  values: ImportedValues,
  /** In the order of the file. */
  variants: Schema.Array(ImportedVariant),
  /** By position, each address once. */
  images: Schema.Array(ImportedImage)
})
export type ImportedProduct = typeof ImportedProduct.Type

/**
 * A file that cannot be imported, and the first place in it that says why: the line on which the record or cell begins,
 * from 1, and the column by its header; null when it is about the file as a whole, or about the whole line.
 */
export class ImportFileRejected extends Schema.TaggedError<ImportFileRejected>()("ImportFileRejected", {
  line: Schema.NullOr(Schema.Int),
  column: Schema.NullOr(Schema.String),
  reason: Schema.String
}) {
  override get message() {
    const column = this.column === null ? "" : `, column ${quoted(this.column)}`
    return this.line === null ? this.reason : `Line ${this.line}${column}: ${this.reason}`
  }
}

const shownCharacters = 40

/** Text of a file as messages may repeat it: on one line, in quotes, no more than its beginning. */
export const quoted = (text: string): string =>
  text.length > shownCharacters ? `${JSON.stringify(text.slice(0, shownCharacters))}...` : JSON.stringify(text)
