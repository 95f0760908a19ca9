import { isUtf8 } from "node:buffer"
import type { Stats } from "node:fs"
import { type FileHandle, open, stat } from "node:fs/promises"
import { TextDecoder } from "node:util"
import { CsvError, type Options, Parser } from "csv-parse"
import { parse } from "csv-parse/sync"
import { Chunk, Data, Effect, Either, Option, Predicate, Stream } from "effect"
import { type ImportedProduct, ImportFileRejected, ImportProblems } from "../ImportedProduct.ts"
import { lineBreaks } from "./ShopifyCsvCells.ts"
import { isSeparatorLine, type MetafieldColumn, readHeader, separatorOf } from "./ShopifyCsvColumns.ts"
import { type CsvRecord, ShopifyCsvProducts } from "./ShopifyCsvProducts.ts"

/** A column that is not imported, and the number of its cells with a value. */
export interface IgnoredColumn {
  readonly name: string
  readonly filledCells: number
}

/** The properties by which a changed file is noticed: at least one differs after it was written to or replaced. */
export interface FileVersion {
  readonly device: number
  readonly inode: number
  readonly size: number
  readonly modifiedMillis: number
}

/** Totals of a whole export. */
export interface ShopifyCsvSummary {
  readonly products: number
  readonly variants: number
  readonly images: number
  /** Lines after a product's first line that have neither a variant nor an image. */
  readonly skippedLines: number
  /** Active products that are not published to the online store. They are imported as drafts. */
  readonly unpublished: number
  /** Whether the file has a title column. Without it, only existing products can be imported. */
  readonly hasTitle: boolean
  /** In the order of the file. */
  readonly productMetafields: ReadonlyArray<MetafieldColumn>
  readonly variantMetafields: ReadonlyArray<MetafieldColumn>
  /** Names of the columns, by index. */
  readonly columnNames: ReadonlyArray<string>
  /** In the order of the file. */
  readonly ignoredColumns: ReadonlyArray<IgnoredColumn>
  readonly version: FileVersion
  /** Number of rows, without the header and empty lines. */
  readonly rows: number
}

/** The parts of an export: its products in the order of the file, then one summary. */
export type ShopifyCsvPart = Data.TaggedEnum<{
  Product: {
    readonly product: ImportedProduct
    /** Number of rows up to the last one of the product. */
    readonly rowsRead: number
    readonly bytesRead: number
    readonly totalBytes: number
  }
  Summary: ShopifyCsvSummary
}>
export const ShopifyCsvPart = Data.taggedEnum<ShopifyCsvPart>()

const chunkBytes = 65_536
/** Maximum length of a line or record. Shopify's longest value, a description, has at most half as many bytes. */
const maxRecordBytes = 1_048_576

const aboutFile = (reason: string) => ImportFileRejected.at(null, null, reason)
const aboutLine = (line: number, reason: string) => ImportFileRejected.at(line, null, reason)

export const empty = () => aboutFile("The file is empty.")
const changed = () => aboutFile("The file was changed or replaced while it was read: import it again.")

const csvOptions: Options = {
  bom: true,
  record_delimiter: ["\r\n", "\n", "\r"],
  relax_column_count: true,
  skip_empty_lines: true,
  max_record_size: maxRecordBytes
}

const unreadable =
  (path: string) =>
  (error: unknown): ImportFileRejected => {
    const code = Predicate.hasProperty(error, "code") ? String(error.code) : "unknown"
    if (code === "ENOENT" || code === "ENOTDIR") return aboutFile(`There is no such file: ${path}`)
    if (code === "EACCES" || code === "EPERM") return aboutFile("The service has no permission to read the file.")
    return aboutFile(`The file cannot be read (${code}).`)
  }

/** Offset after the last complete UTF-8 character. */
const completeCharacters = (bytes: Buffer): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/**
 * The name of the UTF-16 in which a file begins: with a byte order mark (Excel's "Unicode Text"), or with a letter of its header, of which
 * one byte is zero. Undefined: it begins in UTF-8.
 */
const utf16NameOf = ([first, second]: Buffer): string | undefined => {
  if (second === 0 || (first === 0xff && second === 0xfe)) return "utf-16le"
  return first === 0 || (first === 0xfe && second === 0xff) ? "utf-16be" : undefined
}

/**
 * Converts chunks of a file to UTF-8 text that ends at a whole character, and limits the length of lines. The file must be
 * valid UTF-8 or UTF-16.
 */
