import { hash, timingSafeEqual } from "node:crypto"
import { Option } from "effect"

/** The list for which a cursor is valid: its account, its kind and its filters. The page size may change between pages. */
export interface CursorBinding {
  readonly list: string
  readonly accountId: string
  /** Filter values by parameter name. Undefined: the filter does not apply. */
  readonly filters: Readonly<Record<string, string | undefined>>
}

export interface CursorCodec {
  /**
   * Returns the cursor that continues after `position`, a non-negative safe integer (any other number is a defect). The same
   * binding and position always give the same text, in every process and after a restart.
   */
  readonly encode: (binding: CursorBinding, position: number) => string
  /** Returns the position, if `text` is exactly the cursor that `encode` returns for this binding; otherwise none. */
  readonly decode: (binding: CursorBinding, text: string) => Option.Option<number>
}

/** Raise this number when the layout or the signed text changes. Old cursors are then refused instead of misread. */
const version = 1
/** The version in one byte and the position in seven, big-endian. */
const headBytes = 8
const tagBytes = 16
/** 24 bytes are exactly 32 characters of base64url: no padding and no unused bits. */
export const cursorLength = 32
const positionMask = (1n << 56n) - 1n

/** The text of a binding that is signed. JSON quotes names and values, so different bindings have different texts. */
const serialise = ({ accountId, filters, list }: CursorBinding): string => {
  const names = Object.keys(filters).filter((name) => filters[name] !== undefined)
  return JSON.stringify([list, accountId, names.sort().map((name) => [name, filters[name]])])
}

const blockBytes = 64
const padKey = (key: Uint8Array, pad: number) =>
  Buffer.from(Buffer.alloc(blockBytes).map((_, i) => (key[i] ?? 0) ^ pad))

/** HMAC-SHA256 (RFC 2104) of head and text. It uses one-shot hashes, which take a third of the time of Node's Hmac object. */
const makeSigner = (key: Uint8Array) => {
  const inner = padKey(key, 0x36)
  // All calls share this buffer. Each call writes its inner digest after the pad.
  const outside = Buffer.concat([padKey(key, 0x5c), Buffer.alloc(32)])
  return (head: Uint8Array, text: string): Buffer => {
    const inside = Buffer.allocUnsafe(blockBytes + headBytes + Buffer.byteLength(text))
    inside.set(inner)
    inside.set(head, blockBytes)
    inside.write(text, blockBytes + headBytes)
    outside.set(hash("sha256", inside, "buffer"), blockBytes)
    return hash("sha256", outside, "buffer")
  }
}

/** Cursors signed with HMAC-SHA256. `key`: 32 random bytes, stored in the database. */
export const makeCursorCodec = (key: Uint8Array): CursorCodec => {
  const sign = makeSigner(key)

  const encode = (binding: CursorBinding, position: number): string => {
    const bytes = Buffer.alloc(headBytes + tagBytes)
    bytes.writeBigUInt64BE(BigInt(position))
    bytes.writeUInt8(version)
    sign(bytes.subarray(0, headBytes), serialise(binding)).copy(bytes, headBytes, 0, tagBytes)
    return bytes.toString("base64url")
  }

  const decode = (binding: CursorBinding, text: string): Option.Option<number> => {
    if (text.length !== cursorLength) return Option.none()
    const bytes = Buffer.from(text, "base64url")
    if (bytes.length !== headBytes + tagBytes) return Option.none()
    const position = Number(bytes.readBigUInt64BE() & positionMask)
    if (!Number.isSafeInteger(position)) return Option.none()
    // Node's decoder accepts several texts for the same bytes, so the texts are compared. That checks the version too.
    const actual = Buffer.from(text)
    const expected = Buffer.from(encode(binding, position))
    return actual.length === expected.length && timingSafeEqual(actual, expected)
      ? Option.some(position)
      : Option.none()
  }

  return { encode, decode }
}
