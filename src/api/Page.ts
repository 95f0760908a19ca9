import { Schema } from "effect"

/** A page of a cursor list. */
export const page = <A, I>(row: Schema.Schema<A, I>) =>
  Schema.Struct({
    data: Schema.Array(row),
    next_cursor: Schema.NullOr(Schema.String).annotations({
      description: "Send it back as `cursor` for the next page; null on the last one."
    })
  }).annotations({ description: "One page of the list." })

/** A whole list, without paging. */
export const bounded = <A, I>(item: Schema.Schema<A, I>) =>
  Schema.Struct({
    data: Schema.Array(item),
    next_cursor: Schema.Null.annotations({ description: "Always null: the list is whole." })
  }).annotations({ description: "The whole list." })
