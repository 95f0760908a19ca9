import { Effect } from "effect"
import { AccountDeletion } from "../access/AccountDeletion.ts"
import { Accounts } from "../access/Accounts.ts"
import { Users } from "../access/Users.ts"
import { Transaction } from "../database/Transaction.ts"
import { makeDemoWithUser } from "../demo/DemoUser.ts"
import { AccountRpcs } from "./AdminRpcs.ts"

export const AccountHandlers = AccountRpcs.toLayer(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const deletion = yield* AccountDeletion
    const users = yield* Users
    const transaction = yield* Transaction
    const demoWithUser = yield* makeDemoWithUser
    return {
      createAccount: ({ email, name }) =>
        Effect.gen(function* () {
          const account = yield* accounts.create(name)
          return email === undefined ? account : { ...account, invitation: yield* users.invite(account.id, email) }
          // If `invite` refuses the e-mail, the transaction rolls the account back.
        }).pipe(transaction.run),
      deleteAccount: ({ name }) => deletion.begin(name),
      listAccounts: () => accounts.list,
      createDemo: () => demoWithUser
    }
  })
)
