import { assert, describe, it } from "@effect/vitest"
import { makeSampler, parentOf, type SamplerName, samplerNames } from "../../src/telemetry/Sampling.ts"

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const spanId = "00f067aa0ba902b7"
const parent = (flags: string) => parentOf(`00-${traceId}-${spanId}-${flags}`)

/** How many of a thousand requests in one second are sampled. */
const sampled = (name: SamplerName, flags: string | undefined, ratio = 0) => {
  let drawn = 0
  // Every hundredth draw is below 0.01.
  const sample = makeSampler(
    name,
    ratio,
    () => 500,
    () => (drawn++ % 100) / 100
  )
  let count = 0
  for (let index = 0; index < 1_000; index++) if (sample(flags === undefined ? undefined : parent(flags))) count++
  return count
}

describe("a traceparent", () => {
  it("is the W3C's, with its sampled flag", () => {
    assert.include(parent("01"), { traceId, spanId, sampled: true })
    assert.include(parent("00"), { traceId, spanId, sampled: false })
    assert.include(parent("03"), { sampled: true })
  })

  it("is ignored if it is invalid", () => {
    for (const text of [
      undefined,
      "",
      "1",
      `01-${traceId}-${spanId}-01`,
      `00-${traceId.toUpperCase()}-${spanId}-01`,
      `00-${"0".repeat(32)}-${spanId}-01`,
      `00-${traceId}-${"0".repeat(16)}-01`,
      `00-${traceId}-${spanId}-1`,
      `00-${traceId}-${spanId}-01-more`
    ])
      assert.isUndefined(parentOf(text), text)
  })
})

describe("a sampler", () => {
  it("decides by its own setting if the client sends no traceparent", () => {
    const counts = Object.fromEntries(samplerNames.map((name) => [name, sampled(name, undefined, 0.01)]))
    assert.deepStrictEqual(counts, {
      always_on: 1_000,
      always_off: 0,
      traceidratio: 10,
      parentbased_always_on: 1_000,
      parentbased_always_off: 0,
      parentbased_traceidratio: 10
    })
  })

  it("based on the parent never samples what the client does not sample", () => {
    assert.strictEqual(sampled("parentbased_always_on", "00"), 0)
    assert.strictEqual(sampled("parentbased_traceidratio", "00", 1), 0)
    assert.strictEqual(sampled("always_on", "00"), 1_000)
  })

  it("based on the parent samples what the client samples, up to ten times a second", () => {
    assert.strictEqual(sampled("parentbased_always_off", "01"), 10)
    // Ten requested by the client, and the usual share of the others.
    assert.strictEqual(sampled("parentbased_traceidratio", "01", 0.01), 20)
    assert.strictEqual(sampled("always_off", "01"), 0)
  })

  it("accepts the client's requests for traces again in the next second", () => {
    let now = 0
    const sample = makeSampler("parentbased_always_off", 0, () => now)
    const second = () => Array.from({ length: 20 }, () => sample(parent("01"))).filter(Boolean).length
    assert.strictEqual(second(), 10)
    assert.strictEqual(second(), 0)
    now = 1_000
    assert.strictEqual(second(), 10)
  })
})
