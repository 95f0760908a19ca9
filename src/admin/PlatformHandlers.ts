import { Effect } from "effect"
import { CurrentActor } from "../domain/Actor.ts"
import { Accounts } from "../services/Accounts.ts"
import { DemoFailures } from "../services/DemoFailures.ts"
import { PlatformRpcs } from "./AdminRpcs.ts"
import { chooseAccount } from "./ChosenAccount.ts"

export const PlatformHandlers = PlatformRpcs.toLayer(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const failures = yield* DemoFailures
    return {
      failPlatform: Effect.fnUntraced(function* ({ account, store, ...failure }) {
        const accountId = yield* chooseAccount(accounts, account)
        yield* Effect.provideService(failures.fail(store, failure), CurrentActor, { _tag: "Cli", accountId })
      }),
      mendPlatform: Effect.fnUntraced(function* ({ account, store }) {
        const accountId = yield* chooseAccount(accounts, account)
        yield* Effect.provideService(failures.mend(store), CurrentActor, { _tag: "Cli", accountId })
      })
    }
  })
)
