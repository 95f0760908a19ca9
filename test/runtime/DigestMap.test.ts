import { assert, describe, it } from "@effect/vitest"
import { DigestMap } from "../../src/runtime/DigestMap.ts"

describe("the numbers in a DigestMap", () => {
  it("are found after many others were added, and can be replaced", () => {
    const map = new DigestMap()
    const texts = Array.from({ length: 20_000 }, (_, number) => `SKU-${number}`)
    for (const [index, text] of texts.entries()) map.set(text, index + 1)
    for (const [index, text] of texts.entries()) if (index % 3 === 0) map.set(text, 4_294_967_295 - index)
    for (const [index, text] of texts.entries())
      assert.strictEqual(map.get(text), index % 3 === 0 ? 4_294_967_295 - index : index + 1)
    for (const other of ["", "SKU-20000", "sku-1", "SKU-1 "]) assert.isUndefined(map.get(other))
  })

  it("distinguishes texts that differ in case, blanks or accents", () => {
    const map = new DigestMap()
    for (const [index, text] of ["", "a", "A", "a ", "á", "a\u0301"].entries()) map.set(text, index + 1)
    assert.deepStrictEqual(
      ["", "a", "A", "a ", "á", "a\u0301"].map((text) => map.get(text)),
      [1, 2, 3, 4, 5, 6]
    )
  })
})
