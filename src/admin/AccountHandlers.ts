import { Effect } from "effect"
import { Accounts } from "../services/Accounts.ts"
import { Demo } from "../services/Demo.ts"
import { AccountRpcs } from "./AdminRpcs.ts"

export const AccountHandlers = AccountRpcs.toLayer(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const demo = yield* Demo
    return {
      createAccount: ({ name }) => accounts.create(name),
      listAccounts: () => accounts.list,
      createDemo: () => demo.create
    }
  })
)
