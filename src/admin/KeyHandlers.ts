import { Effect } from "effect"
import { ApiKeyId } from "../domain/Ids.ts"
import { ApiKeys } from "../services/ApiKeys.ts"
import { KeyRpcs } from "./AdminRpcs.ts"
import { makeChooseAccount } from "./ChosenAccount.ts"
import { idOf } from "./Named.ts"

export const KeyHandlers = KeyRpcs.toLayer(
  Effect.gen(function* () {
    const chooseAccount = yield* makeChooseAccount
    const keys = yield* ApiKeys
    return {
      createKey: ({ account, ...key }) => Effect.flatMap(chooseAccount(account), (id) => keys.create(id, key)),
      listKeys: ({ account }) => Effect.flatMap(chooseAccount(account), keys.list),
      revokeKey: Effect.fnUntraced(function* ({ account, key }) {
        const accountId = yield* chooseAccount(account)
        const id = yield* idOf(ApiKeyId)(key)
        yield* keys.revoke(accountId, id)
        return { id }
      })
    }
  })
)
