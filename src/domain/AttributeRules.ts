import { Either, Schema } from "effect"
import { type Attributes, builtInFields, type EntityKind, typeOf } from "./Attribute.ts"
import type { Issue } from "./Errors.ts"

/** A new value of a key. `null` empties a canonical value, and returns a store's to the canonical one. */
export const AttributeEdit = Schema.Struct({
  key: Schema.String.annotations({ description: "A built-in key, or `namespace.key` of a metafield." }),
  value: Schema.NullOr(Schema.String).annotations({
    description:
      'Always a string; lists and objects are JSON in a string. null empties a canonical value and removes a store\'s override. On a store `""` is deliberately empty.'
  })
})
export type AttributeEdit = typeof AttributeEdit.Type

/** The built-in keys that only the service writes. */
const readOnlyKeys: Readonly<Record<EntityKind, ReadonlyArray<string>>> = {
  product: ["options"],
  variant: [],
  collection: [],
  media: Object.keys(builtInFields.media).filter((key) => key !== "alt")
}

/** Built-in keys whose values are of a closed list. */
const choices: Readonly<Partial<Record<EntityKind, Readonly<Record<string, ReadonlyArray<string>>>>>> = {
  product: { status: ["active", "draft", "archived"] }
}

const nouns: Readonly<Record<EntityKind, string>> = {
  product: "a product",
  variant: "a variant",
  collection: "a collection",
  media: "a media file"
}

/** The form of a metafield's key, Shopify's: a namespace of up to 255 characters, a key of up to 64. */
const metafieldKey = /^[\w-]{1,255}\.[\w-]{1,64}$/

/** The built-in keys by whose values entities are found: the database has indexes on them. */
const indexedKeys: ReadonlyArray<string> = ["handle", "sku"]

/** Most characters of such a value. Shopify's limit for both; an index of PostgreSQL takes no more than 2,704 bytes. */
export const mostIndexedCharacters = 255

/** Deepest nesting of a value that is JSON. */
const deepestJson = 32

const anythingInJson = Schema.decodeEither(Schema.parseJson())
const listInJson = Schema.decodeEither(Schema.parseJson(Schema.Array(Schema.String)))

const isShallow = (value: unknown, depth = 0): boolean =>
  typeof value !== "object" || value === null
    ? true
    : depth < deepestJson && Object.values(value).every((member) => isShallow(member, depth + 1))

/** Text is stored as sent, or refused. */
const textRule = (text: string): string | undefined =>
  text.includes("\u0000")
    ? "must not contain U+0000"
    : text.isWellFormed()
      ? undefined
      : "must not contain lone surrogates"

const fits = (is: boolean, rule: string) => (is ? undefined : rule)

/** Of each type that we know: what is wrong with a value that is not empty. Ranges are Shopify's. */
const valueRules: Readonly<Record<string, (value: string) => string | undefined>> = {
  single_line_text_field: (value) => fits(!/[\n\r]/.test(value), "must be one line of text"),
  number_decimal: (value) =>
    fits(
      /^-?\d{1,13}(?:\.\d{1,9})?$/.test(value),
      "must be a decimal number such as 19.90, with at most 13 digits before the point and 9 after it"
    ),
  number_integer: (value) =>
    fits(
      /^-?\d{1,16}$/.test(value) && Number.isSafeInteger(Number(value)),
      "must be a whole number from -9007199254740991 to 9007199254740991"
    ),
  boolean: (value) => fits(value === "true" || value === "false", "must be true or false"),
  url: (value) =>
    fits(
      /^(?:https?|mailto|sms|tel):\S+$/i.test(value) && URL.canParse(value),
      "must be an address that begins with http:, https:, mailto:, sms: or tel:"
    ),
  json: (value) =>
    fits(
      Either.match(anythingInJson(value), { onLeft: () => false, onRight: (parsed) => isShallow(parsed) }),
      `must be JSON, at most ${deepestJson} levels deep`
    )
}

const lengthRule = (key: string, value: string) =>
  fits(
    !indexedKeys.includes(key) || value.length <= mostIndexedCharacters,
    `must have at most ${mostIndexedCharacters} characters`
  )

const ruleOf = (type: string, value: string): string | undefined => {
  if (!type.startsWith("list.")) return valueRules[type]?.(value)
  const item = type.slice("list.".length)
  return Either.match(listInJson(value), {
    onLeft: () => "must be a JSON list of strings",
    onRight: (items) =>
      items
        .map((text) => textRule(text) ?? (valueRules[item] ?? (() => undefined))(text))
        .flatMap((rule) => (rule === undefined ? [] : [`each item ${rule}`]))[0]
  })
}

const pathOf = (key: string, index: number) =>
  /^[\w.-]{1,320}$/.test(key) ? `attributes.${key}` : `attributes[${index}]`

/** The keys of a kind that may be written, as a sentence lists them. */
const allowedKeys = (kind: EntityKind): string =>
  Object.keys(builtInFields[kind])
    .filter((key) => !readOnlyKeys[kind].includes(key))
    .join(", ")

/** What is wrong with edits whatever they are of: a key that is given twice, text that cannot be stored. */
export const textIssues = (edits: ReadonlyArray<AttributeEdit>): ReadonlyArray<Issue> =>
  edits.flatMap(({ key, value }, index) => {
    const path = pathOf(key, index)
    if (edits.findIndex((edit) => edit.key === key) < index) return [{ path, message: "is given more than once" }]
    const rule = value === null ? undefined : textRule(value)
    return rule === undefined ? [] : [{ path, message: rule }]
  })

/**
 * What is wrong with edits of an entity of this kind: an unknown or a read-only key, a value that does not fit its type or
 * is too long to be found by. An empty value fits every type. A metafield has the type that one of `layers` knows, else it
 * is a single line of text; of types that are not ours to check any text fits.
 */
export const attributeIssues = (
  kind: EntityKind,
  edits: ReadonlyArray<AttributeEdit>,
  layers: ReadonlyArray<Attributes>
): ReadonlyArray<Issue> =>
  edits.flatMap(({ key, value }, index) => {
    const path = pathOf(key, index)
    const isBuiltIn = Object.hasOwn(builtInFields[kind], key)
    const allowed = `allowed: ${allowedKeys(kind)}, and metafields as namespace.key`
    if (!isBuiltIn && !metafieldKey.test(key))
      return [{ path, message: `is no attribute of ${nouns[kind]}; ${allowed}` }]
    if (isBuiltIn && readOnlyKeys[kind].includes(key)) return [{ path, message: `is read-only; ${allowed}` }]
    if (value === null || value === "") return []
    const choice = choices[kind]?.[key]
    const rule =
      choice === undefined
        ? (lengthRule(key, value) ?? ruleOf(typeOf(kind, key, layers), value))
        : fits(choice.includes(value), `must be one of ${choice.join(", ")}`)
    return rule === undefined ? [] : [{ path, message: rule }]
  })
