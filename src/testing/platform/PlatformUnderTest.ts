import { Data, type Effect } from "effect"
import type {
  PlatformMetafieldDefinition,
  PlatformMetaobjectDefinition,
  PlatformMetaobjectEntry
} from "../../model/Definition.ts"
import type { PlatformMarket } from "../../platform/Market.ts"
import type { PlatformDescription } from "../../platform/PlatformAdapter.ts"
import type { PlatformClient, PlatformStore } from "../../platform/PlatformClient.ts"
import type { PlatformTranslations } from "../../platform/Translation.ts"

/**
 * A way in which a shop fails until it is repaired. `down`: it answers publishes with an error and does nothing. `lost`: it carries
 * out publishes, but the answers are lost. `throttled`: it refuses every call, because of a rate limit. `throttledOnce`: it refuses
 * only the next publish. `revoked`: it no longer accepts the credentials.
 */
export type ShopFailure = "down" | "lost" | "throttled" | "throttledOnce" | "revoked"

/** A record that a shop's staff creates. `size`: the variant's value of the option Size. A product has one variant. */
export type StaffRecord =
  | {
      readonly kind: "product"
      readonly title: string
      readonly handle: string
      readonly size: string
      readonly sku: string
    }
  | { readonly kind: "variant"; readonly productId: string; readonly size: string; readonly sku: string }
  | { readonly kind: "collection"; readonly title: string; readonly handle: string }

/** A shop of a platform, and ways to do what its staff and its network do. */
export interface TestShop {
  readonly store: PlatformStore
  readonly fail: (failure: ShopFailure) => Effect.Effect<void>
  readonly repair: Effect.Effect<void>
  /** Number of products that were ever created in the shop. */
  readonly productsCreated: Effect.Effect<number>
  /** Creates a record in the shop itself. Returns its platform id. */
  readonly create: (record: StaffRecord) => Effect.Effect<string>
  /** Deletes a record in the shop itself. */
  readonly remove: (platformId: string) => Effect.Effect<void>
}

/**
 * The data of a shop in addition to its catalog: exactly what its reads must return, in this order. Give more than a
 * page of markets.
 */
export interface ShopSections {
  readonly markets: ReadonlyArray<PlatformMarket>
  /** Definitions of variants. */
  readonly metafieldDefinitions: ReadonlyArray<PlatformMetafieldDefinition>
  readonly metaobjectDefinitions: ReadonlyArray<PlatformMetaobjectDefinition>
  /** The entries of the first metaobject definition. */
  readonly metaobjectEntries: ReadonlyArray<PlatformMetaobjectEntry>
  /** Translations of products. */
  readonly translations: ReadonlyArray<PlatformTranslations>
}

/** A platform, as `platformContract` tests it. */
export interface PlatformUnderTest {
  readonly adapter: Pick<PlatformDescription, "capabilities">
  readonly client: PlatformClient["Type"]
  /** Opens a new, empty shop. */
  readonly open: Effect.Effect<TestShop>
  /** Opens a shop with sections. They are empty for what is not in the adapter's `capabilities`. */
  readonly openWithSections: Effect.Effect<{ readonly store: PlatformStore; readonly sections: ShopSections }>
  /** A number of records that takes several pages to read. */
  readonly severalPages: number
}

/** A platform broke a rule of the contract. */
export class ContractBroken extends Data.TaggedError("ContractBroken")<{
  /** The name of the rule. */
  readonly rule: string
  readonly message: string
}> {}
