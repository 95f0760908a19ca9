import { Option, Schema } from "effect"
import { type Attributes, valueOf } from "./Attribute.ts"

/** The options of a product in order, each with its values. The attribute `options` has them as JSON. */
const ProductOptions = Schema.Array(Schema.Struct({ name: Schema.String, values: Schema.Array(Schema.String) }))
export type ProductOptions = typeof ProductOptions.Type

/** Parses the options of a product. None: other text. */
export const parseOptions = Schema.decodeOption(Schema.parseJson(ProductOptions))

/** As `parseOptions`; other text has no options. */
export const readOptions = (text: string): ProductOptions => Option.getOrElse(parseOptions(text), () => [])

/** The keys of a variant's option values, in the order of the product's options. */
export const optionKeys = ["option1", "option2", "option3"] as const

/** Shopify's words for the option of a product without options, and its value for the only variant. */
export const noOption = { name: "Title", value: "Default Title" } as const

/** `noOption` as a product's attribute. */
export const noOptions: string = JSON.stringify([{ name: noOption.name, values: [noOption.value] }])

/** The first option of a product that has none yet. */
export const FirstOption = Schema.Struct({
  name: Schema.String,
  /** The option's value for the variant that the product has already. */
  former: Schema.String
})
export type FirstOption = typeof FirstOption.Type

/** One text for a variant's option values, to compare variants. A variant whose only value is that of `noOption` has no option values. */
export const joinOptions = (value: (key: string) => string): string => {
  const values = optionKeys.map(value)
  return (values.join("") === noOption.value ? values.map(() => "") : values).join("\u0001")
}

/** Whether a variant has no option values. */
export const hasNoOptions = (attributes: Attributes): boolean =>
  joinOptions((key) => valueOf(attributes, key)) === joinOptions(() => "")

/** The title of a variant with option values. */
export const titleByOptions = (value: (key: string) => string): string =>
  optionKeys.flatMap((key) => value(key) || []).join(" / ")
