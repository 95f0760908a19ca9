import { Effect } from "effect"
import type { Transaction } from "../database/Transaction.ts"
import { ValidationFailed } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import { authorIn } from "./TeamLog.ts"
import type { UsersRepo } from "./UsersRepo.ts"

/** The setting of an account that all its users need a second factor. */
export const makeRequiredFactor = (users: UsersRepo["Type"], transaction: Transaction["Type"]) => ({
  /** Whether all users of the account need a second factor. */
  requiresSecondFactor: users.requiresSecondFactor,
  /**
   * Changes the setting. Switching it on ends the sessions of users without a second factor: they set it up at the next sign-in, which
   * asks for the password. ValidationFailed: the administrator who switches it on has no second factor.
   */
  requireSecondFactor: Effect.fn("Users.requireSecondFactor")(function* (accountId: AccountId, isRequired: boolean) {
    const author = yield* authorIn(accountId)
    if (isRequired && author._tag === "User") {
      const own = (yield* users.list(accountId)).find(({ id }) => id === author.userId)
      if (own?.hasSecondFactor !== true)
        return yield* ValidationFailed.at(
          "",
          "cannot be required before you have one yourself: set it up on your profile"
        )
    }
    if (!(yield* users.setRequiresSecondFactor(accountId, isRequired))) return
    if (isRequired) yield* users.endSessionsWithoutFactor(accountId)
    yield* users.record(author, {
      action: isRequired ? "second_factor_required" : "second_factor_optional",
      email: null
    })
  }, transaction.run)
})
