import { Effect } from "effect"
import { ApiKeys } from "../access/ApiKeys.ts"
import { CurrentActor } from "../model/Actor.ts"
import { KeyRpcs } from "./AdminRpcs.ts"
import { makeFindKey } from "./FindByName.ts"

export const KeyHandlers = KeyRpcs.toLayer(
  Effect.gen(function* () {
    const findKey = yield* makeFindKey
    const keys = yield* ApiKeys
    return {
      createKey: ({ expiresAt, name, scopes }) =>
        Effect.flatMap(CurrentActor, ({ accountId }) => keys.create(accountId, { expiresAt, name, scopes })),
      listKeys: () => Effect.flatMap(CurrentActor, ({ accountId }) => keys.list(accountId)),
      revokeKey: Effect.fnUntraced(function* ({ key }) {
        const { accountId } = yield* CurrentActor
        const id = yield* findKey(accountId, key)
        yield* keys.revoke(accountId, id)
        return { id }
      })
    }
  })
)
