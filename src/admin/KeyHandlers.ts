import { Effect, Schema } from "effect"
import { NotFound } from "../domain/Errors.ts"
import { ApiKeyId } from "../domain/Ids.ts"
import { Accounts } from "../services/Accounts.ts"
import { ApiKeys } from "../services/ApiKeys.ts"
import { KeyRpcs } from "./AdminRpcs.ts"
import { chooseAccount } from "./ChosenAccount.ts"

export const KeyHandlers = KeyRpcs.toLayer(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const keys = yield* ApiKeys
    return {
      createKey: ({ account, ...key }) =>
        Effect.flatMap(chooseAccount(accounts, account), (id) => keys.create(id, key)),
      listKeys: ({ account }) => Effect.flatMap(chooseAccount(accounts, account), keys.list),
      revokeKey: Effect.fnUntraced(function* ({ account, key }) {
        const accountId = yield* chooseAccount(accounts, account)
        const id = yield* Effect.mapError(Schema.decode(ApiKeyId)(key.toLowerCase()), () => new NotFound())
        yield* keys.revoke(accountId, id)
        return { id }
      })
    }
  })
)
