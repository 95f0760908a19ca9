import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import fc from "fast-check"
import { decimalsOf, discounted, parsePercent } from "../../src/drops/Discount.ts"

const rule = "must be a number above 0 and below 100, with at most two decimals, such as 20 or 12.5"

describe("a percentage", () => {
  it("has at most two decimals and is between 0 and 100", () => {
    assert.deepStrictEqual(
      ["20", " 12.5 ", "12,5", "0.01", "99.99", "20 %", "20%"].map((text) => Either.getOrNull(parsePercent(text))),
      [2_000n, 1_250n, 1_250n, 1n, 9_999n, 2_000n, 2_000n]
    )
    for (const text of ["", "0", "0.00", "100", "-5", "12.345", "1e1", "twenty", "٢٠"])
      assert.deepStrictEqual(parsePercent(text), Either.left(rule), text)
  })
})

describe("a discounted price", () => {
  for (const [price, hundredths, currency, expected] of [
    ["20.00", 2_000n, "EUR", "16.00"],
    ["19.99", 2_000n, "EUR", "15.99"],
    // Halves up: 0.125 and 8.325.
    ["0.25", 5_000n, "EUR", "0.13"],
    ["9.25", 1_000n, "EUR", "8.33"],
    ["1999", 1_250n, "JPY", "1749"],
    ["1990", 2_500n, "JPY", "1493"],
    ["10.000", 1_250n, "KWD", "8.750"],
    ["0.01", 9_999n, "USD", "0.00"],
    // More than a float holds.
    ["9999999999999.999999999", 1n, "USD", "9999000000000.00"],
    ["10", 3_333n, "XXX", "6.67"],
    ["10", 3_333n, "no currency", "6.67"],
    ["", 2_000n, "EUR", undefined],
    ["-1", 2_000n, "EUR", undefined],
    ["about 10", 2_000n, "EUR", undefined]
  ] as const)
    it(`${hundredths} hundredths of a percent off "${price}" ${currency} is ${expected}`, () => {
      assert.strictEqual(discounted(price, hundredths, currency), expected)
    })

  it("is at most half a unit from the exact one", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10_000_000 }),
        fc.integer({ min: 1, max: 9_999 }),
        fc.constantFrom("EUR", "JPY", "KWD"),
        (cents, hundredths, currency) => {
          const text = discounted((cents / 100).toFixed(2), BigInt(hundredths), currency) ?? ""
          const decimals = decimalsOf(currency)
          assert.match(text, decimals === 0 ? /^\d+$/ : new RegExp(`^\\d+\\.\\d{${decimals}}$`))
          // In units of a millionth of a cent, exactly.
          const exact = BigInt(cents) * BigInt(10_000 - hundredths) * 100n
          const rounded = BigInt(text.replace(".", "")) * 10n ** BigInt(8 - decimals)
          const distance = rounded > exact ? rounded - exact : exact - rounded
          assert.isTrue(2n * distance <= 10n ** BigInt(8 - decimals), `${cents} ${hundredths} ${text}`)
        }
      )
    )
  })
})
