import { Schema } from "effect"
import { RecordId, StoreId } from "../model/Ids.ts"

export const MarketStatus = Schema.Literal("active", "draft")

const Region = Schema.Struct({
  code: Schema.String.annotations({ description: "ISO 3166-1 alpha-2; empty for a part of a country." }),
  name: Schema.String
})

const WebPresence = Schema.Struct({
  platform_id: Schema.String,
  domain: Schema.NullOr(Schema.String),
  subfolder_suffix: Schema.NullOr(Schema.String),
  default_locale: Schema.String,
  alternate_locales: Schema.Array(Schema.String)
})

const PriceAdjustment = Schema.Struct({
  type: Schema.Literal("percentage_increase", "percentage_decrease"),
  value: Schema.Number.annotations({ description: "Percent." })
})

const onStore = {
  platform_id: Schema.String,
  name: Schema.String,
  status: MarketStatus,
  currency: Schema.NullOr(Schema.String).annotations({ description: "ISO 4217 code; null: the store's currency." }),
  regions: Schema.Array(Region),
  web_presences: Schema.Array(WebPresence)
}

const catalog = {
  id: Schema.String.annotations({ description: "The platform's own id." }),
  title: Schema.String,
  status: Schema.Literal("active", "archived", "draft"),
  currency: Schema.NullOr(Schema.String),
  price_adjustment: Schema.NullOr(PriceAdjustment)
}

/** A market on one store. Markets of several stores with the same `handle` are one `Market`. `type` is in lower case. */
export const PlatformMarket = Schema.Struct({
  handle: Schema.String,
  type: Schema.String,
  ...onStore,
  catalogs: Schema.Array(Schema.Struct(catalog))
})
export type PlatformMarket = typeof PlatformMarket.Type

/**
 * The markets of all stores that have the same handle. `name` and `type` come from the first store by domain. The market is
 * active if it is active on any store.
 */
export const Market = Schema.Struct({
  id: RecordId,
  handle: Schema.String.annotations({
    description: "Identifies the market. A market has the same handle on all stores."
  }),
  name: Schema.String.annotations({ description: "The name that its first store (by domain) gives it." }),
  status: MarketStatus.annotations({ description: "Active if the market is active on any of its stores." }),
  type: Schema.String.annotations({ description: "The platform's type in lower case, for example `region`." }),
  stores: Schema.Array(Schema.Struct({ store_id: StoreId, ...onStore })),
  catalogs: Schema.Array(Schema.Struct({ store_id: StoreId, ...catalog }))
}).annotations({ identifier: "Market" })
export type Market = typeof Market.Type
