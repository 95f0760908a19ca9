import { Schema } from "effect"
import type { PlatformStore } from "../platform/PlatformClient.ts"

/** Names a shop. */
export type DemoShop = Pick<PlatformStore, "accountId" | "storeId">

export const ShopKey = Schema.Struct({ accountId: Schema.String, storeId: Schema.String })

/**
 * How a shop fails. `delay`: it answers late. `error`: it fails without doing anything. `refuse`: it refuses. `lost`: it does
 * the call, and the answer is lost. `percent`: the share of calls that fail.
 */
export const DemoFailure = Schema.Struct({
  kind: Schema.Literal("delay", "error", "refuse", "lost"),
  percent: Schema.Int.pipe(Schema.between(1, 100)),
  /** Only for `delay`. */
  delayMillis: Schema.NonNegativeInt
})
export type DemoFailure = typeof DemoFailure.Type
