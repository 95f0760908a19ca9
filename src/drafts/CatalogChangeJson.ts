import { Schema } from "effect"
import { EntityKind } from "../model/Attribute.ts"
import { EntityId, StoreId } from "../model/Ids.ts"

const Values = Schema.Record({ key: Schema.String, value: Schema.NullOr(Schema.String) })
const Texts = Schema.Record({ key: Schema.String, value: Schema.String })
const Types = Schema.optionalWith(Texts, { exact: true })
const Ids = Schema.Array(EntityId)
const onStore = { entityId: EntityId, storeId: StoreId }

const Change = Schema.Union(
  Schema.TaggedStruct("CreateEntity", {
    id: EntityId,
    kind: EntityKind,
    parentId: Schema.NullOr(EntityId),
    values: Values,
    types: Types
  }),
  Schema.TaggedStruct("SetAttributes", { entityId: EntityId, values: Values, types: Types }),
  Schema.TaggedStruct("SetOverrides", { ...onStore, values: Values, types: Types }),
  Schema.TaggedStruct("AddToStore", onStore),
  Schema.TaggedStruct("RemoveFromStore", onStore),
  Schema.TaggedStruct("SetGallery", {
    entityId: EntityId,
    entries: Schema.Array(Schema.Struct({ mediaId: EntityId, storeIds: Schema.Array(StoreId) }))
  }),
  Schema.TaggedStruct("SetMembers", { collectionId: EntityId, productIds: Ids }),
  Schema.TaggedStruct("OrderVariants", { productId: EntityId, variantIds: Ids }),
  Schema.TaggedStruct("AcceptImported", {
    ...onStore,
    values: Texts,
    types: Types,
    media: Ids,
    variants: Ids,
    members: Schema.optionalWith(Ids, { exact: true }),
    isComplete: Schema.optionalWith(Schema.Boolean, { exact: true }),
    platformId: Schema.optionalWith(Schema.String, { exact: true })
  })
)

/** The changes of an import. They are stored until the import is accepted. */
export const StagedChangeJson = Schema.Union(
  Change,
  Schema.TaggedStruct("Decided", { conflict: Schema.Int, take: Schema.Array(Change), keep: Schema.Array(Change) })
)
