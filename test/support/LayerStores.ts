import { Layer } from "effect"
import { layerScanAfterUnlink } from "../../src/health/ScanAfterUnlink.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { Stores } from "../../src/stores/Stores.ts"

/** `Stores` as in production: data health is scanned again after a store is unlinked. */
export const layerStores = Stores.layer.pipe(
  Layer.provide(Layer.merge(layerScanAfterUnlink, StoreAccess.layer)),
  Layer.provideMerge(Jobs.layer),
  Layer.provide(FaultInjector.layer)
)
