import { Effect } from "effect"
import { Stores } from "../stores/Stores.ts"
import { StoreRpcs } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"
import { makeDomainNamed } from "./Named.ts"

export const StoreHandlers = StoreRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const domainNamed = yield* makeDomainNamed
    const stores = yield* Stores
    return {
      linkStore: ({ account, ...store }) => forAccount(account)(stores.beginLink(store)),
      unlinkStore: ({ account, domain }) =>
        forAccount(account)(Effect.flatMap(domainNamed(domain), stores.beginUnlink)),
      listStores: ({ account }) => forAccount(account)(stores.list)
    }
  })
)
