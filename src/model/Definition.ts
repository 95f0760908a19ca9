import { Either, Schema } from "effect"
import { EntityKind, singleLineText } from "./Attribute.ts"
import { ValidationFailed } from "./Errors.ts"
import { RecordId, StoreId } from "./Ids.ts"
import { misnomerOf } from "./Name.ts"
import { textMisfit } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

/** What a metafield can belong to. */
export const OwnerType = Schema.Literal("product", "variant", "collection", "media", "market", "shop")
export type OwnerType = typeof OwnerType.Type

/** A bound of values by its Shopify name. */
export const DefinitionValidation = Schema.Struct({
  name: Schema.String,
  type: Schema.String,
  value: Schema.NullOr(Schema.String)
})
export type DefinitionValidation = typeof DefinitionValidation.Type

const metafield = {
  owner_type: OwnerType,
  namespace: Schema.String,
  key: Schema.String,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  type: Schema.String.annotations({ description: "Value type name, for example `single_line_text_field`." }),
  validations: Schema.Array(DefinitionValidation)
}

/** A metafield definition as one store has it. */
export const PlatformMetafieldDefinition = Schema.Struct({
  ...metafield,
  platform_id: Schema.String,
  metafields_count: Schema.Int
})
export type PlatformMetafieldDefinition = typeof PlatformMetafieldDefinition.Type

/** A metafield definition that was made here, for no store in particular. */
export const AccountMetafieldDefinition = Schema.Struct(metafield)
export type AccountMetafieldDefinition = typeof AccountMetafieldDefinition.Type

/**
 * A metafield definition: those of the account's stores with the same owner type, namespace and key, and the one that was made
 * here. What else it says comes from the first store, by domain, whose platform defines it; else from the one made here; else
 * from the first store whose imported file has it.
 */
export const MetafieldDefinition = Schema.Struct({
  id: RecordId,
  ...metafield,
  stores: Schema.Array(
    Schema.Struct({ store_id: StoreId, platform_id: Schema.String, metafields_count: Schema.Int })
  ).annotations({ description: "By domain; empty: only this account defines it." })
}).annotations({ identifier: "MetafieldDefinition" })
export type MetafieldDefinition = typeof MetafieldDefinition.Type

/** The type and the validations of a metafield, as its definition says. */
export interface MetafieldRule {
  readonly ownerType: OwnerType
  /** `namespace.key` */
  readonly key: string
  readonly type: string
  readonly validations: ReadonlyArray<DefinitionValidation>
}

/** A metafield definition as somebody makes it here. */
export const NewDefinition = Schema.Struct({
  owner_type: EntityKind,
  /** `namespace.key` */
  key: Schema.String,
  type: Schema.String,
  /** By default the part of the key behind the point. */
  name: Schema.optionalWith(Schema.String, { exact: true }),
  description: Schema.optionalWith(Schema.String, { exact: true })
})
export type NewDefinition = typeof NewDefinition.Type

const plainTypes = ["boolean", "id", "money", "multi_line_text_field", "rich_text_field", "single_line_text_field"]
const referenceTypes = ["customer", "company", "order", "product_taxonomy_value"].map((what) => `${what}_reference`)
const listableTypes = [
  ...["color", "date", "date_time", "dimension", "json", "link", "number_decimal", "number_integer", "rating", "url"],
  ...["volume", "weight", "single_line_text_field"],
  ...["article", "collection", "file", "metaobject", "mixed", "page", "product", "variant"].map(
    (what) => `${what}_reference`
  )
]

/** Every type that a metafield can have: Shopify's. */
export const metafieldTypes: ReadonlyArray<string> = [
  ...new Set([...plainTypes, ...referenceTypes, ...listableTypes, ...listableTypes.map((type) => `list.${type}`)])
].sort()

/** Why a metafield cannot have this type; undefined: it can. */
export const typeMisfit = (type: string): string | undefined =>
  metafieldTypes.includes(type) ? undefined : `must be one of ${metafieldTypes.join(", ")}`

/** The form of a metafield's key, Shopify's: a namespace of up to 255 characters, a key of up to 64. */
const metafieldKey = /^([\w-]{1,255})\.([\w-]{1,64})$/

export const isMetafieldKey = (key: string): boolean => metafieldKey.test(key)

const maxDescription = 1_000

