import { Schema } from "effect"
import { EntityId, nilUuid, StoreId } from "../domain/Ids.ts"
import { PublishStatus } from "../domain/PublishState.ts"
import { Rfc3339Parameter } from "../domain/Timestamp.ts"

/** A whole number in decimal notation, the sign optional; digits without bound. */
const wholeNumber = /^[+-]?\d+$/

const clamp = (value: number, least: number, most: number) => Math.min(Math.max(value, least), most)

/** A description where the JSON Schema is written out: it replaces everything that the schema itself would say. */
const described = (description: string, jsonSchema: { readonly [keyword: string]: unknown }) => ({
  description,
  jsonSchema: { ...jsonSchema, description }
})

/** A parameter's text. What is given more than once comes as a list. */
const Once = Schema.String.annotations({
  message: ({ actual }) => ({
    message: Array.isArray(actual) ? "is given more than once" : "must be text",
    override: true
  })
})

const uuidFormat = { type: "string", format: "uuid" }

/** Rows on a page. Never refused: what is no whole number is the default, what is out of range becomes the nearest bound. */
const Limit = Schema.transform(Once, Schema.typeSchema(Schema.Number), {
  strict: true,
  decode: (text) => (wholeNumber.test(text) ? clamp(Number(text), 1, 250) : 50),
  encode: String
}).annotations(
  described("Rows on a page. A larger number becomes 250, one below 1 becomes 1, anything else the default.", {
    type: "integer",
    minimum: 1,
    maximum: 250,
    default: 50
  })
)

const Cursor = Once.annotations({
  description: "The `next_cursor` of the previous page, unchanged; repeat the filters, the limit may differ."
})

const UpdatedSince = Schema.compose(Once, Rfc3339Parameter).annotations(
  described(
    "Only entities whose own canonical record changed at or after this time (RFC 3339, encode `+` as `%2B`). Store-version edits do not widen it.",
    { type: "string", format: "date-time" }
  )
)

const Status = PublishStatus.annotations({
  description: "Only entities whose `last_publish_status` is this.",
  // One rule, in place of one complaint a member.
  message: ({ actual }) => ({
    message: Array.isArray(actual)
      ? "is given more than once"
      : "must be one of never_published, pending, published, failed",
    override: true
  })
})

const search = (description: string) =>
  Once.pipe(
    Schema.filter((text) => [...text].length <= 200 || "must have at most 200 characters"),
    Schema.filter((text) => !text.includes("\u0000") || "must not contain U+0000")
  ).annotations(described(description, { type: "string", maxLength: 200 }))

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** The parameters that every cursor list takes. `searched`: what its free text is looked for in. */
export const listParams = (searched: string) => ({
  limit: Schema.optionalWith(Limit, { default: () => 50, exact: true }),
  cursor: optional(Cursor),
  updated_since: optional(UpdatedSince),
  status: optional(Status),
  search: optional(
    search(`Every term (split on white space) must occur in ${searched}. Case and accents do not matter.`)
  )
})

/**
 * An id in a path. A malformed one names nothing, exactly as the nil UUID does: the answer is that of an absent record,
 * by the same way.
 */
const idInPath = <A extends string>(id: Schema.Schema<A, string> & { readonly make: (value: string) => A }) => {
  const isId = Schema.is(id)
  return Schema.transform(Schema.String, Schema.typeSchema(id), {
    strict: true,
    decode: (text) => {
      const canonical = text.toLowerCase()
      return isId(canonical) ? canonical : id.make(nilUuid)
    },
    encode: (value) => value
  })
}

export const EntityIdInPath = idInPath(EntityId).annotations(
  described("Id of the entity. One that names nothing of this path's kind is 404.", uuidFormat)
)
export const StoreIdInPath = idInPath(StoreId).annotations(
  described("Id of a linked store, as the list of stores gives it.", uuidFormat)
)

/** An id in a query: one that is no UUID is refused. */
export const CollectionIdParam = optional(
  Once.pipe(Schema.compose(Schema.Lowercase), Schema.compose(EntityId)).annotations(
    described("Only members of this collection.", uuidFormat)
  )
)
