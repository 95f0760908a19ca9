import type { PlatformAdapter } from "../PlatformAdapter.ts"
import { makeDemoPlatform } from "./DemoPlatform.ts"
import type { DemoShops } from "./DemoShops.ts"

export const demoAdapter: PlatformAdapter<DemoShops> = {
  name: "demo",
  label: "Demo shop",
  summary: "a built-in shop",
  capabilities: ["salesChannels", "markets", "metafieldDefinitions", "metaobjects", "translations"],
  isVerified: false,
  fields: [],
  domainMisfit: () => undefined,
  ownsDomain: () => false,
  sortsByDefault: false,
  smallerPicture: () => undefined,
  make: makeDemoPlatform
}
