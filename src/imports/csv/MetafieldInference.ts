import { Either, Option, Schema } from "effect"
import { singleLineText } from "../../model/Attribute.ts"
import { isNestedDeeper } from "../../model/JsonNesting.ts"
import { misfitOf, ruleOfType } from "../../model/KeyRule.ts"
import { typeOfUnit } from "../../model/Measurement.ts"

const multiLineText = "multi_line_text_field"

const decimal = /^-?(?:0|[1-9]\d{0,12})(?:\.\d{1,9})?$/
/** At most 11 digits without a leading zero. Other digits are codes such as a UPC or an EAN. */
const integer = /^-?(?:0|[1-9]\d{0,10})$/
const day = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/
const color = /^#[0-9a-fA-F]{6}$/
const address = /^https?:\/\/[^\s/]\S*$/i
const reference = /^gid:\/\/shopify\/([A-Za-z]+)\/\d+$/

/** Reference types by the kind of record in a Shopify id (`gid://shopify/<kind>/1`). */
const referenceTypes: ReadonlyMap<string, string> = new Map([
  ["Product", "product_reference"],
  ["ProductVariant", "variant_reference"],
  ["Collection", "collection_reference"],
  ["Metaobject", "metaobject_reference"],
  ["Customer", "customer_reference"],
  ["Company", "company_reference"],
  ["Order", "order_reference"],
  ["Page", "page_reference"],
  ["OnlineStorePage", "page_reference"],
  ["Article", "article_reference"],
  ["OnlineStoreArticle", "article_reference"],
  ["MediaImage", "file_reference"],
  ["GenericFile", "file_reference"],
  ["Video", "file_reference"]
])

const parse = Schema.decodeEither(Schema.parseJson())
const deepestJson = 32

const dateType = (text: string): string | undefined => {
  const [all, time] = day.exec(text) ?? []
  const type = time === undefined ? "date" : "date_time"
  return all === undefined || misfitOf({ type }, text) !== undefined ? undefined : type
}

const referenceType = (text: string): string | undefined => referenceTypes.get(reference.exec(text)?.[1] ?? "")

/** The type of one item of a list of texts. */
const itemType = (text: string): string | undefined => {
  if (/[\n\r]/.test(text)) return undefined
  if (text.startsWith("gid:")) return referenceType(text) ?? singleLineText
  if (color.test(text)) return "color"
  if (address.test(text) && URL.canParse(text)) return "url"
  return dateType(text) ?? singleLineText
}

const listType = (items: ReadonlyArray<unknown>): string => {
  const types = new Set(items.map((item) => (typeof item === "string" ? itemType(item) : undefined)))
  if (types.size === 0 || types.has(undefined)) return "json"
  const [type] = types
  return `list.${types.size === 1 ? type : singleLineText}`
}

const has = (object: object, ...keys: ReadonlyArray<string>) =>
  Object.keys(object).length === keys.length && keys.every((key) => Object.hasOwn(object, key))

const objectType = (object: Readonly<Record<string, unknown>>): string => {
  if (has(object, "value", "unit"))
    return (typeof object.value === "number" && typeOfUnit(String(object.unit))) || "json"
  if (object.type === "root" && Array.isArray(object.children)) return "rich_text_field"
  if (has(object, "amount", "currency_code")) return "money"
  if (has(object, "value", "scale_min", "scale_max")) return "rating"
  return "json"
}

/** The type of a JSON list or object. undefined: the text is no JSON list or object. */
const jsonType = (text: string): string | undefined => {
  if (isNestedDeeper(text, deepestJson)) return undefined
  const value = parse(text)
  if (Either.isLeft(value) || typeof value.right !== "object" || value.right === null) return undefined
  return Array.isArray(value.right) ? listType(value.right) : objectType({ ...value.right })
}

/** The type by the form of a value. undefined: plain text. */
const typeByForm = (text: string): string | undefined => {
  const first = text.charAt(0)
  if (first === "{" || first === "[") return jsonType(text)
  if (first === "#") return color.test(text) ? "color" : undefined
  if (first === "g") return referenceType(text)
  if (first === "h" || first === "H") return address.test(text) && URL.canParse(text) ? "url" : undefined
  if (/^(?:true|false)$/i.test(text)) return "boolean"
  if ((first < "0" || first > "9") && first !== "-") return undefined
  if (integer.test(text)) return "number_integer"
  return decimal.test(text) && text.includes(".") ? "number_decimal" : dateType(text)
}

const jsonTypes: ReadonlySet<string> = new Set([
  ...["json", "rich_text_field", "money", "rating", "dimension", "weight", "volume"]
])
const isJson = (type: string) => jsonTypes.has(type) || type.startsWith("list.")

/** The narrowest type whose rules the value keeps: otherwise the import would refuse the value. undefined: plain text. */
const narrowest = (text: string): string | undefined => {
  const type = typeByForm(text)
  // Imports write truth values in lower case.
  if (type === undefined || type === "boolean" || misfitOf(ruleOfType(type), text) === undefined) return type
  return isJson(type) ? "json" : undefined
}

const isNumber = (type: string) => type === "number_integer" || type === "number_decimal"

/** The narrowest type that includes both types. undefined: plain text. */
const wider = (left: string, right: string): string | undefined => {
  if (left === right) return left
  if (isNumber(left) && isNumber(right)) return "number_decimal"
  if (left.startsWith("list.") && right.startsWith("list.")) return `list.${singleLineText}`
  return isJson(left) && isJson(right) ? "json" : undefined
}

/**
 * Infers the type of a metafield from all values of a column, in constant memory. A type narrower than text is inferred only
 * if every value has it.
 */
export class MetafieldInference {
  private narrow: Option.Option<string> = Option.none()
  private isText = false
  private hasLineBreak = false

  /** Adds a value. Empty values are ignored. */
  take(value: string): void {
    if (value === "" || (this.isText && this.hasLineBreak)) return
    this.hasLineBreak ||= value.includes("\n") || value.includes("\r")
    if (this.isText) return
    const type = narrowest(value)
    const both =
      type === undefined
        ? undefined
        : Option.match(this.narrow, { onNone: () => type, onSome: (before) => wider(before, type) })
    if (both === undefined) this.isText = true
    else this.narrow = Option.some(both)
  }

  /** The inferred type. A column without values is `single_line_text_field`. */
  get type(): string {
    const text = this.hasLineBreak ? multiLineText : singleLineText
    return this.isText ? text : Option.getOrElse(this.narrow, () => text)
  }
}
