import { createHmac } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import fc from "fast-check"
import { type CursorBinding, makeCursorCodec } from "../../src/catalog/CursorCodec.ts"
import { amount } from "../support/Volume.ts"

const key = Uint8Array.from({ length: 32 }, (_, index) => index)
const codec = makeCursorCodec(key)
const products: CursorBinding = { list: "products", accountId: "a-1", filters: { status: "failed", search: "linen" } }

const names = fc.constantFrom("status", "search", "updated_since", "collection_id", "__proto__", "", '"', "a,b")
const values = fc.option(
  fc.oneof(fc.constantFrom("", "a", '"', "\\", '"],["', "null"), fc.string({ unit: "binary" })),
  {
    nil: undefined
  }
)
const bindings: fc.Arbitrary<CursorBinding> = fc.record({
  list: fc.constantFrom("products", "variants", 'products","', ""),
  accountId: fc.constantFrom("a-1", "a-2", '","', ""),
  filters: fc.array(fc.tuple(names, values), { maxLength: 4 }).map((entries) => Object.fromEntries(entries))
})
/** Two bindings, sometimes the same one with its filters in another order and an undefined one added. */
const pairs = fc.oneof(
  fc.tuple(bindings, bindings),
  bindings.map((binding) => {
    const entries = Object.entries(binding.filters).reverse()
    return [binding, { ...binding, filters: Object.fromEntries([["absent", undefined], ...entries]) }] as const
  })
)
const positions = fc.oneof(fc.nat(1000), fc.maxSafeNat())

/** Whether two bindings are equal, computed independently of the codec. */
const sameBinding = (a: CursorBinding, b: CursorBinding) => {
  const defined = (binding: CursorBinding) =>
    new Map(Object.entries(binding.filters).filter(([, value]) => value !== undefined))
  const [left, right] = [defined(a), defined(b)]
  return (
    a.list === b.list &&
    a.accountId === b.accountId &&
    left.size === right.size &&
    Array.from(left).every(([name, value]) => right.get(name) === value)
  )
}

/** The bytes of a cursor, signed again with the key: only the holder of the key could write them. */
const signed = (head: Buffer, binding: string) =>
  Buffer.concat([head, createHmac("sha256", key).update(head).update(binding).digest().subarray(0, 16)])
const productsAsJson = '["products","a-1",[["search","linen"],["status","failed"]]]'

describe("encode", () => {
  it("is the same in all versions of the service, because clients keep cursors", () => {
    const head = Buffer.from("01000000075bcd15", "hex")
    assert.strictEqual(codec.encode(products, 123_456_789), signed(head, productsAsJson).toString("base64url"))
    assert.strictEqual(codec.encode(products, 123_456_789), "AQAAAAdbzRXkPy63RM9Ai8bNfx2TxGDk")
  })

  it("is 32 characters that need no escaping in a URL", () => {
    fc.assert(
      fc.property(bindings, positions, (binding, position) => {
        assert.match(codec.encode(binding, position), /^[A-Za-z0-9_-]{32}$/)
      })
    )
  })

  it("returns the same text for equal bindings", () => {
    const reordered = {
      accountId: "a-1",
      filters: { search: "linen", page: undefined, status: "failed" },
      list: "products"
    }
    assert.strictEqual(makeCursorCodec(key.slice()).encode(reordered, 7), codec.encode(products, 7))
  })

  it("treats a fractional or negative position as a defect", () => {
    for (const position of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => codec.encode(products, position), RangeError)
    }
  })

  it("does not change when the caller changes the key array later", () => {
    const own = key.slice()
    const other = makeCursorCodec(own)
    own.fill(0)
    assert.strictEqual(other.encode(products, 1), codec.encode(products, 1))
  })
})

