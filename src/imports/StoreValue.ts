import { Either, Schema } from "effect"

/** Removes the query from the address of a file. Stores put a version number there. */
export const addressOf = (url: string): string => {
  const query = url.indexOf("?")
  return query === -1 ? url : url.slice(0, query)
}

/** Whether a product CSV can name the address. */
export const isWebAddress = (url: string): boolean => /^https?:\/\//i.test(url)

const parse = Schema.decodeUnknownEither(Schema.parseJson())

/** JSON text with sorted members. Left: the text is not JSON. */
const canonicalJson = (text: string): Either.Either<string, unknown> =>
  Either.map(parse(text), (value) =>
    JSON.stringify(value, (_, member: unknown) =>
      typeof member === "object" && member !== null && !Array.isArray(member)
        ? Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)))
        : member
    )
  )

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

const instant = (text: string): Either.Either<number, string> => {
  const millis = Date.parse(text)
  return Number.isNaN(millis) ? Either.left(text) : Either.right(millis)
}

/** Canonical forms for comparison, by type. Values of other types are compared as text. */
const canonicalForms: Readonly<Record<string, (text: string) => Either.Either<unknown, unknown>>> = {
  number_decimal: plainNumber,
  number_integer: plainNumber,
  date_time: instant,
  json: canonicalJson,
  rich_text_field: canonicalJson,
  link: canonicalJson,
  money: canonicalJson,
  rating: canonicalJson,
  dimension: canonicalJson,
  volume: canonicalJson,
  weight: canonicalJson
}

const plainText = (text: string) => text.replaceAll("\r\n", "\n").trim()

/**
 * Whether a store treats two values of a key as equal. Numbers compare by value, JSON by content, tags in any order,
 * addresses without their query, and other text without surrounding white space.
 */
export const sameValue = (key: string, type: string, left: string, right: string): boolean => {
  if (left === right || plainText(left) === plainText(right)) return true
  if (left === "" || right === "") return false
  if (key === "url") return addressOf(left) === addressOf(right)
  const meaning = key === "tags" ? sorted : type.startsWith("list.") ? canonicalJson : canonicalForms[type]
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
