import type { Layer } from "effect"
import type { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { adminSchema } from "./AdminSchema.ts"
import { type PlatformShops, shopify } from "./PlatformShops.ts"

/** Every implementation of the platform client: a suite that runs on all is their contract. */
export const platformEngines: ReadonlyArray<{
  readonly name: string
  readonly absent: boolean
  readonly layer: Layer.Layer<PlatformClient | PlatformShops>
}> = [{ name: "shopify", absent: adminSchema === undefined, layer: shopify }]
