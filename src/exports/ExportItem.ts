import { Schema } from "effect"
import { EntityId } from "../model/Ids.ts"

/** The entities that an export wrote for one product, with the draft revisions that it wrote. */
export const ExportItem = Schema.Struct({
  productId: EntityId,
  /** The product, its variants on the store, and the files of its gallery that are on the store. */
  revisions: Schema.Record({ key: EntityId, value: Schema.Int }),
  /** The variants on the store, in their order. */
  variants: Schema.Array(EntityId),
  /** The gallery on the store, in its order. */
  media: Schema.Array(EntityId)
})
export type ExportItem = typeof ExportItem.Type
