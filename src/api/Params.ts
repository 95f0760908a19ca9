import { Schema } from "effect"
import { Include } from "../catalog/Entity.ts"
import { OwnerType } from "../model/Definition.ts"
import { DropId, EntityId, nilUuid, RecordId, StoreId } from "../model/Ids.ts"
import { PublishStatus } from "../model/PublishState.ts"
import { Rfc3339Parameter } from "../model/Timestamp.ts"
import { inConnector, maxRows, numberArgument } from "./Tool.ts"

/** A whole number in decimal notation with an optional sign and any number of digits. */
const wholeNumber = /^[+-]?\d+$/

/** Maximum page number: larger than any real one, and small enough that row offsets are exact integers. */
const lastPage = 10_000_000_000_000

/** The values of absent parameters of pages. */
export const pageDefaults = { limit: 50, page: 1, page_size: 25 } as const

/** Annotations with a handwritten JSON Schema and description, in place of the derived schema. */
const withDescription = (description: string, jsonSchema: { readonly [keyword: string]: unknown }) => ({
  description,
  jsonSchema: { ...jsonSchema, description }
})

/** A schema's error message: `rule`, or another message for a parameter that was sent more than once and arrives as a list. */
const ruleMessage =
  (rule: string) =>
  ({ actual }: { readonly actual: unknown }) => ({
    message: Array.isArray(actual) ? "is given more than once" : rule,
    override: true
  })

/** A parameter that may be sent only once. */
const Once = Schema.String.annotations({ message: ruleMessage("must be text") })

const uuidFormat = { type: "string", format: "uuid" }

/** An id in the arguments of a tool. A malformed id is refused. */
export const uuidArgument = <A extends string>(id: Schema.Schema<A, string>, description: string) =>
  Schema.compose(Schema.Lowercase, Schema.compose(Schema.String, id)).annotations(
    withDescription(description, uuidFormat)
  )

/** A whole number. It is never refused: other text becomes the default, and a number out of range becomes the nearest bound. */
const wholeNumberParam = (min: number, max: number, fallback: number) =>
  Schema.transform(Once, Schema.typeSchema(Schema.Number), {
    strict: true,
    decode: (text) => (wholeNumber.test(text) ? Math.min(Math.max(Number(text), min), max) : fallback),
    encode: String
  })

const rowsSchema = (max: number, fallback: number) =>
  withDescription(
    `Maximum rows per page. A number above ${max} counts as ${max}, a number below 1 as 1, and other text as the default.`,
    {
      type: "integer",
      minimum: 1,
      maximum: max,
      default: fallback
    }
  )

const Limit = wholeNumberParam(1, 250, pageDefaults.limit)
  .annotations(rowsSchema(250, pageDefaults.limit))
  .pipe(inConnector({ schema: numberArgument(1, maxRows, `Maximum rows; over ${maxRows} counts as ${maxRows}.`) }))

const Cursor = Once.annotations({
  description: "The `next_cursor` of the previous page, unchanged; repeat the filters, the limit may differ."
}).pipe(
  inConnector({
    schema: Schema.String.annotations({ description: "`next_cursor` of the last page; repeat the other arguments." })
  })
)

const UpdatedSince = Schema.compose(Once, Rfc3339Parameter)
  .annotations(
    withDescription(
      "Only entities whose canonical values or relationships changed at or after this time (RFC 3339, encode `+` as `%2B`). Changes of store versions do not count.",
      { type: "string", format: "date-time" }
    )
  )
  .pipe(
    inConnector({
      schema: Schema.String.annotations(
        withDescription("Only masters whose canonical record changed at or after this time, RFC 3339 with an offset.", {
          type: "string",
          format: "date-time"
        })
      )
    })
  )

const Status = PublishStatus.annotations({
  description: "Only entities with this `last_publish_status`. With `store_id`: with this status on that store.",
  message: ruleMessage("must be one of never_published, pending, published, failed")
}).pipe(
  inConnector({
    schema: PublishStatus.annotations({ description: "Only this publish state, on channel_id if given." })
  })
)

/** A text to search for. `searched`: describes the fields in which it looks. */
export const searchParam = (searched: string) =>
  Once.pipe(
    Schema.filter((text) => [...text].length <= 200 || "must have at most 200 characters"),
    Schema.filter((text) => !text.includes("\u0000") || "must not contain U+0000")
  ).annotations(
    withDescription(`Every term (split on white space) must occur in ${searched}. Case and accents do not matter.`, {
      type: "string",
      maxLength: 200
    })
  )

export const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** A boolean in the arguments of a tool. It is converted to text, because REST's schema decodes text. */
const booleanArgument = (description: string) =>
  Schema.transform(Schema.Boolean.annotations({ description }), Schema.String, {
    strict: true,
    decode: String,
    encode: (text) => text === "true"
  })

