import { Either, Option, Redacted, Schema } from "effect"
import type { PlatformDescription } from "../platform/PlatformAdapter.ts"

/** The values of the fields of a store's platform, by name. */
export type Credentials = Readonly<Record<string, Redacted.Redacted>>

const decodeValues = Schema.decodeEither(Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.String })))

/** The text that is encrypted: the value of the only field, or all values as JSON. */
export const toText = ({ fields }: PlatformDescription, credentials: Credentials): Redacted.Redacted => {
  const [only, ...more] = fields
  const value = only === undefined ? undefined : credentials[only.name]
  return more.length === 0 && value !== undefined
    ? value
    : Redacted.make(
        JSON.stringify(
          Object.fromEntries(Object.entries(credentials).map(([name, value]) => [name, Redacted.value(value)]))
        )
      )
}

/** The values in an encrypted text. None: the adapter has other fields than when the store was linked. */
export const fromText = ({ fields }: PlatformDescription, text: Redacted.Redacted): Option.Option<Credentials> => {
  const [only, ...more] = fields
  if (only !== undefined && more.length === 0) return Option.some({ [only.name]: text })
  return Either.match(decodeValues(Redacted.value(text)), {
    onLeft: Option.none,
    onRight: (values) =>
      fields.every(({ name }) => Object.hasOwn(values, name))
        ? Option.some(Object.fromEntries(fields.map(({ name }) => [name, Redacted.make(values[name] ?? "")])))
        : Option.none()
  })
}

/** The options of `store link` that give the fields of a platform, for messages. */
export const linkOptions = ({ fields, name }: PlatformDescription): string =>
  [
    `--platform ${name}`,
    ...fields.map((field) =>
      field.name === "token"
        ? "--token-file FILE"
        : field.isSecret
          ? `--secret-file ${field.name}=FILE`
          : `--field ${field.name}=VALUE`
    )
  ].join(" ")
