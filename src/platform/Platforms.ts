import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer } from "effect"
import { AddedPlatforms, loadAdapters } from "./AddedPlatforms.ts"
import { demoAdapter } from "./demo/DemoAdapter.ts"
import type { DemoShops } from "./demo/DemoShops.ts"
import { nonePlatform } from "./NonePlatform.ts"
import type { PlatformAdapter, PlatformServices } from "./PlatformAdapter.ts"
import { layerOf } from "./PlatformRegistry.ts"
import { shopifyAdapter } from "./shopify/ShopifyAdapter.ts"

/** The platforms of every installation. A new folder of this directory needs one line here, and nothing else in the core. */
const builtIn: ReadonlyArray<PlatformAdapter<PlatformServices | DemoShops>> = [shopifyAdapter, demoAdapter]

/** The built-in platforms, and those that an installation adds. */
export const layerPlatforms = Layer.unwrapEffect(
  Effect.map(AddedPlatforms, (added) => layerOf([...builtIn, ...added]).pipe(Layer.provide(NodeHttpClient.layerUndici)))
)

/** Adds the adapters of the modules at these paths. */
export const layerModules = (paths: ReadonlyArray<string>) =>
  Layer.effect(
    AddedPlatforms,
    loadAdapters(
      paths,
      builtIn.map(({ name }) => name)
    )
  )

/**
 * The built-in platforms without requests: only the demo platform can be called, the others refuse every call. The platforms that are added
 * may send requests.
 */
export const layerOfflinePlatforms = Layer.unwrapEffect(
  Effect.map(AddedPlatforms, (added) =>
    layerOf<PlatformServices | DemoShops>([
      { ...shopifyAdapter, make: Effect.succeed(nonePlatform) },
      demoAdapter,
      ...added
    ]).pipe(Layer.provide(NodeHttpClient.layerUndici))
  )
)
