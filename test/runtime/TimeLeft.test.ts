import { assert, describe, it } from "@effect/vitest"
import { minutesLeft } from "../../src/runtime/TimeLeft.ts"

describe("the time left", () => {
  it("is estimated from what was done so far, in minutes", () => {
    assert.strictEqual(minutesLeft({ done: 100, total: 400, seconds: 60 }), 3)
    assert.strictEqual(minutesLeft({ done: 100, total: 401, seconds: 60 }), 4)
    assert.strictEqual(minutesLeft({ done: 399, total: 400, seconds: 60 }), 0)
  })

  it("counts only what was done in the time that is measured", () => {
    assert.strictEqual(minutesLeft({ done: 300, from: 200, total: 400, seconds: 60 }), 1)
    assert.strictEqual(minutesLeft({ done: 300, total: 400, seconds: 60 }), 0)
  })

  it("is unknown in the first seconds, before anything is done, and at the end", () => {
    assert.isUndefined(minutesLeft({ done: 100, total: 400, seconds: 2.9 }))
    assert.strictEqual(minutesLeft({ done: 100, total: 400, seconds: 3 }), 0)
    assert.isUndefined(minutesLeft({ done: 0, total: 400, seconds: 60 }))
    assert.isUndefined(minutesLeft({ done: 200, from: 200, total: 400, seconds: 60 }))
    assert.isUndefined(minutesLeft({ done: 400, total: 400, seconds: 60 }))
  })
})
