import { randomBytes } from "node:crypto"
import { crc32 } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import fc from "fast-check"
import { AnyScope, fromRandomBytes, isWellFormed, lastFour, Scope } from "../../src/access/ApiKeyToken.ts"
import { amount } from "../support/Volume.ts"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const mint = () => fromRandomBytes((count) => randomBytes(count))

/** Returns these bytes, repeated to the requested length. */
const repeating = (bytes: ReadonlyArray<number>) => {
  let at = 0
  return (count: number) => Uint8Array.from({ length: count }, () => bytes[at++ % bytes.length] ?? 0)
}

const tokens = fc.array(fc.nat(247), { minLength: 32, maxLength: 32 }).map((bytes) => fromRandomBytes(repeating(bytes)))

describe("fromRandomBytes", () => {
  it("is pk_live_, 32 characters and the checksum of both, which agrees with zlib", () => {
    fc.assert(
      fc.property(tokens, (token) => {
        assert.match(token, /^pk_live_[0-9A-Za-z]{38}$/)
        const digits = Array.from(token.slice(40), (digit) => alphabet.indexOf(digit))
        assert.strictEqual(
          digits.reduce((sum, digit) => sum * 62 + digit, 0),
          crc32(token.slice(0, 40))
        )
      })
    )
  })

  it("keeps its format, because stored keys depend on it", () => {
    assert.strictEqual(fromRandomBytes(repeating([0])), "pk_live_000000000000000000000000000000002ydDIO")
  })

  it("pads the checksum with zeros", () => {
    // 62^5 / 2^32: one checksum in five begins with a zero.
    const padded = Array.from({ length: 248 }, (_, byte) => fromRandomBytes(repeating([byte, 7]))).filter(
      (token) => token[40] === "0"
    )
    assert.isAbove(padded.length, 0)
    for (const token of padded) assert.isTrue(isWellFormed(token))
  })

  it("skips bytes that would make some characters more frequent, and reads more", () => {
    const asked: Array<number> = []
    const source = repeating([248, 255, 61])
    const token = fromRandomBytes((count) => {
      asked.push(count)
      return source(count)
    })
    assert.strictEqual(token.slice(8, 40), "z".repeat(32))
    assert.isAbove(asked.length, 1)
  })

  it("maps the same number of bytes to every character", () => {
    const counts = new Map<string, number>()
    for (let byte = 0; byte < 248; byte++) {
      const character = fromRandomBytes(repeating([byte])).charAt(8)
      counts.set(character, (counts.get(character) ?? 0) + 1)
    }
    assert.deepStrictEqual(Array.from(counts.keys()).sort().join(""), alphabet)
    assert.isTrue(Array.from(counts.values()).every((count) => count === 4))
  })

  it("ignores bytes that it does not need", () => {
    assert.strictEqual(fromRandomBytes(() => new Uint8Array(100)).length, 46)
  })
})

describe("isWellFormed", () => {
  it("accepts generated keys", () => {
    for (let round = 0; round < 100; round++) assert.isTrue(isWellFormed(mint()))
  })

  it("refuses a key with one character replaced, or two adjacent characters swapped", () => {
    fc.assert(
      fc.property(tokens, fc.nat(45), fc.constantFrom(...alphabet, "_", " ", "é", "\n"), (token, at, character) => {
        const replaced = token.slice(0, at) + character + token.slice(at + 1)
        assert.strictEqual(isWellFormed(replaced), replaced === token)
        const swapped =
          token.slice(0, at) +
          token
            .slice(at, at + 2)
            .split("")
            .reverse()
            .join("") +
          token.slice(at + 2)
        assert.strictEqual(isWellFormed(swapped), swapped === token)
      }),
      { numRuns: amount(500, 50_000) }
    )
  })

  it("refuses any other text, of any length", () => {
    const token = mint()
    const others = [
      "",
      "pk_live_",
      token.slice(0, -1),
      `${token}0`,
      ` ${token.slice(1)}`,
      `${token}\n`,
      `${token.slice(0, -1)}\n`,
      token.toUpperCase(),
      token.replace("live", "test"),
      `pk_live_${"0".repeat(38)}`,
      `pk_live_${"é".repeat(38)}`,
      `pk_live_${"\u0130".repeat(38)}`,
      "x".repeat(1_000_000)
    ]
    for (const other of others) assert.isFalse(isWellFormed(other))
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => assert.isFalse(isWellFormed(text))))
  })
})

it("lastFour returns the last four characters of the key", () => {
  const token = mint()
  assert.strictEqual(lastFour(token), token.slice(42))
})

it("a key can have pim:read and pim:write; an endpoint can also require pim:delete", () => {
  assert.deepStrictEqual<ReadonlyArray<string>>(Scope.literals, ["pim:read", "pim:write"])
  assert.deepStrictEqual<ReadonlyArray<string>>(AnyScope.literals, ["pim:read", "pim:write", "pim:delete"])
  assert.isFalse(Schema.is(Scope)("pim:delete"))
})
