import { assert, describe, it } from "@effect/vitest"
import { nameMisfit } from "../../src/model/Name.ts"

describe("a name", () => {
  it("has 1 to 200 characters in one line, some of which are seen", () => {
    for (const name of ["a", "テント", "🏕".repeat(200), "a\u200b"]) assert.isUndefined(nameMisfit(name))
    for (const name of ["", "🏕".repeat(201)]) assert.strictEqual(nameMisfit(name), "must have 1 to 200 characters")
    for (const name of ["\u200b", "\u2060 \u00ad", "\u3164"]) assert.strictEqual(nameMisfit(name), "must not be empty")
    for (const name of ["a\nb", "a\ud800", "\ufffd"])
      assert.strictEqual(nameMisfit(name), "must be one line of valid text")
  })
})
