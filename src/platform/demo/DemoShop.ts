import { Schema } from "effect"
import type { PlatformStore } from "../PlatformClient.ts"

/** Identifies a shop. */
export type DemoShop = Pick<PlatformStore, "accountId" | "storeId">

/**
 * A way in which a shop fails. `delay`: it answers late. `error`: it fails and does nothing. `refuse`: it refuses the call.
 * `lost`: it carries out the call, but the answer is lost. `percent`: the share of calls that fail in this way.
 */
export const DemoFailure = Schema.Struct({
  kind: Schema.Literal("delay", "error", "refuse", "lost"),
  percent: Schema.Int.pipe(Schema.between(1, 100)),
  /** Milliseconds; only for `delay`. */
  delayMillis: Schema.NonNegativeInt
})
export type DemoFailure = typeof DemoFailure.Type