const TrueOrFalse = Schema.transform(
  Schema.Literal("true", "false").annotations({ message: ruleMessage("must be true or false") }),
  Schema.typeSchema(Schema.Boolean),
  { strict: true, decode: (text) => text === "true", encode: (value) => (value ? "true" : "false") }
)

const Pending = TrueOrFalse.annotations(
  withDescription(
    "true: only entities with a draft that is not yet published to some store; false: only entities without one. With `store_id`, only that store counts.",
    { type: "boolean" }
  )
).pipe(
  inConnector({
    schema: booleanArgument(
      "True: only masters with a draft not yet published, on channel_id if given; false: only masters without one."
    )
  })
)

/** The parameters of endpoints that page by a cursor. */
export const cursorParams = {
  limit: Schema.optionalWith(Limit, { default: () => pageDefaults.limit, exact: true }),
  cursor: optional(Cursor)
}

/** The parameters of the feed of changes. */
export const feedParams = {
  limit: cursorParams.limit,
  cursor: optional(
    Once.annotations({
      description:
        "The `next_cursor` of the previous page, unchanged; or `latest`: an empty page with the cursor after the last change. Without it, the feed begins with the oldest change that is kept."
    })
  )
}

/** The parameters of the lists of entities. `searched`: describes the fields in which `search` looks. */
export const listParams = (searched: string) => ({
  ...cursorParams,
  updated_since: optional(UpdatedSince),
  store_id: storeIdParam("Only entities on this store. An unknown id is 404."),
  status: optional(Status),
  pending: optional(Pending),
  search: optional(searchParam(searched))
})

/** Maximum number of values in one parameter. */
const maxValues = 250

/** Splits a text at its commas. `\\,` is a comma in a value, and `\\\\` a backslash. Values that are empty or repeated are dropped. */
const splitValues = (text: string): ReadonlyArray<string> => [
  ...new Set(
    Array.from(text.matchAll(/(?:\\[\\,]|[^,])+/g), ([value]) => value.replaceAll(/\\([\\,])/g, "$1")).filter(
      (value) => value !== ""
    )
  )
]

/** Joins values with commas. A blank text gets a comma before it, because a blank parameter would be ignored and the filter with it. */
const joinValues = (values: ReadonlyArray<string>) => {
  const text = values.map((value) => value.replaceAll(/[\\,]/g, "\\$&")).join(",")
  return text.trim() === "" ? `,${text}` : text
}

/**
 * Several values in one parameter, separated by commas. `rule`: the error message for an invalid value. Tools do not
 * have such parameters.
 */
const severalParam = <A extends string, I extends string>(
  value: Schema.Schema<A, I>,
  rule: string,
  description: string,
  items: Readonly<Record<string, unknown>>
) => {
  const several = Schema.Array(value)
    .pipe(Schema.maxItems(maxValues, { message: () => `must have at most ${maxValues} values` }))
    .annotations({
      message: ({ actual }) =>
        Array.isArray(actual) && actual.length > maxValues
          ? { message: `must have at most ${maxValues} values`, override: true }
          : { message: rule, override: true }
    })
  return optional(
    Schema.transform(Once, several, { strict: false, decode: splitValues, encode: joinValues })
      .annotations(
        withDescription(`${description} Separate several by commas (at most ${maxValues}).`, {
          type: "array",
          items,
          maxItems: maxValues
        })
      )
      .pipe(inConnector({ omit: true }))
  )
}

const includes = Include.literals.join(", ")

const IncludeParam = severalParam(
  Include,
  `must be one or more of ${includes}, separated by commas`,
  `Gives each row the members of the single read: always id, type, title, revision, publish state and times, and these groups: ${includes}.`,
  { type: "string", enum: Include.literals }
)

const IdsParam = severalParam(
  Schema.compose(Schema.Lowercase, Schema.compose(Schema.String, EntityId)),
  "must be ids (UUIDs), separated by commas",
  "Only these entities, all on one page whatever `limit` is; unknown ids are left out. Cannot be combined with `cursor`. If the page would exceed 4 MiB, `remaining_ids` has the ids of the entities that it leaves out.",
  uuidFormat
)

const textParam = (description: string) =>
  severalParam(
    Schema.String.pipe(Schema.filter((text) => !text.includes("\u0000"))),
    "must not contain U+0000",
    `${description} Exact match. Write a comma in a value as \`\\,\` and a backslash as \`\\\\\`.`,
    { type: "string" }
  )

