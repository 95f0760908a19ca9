import { Either, Predicate, Schema } from "effect"
import { RE2JS } from "re2js"
import type { DefinitionValidation } from "./Definition.ts"
import { isNestedDeeper } from "./JsonNesting.ts"
import { measurementTypes, typeOfUnit, unitsOf } from "./Measurement.ts"
import { isLess, isOnScale, quantityOf } from "./Quantity.ts"
import { textMisfit } from "./Text.ts"

/**
 * The type and bounds of a key's values, as plain data: data health scans pass it to the database. There `key_fits` of
 * `migrations/0010_health.sql`, with `item_fits` of `0032_rich_values.sql`, gives the same result as `fits`: both check neither patterns nor
 * host names. In a list, bounds apply to each item, except minItems and maxItems.
 */
export interface KeyRule {
  readonly type: string
  /** Minimum and maximum length, in Unicode characters. */
  readonly minLength?: number
  readonly maxLength?: number
  /** The smallest and largest allowed number, or the first and last allowed date. */
  readonly min?: string
  readonly max?: string
  /** The smallest and largest allowed measurement, rating or time. Writes check them; scans do not. */
  readonly least?: string
  readonly most?: string
  /** Maximum digits after the decimal point. */
  readonly precision?: number
  readonly choices?: ReadonlyArray<string>
  readonly minItems?: number
  readonly maxItems?: number
  /** Allowed host names of URLs. Writes check them; scans do not. */
  readonly domains?: ReadonlyArray<string>
  /** A regular expression in RE2's dialect. Writes check it; scans do not, because PostgreSQL has another dialect. */
  readonly pattern?: string
  /** The platform takes each value for one entity only. The platform checks it. */
  readonly isUnique?: true
}

const maxJsonDepth = 32

const anythingInJson = Schema.decodeEither(Schema.parseJson())
const itemsInJson = Schema.decodeEither(Schema.parseJson(Schema.Array(Schema.Unknown)))
const listInJson = Schema.decodeEither(Schema.parseJson(Schema.Array(Schema.String)))

const ruleUnless = (fits: boolean, rule: string) => (fits ? undefined : rule)

/** Whether a text is an existing calendar date, such as 2026-01-31. */
const isDate = (text: string): boolean => {
  const [, year = 0, month = 0, day = 0] = (/^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []).map(Number)
  return (
    year > 0 &&
    month > 0 &&
    month <= 12 &&
    day > 0 &&
    day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
  )
}

type TypeRules = ReadonlyMap<string, (value: string) => string | undefined>

/** Checks of non-empty values by type, with Shopify's ranges. Each returns the rule that a value breaks. Other types accept all. */
const commonTypeRules: TypeRules = new Map(
  Object.entries({
    single_line_text_field: (value: string) => ruleUnless(!/[\n\r]/.test(value), "must be one line of text"),
    number_decimal: (value: string) =>
      ruleUnless(
        /^-?\d{1,13}(?:\.\d{1,9})?$/.test(value),
        "must be a decimal number such as 19.90, with at most 13 digits before the point and 9 after it"
      ),
    number_integer: (value: string) =>
      ruleUnless(
        /^-?\d{1,16}$/.test(value) && Number.isSafeInteger(Number(value)),
        "must be a whole number from -9007199254740991 to 9007199254740991"
      ),
    boolean: (value: string) => ruleUnless(value === "true" || value === "false", "must be true or false"),
    date: (value: string) => ruleUnless(isDate(value), "must be a date such as 2026-01-31"),
    url: (value: string) =>
      ruleUnless(
        /^(?:https?|mailto|sms|tel):\S+$/i.test(value) && URL.canParse(value),
        "must be a URL that begins with http:, https:, mailto:, sms: or tel:"
      ),
    json: (value: string) =>
      ruleUnless(
        !isNestedDeeper(value, maxJsonDepth) && Either.isRight(anythingInJson(value)),
        `must be JSON, at most ${maxJsonDepth} levels deep`
      )
  })
)

/** A check of a JSON object by its members. The rule names an example. `units`: the units of which it must have one. */
const objectLike =
  (example: object, fits: (object: Readonly<Record<string, unknown>>) => boolean, units?: ReadonlyArray<string>) =>
  (value: string) => {
    const read = isNestedDeeper(value, maxJsonDepth) ? undefined : Either.getOrUndefined(anythingInJson(value))
    const json = JSON.stringify(example)
    return ruleUnless(
      Predicate.isReadonlyRecord(read) && fits(read),
      units === undefined
        ? `must be JSON such as ${json}`
        : `must be JSON such as ${json}, with one of the units ${units.join(", ")}`
    )
  }

