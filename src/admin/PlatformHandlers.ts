import { Effect, Option } from "effect"
import { DemoEdits } from "../demo/DemoEdits.ts"
import { DemoFailures } from "../demo/DemoFailures.ts"
import { PlatformRegistry } from "../platform/PlatformRegistry.ts"
import { linkOptions } from "../stores/StoreCredentials.ts"
import { StoreRecords } from "../stores/StoreRecords.ts"
import { makeFindDomain, makeFindEntity, makeFindStore } from "./FindByName.ts"
import { PlatformRpcs } from "./PlatformRpcs.ts"
import { Refusal } from "./Refusal.ts"

export const PlatformHandlers = PlatformRpcs.toLayer(
  Effect.gen(function* () {
    const edits = yield* DemoEdits
    const failures = yield* DemoFailures
    const records = yield* StoreRecords
    const findDomain = yield* makeFindDomain
    const findEntity = yield* makeFindEntity
    const findStore = yield* makeFindStore
    const { all } = yield* PlatformRegistry
    return {
      listPlatforms: () =>
        Effect.succeed(
          all.map((adapter) => ({
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
          if (store.platform === "none")
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
