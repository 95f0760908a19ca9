import { Layer } from "effect"
import { layerReopenDrops } from "../../src/drops/ReopenDrops.ts"
import { layerScanAfterStoreJob } from "../../src/health/ScanAfterStoreJob.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { Stores } from "../../src/stores/Stores.ts"

/** `Stores` as in production: drops are reopened when a store is linked again, and data health is scanned again after it is unlinked. */
export const layerStores = Stores.layer.pipe(
  Layer.provide(Layer.mergeAll(layerReopenDrops, layerScanAfterStoreJob, StoreAccess.layer)),
  Layer.provideMerge(Jobs.layer),
  Layer.provide(FaultInjector.layer)
)
