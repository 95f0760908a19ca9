import { Schema } from "effect"
import { maxRows, numberArgument } from "../api/Tool.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** Maximum `value_offset`, in characters: no stored value is longer. */
const maxOffset = 10_000_000

/** The arguments `limit` and `cursor` of a tool that pages through a whole list of its endpoint. */
export const RowsArgument = (limited: boolean): Schema.Struct.Fields => ({
  ...(limited && {
    limit: optional(
      Schema.compose(
        numberArgument(1, maxRows, `Maximum rows; over ${maxRows} counts as ${maxRows}.`),
        Schema.NumberFromString
      )
    )
  }),
  cursor: optional(
    Schema.String.annotations({ description: "`next_cursor` of the last page; repeat the other arguments." })
  )
})

/** The argument `fields`: the members of each row to return. */
export const FieldsArgument = (members: ReadonlyArray<string>): Schema.Struct.Fields => ({
  fields: optional(
    Schema.Array(
      Schema.String.pipe(
        Schema.filter((name) => members.includes(name) || `must be one of ${members.join(", ")}`, {
          jsonSchema: { enum: members }
        })
      )
    )
      .pipe(Schema.minItems(1), Schema.maxItems(50))
      .annotations({ description: "Members of each row to return." })
  )
})

/** The argument `attributes`: the keys to return. For a single record also `value_offset`, to read one long value in parts. */
export const AttributesArgument = (isRecord: boolean): Schema.Struct.Fields => ({
  attributes: optional(
    Schema.Array(Schema.String)
      .pipe(Schema.minItems(1), Schema.maxItems(50))
      .annotations({ description: "Attribute keys to return, each value with up to 50,000 characters." })
  ),
  ...(isRecord && {
    value_offset: optional(
      Schema.Int.pipe(Schema.between(0, maxOffset)).annotations({
        description:
          "Only with one key in `attributes`: the character at which to begin (`next_value_offset` of the last call)."
      })
    )
  })
})