class TextBytes {
  utf16: TextDecoder | null = null
  line = 1
  lineLength = 0
  endedInReturn = false
  isFirst = true
  rest: Buffer = Buffer.alloc(0)

  take(chunk: Buffer): Either.Either<Buffer, ImportFileRejected> {
    if (this.isFirst) {
      const name = utf16NameOf(chunk)
      if (name !== undefined) this.utf16 = new TextDecoder(name, { fatal: true })
      this.isFirst = false
    }
    if (this.utf16 !== null) return this.takeUtf16(this.utf16, chunk)
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk])
    const end = completeCharacters(bytes)
    const text = bytes.subarray(0, end)
    const first = { line: this.line, endedInReturn: this.endedInReturn }
    this.rest = bytes.subarray(end)
    const problem = this.countLines(text)
    if (problem !== null) return Either.left(problem)
    if (isUtf8(text)) return Either.right(text)
    this.line = first.line
    this.endedInReturn = first.endedInReturn
    return Either.left(this.notUtf8(text))
  }

  /** Decodes a chunk of UTF-16. Without a chunk, ends the decoding at the end of the file. */
  takeUtf16(decoder: TextDecoder, chunk?: Buffer): Either.Either<Buffer, ImportFileRejected> {
    return Either.flatMap(
      Either.try({
        try: () => Buffer.from(chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })),
        catch: () => aboutLine(this.line, "The file is not valid UTF-16 from here on: save it as UTF-8.")
      }),
      (text) => {
        const problem = this.countLines(text)
        return problem === null ? Either.right(text) : Either.left(problem)
      }
    )
  }

  /** Checks the remaining bytes at the end of the file. */
  end(): Either.Either<void, ImportFileRejected> {
    if (this.utf16 !== null) return Either.map(this.takeUtf16(this.utf16), () => undefined)
    return this.rest.length === 0 ? Either.void : Either.left(this.notUtf8(this.rest))
  }

  countLines(text: Buffer): ImportFileRejected | null {
    for (const byte of text) {
      if (byte === 0) return aboutLine(this.line, "The file contains U+0000: it is not a text file.")
      if (byte === 10 || byte === 13) {
        if (byte === 13 || !this.endedInReturn) this.line++
        this.lineLength = 0
      } else if (++this.lineLength > maxRecordBytes) return aboutLine(this.line, "The line is longer than 1 MiB.")
      this.endedInReturn = byte === 13
    }
    return null
  }

  notUtf8(text: Buffer): ImportFileRejected {
    let start = 0
    for (let end = 0; end < text.length; end++) {
      if (text[end] !== 10 && text[end] !== 13) continue
      if (!isUtf8(text.subarray(start, end))) break
      this.countLines(text.subarray(start, end + 1))
      start = end + 1
    }
    return aboutLine(
      this.line,
      'The file is not valid UTF-8 here (perhaps it is Windows-1252): save it as UTF-8 (Excel: "CSV UTF-8").'
    )
  }
}

/** Parses text into records, each with the line on which it begins. */
class CsvRecords {
  /** The line after the last record. Empty lines before the next record are not counted yet. */
  line = 1
  emptyLines = 0
  /** Offset after the last record, in bytes. */
  end = 0
  records: Array<CsvRecord> = []
  /** Bytes of a record that is not complete yet. */
  pending: Buffer = Buffer.alloc(0)
  readonly separator: string
  readonly parser: Parser

  constructor(separator: string) {
    this.separator = separator
    this.parser = new Parser({
      ...csvOptions,
      delimiter: separator,
      // Records are collected here and never reach the readable side of the stream.
      on_record: (cells: ReadonlyArray<string>, info) => {
        const line = this.line + info.empty_lines - this.emptyLines
        this.records.push({ line, cells })
        this.line = cells.reduce((next, cell) => next + lineBreaks(cell), line + 1)
        this.emptyLines = info.empty_lines
        this.end = info.bytes
        return null
      }
    })
    this.parser.on("error", () => {})
  }

  /** Parses the next bytes (null: the end). `isBroken`: the text after the returned records is malformed. */
  take(bytes: Buffer | null): Effect.Effect<{
    readonly records: ReadonlyArray<CsvRecord>
    readonly isBroken: boolean
  }> {
    return Effect.async((resume) => {
      const from = this.end
      if (bytes !== null) this.pending = Buffer.concat([this.pending, bytes])
      const passRecords = (error?: Error | null) => {
        const { records } = this
        this.pending = this.pending.subarray(this.end - from)
        this.records = []
        resume(Effect.succeed({ records, isBroken: Predicate.isNotNullable(error) }))
      }
      if (bytes === null) this.parser.end(passRecords)
      else this.parser.write(bytes, passRecords)
    })
  }
}

