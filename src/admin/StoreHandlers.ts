import { Effect, Option } from "effect"
import { PlatformRegistry } from "../platform/PlatformRegistry.ts"
import { linkOptions } from "../stores/StoreCredentials.ts"
import { type BegunChange, Stores } from "../stores/Stores.ts"
import { StoreRpcs } from "./AdminRpcs.ts"
import { makeFindDomain } from "./FindByName.ts"

export const StoreHandlers = StoreRpcs.toLayer(
  Effect.gen(function* () {
    const findDomain = yield* makeFindDomain
    const platforms = yield* PlatformRegistry
    const stores = yield* Stores

    const toStoreChange = ({ job, store }: BegunChange) => {
      const adapter = Option.getOrUndefined(platforms.find(store.platform))
      const isVerified = adapter?.isVerified === true
      return { job, store, isVerified, options: isVerified ? linkOptions(adapter) : "" }
    }

    return {
      linkStore: (store) => Effect.map(stores.beginLink(store), toStoreChange),
      unlinkStore: ({ domain }) => Effect.map(Effect.flatMap(findDomain(domain), stores.beginUnlink), toStoreChange),
      listStores: () => stores.list
    }
  })
)
