import { Either, Schema } from "effect"

/** Whether a product CSV can name the address. */
export const isWebAddress = (url: string): boolean => /^https?:\/\//i.test(url)

const Options = Schema.parseJson(
  Schema.Array(Schema.Struct({ name: Schema.String, values: Schema.Array(Schema.String) }))
)
const decodeOptions = Schema.decodeUnknownEither(Options)

/** Parses the options of a product. Returns an empty list for malformed text. */
export const readOptions = (
  text: string
): ReadonlyArray<{ readonly name: string; readonly values: ReadonlyArray<string> }> =>
  Either.getOrElse(decodeOptions(text), () => [])

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
