import { Schema } from "effect"
import { EntityId } from "../model/Ids.ts"

/** A page of a cursor list. */
export const page = <A, I>(row: Schema.Schema<A, I>) =>
  Schema.Struct({
    data: Schema.Array(row),
    next_cursor: Schema.NullOr(Schema.String).annotations({
      description: "Send it back as `cursor` for the next page; null on the last one."
    })
  }).annotations({ description: "One page of the list." })

/** A page of entities: list rows, or with `include` rows of details. */
export const entityPage = <A, I, B, J>(row: Schema.Schema<A, I>, included: Schema.Schema<B, J>) =>
  Schema.Struct({
    ...page(Schema.Union(row, included)).fields,
    remaining_ids: Schema.optionalWith(
      Schema.Array(EntityId).annotations({
        description:
          "Only with `ids`, if the page would be too long: ids of the entities that it leaves out. Request these next."
      }),
      { exact: true }
    )
  }).annotations({ description: "One page of the list." })

/** A whole list, without paging. */
export const wholeList = <A, I>(item: Schema.Schema<A, I>) =>
  Schema.Struct({
    data: Schema.Array(item),
    next_cursor: Schema.Null.annotations({ description: "Always null: the list is whole." })
  }).annotations({ description: "The whole list." })
