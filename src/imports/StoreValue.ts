import { Either, Predicate, Record, Schema } from "effect"
import { itemTypeOf, textOfItem } from "../model/KeyRule.ts"
import { measurementTypes, unitOf } from "../model/Measurement.ts"

/** Removes the query from the address of a file. Stores put a version number there. */
export const addressOf = (url: string): string => {
  const query = url.indexOf("?")
  return query === -1 ? url : url.slice(0, query)
}

/** Whether a product CSV can name the address. */
export const isWebAddress = (url: string): boolean => /^https?:\/\//i.test(url)

const parse = Schema.decodeUnknownEither(Schema.parseJson())

const withSortedMembers = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    Predicate.isReadonlyRecord(member)
      ? Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)))
      : member
  )

/** JSON text with sorted members. Left: the text is not JSON. */
const canonicalJson = (text: string): Either.Either<string, unknown> => Either.map(parse(text), withSortedMembers)

const decodeTexts = Schema.decodeUnknownEither(Schema.parseJson(Schema.Array(Schema.String)))

const sorted = (text: string) => Either.map(decodeTexts(text), (texts) => JSON.stringify([...texts].sort()))

const Options = Schema.parseJson(
  Schema.Array(Schema.Struct({ name: Schema.String, values: Schema.Array(Schema.String) }))
)
const decodeOptions = Schema.decodeUnknownEither(Options)

/** Parses the options of a product. Returns an empty list for malformed text. */
export const readOptions = (
  text: string
): ReadonlyArray<{ readonly name: string; readonly values: ReadonlyArray<string> }> =>
  Either.getOrElse(decodeOptions(text), () => [])

/** A number without redundant zeros. Left: the text is not a number. */
const plainNumber = (text: string): Either.Either<string, string> => {
  const [, sign = "", whole = "", part = ""] = /^([+-]?)0*(\d+)(?:\.(\d*?)0*)?$/.exec(text.trim()) ?? []
  if (whole === "") return Either.left(text)
  const digits = part === "" ? whole : `${whole}.${part}`
  return Either.right(sign === "-" && /[1-9]/.test(digits) ? `-${digits}` : digits)
}

/** The time in milliseconds. A text without an offset is in UTC, as for Shopify. */
const instant = (text: string): Either.Either<number, string> => {
  const millis = Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/i.test(text) ? text : `${text}Z`)
  return Number.isNaN(millis) ? Either.left(text) : Either.right(millis)
}

/** JSON with members whose spelling a store may change. */
const jsonWith =
  (canonical: Readonly<Record<string, (text: string) => unknown>>) =>
  (text: string): Either.Either<string, unknown> =>
    Either.map(parse(text), (value) =>
      withSortedMembers(
        Predicate.isReadonlyRecord(value)
          ? Record.map(value, (member, name) =>
              Object.hasOwn(canonical, name) ? canonical[name]?.(String(member)) : member
            )
          : value
      )
    )

const numberOf = (text: string) => Either.getOrElse(plainNumber(text), () => text)
const measurement = jsonWith({ value: numberOf, unit: unitOf })

/** Canonical forms for comparison, by type. Values of other types are compared as text. */
const canonicalForms: Readonly<Record<string, (text: string) => Either.Either<unknown, unknown>>> = {
  number_decimal: plainNumber,
  number_integer: plainNumber,
  date_time: instant,
  json: canonicalJson,
  rich_text_field: canonicalJson,
  link: canonicalJson,
  money: jsonWith({ amount: numberOf }),
  rating: jsonWith({ value: numberOf, scale_min: numberOf, scale_max: numberOf }),
  ...Object.fromEntries(measurementTypes.map((type) => [type, measurement]))
}

/** The items of a list in the canonical form of their type. A store may write a number or an object as a text, or the reverse. */
const canonicalList =
  (itemType: string) =>
  (text: string): Either.Either<string, unknown> =>
    Either.map(parse(text), (list) => {
      if (!Array.isArray(list)) return withSortedMembers(list)
      const canonical = canonicalForms[itemType] ?? Either.right
      return JSON.stringify(
        list.map(textOfItem).map((item) => Either.getOrElse(canonical(item) as Either.Either<unknown>, () => item))
      )
    })

const plainText = (text: string) => text.replaceAll("\r\n", "\n").trim()

/**
 * Whether a store treats two values of a key as equal. Numbers compare by value, JSON by content, tags in any order,
 * addresses without their query, and other text without surrounding white space.
 */
export const sameValue = (key: string, type: string, left: string, right: string): boolean => {
  if (left === right || plainText(left) === plainText(right)) return true
  if (left === "" || right === "") return false
  if (key === "url") return addressOf(left) === addressOf(right)
  const itemType = itemTypeOf(type)
  const meaning = key === "tags" ? sorted : itemType === undefined ? canonicalForms[type] : canonicalList(itemType)
  if (meaning === undefined) return false
  const [one, other] = [meaning(left), meaning(right)]
  return Either.isRight(one) && Either.isRight(other) && one.right === other.right
}

/** Whether two texts contain the same options, each with the same values in any order. */
export const sameOptions = (left: string, right: string): boolean => {
  const [some, others] = [readOptions(left), readOptions(right)]
  return (
    some.length > 0 &&
    some.length === others.length &&
    some.every(
      ({ name, values }, index) =>
        name === others[index]?.name &&
        JSON.stringify([...values].sort()) === JSON.stringify([...(others[index]?.values ?? [])].sort())
    )
  )
}
