import { Schema } from "effect"
import { mostRows, numberArgument } from "../api/Tool.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** Where and how far a tool reads that pages through a list by itself. */
export const RowsArgument = (limited: boolean): Schema.Struct.Fields => ({
  ...(limited && {
    limit: optional(
      Schema.compose(
        numberArgument(1, mostRows, `Rows at most; more than ${mostRows} becomes ${mostRows}.`),
        Schema.NumberFromString
      )
    )
  }),
  cursor: optional(
    Schema.String.annotations({ description: "`next_cursor` of the last page; repeat the other arguments." })
  )
})

/** What to give of each row, or which attributes. */
export const FieldsArgument = (members: ReadonlyArray<string> | undefined): Schema.Struct.Fields => ({
  fields: optional(
    Schema.Array(
      members === undefined
        ? Schema.String
        : Schema.String.pipe(
            Schema.filter((name) => members.includes(name) || `must be one of ${members.join(", ")}`, {
              jsonSchema: { enum: members }
            })
          )
    )
      .pipe(Schema.minItems(1), Schema.maxItems(50))
      .annotations({
        description:
          members === undefined
            ? "Attribute keys to give, each then up to 50,000 characters."
            : "Members of a row to give."
      })
  )
})
