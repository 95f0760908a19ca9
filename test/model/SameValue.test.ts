import { assert, describe, it } from "@effect/vitest"
import { handleOf, sameOnPlatform } from "../../src/model/SameValue.ts"

const isSameHandle = (sent: string, returned: string) =>
  sameOnPlatform("handle", "single_line_text_field", sent, returned)

describe("a handle on a platform", () => {
  it("has lower case, and one hyphen for all between its letters and digits", () => {
    assert.strictEqual(handleOf(" The Mug / 1 "), "the-mug-1")
    assert.strictEqual(handleOf("!!!"), "")
    assert.isTrue(isSameHandle("The Mug / 1", "the-mug-1"))
    assert.isFalse(isSameHandle("The Mug / 1", "the-mug-2"))
  })

  it("keeps the marks of its letters, as in Thai and Hindi", () => {
    assert.strictEqual(handleOf("ที่นอน"), "ที่นอน")
    assert.isFalse(isSameHandle("ที่นอน", "ทีนอน"))
    assert.isFalse(isSameHandle("कि", "की"))
  })
})
