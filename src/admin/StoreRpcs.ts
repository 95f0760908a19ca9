import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { Job } from "../jobs/Job.ts"
import { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { EntityId } from "../model/Ids.ts"
import { Store } from "../model/Store.ts"
import { PlatformReadError } from "../platform/PlatformErrors.ts"
import { PlatformRecord } from "../platform/PlatformRecord.ts"
import { SalesChannel } from "../platform/SalesChannel.ts"
import { accountRpc } from "./AccountRpc.ts"

/**
 * A store that was linked or unlinked. `job` computes the derived fields of its entities again; null: the store has no
 * entities. `isVerified`: its adapter verifies stores. `options`: the options with which `store link` links it again,
 * for example `--platform shopify --token-file FILE`. `missing`: the optional permissions that its credentials lack.
 */
const StoreChange = Schema.Struct({
  store: Store,
  job: Schema.NullOr(Job),
  isVerified: Schema.Boolean,
  options: Schema.String,
  missing: Schema.Array(Schema.Struct({ name: Schema.String, without: Schema.String }))
})

/**
 * A platform of the process. `options`: the options of `store link` for it, for example `--platform shopify
 * --token-file FILE`.
 */
const Platform = Schema.Struct({
  name: Schema.String,
  label: Schema.String,
  summary: Schema.String,
  fields: Schema.Array(Schema.Struct({ name: Schema.String, label: Schema.String, is_secret: Schema.Boolean })),
  capabilities: Schema.Array(Schema.String),
  options: Schema.String
})

/**
 * Commands about stores and their platforms. ValidationFailed of the last three: the store is not linked, or is not on the demo
 * platform.
 */
export const StoreRpcs = RpcGroup.make(
  /** Missing properties keep their values, or have defaults for a new store. `credentials`: by field. Errors: see `Stores.beginLink`. */
  accountRpc(
    "linkStore",
    {
      domain: Schema.String,
      name: Schema.optional(Schema.String),
      platform: Schema.optional(Schema.String),
      primaryLocale: Schema.optional(Schema.String),
      currency: Schema.optional(Schema.String),
      credentials: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Redacted(Schema.String) }))
    },
    { success: StoreChange, error: Schema.Union(ValidationFailed, PimLocked, PlatformReadError) }
  ),
  accountRpc(
    "unlinkStore",
    { domain: Schema.String },
    { success: StoreChange, error: Schema.Union(ValidationFailed, PimLocked) }
  ),
  /**
   * The sales channels of a store, read from its platform, and those on which publishes put the records that they create (null: the
   * platform's default). `choose`: changes these first. Refusal also: the channels cannot be read.
   */
  accountRpc(
    "storeChannels",
    { store: Schema.String, choose: Schema.optional(Schema.NullOr(Schema.Array(Schema.String))) },
    {
      success: Schema.Struct({
        store: Store,
        channels: Schema.Array(SalesChannel),
        chosen: Schema.NullOr(Schema.Array(Schema.String))
      }),
      error: Schema.Union(NotFound, ValidationFailed)
    }
  ),
  /** All linked stores, sorted by domain. */
  accountRpc("listStores", {}, { success: Schema.Array(Store) }),
  /** The platforms of this process, without `none`. */
  Rpc.make("listPlatforms", { success: Schema.Array(Platform) }),
  /**
   * Reads an entity from the store's platform. `record` null: the store does not have it. Refusal: the store is not linked or has
   * no platform. NotFound: the account has no such entity.
   */
  accountRpc(
    "showPlatform",
    { store: Schema.String, entity: Schema.String },
    {
      success: Schema.Struct({ entityId: EntityId, store: Store, record: Schema.NullOr(PlatformRecord) }),
      error: Schema.Union(NotFound, PlatformReadError)
    }
  ),
  /** Changes a value in a demo shop. NotFound: the shop does not have the entity. ValidationFailed: the value is invalid. */
  accountRpc(
    "editPlatform",
    { store: Schema.String, entity: Schema.String, key: Schema.String, value: Schema.String },
    {
      success: Schema.Struct({ entityId: EntityId, old: Schema.String, new: Schema.String }),
      error: Schema.Union(ValidationFailed, NotFound)
    }
  ),
  accountRpc(
    "failPlatform",
    {
      store: Schema.String,
      kind: Schema.Literal("delay", "error", "refuse", "lost"),
      percent: Schema.Int,
      delayMillis: Schema.Int
    },
    { error: ValidationFailed }
  ),
  accountRpc("repairPlatform", { store: Schema.String }, { error: ValidationFailed })
)
