import { Effect } from "effect"
import { CurrentActor } from "../domain/Actor.ts"
import { Accounts } from "../services/Accounts.ts"
import { Stores } from "../services/Stores.ts"
import { StoreRpcs } from "./AdminRpcs.ts"
import { chooseAccount } from "./ChosenAccount.ts"

export const StoreHandlers = StoreRpcs.toLayer(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const stores = yield* Stores
    return {
      linkStore: Effect.fnUntraced(function* ({ account, ...store }) {
        const accountId = yield* chooseAccount(accounts, account)
        return yield* Effect.provideService(stores.link(store), CurrentActor, { _tag: "Cli", accountId })
      }),
      unlinkStore: Effect.fnUntraced(function* ({ account, domain }) {
        const accountId = yield* chooseAccount(accounts, account)
        return yield* Effect.provideService(stores.unlink(domain), CurrentActor, { _tag: "Cli", accountId })
      }),
      listStores: Effect.fnUntraced(function* ({ account }) {
        const accountId = yield* chooseAccount(accounts, account)
        return yield* Effect.provideService(stores.list, CurrentActor, { _tag: "Cli", accountId })
      })
    }
  })
)
