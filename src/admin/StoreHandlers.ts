import { Effect, Option } from "effect"
import { DemoEdits } from "../demo/DemoEdits.ts"
import { DemoFailures } from "../demo/DemoFailures.ts"
import { filesOnly } from "../model/Store.ts"
import { PlatformRegistry } from "../platform/PlatformRegistry.ts"
import { SalesChannels } from "../storedata/SalesChannels.ts"
import { permissionsNamed } from "../stores/LinkRules.ts"
import { linkOptions } from "../stores/StoreCredentials.ts"
import { StoreRecords } from "../stores/StoreRecords.ts"
import { type BegunChange, Stores } from "../stores/Stores.ts"
import { makeFindDomain, makeFindEntity, makeFindStore } from "./FindByName.ts"
import { Refusal } from "./Refusal.ts"
import { StoreRpcs } from "./StoreRpcs.ts"

export const StoreHandlers = StoreRpcs.toLayer(
  Effect.gen(function* () {
    const edits = yield* DemoEdits
    const failures = yield* DemoFailures
    const findDomain = yield* makeFindDomain
    const findEntity = yield* makeFindEntity
    const findStore = yield* makeFindStore
    const platforms = yield* PlatformRegistry
    const records = yield* StoreRecords
    const salesChannels = yield* SalesChannels
    const stores = yield* Stores

    const toStoreChange = ({ job, missingPermissions = [], store }: BegunChange) => {
      const found = platforms.find(store.platform)
      const adapter = Option.getOrUndefined(found)
      const isVerified = adapter?.isVerified === true
      const missing = permissionsNamed(found, missingPermissions).map(({ name, without }) => ({ name, without }))
      return { job, store, isVerified, options: isVerified ? linkOptions(adapter) : "", missing }
    }

    return {
      linkStore: (store) => Effect.map(stores.beginLink(store), toStoreChange),
      unlinkStore: ({ domain }) => Effect.map(Effect.flatMap(findDomain(domain), stores.beginUnlink), toStoreChange),
      storeChannels: ({ choose, store: named }) =>
        Effect.gen(function* () {
          const store = yield* findStore(named)
          if (choose !== undefined) yield* salesChannels.chooseForNewRecords(store.id, choose)
          const channels = yield* salesChannels.ofStore(store.id)
          return { store, channels, chosen: yield* salesChannels.forNewRecords(store.id) }
        }).pipe(Effect.catchTag("LiveReadFailed", ({ message }) => new Refusal({ message }))),
      listStores: () => stores.list,
      listPlatforms: () =>
        Effect.succeed(
          platforms.all.map((adapter) => ({
            name: adapter.name,
            label: adapter.label,
            summary: adapter.summary,
            fields: adapter.fields.map(({ isSecret, label, name }) => ({ name, label, is_secret: isSecret })),
            capabilities: adapter.capabilities,
            options: linkOptions(adapter)
          }))
        ),
      showPlatform: ({ entity, store: named }) =>
        Effect.gen(function* () {
          const entityId = yield* findEntity(entity)
          const store = yield* findStore(named)
          if (store.platform === filesOnly)
            return yield* new Refusal({
              message: `${store.domain} has no platform: its data comes only from imported files, so it cannot be read.`
            })
          return { entityId, store, record: Option.getOrNull(yield* records.find(entityId, store.id)) }
        }),
      editPlatform: ({ entity, key, store, value }) =>
        findEntity(entity).pipe(
          Effect.zip(findDomain(store)),
          Effect.flatMap(([entityId, domain]) =>
            Effect.map(edits.edit(domain, entityId, key, value), ({ old }) => ({ entityId, old, new: value }))
          )
        ),
      failPlatform: ({ delayMillis, kind, percent, store }) =>
        Effect.flatMap(findDomain(store), (domain) => failures.fail(domain, { delayMillis, kind, percent })),
      repairPlatform: ({ store }) => Effect.flatMap(findDomain(store), failures.repair)
    }
  })
)
