import { Effect } from "effect"
import { Accounts } from "../access/Accounts.ts"
import { makeRotateSecondFactors } from "../access/SecondFactorRotation.ts"
import type { AccountId } from "../model/Ids.ts"
import { Stores } from "../stores/Stores.ts"
import { Webhooks } from "../webhooks/Webhooks.ts"
import { SecretRpcs } from "./SecretRpcs.ts"

export const SecretHandlers = SecretRpcs.toLayer(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const owners = {
      store: yield* Stores,
      webhook: yield* Webhooks,
      user: { rotateSecrets: yield* makeRotateSecondFactors }
    }
    return {
      rotateSecrets: Effect.fnUntraced(function* () {
        const unreadable: Array<{
          readonly accountId: AccountId
          readonly kind: keyof typeof owners
          readonly name: string
        }> = []
        let [rotated, current] = [0, 0]
        for (const { id: accountId } of yield* accounts.list)
          for (const kind of ["store", "webhook", "user"] as const) {
            const done = yield* owners[kind].rotateSecrets(accountId)
            rotated += done.rotated
            current += done.current
            unreadable.push(...done.unreadable.map((name) => ({ accountId, kind, name })))
          }
        return { rotated, current, unreadable }
      })
    }
  })
)
