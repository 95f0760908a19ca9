import { Context, Effect, Layer } from "effect"
import { ValidationFailed } from "../model/Errors.ts"
import { AccountId } from "../model/Ids.ts"
import { nameMisfit } from "../model/Name.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { AccessRepo, type Account } from "./AccessRepo.ts"

/** Merchant accounts: each owns its catalog, stores and keys. */
export class Accounts extends Context.Tag("catalog/Accounts")<
  Accounts,
  {
    /** Creates an account. ValidationFailed: the name is blank, too long or has several lines. */
    readonly create: (
      name: string
    ) => Effect.Effect<{ readonly id: AccountId; readonly name: string }, ValidationFailed>
    /** All accounts, oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<Account>>
  }
>() {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.map(AccessRepo, (access) => ({
      create: Effect.fn("Accounts.create")(function* (given) {
        const name = given.trim()
        const message = nameMisfit(name)
        if (message !== undefined) return yield* ValidationFailed.at("name", message)
        const account = { id: yield* mintId(AccountId), name }
        yield* access.createAccount(account)
        return account
      }),
      list: access.accounts
    }))
  )
}
