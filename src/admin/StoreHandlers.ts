import { Effect } from "effect"
import { Accounts } from "../access/Accounts.ts"
import type { AccountId } from "../model/Ids.ts"
import { Stores } from "../stores/Stores.ts"
import { StoreRpcs } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"
import { makeDomainNamed } from "./Named.ts"

export const StoreHandlers = StoreRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const domainNamed = yield* makeDomainNamed
    const stores = yield* Stores
    const accounts = yield* Accounts
    return {
      linkStore: ({ account, ...store }) => forAccount(account)(stores.beginLink(store)),
      unlinkStore: ({ account, domain }) =>
        forAccount(account)(Effect.flatMap(domainNamed(domain), stores.beginUnlink)),
      rotateSecrets: Effect.fnUntraced(function* () {
        const unreadable: Array<{ readonly accountId: AccountId; readonly domain: string }> = []
        let [rotated, current] = [0, 0]
        for (const { id: accountId } of yield* accounts.list) {
          const done = yield* stores.rotateSecrets(accountId)
          rotated += done.rotated
          current += done.current
          unreadable.push(...done.unreadable.map((domain) => ({ accountId, domain })))
        }
        return { rotated, current, unreadable }
      }),
      listStores: ({ account }) => forAccount(account)(stores.list)
    }
  })
)
