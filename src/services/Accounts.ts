import { Context, Effect, Layer } from "effect"
import { ValidationFailed } from "../domain/Errors.ts"
import { AccountId } from "../domain/Ids.ts"
import { AccessRepo, type Account } from "../repos/AccessRepo.ts"
import { mintId } from "./Identifiers.ts"

/** Merchant accounts: each owns its catalog, stores and keys. */
export class Accounts extends Context.Tag("catalog/Accounts")<
  Accounts,
  {
    /** ValidationFailed: a blank name, or one over 200 characters. */
    readonly create: (
      name: string
    ) => Effect.Effect<{ readonly id: AccountId; readonly name: string }, ValidationFailed>
    /** Oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<Account>>
  }
>() {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.map(AccessRepo, (access) => ({
      create: Effect.fn("Accounts.create")(function* (given) {
        const name = given.trim()
        if (name === "" || name.length > 200)
          return yield* new ValidationFailed({ issues: [{ path: "name", message: "must have 1 to 200 characters" }] })
        const account = { id: yield* mintId(AccountId), name }
        yield* access.createAccount(account)
        return account
      }),
      list: access.accounts
    }))
  )
}