/** A definition that may be kept; every path that does not fit is named. */
export const checkDefinition = (given: NewDefinition): Either.Either<AccountMetafieldDefinition, ValidationFailed> => {
  const [, namespace = "", key = ""] = metafieldKey.exec(given.key) ?? []
  const name = given.name?.trim() ?? key
  const description = given.description?.trim() || null
  const wrong = {
    key:
      key === ""
        ? "must be namespace.key, of letters, digits, _ and -, with up to 255 characters before the point and 64 after it"
        : undefined,
    type: typeMisfit(given.type),
    name: key === "" && given.name === undefined ? undefined : misnomerOf(name),
    description:
      description !== null && (description.length > maxDescription || textMisfit(description) !== undefined)
        ? `must be text of at most ${maxDescription} characters`
        : undefined
  }
  const issues = Object.entries(wrong).flatMap(([path, message]) => (message === undefined ? [] : [{ path, message }]))
  return issues.length > 0
    ? Either.left(new ValidationFailed({ issues }))
    : Either.right({
        owner_type: given.owner_type,
        namespace,
        key,
        name,
        description,
        type: given.type,
        validations: []
      })
}

/** A metafield that an export has a column of. */
export const ExportedMetafield = Schema.Struct({
  ownerType: Schema.Literal("product", "variant"),
  /** `namespace.key` */
  key: Schema.String,
  /** Its name in the header; `""` when the header has none. */
  name: Schema.optionalWith(Schema.String, { default: () => "" }),
  /** The type that all of its values have. */
  type: Schema.optionalWith(Schema.String, { default: () => singleLineText }),
  /** How many products, or variants, have a value. */
  count: Schema.Int
})
export type ExportedMetafield = typeof ExportedMetafield.Type

/** The definition of a metafield that only an export knows. `platform_id` is `""`: no platform has said it. */
export const definitionOf = ({ count, key, name, ownerType, type }: ExportedMetafield): PlatformMetafieldDefinition => {
  const dot = key.indexOf(".")
  return {
    owner_type: ownerType,
    namespace: key.slice(0, dot),
    key: key.slice(dot + 1),
    name: name || key.slice(dot + 1),
    description: null,
    type,
    validations: [],
    platform_id: "",
    metafields_count: count
  }
}

const metaobject = {
  type: Schema.String,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  display_name_key: Schema.NullOr(Schema.String),
  fields: Schema.Array(
    Schema.Struct({
      key: Schema.String,
      name: Schema.String,
      type: Schema.String,
      required: Schema.Boolean,
      validations: Schema.Array(DefinitionValidation)
    })
  ),
  entries_count: Schema.Int,
  translatable: Schema.Boolean
}

/** A metaobject definition as one store has it. */
export const PlatformMetaobjectDefinition = Schema.Struct({ ...metaobject, platform_id: Schema.String })
export type PlatformMetaobjectDefinition = typeof PlatformMetaobjectDefinition.Type

/**
 * A metaobject definition: those of the account's stores with the same type. What else it says is what the first of its stores
 * says, by domain; the count of entries is that of all of them, and it is translatable when it is so on any.
 */
export const MetaobjectDefinition = Schema.Struct({
  id: RecordId,
  ...metaobject,
  stores: Schema.Array(Schema.Struct({ store_id: StoreId, platform_id: Schema.String }))
}).annotations({ identifier: "MetaobjectDefinition" })
export type MetaobjectDefinition = typeof MetaobjectDefinition.Type

const entry = {
  handle: Schema.String,
  display_name: Schema.String,
  status: Schema.Literal("active", "draft"),
  fields: Schema.Array(Schema.Struct({ key: Schema.String, type: Schema.String, value: Schema.NullOr(Schema.String) })),
  updated_at: Timestamp
}

/** An entry of a metaobject definition as its store has it. */
export const PlatformMetaobjectEntry = Schema.Struct({ ...entry, platform_id: Schema.String })
export type PlatformMetaobjectEntry = typeof PlatformMetaobjectEntry.Type

/** An entry of a metaobject definition. */
export const MetaobjectEntry = Schema.Struct({ id: RecordId, ...entry, store_id: StoreId }).annotations({
  identifier: "MetaobjectEntry"
})
export type MetaobjectEntry = typeof MetaobjectEntry.Type
