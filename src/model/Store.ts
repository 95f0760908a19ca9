import { Schema } from "effect"
import { StoreId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"

/** The platform of a store whose data comes only from imported files. */
export const filesOnly = "none"

/** The name of a platform: that of its adapter, or `none`. The database can name platforms that this process does not have. */
export const PlatformName = Schema.String.pipe(Schema.pattern(/^[a-z][a-z0-9-]{0,31}$/))

/** A commerce store linked to the account. */
export const Store = Schema.Struct({
  id: StoreId,
  domain: Schema.NonEmptyString,
  name: Schema.NonEmptyString,
  platform: PlatformName.annotations({
    description:
      "The store's platform: `shopify`, `demo`, or one that this installation adds. `none`: imported from files only."
  }),
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