/** The parameters of the lists of one kind, for a reader that keeps a copy of the catalog. Tools do not have them. */
export const mirrorParams = {
  include: IncludeParam,
  ids: IdsParam,
  pending_publish: optional(
    TrueOrFalse.annotations(withDescription("Alias of `pending`.", { type: "boolean" })).pipe(
      inConnector({ omit: true })
    )
  )
}

export const skuParams = {
  sku: textParam("Only variants with one of these canonical SKUs; on products, products with such a variant."),
  barcode: textParam("Only variants with one of these canonical barcodes; on products, products with such a variant.")
}

export const handleParam = { handle: textParam("Only entities with one of these canonical handles.") }

/**
 * An id in a path. A malformed id becomes the nil UUID, which no record has, so it is handled exactly like an unknown one.
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
  withDescription("Id of the entity. An unknown id, or one of another kind, is 404.", uuidFormat)
)
export const DropIdInPath = idInPath(DropId).annotations(
  withDescription("Id of a drop, from the list of drops. An unknown id is 404.", uuidFormat)
)
export const StoreIdInPath = idInPath(StoreId).annotations(
  withDescription("Id of a linked store, from the list of stores.", uuidFormat)
)

const PageNumber = wholeNumberParam(1, lastPage, pageDefaults.page)
  .annotations(
    withDescription(
      "Page number, starting at 1. A number below 1 counts as 1, other text as the default. A page after the last one is empty.",
      {
        type: "integer",
        minimum: 1,
        default: 1
      }
    )
  )
  .pipe(
    inConnector({
      schema: numberArgument(1, lastPage, "Page number, starting at 1. A page after the last one is empty.", 1)
    })
  )

const PageSize = wholeNumberParam(1, 100, pageDefaults.page_size)
  .annotations(rowsSchema(100, pageDefaults.page_size))
  .pipe(inConnector({ schema: numberArgument(1, 100, "Maximum rows per page; over 100 counts as 100.", 25) }))

/** The parameters of a page-numbered list. */
export const pageParams = {
  page: Schema.optionalWith(PageNumber, { default: () => pageDefaults.page, exact: true }),
  page_size: Schema.optionalWith(PageSize, { default: () => pageDefaults.page_size, exact: true })
}

/** A parameter that must be one of `names`. The error message lists the names. */
export const oneOf = <const Names extends readonly [string, ...ReadonlyArray<string>]>(
  names: Names,
  description: string
) =>
  Schema.propertySignature(
    Schema.Literal(...names).annotations({ description, message: ruleMessage(`must be one of ${names.join(", ")}`) })
  ).annotations({ missingMessage: () => `is missing: give one of ${names.join(", ")}` })

export const LocaleParam = optional(
  Once.pipe(
    Schema.maxLength(35, { message: () => "must have at most 35 characters" }),
    Schema.filter((text) => !text.includes("\u0000") || "must not contain U+0000")
  ).annotations(
    withDescription("Only this language of a store, such as `de`. Ignored outside the translation sections.", {
      type: "string",
      maxLength: 35
    })
  )
)

export const FieldParam = optional(
  Once.pipe(
    Schema.maxLength(320, { message: () => "must have at most 320 characters" }),
    Schema.filter((text) => !text.includes("\u0000") || "must not contain U+0000")
  ).annotations(
    withDescription("Only issues in this field: an attribute's key, or `variant_ids`, `media_ids` or `members`.", {
      type: "string",
      maxLength: 320
    })
  )
)

/** A store's id as a query parameter. A malformed id is refused. */
export const storeIdParam = (description: string) =>
  optional(
    Once.pipe(Schema.compose(Schema.Lowercase), Schema.compose(StoreId))
      .annotations(withDescription(description, uuidFormat))
      .pipe(inConnector({ name: "channel_id", schema: uuidArgument(StoreId, "Only this channel (a linked store).") }))
  )

export const RecordIdInPath = idInPath(RecordId).annotations(
  withDescription("Id of the record, from the list of its kind. An unknown id is 404.", uuidFormat)
)

export const OwnerTypeParam = optional(
  OwnerType.annotations({
    description: "Only definitions for this kind of owner.",
    message: ruleMessage(`must be one of ${OwnerType.literals.join(", ")}`)
  })
)

/** A collection's id as a query parameter. A malformed id is refused. */
export const CollectionIdParam = optional(
  Once.pipe(Schema.compose(Schema.Lowercase), Schema.compose(EntityId)).annotations(
    withDescription("Only members of this collection.", uuidFormat)
  )
)

/** The id of the store to read live, as a required query parameter. */
export const StoreIdParam = Once.pipe(Schema.compose(Schema.Lowercase), Schema.compose(StoreId)).annotations(
  withDescription(
    "Id of the linked store to read from. An unknown id, or a store without the entity, is 404.",
    uuidFormat
  )
)
