import { Schema } from "effect"
import { StoreId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"

export const Platform = Schema.Literal("shopify", "demo", "none")
export type Platform = typeof Platform.Type

/** A commerce store linked to the account. */
export const Store = Schema.Struct({
  id: StoreId,
  domain: Schema.NonEmptyString,
  name: Schema.NonEmptyString,
  platform: Platform.annotations({ description: "`none`: imported from files only." }),
  status: Schema.Literal("linked"),
  primary_locale: Schema.NonEmptyString.annotations({ description: "BCP 47 tag of the store's main language." }),
  locales: Schema.Array(Schema.NonEmptyString),
  currency: Schema.NonEmptyString.annotations({ description: "ISO 4217 code." }),
  last_imported_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "Store" })
export type Store = typeof Store.Type

/** Compares by domain, then by id. All responses list stores in this order. */
export const compareStores = (
  left: { readonly domain: string; readonly id: StoreId },
  right: { readonly domain: string; readonly id: StoreId }
): number => (left.domain === right.domain ? (left.id < right.id ? -1 : 1) : left.domain < right.domain ? -1 : 1)