/** Whether a member is a number, or a text of one. A list of one number reads like the number, so the kind of the member is checked too. */
const isNumeric = (member: unknown) =>
  (Predicate.isNumber(member) || Predicate.isString(member)) &&
  /^-?\d+(?:\.\d+)?$/.test(String(member)) &&
  Number.isFinite(Number(member))

const measurementRule = (type: string) => {
  const units = unitsOf(type)
  const [unit = "celsius"] = units ?? []
  return objectLike(
    { value: 25, unit },
    (object) =>
      isNumeric(object.value) &&
      Predicate.isString(object.unit) &&
      (units === undefined || typeOfUnit(object.unit) === type),
    units
  )
}

const isRating = objectLike({ value: "3.5", scale_min: "1.0", scale_max: "5.0" }, ({ scale_max, scale_min, value }) =>
  [value, scale_min, scale_max].every(isNumeric)
)

/** The checks of all types (Shopify's "List of data types"). */
const typeRules: TypeRules = new Map([
  ...commonTypeRules,
  ...Object.entries({
    color: (value: string) => ruleUnless(/^#(?:[0-9a-f]{3}){1,2}$/i.test(value), "must be a colour such as #1a2b3c"),
    date_time: (value: string) => {
      const [, date = ""] =
        /^(\d{4}-\d{2}-\d{2})[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?$/.exec(
          value
        ) ?? []
      return ruleUnless(isDate(date), "must be a date and time such as 2026-01-31T12:30:00")
    },
    money: objectLike(
      { amount: "5.99", currency_code: "EUR" },
      ({ amount, currency_code }) =>
        isNumeric(amount) && Predicate.isString(currency_code) && /^[A-Z]{3}$/.test(currency_code)
    ),
    rating: (value: string) =>
      isRating(value) ??
      ruleUnless(isOnScale(JSON.parse(value)), "must have a value from its scale_min to its scale_max"),
    link: objectLike(
      { text: "Size guide", url: "https://example.com/sizes" },
      ({ text, url }) => Predicate.isString(text) && Predicate.isString(url)
    ),
    rich_text_field: objectLike(
      { type: "root", children: [{ type: "paragraph", children: [{ type: "text", value: "Text" }] }] },
      ({ children, type }) => type === "root" && Array.isArray(children)
    )
  }),
  ...measurementTypes.map((type) => [type, measurementRule(type)] as const)
])

/** As `typeRules`, but a URL is only matched with a pattern and not parsed, because the database cannot parse it. */
const storedTypeRules: TypeRules = new Map(typeRules).set("url", (value) =>
  ruleUnless(
    /^(?:https?:[/\\]*[^\t\n\v\f\r /\\?#][^\t\n\v\f\r ]*|(?:mailto|sms|tel):[^\t\n\v\f\r ]+)$/i.test(value),
    "must be a URL"
  )
)

const isLongerThan = (text: string, length: number) => text.length > length && [...text].length > length
const isShorterThan = (text: string, length: number) => text.length < 2 * length && [...text].length < length

/** Converts a decimal number to billionths. Undefined: the text is not a decimal number. */
const billionths = (text: string): bigint | undefined => {
  const [, sign, whole, fraction = ""] = /^(-?)(\d{1,16})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  return whole === undefined ? undefined : BigInt(`${sign}${whole}${fraction.padEnd(9, "0")}`)
}

const isBefore = (type: string, left: string, right: string): boolean => {
  if (type === "date") return left < right
  const [before, after] = [billionths(left), billionths(right)]
  return before !== undefined && after !== undefined && before < after
}

const hostOf = (value: string) => (URL.canParse(value) ? new URL(value).hostname.toLowerCase() : "")

/**
 * Maximum steps of matching a pattern with a whole value, all items of a list included. The engine takes at most (characters of
 * the value) x (instructions of the pattern).
 */
const maxPatternSteps = 250_000

const compiled = new Map<string, RE2JS | null>()

/**
 * Whether a value, or an item of a list, matches a pattern. Patterns come from platforms, so they run in an engine with linear
 * time. A pattern that the engine does not support, or that would take too long with the whole value, allows everything here;
 * the platform checks it at the publish.
 */
const matchesPattern = (pattern: string, item: string, valueLength: number): boolean => {
  let engine = compiled.get(pattern)
  if (engine === undefined) {
    engine =
      pattern.length > 1_000
        ? null
        : Either.getOrElse(
            Either.try(() => RE2JS.compile(pattern)),
            () => null
          )
    if (compiled.size >= 1_000) compiled.clear()
    compiled.set(pattern, engine)
  }
  return engine === null || engine.programSize() * valueLength > maxPatternSteps || engine.matcher(item).find()
}

const itemMisfit = (
  rule: KeyRule,
  type: string,
  value: string,
  valueLength: number,
  types: TypeRules
): string | undefined => {
  const wrong = types.get(type)?.(value)
  if (wrong !== undefined) return wrong
  const { choices, domains, least, max, maxLength, min, minLength, most, pattern, precision } = rule
  if (maxLength !== undefined && isLongerThan(value, maxLength))
    return maxLength === 1 ? "must have at most 1 character" : `must have at most ${maxLength} characters`
  if (minLength !== undefined && isShorterThan(value, minLength))
    return minLength === 1 ? "must have at least 1 character" : `must have at least ${minLength} characters`
  if (min !== undefined && isBefore(type, value, min)) return `must be at least ${min}`
  if (max !== undefined && isBefore(type, max, value)) return `must be at most ${max}`
  if (precision !== undefined && (value.split(".")[1] ?? "").length > precision)
    return precision === 1
      ? "must have at most 1 digit after the point"
      : `must have at most ${precision} digits after the point`
  if (choices !== undefined && !choices.includes(value)) return `must be one of ${choices.join(", ")}`
  if (types !== typeRules) return undefined
  if (least !== undefined && isLess(type, value, least)) return `must be at least ${quantityOf(type, least)?.text}`
  if (most !== undefined && isLess(type, most, value)) return `must be at most ${quantityOf(type, most)?.text}`
  if (domains !== undefined && !domains.includes(hostOf(value)))
    return `must be a URL whose host is one of ${domains.join(", ")}`
  return pattern === undefined || matchesPattern(pattern, value, valueLength)
    ? undefined
    : `must match the pattern ${pattern}`
}

/** The type of a list's items. Undefined: the type is not one of lists. */
export const itemTypeOf = (type: string): string | undefined =>
  type.startsWith("list.") ? type.slice("list.".length) : undefined

const textTypes: ReadonlySet<string> = new Set([
  ...["single_line_text_field", "multi_line_text_field", "url", "date", "date_time", "color", "id", "language"]
])

/** Whether all items of a list of this type are texts. Lists of numbers, measurements and others have their JSON. */
const isTextType = (itemType: string) => textTypes.has(itemType) || itemType.endsWith("_reference")

/** An item of a list as the value of a single field. */
export const textOfItem = (item: unknown): string => (Predicate.isString(item) ? item : JSON.stringify(item))

/** The first words of a message about an item of a list. Messages about a whole value have no such subject. */
export const eachItem = "each item"

const misfitBy = (types: TypeRules, rule: KeyRule, value: string): string | undefined => {
  if (value === "") return undefined
  const type = itemTypeOf(rule.type)
  if (type === undefined) return itemMisfit(rule, rule.type, value, value.length, types)
  const items = isNestedDeeper(value, maxJsonDepth) ? undefined : Either.getOrUndefined(itemsInJson(value))
  if (items === undefined || (isTextType(type) && !items.every(Predicate.isString)))
    return isTextType(type) ? "must be a JSON list of strings" : "must be a JSON list"
  const { maxItems, minItems } = rule
  if (maxItems !== undefined && items.length > maxItems)
    return maxItems === 1 ? "must have at most 1 item" : `must have at most ${maxItems} items`
  if (minItems !== undefined && items.length < minItems)
    return minItems === 1 ? "must have at least 1 item" : `must have at least ${minItems} items`
  for (const item of items.map(textOfItem)) {
    const wrong = textMisfit(item) ?? itemMisfit(rule, type, item, value.length, types)
    if (wrong !== undefined) return `${eachItem} ${wrong}`
  }
  return undefined
}

/** The rule that a value to be written breaks. Undefined: none. An empty value is always valid. */
export const misfitOf = (rule: KeyRule, value: string): string | undefined => misfitBy(typeRules, rule, value)

/** Whether a stored value is valid, by the checks of data health scans: without patterns and host names. */
export const fits = (rule: KeyRule, value: string): boolean => misfitBy(storedTypeRules, rule, value) === undefined

/** Maximum characters of a value by type: Shopify's limits of metafields. */
const maxLengths: Readonly<Record<string, number>> = { url: 2_048, id: 2_048, json: 2_000_000 }
const defaultMaxLength = 65_536

/** Maximum items of a list: Shopify's limits. */
const maxListItems = (type: string) => (type === "list.metaobject_reference" ? 256 : 128)

/** Types whose values are never negative in Shopify, with a unit of each. */
const unitsFromZero: Readonly<Record<string, string>> = { dimension: "mm", weight: "g", volume: "ml" }

/** The rule of a metafield that has a type and no validations. */
export const ruleOfType = (type: string): KeyRule => {
  const item = itemTypeOf(type) ?? type
  const maxLength = Object.hasOwn(maxLengths, item) ? maxLengths[item] : defaultMaxLength
  const unit = Object.hasOwn(unitsFromZero, item) ? unitsFromZero[item] : undefined
  return {
    type,
    maxLength: maxLength ?? defaultMaxLength,
    ...(item === type ? {} : { maxItems: maxListItems(type) }),
    ...(unit === undefined ? {} : { least: JSON.stringify({ value: 0, unit }) })
  }
}

const lengthTypes = ["single_line_text_field", "multi_line_text_field", "id"]
const numberTypes = ["number_integer", "number_decimal"]

const countOf = (text: string) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined)

const textsOf = (text: string) =>
  Either.match(listInJson(text), {
    onLeft: () => undefined,
    // Drops choices that the database cannot store, because no value can equal them.
    onRight: (items) => items.filter((item) => textMisfit(item) === undefined)
  })

/** Whether a text is a bound of the numbers or dates of a type. */
const isBound = (text: string, item: string) =>
  (numberTypes.includes(item) && billionths(text) !== undefined) || (item === "date" && isDate(text))

/** The validation of a metafield definition whose values are unique: Shopify has a capability in place of a validation. */
export const uniqueValues: DefinitionValidation = { name: "unique_values", type: "boolean", value: "true" }

const rulesOfValidation: Readonly<Record<string, (value: string, item: string) => Partial<KeyRule>>> = {
  min: (value, item) => {
    if (lengthTypes.includes(item)) return { minLength: countOf(value) ?? 0 }
    return isBound(value, item) ? { min: value } : quantityOf(item, value) ? { least: value } : {}
  },
  max: (value, item) => {
    const count = countOf(value)
    if (lengthTypes.includes(item)) return count === undefined ? {} : { maxLength: Math.min(count, defaultMaxLength) }
    return isBound(value, item) ? { max: value } : quantityOf(item, value) ? { most: value } : {}
  },
  scale_min: (value, item) => (item === "rating" && quantityOf(item, value) ? { least: value } : {}),
  scale_max: (value, item) => (item === "rating" && quantityOf(item, value) ? { most: value } : {}),
  max_precision: (value, item) => {
    const precision = countOf(value)
    return item === "number_decimal" && precision !== undefined ? { precision } : {}
  },
  choices: (value) => {
    const choices = textsOf(value)
    return choices === undefined ? {} : { choices }
  },
  [uniqueValues.name]: (value) => (value === uniqueValues.value ? { isUnique: true } : {}),
  "list.min": (value) => ({ minItems: countOf(value) ?? 0 }),
  "list.max": (value) => {
    const maxItems = countOf(value)
    return maxItems === undefined ? {} : { maxItems }
  },
  allowed_domains: (value, item) => {
    const domains = textsOf(value)?.map((domain) => domain.toLowerCase())
    return item === "url" && domains !== undefined && domains.length > 0 ? { domains } : {}
  },
  regex: (pattern, item) => (lengthTypes.includes(item) && pattern !== "" ? { pattern } : {})
}

/**
 * The rule of a type with validations, which have Shopify's names. Unknown and invalid validations are ignored, because the
 * platform checks them at the publish.
 */
export const ruleOfDefinition = (type: string, validations: ReadonlyArray<DefinitionValidation>): KeyRule => {
  const item = itemTypeOf(type) ?? type
  let rule = ruleOfType(type)
  for (const { name, value } of validations)
    if (value !== null && Object.hasOwn(rulesOfValidation, name))
      rule = { ...rule, ...rulesOfValidation[name]?.(value, item) }
  return rule
}
