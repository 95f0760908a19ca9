import { Schema } from "effect"
import { singleLineText } from "./Attribute.ts"
import { RecordId, StoreId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"

/** What a metafield can belong to. */
export const OwnerType = Schema.Literal("product", "variant", "collection", "media", "market", "shop")
export type OwnerType = typeof OwnerType.Type

const Validation = Schema.Struct({ name: Schema.String, type: Schema.String, value: Schema.NullOr(Schema.String) })

const metafield = {
  owner_type: OwnerType,
  namespace: Schema.String,
  key: Schema.String,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  type: Schema.String.annotations({ description: "Value type name, for example `single_line_text_field`." }),
  validations: Schema.Array(Validation)
}

/** A metafield definition as one store has it. */
export const PlatformMetafieldDefinition = Schema.Struct({
  ...metafield,
  platform_id: Schema.String,
  metafields_count: Schema.Int
})
export type PlatformMetafieldDefinition = typeof PlatformMetafieldDefinition.Type

/**
 * A metafield definition: those of the account's stores with the same owner type, namespace and key. What else it says is what
 * the first of its stores says, by domain.
 */
export const MetafieldDefinition = Schema.Struct({
  id: RecordId,
  ...metafield,
  stores: Schema.Array(Schema.Struct({ store_id: StoreId, platform_id: Schema.String, metafields_count: Schema.Int }))
}).annotations({ identifier: "MetafieldDefinition" })
export type MetafieldDefinition = typeof MetafieldDefinition.Type

/** The type of a metafield, as its definition says. */
export interface MetafieldType {
  readonly ownerType: OwnerType
  /** `namespace.key` */
  readonly key: string
  readonly type: string
}

/** The types that definitions give metafields of entities of a kind, by key. */
export const definedTypes = (
  definitions: ReadonlyArray<MetafieldType>,
  kind: OwnerType
): Readonly<Record<string, string>> =>
  Object.fromEntries(definitions.filter(({ ownerType }) => ownerType === kind).map(({ key, type }) => [key, type]))

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
      validations: Schema.Array(Validation)
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
