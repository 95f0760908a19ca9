import { Layer } from "effect"
import { defaultPublishingOptions, Publishing, type PublishingOptions } from "../../src/publishing/Publishing.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"

/** Publishing as in production, apart from these options. */
export const publishingWith = (options: Partial<PublishingOptions>) =>
  Publishing.layerWith({ ...defaultPublishingOptions, ...options }).pipe(
    Layer.provide([StoreAccess.layer, FaultInjector.layer])
  )
