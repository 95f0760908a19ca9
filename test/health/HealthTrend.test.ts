import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { HealthDimension } from "../../src/health/Health.ts"
import { type DayNumbers, overallScore, trendOf } from "../../src/health/HealthTrend.ts"

const numbers: fc.Arbitrary<DayNumbers> = fc
  .tuple(fc.nat({ max: 1_000_000 }), fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([checked, share]) => ({ checked, affected: Math.floor(checked * share) }))

/** A result with the numbers of some dimensions. */
const catalog = fc
  .subarray([...HealthDimension.literals])
  .chain((dimensions) =>
    fc.tuple(...dimensions.map((dimension) => fc.tuple(fc.constant(dimension), numbers))).map((found) => new Map(found))
  )

describe("the overall score", () => {
  it("is a whole number from 0 to 100, and 100 exactly if no dimension but sync has an issue", () => {
    fc.assert(
      fc.property(catalog, (found) => {
        const counted = [...found].filter(([dimension, { checked }]) => dimension !== "sync" && checked > 0)
        const score = overallScore(found)
        if (counted.length === 0) return score === undefined
        const isClean = counted.every(([, { affected }]) => affected === 0)
        return Number.isInteger(score) && Number(score) >= 0 && Number(score) <= 100 && (score === 100) === isClean
      }),
      { numRuns: 2_000 }
    )
  })

  it("never falls when issues are fixed, in whichever dimension", () => {
    let risen = 0
    fc.assert(
      fc.property(
        catalog,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 }),
        (found, left) => {
          const fixed = new Map(
            [...found].map(([dimension, { affected, checked }], index) => [
              dimension,
              { checked, affected: Math.floor(affected * (left[index] ?? 1)) }
            ])
          )
          const [before = 0, after = 0] = [overallScore(found), overallScore(fixed)]
          if (after > before) risen += 1
          return after >= before
        }
      ),
      { numRuns: 2_000 }
    )
    assert.isAbove(risen, 50)
  })

  it("is the average of the scores on the page, rounded down", () => {
    const found = new Map<HealthDimension, DayNumbers>([
      ["sync", { checked: 10, affected: 10 }],
      ["completeness", { checked: 3, affected: 1 }],
      ["media", { checked: 2, affected: 1 }],
      ["divergence", { checked: 0, affected: 0 }]
    ])
    // The average of 66 and 50; divergence has nothing to check.
    assert.strictEqual(overallScore(found), 58)
    assert.strictEqual(overallScore(new Map([["sync", { checked: 1, affected: 0 }]])), undefined)
  })

  it("for dimensions that were not scanned on a day, uses the numbers of their last scan before", () => {
    const day = (dimension: HealthDimension, at: string, affected: number) => ({
      dimension,
      day: at,
      checked: 100,
      affected
    })
    assert.deepStrictEqual(
      trendOf([
        day("completeness", "2027-01-01", 50),
        day("media", "2027-01-01", 0),
        day("completeness", "2027-01-03", 0),
        day("sync", "2027-01-04", 100)
      ]),
      [
        { day: "2027-01-01", score: 75 },
        { day: "2027-01-03", score: 100 },
        { day: "2027-01-04", score: 100 }
      ]
    )
  })
})
