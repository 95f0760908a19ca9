import { Effect, Stream } from "effect"
import type { PlatformClient } from "./PlatformClient.ts"
import { PlatformRefused } from "./PlatformErrors.ts"

const refused = new PlatformRefused({
  code: "NO_PLATFORM",
  message:
    "The store has no platform: its data comes only from imported files. Nothing can be read from it or published to it.",
  field: null
})

/** Stores of platform `none`. They have no channels, markets, definitions or translations; all other calls are refused. */
export const nonePlatform: PlatformClient["Type"] = {
  verify: () => refused,
  pull: () => Stream.fail(refused),
  publish: () => refused,
  readBack: () => refused,
  find: () => refused,
  salesChannels: () => Effect.succeed([]),
  entityChannels: () => Effect.succeed([]),
  markets: () => Stream.empty,
  metafieldDefinitions: () => Stream.empty,
  metaobjectDefinitions: () => Stream.empty,
  metaobjectEntries: () => Stream.empty,
  translations: () => Stream.empty
}
