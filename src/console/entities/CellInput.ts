import { Either, Schema } from "effect"
import { textOfItem } from "../../model/KeyRule.ts"
import type { Sentence } from "../languages/Words.tsx"
import type { FieldRow } from "./Cells.ts"

const readItems = Schema.decodeUnknownEither(Schema.parseJson(Schema.Array(Schema.Unknown)))
const readSimpleItems = Schema.decodeUnknownEither(
  Schema.parseJson(Schema.Array(Schema.Union(Schema.String, Schema.Number)))
)

/** The control that edits a field. */
type Control =
  | { readonly _tag: "Line"; readonly inputMode: "text" | "decimal" | "numeric" | "url" }
  | { readonly _tag: "Area"; readonly hint: Sentence | "HTML" | "JSON" | undefined }
  | { readonly _tag: "Choice"; readonly choices: ReadonlyArray<string> }

const longTypes = ["html", "multi_line_text_field", "rich_text_field", "json"]
const inputModes = { number_decimal: "decimal", number_integer: "numeric", url: "url" } as const

const isList = ({ type }: Pick<FieldRow, "type">) => type.startsWith("list.")

/** The items of a list that lines can express. Undefined: the value is edited as JSON. */
const linesOf = (value: string): ReadonlyArray<string> | undefined =>
  Either.match(readSimpleItems(value), {
    onLeft: () => undefined,
    onRight: (simple) => {
      const items = simple.map(textOfItem)
      return items.some((item) => /[\n\r]/.test(item) || item !== item.trim() || item === "") ||
        items[0]?.startsWith("[")
        ? undefined
        : items
    }
  })

export const controlOf = (row: Pick<FieldRow, "key" | "rule" | "type">, value: string): Control => {
  const { rule, type } = row
  if (isList(row))
    return {
      _tag: "Area",
      hint:
        value !== "" && linesOf(value) === undefined
          ? "A list as JSON."
          : row.key === "tags"
            ? "One on each line, or with commas between."
            : "One on each line."
    }
  if (type === "boolean") return { _tag: "Choice", choices: ["true", "false"] }
  if (rule.choices !== undefined) return { _tag: "Choice", choices: rule.choices }
  if (longTypes.includes(type) || /[\n\r]/.test(value))
    return { _tag: "Area", hint: type === "html" ? "HTML" : type === "json" ? "JSON" : undefined }
  return { _tag: "Line", inputMode: inputModes[type as keyof typeof inputModes] ?? "text" }
}

/** A value as a form shows it. */
export const toTyped = (row: Pick<FieldRow, "type">, value: string): string =>
  isList(row) ? (linesOf(value)?.join("\n") ?? value) : value

/** The value that somebody typed. Browsers send lines with CR and LF. */
export const fromTyped = (row: Pick<FieldRow, "key" | "type">, typed: string): string => {
  const text = typed.replaceAll("\r\n", "\n")
  if (row.type.startsWith("number_")) return text.trim()
  if (!isList(row) || (text.trimStart().startsWith("[") && Either.isRight(readItems(text)))) return text
  const items = text
    .split(row.key === "tags" ? /[\n,]/ : "\n")
    .map((item) => item.trim())
    .filter((item) => item !== "")
  if (items.length === 0) return ""
  // In lists of whole numbers, Shopify writes the items as JSON numbers, not as strings.
  return row.type === "list.number_integer" && items.every((item) => String(Number(item)) === item)
    ? `[${items.join()}]`
    : JSON.stringify(items)
}

/** Whether two inputs mean the same value: the spelling of a list or of line ends may differ. */
export const sameTyped = (row: Pick<FieldRow, "key" | "type">, typed: string, value: string): boolean =>
  fromTyped(row, typed) === fromTyped(row, toTyped(row, value))