describe("decode", () => {
  it("returns the position, also the largest", () => {
    fc.assert(
      fc.property(bindings, positions, (binding, position) => {
        assert.deepStrictEqual(codec.decode(binding, codec.encode(binding, position)), Option.some(position))
      }),
      { examples: [[products, 0] as const, [products, Number.MAX_SAFE_INTEGER] as const] }
    )
  })

  it("refuses the cursors of other bindings", () => {
    const runs = amount(1_000, 30_000)
    let same = 0
    fc.assert(
      fc.property(pairs, positions, ([one, other], position) => {
        if (sameBinding(one, other)) same++
        const expected = sameBinding(one, other) ? Option.some(position) : Option.none()
        assert.deepStrictEqual(codec.decode(other, codec.encode(one, position)), expected)
      }),
      { numRuns: runs }
    )
    assert.isAbove(same, 0.1 * runs)
    assert.isBelow(same, 0.9 * runs)
  })

  it.each<readonly [string, CursorBinding]>([
    ["of another list", { ...products, list: "variants" }],
    ["of another account", { ...products, accountId: "a-2" }],
    ["with another value of a filter", { ...products, filters: { ...products.filters, status: "pending" } }],
    ["with a filter left out", { ...products, filters: { search: "linen" } }],
    ["without filters", { ...products, filters: {} }],
    ["with a filter added", { ...products, filters: { ...products.filters, updated_since: "x" } }],
    ["with an empty filter added", { ...products, filters: { ...products.filters, updated_since: "" } }],
    ["with the values of two filters exchanged", { ...products, filters: { status: "linen", search: "failed" } }]
  ])("refuses it in a request %s", (_, binding) => {
    assert.deepStrictEqual(codec.decode(binding, codec.encode(products, 42)), Option.none())
  })

  it("refuses a cursor of another key", () => {
    const other = makeCursorCodec(new Uint8Array(32))
    assert.deepStrictEqual(other.decode(products, codec.encode(products, 42)), Option.none())
  })

  it("refuses a cursor with any character changed", () => {
    const text = codec.encode(products, 42)
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. %\u0141\u0000"
    let tried = 0
    for (let at = 0; at < text.length; at++) {
      for (const character of alphabet) {
        if (character === text[at]) continue
        tried++
        const edited = text.slice(0, at) + character + text.slice(at + 1)
        assert.deepStrictEqual(codec.decode(products, edited), Option.none(), edited)
      }
    }
    assert.strictEqual(tried, 32 * (alphabet.length - 1))
  })

  it("refuses other base64 texts of the same bytes", () => {
    // Tries positions until the text has both characters that base64 can write in another way.
    let position = 0
    while (!/-.*_|_.*-/.test(codec.encode(products, position))) position++
    const text = codec.encode(products, position)
    assert.deepStrictEqual(codec.decode(products, text), Option.some(position))
    const spellings = [
      text.replaceAll("-", "+").replaceAll("_", "/"),
      text.replace("-", "+"),
      text.replace("_", "/"),
      `${text}=`,
      `${text}==`,
      `${text}\n`,
      ` ${text}`,
      `${text}A`,
      `${text}.`,
      text.slice(0, -1),
      encodeURIComponent(`${text}=`),
      // Characters whose low byte would be valid.
      String.fromCharCode(...Array.from(text, (character) => character.charCodeAt(0) + 0x100)),
      text.toLowerCase(),
      ""
    ]
    for (const spelling of spellings) assert.deepStrictEqual(codec.decode(products, spelling), Option.none(), spelling)
  })

  it("refuses other text of any length", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) =>
        assert.deepStrictEqual(codec.decode(products, text), Option.none())
      )
    )
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 24, maxLength: 24 }), (bytes) =>
        assert.deepStrictEqual(codec.decode(products, Buffer.from(bytes).toString("base64url")), Option.none())
      )
    )
    assert.deepStrictEqual(codec.decode(products, "A".repeat(1_000_000)), Option.none())
    assert.deepStrictEqual(codec.decode(products, "\ud800".repeat(32)), Option.none())
  })

  it("refuses another version and unsafe integers, even with a valid signature", () => {
    const decode = (head: string) =>
      codec.decode(products, signed(Buffer.from(head, "hex"), productsAsJson).toString("base64url"))
    assert.deepStrictEqual(decode("010000000000002a"), Option.some(42))
    assert.deepStrictEqual(decode("000000000000002a"), Option.none())
    assert.deepStrictEqual(decode("020000000000002a"), Option.none())
    assert.deepStrictEqual(decode("011fffffffffffff"), Option.some(Number.MAX_SAFE_INTEGER))
    assert.deepStrictEqual(decode("0120000000000000"), Option.none())
    assert.deepStrictEqual(decode("01ffffffffffffff"), Option.none())
  })
})
