import { Either } from "effect"

/** A percentage in hundredths: more than 0, less than 100, with at most two decimals. Left: the rule that the text breaks. */
export const parsePercent = (text: string): Either.Either<bigint, string> => {
  const [, whole, fraction = ""] = /^(\d{1,2})(?:[.,](\d{1,2}))?$/.exec(text.trim().replace(/\s?%$/, "")) ?? []
  const hundredths = whole === undefined ? 0n : BigInt(`${whole}${fraction.padEnd(2, "0")}`)
  return hundredths > 0n
    ? Either.right(hundredths)
    : Either.left("must be a number above 0 and below 100, with at most two decimals, such as 20 or 12.5")
}

/** The number of decimals of a currency: 2 of EUR, 0 of JPY, 3 of KWD; 2 of an unknown one. */
export const decimalsOf = (currency: string): number =>
  /^[A-Z]{3}$/.test(currency)
    ? (new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2)
    : 2

/** A price of at most 13 digits before the point and 9 after it, in billionths. Undefined: the text is not such a price. */
const billionthsOf = (price: string) => {
  const [, whole, fraction = ""] = /^(\d{1,13})(?:\.(\d{1,9}))?$/.exec(price) ?? []
  return whole === undefined ? undefined : BigInt(`${whole}${fraction.padEnd(9, "0")}`)
}

/**
 * The price after a discount, rounded to the decimals of its currency, halves up. `hundredths`: the discount in hundredths of a
 * percent. Undefined: the text is not a price.
 */
export const discounted = (price: string, hundredths: bigint, currency: string): string | undefined => {
  const billionths = billionthsOf(price)
  if (billionths === undefined) return undefined
  const decimals = decimalsOf(currency)
  const unit = 10n ** BigInt(9 - decimals) * 10_000n
  const units = (billionths * (10_000n - hundredths) + unit / 2n) / unit
  const digits = units.toString().padStart(decimals + 1, "0")
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}
