import { Either, Predicate, Record, Schema } from "effect"
import { itemTypeOf, textOfItem } from "./KeyRule.ts"
import { measurementTypes, unitOf } from "./Measurement.ts"
import { millisOf } from "./Quantity.ts"

/** Removes the query from the address of a file. Stores put a version number there. */
export const addressOf = (url: string): string => {
  const query = url.indexOf("?")
  return query === -1 ? url : url.slice(0, query)
}

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

/** A number without redundant zeros. Left: the text is not a number. */
const plainNumber = (text: string): Either.Either<string, string> => {
  const [, sign = "", whole = "", part = ""] = /^([+-]?)0*(\d+)(?:\.(\d*?)0*)?$/.exec(text.trim()) ?? []
  if (whole === "") return Either.left(text)
  const digits = part === "" ? whole : `${whole}.${part}`
  return Either.right(sign === "-" && /[1-9]/.test(digits) ? `-${digits}` : digits)
}

const instant = (text: string): Either.Either<number, string> => Either.fromNullable(millisOf(text), () => text)

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

/** A handle as platforms keep it: letters and digits in lower case, and a hyphen for all between them. A mark is part of its letter. */
export const handleOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}_-]+/gu, "-")
    .replaceAll(/-{2,}/g, "-")
    .replaceAll(/^-|-$/g, "")

/** Tags as platforms keep them: without white space around them, and each name once, whatever its case. */
const tagNames = (text: string) =>
  Either.map(decodeTexts(text), (tags) =>
    JSON.stringify(
      [...new Set(tags.flatMap((tag) => tag.split(",")).map((tag) => tag.trim().toLowerCase()))].filter(Boolean).sort()
    )
  )

/**
 * Whether a platform that was sent the first value can return the second. Platforms also change the form of handles and tags, and
 * have the weight 0 for none (recorded from Shopify's Admin API).
 */
export const sameOnPlatform = (key: string, type: string, sent: string, returned: string): boolean => {
  if (sameValue(key, type, sent, returned)) return true
  if (key === "weight") return Number(sent || 0) === Number(returned || 0)
  if (sent === "" || returned === "") return false
  if (key === "handle") return handleOf(sent) === handleOf(returned)
  if (key !== "tags") return false
  const [one, other] = [tagNames(sent), tagNames(returned)]
  return Either.isRight(one) && Either.isRight(other) && one.right === other.right
}
