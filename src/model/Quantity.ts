import { Either, Predicate, Schema } from "effect"
import { inBaseUnit, measurementTypes } from "./Measurement.ts"

/** An amount that can be compared with amounts of the same unit. */
interface Quantity {
  readonly amount: number
  readonly unit: string
  /** The text for messages. */
  readonly text: string
}

const parse = Schema.decodeEither(Schema.parseJson())

const membersOf = (text: string): Readonly<Record<string, unknown>> => {
  const read = Either.getOrUndefined(parse(text))
  return Predicate.isReadonlyRecord(read) ? read : {}
}

/** The time in milliseconds. A text without an offset is in UTC, as for Shopify. Undefined: the text is not a time. */
export const millisOf = (text: string): number | undefined => {
  const millis = Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/i.test(text) ? text : `${text}Z`)
  return Number.isNaN(millis) ? undefined : millis
}

const finite = (value: unknown): number | undefined => {
  const amount = Predicate.isNumber(value) || (Predicate.isString(value) && value !== "") ? Number(value) : Number.NaN
  return Number.isFinite(amount) ? amount : undefined
}

const quantity = (amount: number | undefined, unit: string, text: string): Quantity | undefined =>
  amount === undefined ? undefined : { amount, unit, text }

const measurementOf = (text: string): Quantity | undefined => {
  const { unit, value } = membersOf(text)
  const amount = finite(value)
  if (amount === undefined || !Predicate.isString(unit)) return undefined
  return { ...inBaseUnit(amount, unit), text: `${amount} ${unit.toLowerCase()}` }
}

/** The quantities of a type's values. A bound of a rating is a number. */
const readers: ReadonlyMap<string, (text: string) => Quantity | undefined> = new Map([
  ["date_time", (text: string) => quantity(millisOf(text), "ms", text)],
  ["rating", (text: string) => quantity(finite(text) ?? finite(membersOf(text).value), "", text)],
  ...measurementTypes.map((type) => [type, measurementOf] as const)
])

/** The quantity of a value of a measurement, rating or time. Undefined: another type, or the text has none. */
export const quantityOf = (type: string, text: string): Quantity | undefined => readers.get(type)?.(text)

/** Whether a value of a type is less than another. False also if their units cannot be compared, or if they differ by rounding only. */
export const isLess = (type: string, value: string, other: string): boolean => {
  const [left, right] = [quantityOf(type, value), quantityOf(type, other)]
  if (left === undefined || left.unit !== right?.unit) return false
  const rounding = 4 * Number.EPSILON * Math.max(Math.abs(left.amount), Math.abs(right.amount))
  return right.amount - left.amount > rounding
}

/** Whether the value of a rating lies on its own scale. */
export const isOnScale = (members: Readonly<Record<string, unknown>>): boolean => {
  const [value, min, max] = [members.value, members.scale_min, members.scale_max].map(Number)
  return value !== undefined && min !== undefined && max !== undefined && min <= value && value <= max
}
