import { Context, Effect, Layer } from "effect"
import { ValidationFailed } from "../model/Errors.ts"
import { AccountId } from "../model/Ids.ts"
import { nameMisfit } from "../model/Name.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { AccessRepo } from "./AccessRepo.ts"

const make = Effect.map(AccessRepo, (access) => ({
  /** Creates an account. ValidationFailed: the name is blank, too long or has several lines. */
  create: Effect.fn("Accounts.create")(function* (rawName: string) {
    const name = rawName.trim()
    const message = nameMisfit(name)
    if (message !== undefined) return yield* ValidationFailed.at("name", message)
    const account = { id: yield* mintId(AccountId), name }
    yield* access.createAccount(account)
    return account
  }),
  /** All accounts, oldest first. */
  list: access.accounts,
  nameOf: access.accountName
}))

/** Merchant accounts: each owns its catalog, stores and keys. */
export class Accounts extends Context.Tag("catalog/Accounts")<Accounts, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Accounts, make)
}
