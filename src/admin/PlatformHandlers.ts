import { Effect, Option } from "effect"
import { EntityId } from "../domain/Ids.ts"
import { DemoEdits } from "../services/DemoEdits.ts"
import { DemoFailures } from "../services/DemoFailures.ts"
import { StoreRecords } from "../services/StoreRecords.ts"
import { PlatformRpcs, Refusal } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"
import { idOf, makeStoreNamed } from "./Named.ts"

const entityIdOf = idOf(EntityId)

export const PlatformHandlers = PlatformRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const edits = yield* DemoEdits
    const failures = yield* DemoFailures
    const records = yield* StoreRecords
    const storeNamed = yield* makeStoreNamed
    return {
      showPlatform: ({ account, entity, store: named }) =>
        Effect.gen(function* () {
          const entityId = yield* entityIdOf(entity)
          const store = yield* storeNamed(named)
          if (store.platform === "none")
            return yield* new Refusal({
              message: `${store.domain} is a store of platform none: it is known by its files alone, and there is nobody to ask.`
            })
          return { entityId, store, record: Option.getOrNull(yield* records.find(entityId, store.id)) }
        }).pipe(forAccount(account)),
      editPlatform: ({ account, entity, key, store, value }) =>
        entityIdOf(entity).pipe(
          Effect.flatMap((entityId) =>
            Effect.map(edits.edit(store, entityId, key, value), ({ old }) => ({ entityId, old, new: value }))
          ),
          forAccount(account)
        ),
      failPlatform: ({ account, store, ...failure }) => forAccount(account)(failures.fail(store, failure)),
      mendPlatform: ({ account, store }) => forAccount(account)(failures.mend(store))
    }
  })
)
