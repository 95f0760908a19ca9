import { Either, Schema } from "effect"
import { EntityKind, singleLineText } from "./Attribute.ts"
import { ValidationFailed } from "./Errors.ts"
import { RecordId, StoreId } from "./Ids.ts"
import { measurementTypes } from "./Measurement.ts"
import { nameMisfit } from "./Name.ts"
import { textMisfit } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

export const OwnerType = Schema.Literal("product", "variant", "collection", "media", "market", "shop")
export type OwnerType = typeof OwnerType.Type

/** A validation of a metafield definition. `name` is Shopify's. */
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

/** A metafield definition that the account made itself. */
export const AccountMetafieldDefinition = Schema.Struct(metafield)
export type AccountMetafieldDefinition = typeof AccountMetafieldDefinition.Type

/**
 * A metafield definition. It combines all definitions with the same owner type, namespace and key: of the account's stores, and
 * the account's own. The other fields come from the first store, by domain, whose platform has the definition; else from the
 * account's own definition; else from the first store whose imported file has it.
 */
export const MetafieldDefinition = Schema.Struct({
  id: RecordId,
  ...metafield,
  stores: Schema.Array(
    Schema.Struct({ store_id: StoreId, platform_id: Schema.String, metafields_count: Schema.Int })
  ).annotations({ description: "By domain; empty: only this account defines it." })
}).annotations({ identifier: "MetafieldDefinition" })
export type MetafieldDefinition = typeof MetafieldDefinition.Type

/** The type and the validations of a metafield definition. */
export const MetafieldRule = Schema.Struct({
  ownerType: OwnerType,
  /** `namespace.key` */
  key: Schema.String,
  type: Schema.String,
  validations: Schema.Array(DefinitionValidation)
})
export type MetafieldRule = typeof MetafieldRule.Type

/** The input for a metafield definition that the account makes itself. */
export const NewDefinition = Schema.Struct({
  owner_type: EntityKind,
  /** `namespace.key` */
  key: Schema.String,
  type: Schema.String,
  /** Default: the part of the key after the dot. */
  name: Schema.optionalWith(Schema.String, { exact: true }),
  description: Schema.optionalWith(Schema.String, { exact: true })
})
export type NewDefinition = typeof NewDefinition.Type

const plainTypes = [
  ...["boolean", "id", "language", "money", "multi_line_text_field", "rich_text_field", "single_line_text_field"]
]
const referenceTypes = ["customer", "company", "order", "product_taxonomy_value"].map((owner) => `${owner}_reference`)
const listableTypes = [
  ...["color", "date", "date_time", "json", "link", "number_decimal", "number_integer", "rating", "url"],
  ...["single_line_text_field", ...measurementTypes],
  ...["article", "collection", "file", "metaobject", "mixed", "page", "product", "variant"].map(
    (target) => `${target}_reference`
  )
]

/** All types of metafields, as Shopify defines them. */
export const metafieldTypes: ReadonlyArray<string> = [
  ...new Set([...plainTypes, ...referenceTypes, ...listableTypes, ...listableTypes.map((type) => `list.${type}`)])
].sort()

/** Why a metafield cannot have this type. Undefined: it can. */
export const typeMisfit = (type: string): string | undefined =>
  metafieldTypes.includes(type) ? undefined : `must be one of ${metafieldTypes.join(", ")}`

/** Shopify's limits: a namespace of up to 255 characters, a key of up to 64. */
const metafieldKey = /^([\w-]{1,255})\.([\w-]{1,64})$/

/** Shopify refuses to write shorter namespaces and keys, though a store may have metafields with them. */
const newMetafieldKey = /^([\w-]{3,255})\.([\w-]{2,64})$/

export const isMetafieldKey = (key: string): boolean => metafieldKey.test(key)

const maxDescription = 1_000

/** Checks a definition. ValidationFailed lists all issues. */
export const checkDefinition = (
  definition: NewDefinition
): Either.Either<AccountMetafieldDefinition, ValidationFailed> => {
  const [, namespace = "", key = ""] = newMetafieldKey.exec(definition.key) ?? []
  const name = definition.name?.trim() ?? key
  const description = definition.description?.trim() || null
  const messages = {
    key:
      key === ""
        ? "must be namespace.key, of letters, digits, _ and -, with 3 to 255 characters before the dot and 2 to 64 after it"
        : undefined,
    type: typeMisfit(definition.type),
    name: key === "" && definition.name === undefined ? undefined : nameMisfit(name),
    description:
      description !== null && (description.length > maxDescription || textMisfit(description) !== undefined)
        ? `must be text of at most ${maxDescription} characters`
        : undefined
  }
  const issues = Object.entries(messages).flatMap(([path, message]) =>
    message === undefined ? [] : [{ path, message }]
  )
  return issues.length > 0
    ? Either.left(new ValidationFailed({ issues }))
    : Either.right({
        owner_type: definition.owner_type,
        namespace,
        key,
        name,
        description,
        type: definition.type,
        validations: []
      })
}

/** A metafield that has a column in an exported CSV file. */
export const ExportedMetafield = Schema.Struct({
  ownerType: Schema.Literal("product", "variant"),
  /** `namespace.key` */
  key: Schema.String,
  /** The metafield's name in the header of its CSV column; `""` if the header has no name. */
  name: Schema.optionalWith(Schema.String, { default: () => "" }),
  /** The type of all values of the metafield. */
  type: Schema.optionalWith(Schema.String, { default: () => singleLineText }),
  /** Number of products, or variants, with a value. */
  count: Schema.Int
})
export type ExportedMetafield = typeof ExportedMetafield.Type

/** Makes the definition of a metafield in an export. `platform_id` is `""`, because no platform defines it. */
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
 * A metaobject definition. It combines the definitions of the same type on the account's stores: `entries_count` is the sum over
 * all stores, and the definition is translatable if it is so on any store. Other fields come from the first store, by domain.
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
