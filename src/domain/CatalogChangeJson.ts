import { Schema } from "effect"
import { EntityKind } from "./Attribute.ts"
import { EntityId, StoreId } from "./Ids.ts"

const Values = Schema.Record({ key: Schema.String, value: Schema.NullOr(Schema.String) })
const onStore = { entityId: EntityId, storeId: StoreId }

/** The changes that an import makes, as they are kept until it is accepted. */
export const CatalogChangeJson = Schema.Union(
  Schema.TaggedStruct("CreateEntity", {
    id: EntityId,
    kind: EntityKind,
    parentId: Schema.NullOr(EntityId),
    values: Values
  }),
  Schema.TaggedStruct("SetAttributes", { entityId: EntityId, values: Values }),
  Schema.TaggedStruct("SetOverrides", { ...onStore, values: Values }),
  Schema.TaggedStruct("AddToStore", onStore),
  Schema.TaggedStruct("SetGallery", {
    entityId: EntityId,
    entries: Schema.Array(Schema.Struct({ mediaId: EntityId, storeIds: Schema.Array(StoreId) }))
  }),
  Schema.TaggedStruct("OrderVariants", { productId: EntityId, variantIds: Schema.Array(EntityId) }),
  Schema.TaggedStruct("AcceptImported", {
    ...onStore,
    values: Schema.Record({ key: Schema.String, value: Schema.String }),
    media: Schema.Array(EntityId),
    variants: Schema.Array(EntityId)
  })
)
