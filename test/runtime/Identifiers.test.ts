import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Array as Arr } from "effect"
import { inRuns } from "../../src/runtime/Identifiers.ts"

describe("ids of many new entities", () => {
  const mint = inRuns(randomUUID)
  const ids = Array.from({ length: 200 * 64 }, mint)
  const beginnings = Arr.chunksOf(ids, 64).map((run) => new Set(run.map((id) => id.slice(0, 13))))

  it("are UUIDs of version 4, and each is new", () => {
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.strictEqual(new Set(ids).size, ids.length)
  })

  it("begin with the same 48 bits 64 times in a row", () => {
    for (const beginning of beginnings) assert.strictEqual(beginning.size, 1)
    assert.strictEqual(new Set(beginnings.flatMap((beginning) => [...beginning])).size, 200)
  })

  it("do not grow with time: of 200 runs, about half are followed by a greater one", () => {
    const firsts = beginnings.flatMap((beginning) => [...beginning])
    const ascents = firsts.filter((first, index) => first < (firsts[index + 1] ?? ""))
    // The number of ascents of 200 numbers in random order has a standard deviation of 4.1.
    assert.isAbove(ascents.length, 60)
    assert.isBelow(ascents.length, 140)
  })
})