/** The malformed cell of a record: the line, and the index of the cell in the record. */
interface BrokenCell {
  readonly line: number
  readonly index: number
  readonly code: string
}

/** Parses a malformed record again, cell by cell, to find out which cell is malformed. */
const brokenCell = ({ line: firstLine, pending, separator }: CsvRecords): BrokenCell => {
  let line = firstLine
  let index = 0
  const outcome = Either.try({
    try: () =>
      parse(pending, {
        ...csvOptions,
        delimiter: separator,
        cast: (cell, { empty_lines }) => {
          if (index++ === 0) line += empty_lines
          line += lineBreaks(cell)
          return cell
        }
      }),
    catch: (error) => error
  })
  const error = Either.isLeft(outcome) ? outcome.left : null
  if (!(error instanceof CsvError)) return { line, index, code: "unknown" }
  return { line: index === 0 ? line + Number(error.empty_lines) : line, index, code: error.code }
}

const brokenReasons: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "The quote that opens this cell is never closed.",
  CSV_INVALID_CLOSING_QUOTE: "This cell has text after its closing quote: quotes inside a cell must be doubled.",
  INVALID_OPENING_QUOTE: "This cell contains a quote but is not quoted: quote the cell and double the quote inside.",
  CSV_MAX_RECORD_SIZE: "The record is longer than 1 MiB: a quote may be left open."
}

interface OpenFile extends FileVersion {
  readonly path: string
  readonly handle: FileHandle
}

const versionOf = ({ dev, ino, mtimeMs, size }: Stats): FileVersion => ({
  device: dev,
  inode: ino,
  size,
  modifiedMillis: mtimeMs
})

const isOther = (one: FileVersion, other: FileVersion) =>
  one.device !== other.device ||
  one.inode !== other.inode ||
  one.size !== other.size ||
  one.modifiedMillis !== other.modifiedMillis

const openFile = Effect.fnUntraced(function* (path: string, checked: FileVersion | undefined) {
  const found = yield* Effect.tryPromise({ try: () => stat(path), catch: unreadable(path) })
  // Checked before the file is opened, because opening a pipe would wait for a writer.
  if (found.isDirectory()) return yield* aboutFile("This is a directory, not a file.")
  if (!found.isFile()) return yield* aboutFile("This is not a regular file.")
  const handle = yield* Effect.acquireRelease(
    Effect.tryPromise({ try: () => open(path, "r"), catch: unreadable(path) }),
    (opened) => Effect.ignore(Effect.tryPromise(() => opened.close()))
  )
  const version = versionOf(yield* Effect.tryPromise({ try: () => handle.stat(), catch: unreadable(path) }))
  if (checked !== undefined && isOther(version, checked)) return yield* changed()
  if (version.size === 0) return yield* empty()
  return { path, handle, ...version }
})

const readAt = (file: OpenFile, position: number, length: number) =>
  Effect.tryPromise({
    try: async () => {
      const { buffer, bytesRead } = await file.handle.read(Buffer.allocUnsafe(length), 0, length, position)
      return buffer.subarray(0, bytesRead)
    },
    catch: unreadable(file.path)
  })

/** Whether the file at the path was changed or replaced since it was opened. */
const isChanged = (file: OpenFile) =>
  Effect.tryPromise(() => stat(file.path)).pipe(
    Effect.map((stats) => isOther(versionOf(stats), file)),
    Effect.orElseSucceed(() => true)
  )

