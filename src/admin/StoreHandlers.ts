import { Effect } from "effect"
import { Stores } from "../services/Stores.ts"
import { StoreRpcs } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"

export const StoreHandlers = StoreRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const stores = yield* Stores
    return {
      linkStore: ({ account, ...store }) => forAccount(account)(stores.link(store)),
      unlinkStore: ({ account, domain }) => forAccount(account)(stores.unlink(domain)),
      listStores: ({ account }) => forAccount(account)(stores.list)
    }
  })
)
