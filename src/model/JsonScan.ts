const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const comma = 0x2c
const colon = 0x3a

/** Maximum length, in bytes, of a top-level key or value that the scan keeps. */
const maxRead = 256

/** Maximum depth at which members are counted. A deeper body is refused for its depth anyway. */
const maxCountedDepth = 64

const decoder = new TextDecoder()

const textOf = (bytes: ReadonlyArray<number>): string | undefined => {
  try {
    const value: unknown = JSON.parse(decoder.decode(Uint8Array.from(bytes)))
    return typeof value === "string" ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Measures JSON while it arrives, in one pass and constant memory, so that a body that would be too costly to parse or validate
 * can be refused first. It does not check the syntax.
 */
export class JsonScan {
  /** Deepest nesting of arrays and objects so far. */
  deepest = 0
  /** Members of the largest object so far. */
  widest = 0
  /** Number of arrays, objects and members of objects so far. Scalar items of arrays are not counted, because they cost little. */
  parts = 0
  /** The text of the watched top-level member; if it is repeated, of the last one. Undefined: not found yet. */
  found: string | undefined

  private depth = 0
  /** Number of members of each open object; -1 for an open array. */
  private readonly members: Array<number> = []
  private inString = false
  private escaped = false
  /** Whether the next or current string is a top-level key. */
  private atKey = false
  private isWatched = false
  /** Bytes of the current top-level string. Undefined: it is not needed, or is too long. */
  private text: Array<number> | undefined

  private readonly watched: string | undefined

  /** `watched`: the name of the top-level member whose text is kept in `found`. */
  constructor(watched?: string) {
    this.watched = watched
  }

  read(chunk: Uint8Array): void {
    for (let index = 0; index < chunk.length; ) {
      if (this.inString && this.text === undefined) index = this.skipString(chunk, index)
      else {
        const byte = chunk[index++] ?? 0
        if (this.inString) this.readString(byte)
        else this.readStructure(byte)
      }
    }
  }

  /** Returns the index after the string, or the end of the chunk. A tight loop, because most of a large body is text. */
  private skipString(chunk: Uint8Array, start: number): number {
    let index = start
    if (this.escaped) {
      this.escaped = false
      index += 1
    }
    for (; index < chunk.length; index++) {
      const byte = chunk[index]
      if (byte === backslash) {
        index += 1
        this.escaped = index === chunk.length
      } else if (byte === quote) {
        this.inString = false
        return index + 1
      }
    }
    return index
  }

  private readString(byte: number): void {
    if (this.text !== undefined) {
      if (this.text.length < maxRead) this.text.push(byte)
      else this.text = undefined
    }
    if (this.escaped) this.escaped = false
    else if (byte === backslash) this.escaped = true
    else if (byte === quote) {
      this.inString = false
      if (this.depth === 1) this.endTopString()
    }
  }

  private endTopString(): void {
    const text = this.text && textOf(this.text)
    this.text = undefined
    if (this.atKey) this.isWatched = text === this.watched
    else if (this.isWatched) this.found = text
  }

  private readStructure(byte: number): void {
    switch (byte) {
      case quote:
        this.inString = true
        if (this.depth === 1 && this.watched !== undefined && (this.atKey || this.isWatched)) this.text = [quote]
        break
      case openBrace:
      case openBracket:
        this.open(byte === openBrace)
        break
      case closeBrace:
      case closeBracket:
        this.depth -= 1
        break
      case comma:
        this.next()
        break
      case colon:
        if (this.depth === 1) {
          this.atKey = false
          if (this.isWatched) this.found = undefined
        }
        break
      default:
    }
  }

  private open(isObject: boolean): void {
    this.depth += 1
    if (this.depth > this.deepest) this.deepest = this.depth
    this.parts += 1
    if (this.depth > 0 && this.depth <= maxCountedDepth) this.members[this.depth - 1] = isObject ? 1 : -1
    if (this.depth === 1) this.atKey = isObject
  }

  private next(): void {
    const members = this.depth <= maxCountedDepth ? (this.members[this.depth - 1] ?? -1) : -1
    if (members === -1) return
    this.parts += 1
    this.members[this.depth - 1] = members + 1
    if (members + 1 > this.widest) this.widest = members + 1
    if (this.depth === 1) {
      this.atKey = true
      this.isWatched = false
    }
  }
}