/** Reads an open file from start to end. */
const makeReading = (file: OpenFile) => {
  const text = new TextBytes()
  const problems = new ImportProblems()
  let csv: CsvRecords | null = null
  let bytesRead = 0
  let rowsRead = 0
  let products: ShopifyCsvProducts | null = null
  let isDone = false
  let isAllRead = false

  const productPart = (product: ImportedProduct) =>
    ShopifyCsvPart.Product({ product, rowsRead, bytesRead, totalBytes: file.size })

  const take = (
    records: ReadonlyArray<CsvRecord>,
    separator: string
  ): Either.Either<Array<ShopifyCsvPart>, ImportFileRejected> => {
    const parts: Array<ShopifyCsvPart> = []
    for (const record of records) {
      if (products === null) {
        if (record.cells.every((cell) => cell.trim() === "") || isSeparatorLine(record.cells[0] ?? "")) continue
        const columns = readHeader(record.line, record.cells, separator)
        if (Either.isLeft(columns)) return Either.left(columns.left)
        products = new ShopifyCsvProducts(columns.right, problems)
        continue
      }
      const completed = products.take(record)
      // A file with a problem is refused. The remaining lines are only checked for further problems.
      if (completed !== null && problems.count === 0) parts.push(productPart(completed))
      rowsRead += 1
    }
    return Either.right(parts)
  }

  const brokenRecord = (records: CsvRecords) => {
    const { code, index, line } = brokenCell(records)
    return ImportFileRejected.at(
      line,
      products?.columns.names[index] ?? null,
      brokenReasons[code] ?? "The record is not valid CSV."
    )
  }

  const partsOf = Effect.fnUntraced(function* (bytes: Buffer | null) {
    if (csv === null && bytes !== null && bytes.length > 0) csv = new CsvRecords(separatorOf(bytes.toString("utf8")))
    if (csv === null) return []
    const { isBroken, records } = yield* csv.take(bytes)
    const parts = yield* take(records, csv.separator)
    return isBroken ? yield* brokenRecord(csv) : parts
  })

  const ending = Effect.fnUntraced(function* () {
    if (bytesRead !== file.size || (yield* isChanged(file))) return yield* changed()
    yield* text.end()
    const parts = yield* partsOf(null)
    if (products === null) return yield* empty()
    const last = products.end()
    isAllRead = true
    if (problems.rejected !== null) return yield* problems.rejected
    if (last === null) return yield* aboutFile("The file has a header but no products.")
    isDone = true
    return [...parts, productPart(last), ShopifyCsvPart.Summary(summaryOf(products, file, rowsRead))]
  })

  const next = Effect.gen(function* () {
    const bytes = yield* readAt(file, bytesRead, chunkBytes)
    if (bytes.length === 0) return yield* ending()
    bytesRead += bytes.length
    if (bytesRead > file.size) return yield* changed()
    return yield* partsOf(yield* text.take(bytes))
  })

  /** Adds the problem that stopped the reading to the problems that were found before. */
  const withEarlier = (rejected: ImportFileRejected): ImportFileRejected => {
    if (isAllRead) return rejected
    for (const problem of rejected.problems) problems.add(problem)
    return problems.rejected ?? rejected
  }

  // If the file changed during the reading, it looks malformed. Report the change, not the malformed text.
  const nextOrChange = Effect.catchAll(next, (rejected) =>
    Effect.flatMap(isChanged(file), (wasChanged) => Effect.fail(wasChanged ? changed() : withEarlier(rejected)))
  )

  return Effect.suspend(() =>
    isDone
      ? Effect.fail(Option.none<ImportFileRejected>())
      : Effect.mapBoth(nextOrChange, { onFailure: Option.some, onSuccess: Chunk.unsafeFromArray<ShopifyCsvPart> })
  )
}

const summaryOf = (products: ShopifyCsvProducts, file: FileVersion, rows: number): ShopifyCsvSummary => {
  const { device, inode, modifiedMillis, size } = file
  const { columns, ignoredCells, images, skippedLines, unpublished, variants } = products
  return {
    products: products.products,
    variants,
    images,
    skippedLines,
    unpublished,
    hasTitle: columns.at.title !== undefined,
    productMetafields: columns.productMetafields,
    variantMetafields: columns.variantMetafields,
    columnNames: columns.names,
    ignoredColumns: columns.ignored.map((index, place) => ({
      name: columns.names[index] ?? "",
      filledCells: ignoredCells[place] ?? 0
    })),
    version: { device, inode, size, modifiedMillis },
    rows
  }
}

/**
 * Reads a Shopify product export. Memory holds one chunk of bytes and all handles, not the whole file: the next chunk is read
 * when the consumer has taken the products of the last one. `checked`: the version of an earlier reading; a file that was changed
 * or replaced since is rejected.
 * ImportFileRejected: lists all problems that can be found. By then, the products before the first problem have been emitted.
 */
export const readShopifyCsv = (
  path: string,
  checked?: FileVersion
): Stream.Stream<ShopifyCsvPart, ImportFileRejected> =>
  Stream.unwrapScoped(Effect.map(openFile(path, checked), (file) => Stream.repeatEffectChunkOption(makeReading(file))))
