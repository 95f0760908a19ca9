import { Schema } from "effect"
import { StoreId } from "./Ids.ts"
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

/** A metafield definition: those of the account's stores with the same owner type, namespace and key. */
export const MetafieldDefinition = Schema.Struct({
  id: Schema.UUID,
  ...metafield,
  stores: Schema.Array(Schema.Struct({ store_id: StoreId, platform_id: Schema.String, metafields_count: Schema.Int }))
}).annotations({ identifier: "MetafieldDefinition" })
export type MetafieldDefinition = typeof MetafieldDefinition.Type

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

/** A metaobject definition: those of the account's stores with the same type. */
export const MetaobjectDefinition = Schema.Struct({
  id: Schema.UUID,
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
export const MetaobjectEntry = Schema.Struct({ id: Schema.UUID, ...entry, store_id: StoreId }).annotations({
  identifier: "MetaobjectEntry"
})
export type MetaobjectEntry = typeof MetaobjectEntry.Type
