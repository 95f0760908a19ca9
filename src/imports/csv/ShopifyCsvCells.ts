import { Either } from "effect"
import type { EntityKind } from "../../model/Attribute.ts"
import { eachItem, misfitOf } from "../../model/KeyRule.ts"
import { builtInRules, maxIndexedCharacters } from "../../model/KeyRules.ts"
import { quoted } from "../ImportedProduct.ts"
import { isWebAddress } from "../StoreValue.ts"

/** Converts a cell that is not blank to a value, or explains why it does not fit. */
export type CellRule = (cell: string) => Either.Either<string, string>

/** Whether the cell has only white space. */
export const isBlank = (cell: string): boolean => cell === "" || cell.trim() === ""

/** Number of line ends (CR LF, LF or CR) in the text. */
export const lineBreaks = (text: string): number => {
  let count = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === 10 || (code === 13 && text.charCodeAt(index + 1) !== 10)) count++
  }
  return count
}

/** Adds an attribute's bounds to a cell rule. */
export const within =
  (kind: EntityKind, key: string, rule: CellRule): CellRule =>
  (cell) =>
    Either.flatMap(rule(cell), (value) => {
      const valueRule = builtInRules[kind].get(key)
      // `anyText` may have line breaks, so only the length is checked and not the single-line type.
      const bounds = valueRule !== undefined && rule === anyText ? { ...valueRule, type: "" } : valueRule
      const wrong = bounds === undefined ? undefined : misfitOf(bounds, value)
      return wrong === undefined
        ? Either.right(value)
        : Either.left(
            wrong.startsWith(eachItem) ? `Each item of the list${wrong.slice(eachItem.length)}.` : `The value ${wrong}.`
          )
    })

/** Text of any number of lines, unchanged. */
export const anyText: CellRule = Either.right

export const lineOfText: CellRule = (cell) =>
  lineBreaks(cell) === 0
    ? Either.right(cell)
    : Either.left("This value must be a single line, but it has a line break.")

const indexedText =
  (noun: string): CellRule =>
  (text) =>
    text.length > maxIndexedCharacters
      ? Either.left(`A ${noun} has at most ${maxIndexedCharacters} characters.`)
      : lineOfText(text)

const anyHandle = indexedText("handle")

/** Shopify keeps handles in lower case. */
export const handleText: CellRule = (cell) => anyHandle(cell.trim().toLowerCase())

export const skuText: CellRule = indexedText("SKU")

/** Tags as a JSON list, in the order of the file, without duplicates. */
export const tagList: CellRule = (cell) => {
  const tags = new Set(cell.split(",").flatMap((tag) => tag.trim() || []))
  return lineBreaks(cell) > 0 ? lineOfText(cell) : Either.right(tags.size === 0 ? "" : JSON.stringify([...tags]))
}

/** The range of Shopify's number_decimal, without its sign. */
const decimal = /^\d{1,13}(?:\.\d{1,9})?$/

export const decimalNumber: CellRule = (cell) =>
  decimal.test(cell.trim())
    ? Either.right(cell.trim())
    : Either.left(`${quoted(cell)} is not a number of 0 or more, written like 12.50.`)

/** Numbers with separators for thousands or decimals: `1.234,50`, `12,5`. */
const withComma = /^(\d{1,3}(?:\.\d{3})+|\d{1,13}),(\d{1,9})$/
/** One separator before three digits is ambiguous: thousands or thousandths. */
const isAmbiguous = /^[1-9]\d{0,2}[.,]\d{3}$/

/** A number that may have a decimal comma, because the file does not separate cells with commas. */
export const decimalCommaNumber: CellRule = (cell) => {
  const value = cell.trim()
  if (isAmbiguous.test(value))
    return Either.left(`${quoted(cell)} may mean thousands or decimals: write it with two decimals, like 12,50.`)
  const [, whole, part] = withComma.exec(value) ?? []
  return whole === undefined ? decimalNumber(value) : decimalNumber(`${whole.replaceAll(".", "")}.${part}`)
}

export const wholeNumber: CellRule = (cell) =>
  /^\d{1,9}$/.test(cell.trim())
    ? Either.right(cell.trim())
    : Either.left(`${quoted(cell)} is not a whole number of 0 or more.`)

const oneOf =
  (...allowed: ReadonlyArray<string>): CellRule =>
  (cell) => {
    const value = cell.trim().toLowerCase()
    return allowed.includes(value)
      ? Either.right(value)
      : Either.left(`${quoted(cell)} is not one of: ${allowed.join(", ")}.`)
  }

export const yesOrNo: CellRule = oneOf("true", "false")

export const productStatus: CellRule = oneOf("active", "draft", "archived", "unlisted")

/** Derives a product's status from the "Published" column. */
export const publishedStatus: CellRule = (cell) =>
  Either.map(yesOrNo(cell), (published) => (published === "true" ? "active" : "draft"))

export const weightUnit: CellRule = oneOf("g", "kg", "lb", "oz")

export const webAddress: CellRule = (cell) => {
  const url = cell.trim()
  return isWebAddress(url) && !/\s/.test(url) && URL.canParse(url)
    ? Either.right(url)
    : Either.left(`${quoted(cell)} is not an absolute http or https address.`)
}

/** Grams per unit. Pound and ounce are the international ones. */
const gramsPerUnit: Readonly<Record<string, number>> = { g: 1, kg: 1000, lb: 453.59237, oz: 28.349523125 }

/** The number as text with as few decimals as fit; with `maxDecimals` if none fits. */
const shortest = (number: number, maxDecimals: number, fits: (text: string) => boolean): string => {
  let decimals = 0
  while (decimals < maxDecimals && !fits(number.toFixed(decimals))) decimals++
  return number.toFixed(decimals)
}

/**
 * Converts grams to another unit. An export has the merchant's unit, but the weight in grams and mostly rounded. The result has
 * the fewest decimals that round to the same grams: 454 g are 1 lb, 28 g are 1 oz, 740 g are 0.74 kg.
 */
export const weightIn = (unit: string, grams: string): string => {
  const perUnit = gramsPerUnit[unit] ?? 1
  const [whole = "0", fraction = ""] = grams.split(".")
  const decimals = fraction.replace(/0*$/, "").length
  const asked = Number(`${whole}.${fraction}0`).toFixed(decimals)
  // Three more decimals suffice: no unit has more than 1,000 grams.
  return shortest(Number(asked) / perUnit, decimals + 3, (text) => (Number(text) * perUnit).toFixed(decimals) === asked)
}

/** The inverse of `weightIn`: the grams with the fewest decimals that are converted back to the same weight. */
export const gramsOf = (unit: string, weight: string): string =>
  // Most weights are whole grams: looking for their decimals took an eighth of an export's time in this process.
  unit === "g" && /^[1-9]\d{0,14}$/.test(weight)
    ? weight
    : // The format has at most nine decimals.
      shortest(
        Number(weight) * (gramsPerUnit[unit] ?? 1),
        9,
        (grams) => Number(weightIn(unit, grams)) === Number(weight)
      )
