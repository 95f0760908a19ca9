import { Effect } from "effect"
import { EntityId } from "../domain/Ids.ts"
import { DemoEdits } from "../services/DemoEdits.ts"
import { DemoFailures } from "../services/DemoFailures.ts"
import { PlatformRpcs } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"
import { idOf } from "./Named.ts"

export const PlatformHandlers = PlatformRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const edits = yield* DemoEdits
    const failures = yield* DemoFailures
    return {
      editPlatform: ({ account, entity, key, store, value }) =>
        idOf(EntityId)(entity).pipe(
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
