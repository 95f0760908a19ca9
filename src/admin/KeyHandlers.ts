import { Effect } from "effect"
import { ApiKeys } from "../access/ApiKeys.ts"
import { KeyRpcs } from "./AdminRpcs.ts"
import { makeChooseAccount } from "./ChosenAccount.ts"
import { makeFindKey } from "./FindByName.ts"

export const KeyHandlers = KeyRpcs.toLayer(
  Effect.gen(function* () {
    const chooseAccount = yield* makeChooseAccount
    const findKey = yield* makeFindKey
    const keys = yield* ApiKeys
    return {
      createKey: ({ account, ...key }) => Effect.flatMap(chooseAccount(account), (id) => keys.create(id, key)),
      listKeys: ({ account }) => Effect.flatMap(chooseAccount(account), keys.list),
      revokeKey: Effect.fnUntraced(function* ({ account, key }) {
        const accountId = yield* chooseAccount(account)
        const id = yield* findKey(accountId, key)
        yield* keys.revoke(accountId, id)
        return { id }
      })
    }
  })
)
