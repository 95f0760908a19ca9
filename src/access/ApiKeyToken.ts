import { Schema } from "effect"

/** Scopes that an API key can have. */
export const Scope = Schema.Literal("pim:read", "pim:write")
export type Scope = typeof Scope.Type

/** Scopes that an endpoint can require. No credential can have `pim:delete`. */
export const AnyScope = Schema.Literal(...Scope.literals, "pim:delete")
export type AnyScope = typeof AnyScope.Type

const prefix = "pk_live_"
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const secretLength = 32
const checksumLength = 6
const tokenLength = prefix.length + secretLength + checksumLength
const form = new RegExp(`^${prefix}[0-9A-Za-z]{${secretLength + checksumLength}}$`)

/** The table of the reflected CRC-32 polynomial (IEEE 802.3, as in zlib), one entry for each byte. */
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte
  for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ 0xedb88320 : remainder >>> 1
  return remainder
})

const crc32 = (ascii: string): number => {
  let crc = 0xffffffff
  for (let index = 0; index < ascii.length; index++) {
    crc = (crc >>> 8) ^ (crcTable[(crc ^ ascii.charCodeAt(index)) & 0xff] ?? 0)
  }
  return (crc ^ 0xffffffff) >>> 0
}

/** CRC-32 in base62, most significant digit first, padded with zeros. Six digits are enough, because 62^6 exceeds 2^32. */
const checksum = (ascii: string): string => {
  let rest = crc32(ascii)
  let digits = ""
  for (let position = 0; position < checksumLength; position++) {
    digits = alphabet.charAt(rest % alphabet.length) + digits
    rest = Math.floor(rest / alphabet.length)
  }
  return digits
}

/**
 * Whether a text has the form of an API key: `pk_live_`, 32 base62 characters and a checksum of both. This detects mistyped and
 * truncated keys without a query. A well-formed key need not exist.
 */
export const isWellFormed = (text: string): boolean =>
  text.length === tokenLength &&
  form.test(text) &&
  checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)

/**
 * Makes an API key of 190 random bits. `nextBytes` returns bytes of a cryptographic source. It is called again if too many of
 * the bytes were rejected.
 */
export const fromRandomBytes = (nextBytes: (count: number) => Uint8Array): string => {
  // Bytes from the largest multiple of 62 on are rejected: they would make the first characters of the alphabet likelier.
  const limit = 256 - (256 % alphabet.length)
  let secret = ""
  while (secret.length < secretLength) {
    for (const byte of nextBytes(secretLength - secret.length)) {
      if (byte < limit && secret.length < secretLength) secret += alphabet.charAt(byte % alphabet.length)
    }
  }
  const body = prefix + secret
  return body + checksum(body)
}

/** The last four characters of a key, by which people recognize it in lists. */
export const lastFour = (token: string): string => token.slice(-4)
