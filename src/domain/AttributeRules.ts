import { Either, Schema } from "effect"
import { type Attributes, type AttributeValue, builtInFields, type EntityKind, typeOf } from "./Attribute.ts"
import type { Issue } from "./Errors.ts"
import { isNestedDeeper } from "./JsonNesting.ts"

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
  product: { status: ["active", "draft", "archived", "unlisted"] }
}

const nouns: Readonly<Record<EntityKind, string>> = {
  product: "a product",
  variant: "a variant",
  collection: "a collection",
  media: "a media file"
}

/** The form of a metafield's key, Shopify's: a namespace of up to 255 characters, a key of up to 64. */
const metafieldKey = /^[\w-]{1,255}\.[\w-]{1,64}$/

export const isMetafieldKey = (key: string): boolean => metafieldKey.test(key)

/** The built-in keys by whose values entities are found: the database has indexes on them. */
const indexedKeys: ReadonlyArray<string> = ["handle", "sku"]

/** Most characters of such a value. Shopify's limit for both; an index of PostgreSQL takes no more than 2,704 bytes. */
export const mostIndexedCharacters = 255

/** Deepest nesting of a value that is JSON. */
const deepestJson = 32

const anythingInJson = Schema.decodeEither(Schema.parseJson())
const listInJson = Schema.decodeEither(Schema.parseJson(Schema.Array(Schema.String)))

/** Text is stored as sent, or refused. */
const textRule = (text: string): string | undefined =>
  text.includes("\u0000")
    ? "must not contain U+0000"
    : text.isWellFormed()
      ? undefined
      : "must not contain lone surrogates"

const fits = (is: boolean, rule: string) => (is ? undefined : rule)

type ValueRules = ReadonlyMap<string, (value: string) => string | undefined>

/** Of each type that we know: what is wrong with a value that is not empty. Ranges are Shopify's. */
const valueRules: ValueRules = new Map(
  Object.entries({
    single_line_text_field: (value: string) => fits(!/[\n\r]/.test(value), "must be one line of text"),
    number_decimal: (value: string) =>
      fits(
        /^-?\d{1,13}(?:\.\d{1,9})?$/.test(value),
        "must be a decimal number such as 19.90, with at most 13 digits before the point and 9 after it"
      ),
    number_integer: (value: string) =>
      fits(
        /^-?\d{1,16}$/.test(value) && Number.isSafeInteger(Number(value)),
        "must be a whole number from -9007199254740991 to 9007199254740991"
      ),
    boolean: (value: string) => fits(value === "true" || value === "false", "must be true or false"),
    url: (value: string) =>
      fits(
        /^(?:https?|mailto|sms|tel):\S+$/i.test(value) && URL.canParse(value),
        "must be an address that begins with http:, https:, mailto:, sms: or tel:"
      ),
    json: (value: string) =>
      fits(
        !isNestedDeeper(value, deepestJson) && Either.isRight(anythingInJson(value)),
        `must be JSON, at most ${deepestJson} levels deep`
      )
  })
)

const lengthRule = (key: string, value: string) =>
  fits(
    !indexedKeys.includes(key) || value.length <= mostIndexedCharacters,
    `must have at most ${mostIndexedCharacters} characters`
  )

/** Why a value of a key could not be stored, whoever says it; none when it can. */
export const storageRule = (key: string, value: string): string | undefined => textRule(value) ?? lengthRule(key, value)

const ruleOf = (type: string, value: string, rules = valueRules): string | undefined => {
  if (!type.startsWith("list.")) return rules.get(type)?.(value)
  const item = type.slice("list.".length)
  return Either.match(listInJson(value), {
    onLeft: () => "must be a JSON list of strings",
    onRight: (items) =>
      items
        .map((text) => textRule(text) ?? rules.get(item)?.(text))
        .flatMap((rule) => (rule === undefined ? [] : [`each item ${rule}`]))[0]
  })
}

/** Why a value that is not empty does not fit a type; none when it does, or when the type is not ours to check. */
export const valueRule = (type: string, value: string): string | undefined => ruleOf(type, value)

/** The same, but of an address only its form: what a database can tell of one too. */
const formRules: ValueRules = new Map(valueRules).set("url", (value) =>
  fits(
    /^(?:https?:[/\\]*[^\t\n\v\f\r /\\?#][^\t\n\v\f\r ]*|(?:mailto|sms|tel):[^\t\n\v\f\r ]+)$/i.test(value),
    "must have the form of an address"
  )
)

/**
 * Whether a value that is already here, whoever wrote it, fits its type; an empty one does. Of an address only its form is
 * looked at. The scan of data health says the same in SQL (`value_fits`).
 */
export const fitsItsType = (kind: EntityKind, key: string, { type, value }: AttributeValue): boolean =>
  value === "" ||
  (choices[kind]?.[key] === undefined
    ? (lengthRule(key, value) ?? ruleOf(type, value, formRules)) === undefined
    : choices[kind][key].includes(value))

/** Whether drafts may write a key: an unknown one of a built-in form is a metafield's. */
export const isWritable = (kind: EntityKind, key: string): boolean => !readOnlyKeys[kind].includes(key)

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
