import { Context, Effect, Either, Layer, type Option, Redacted } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, UserId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { readEmail } from "./Email.ts"
import { hashOf, mintSecret } from "./Secrets.ts"
import type { User } from "./User.ts"
import { UsersRepo } from "./UsersRepo.ts"

/** Lifetime of a link: one day, because the operator passes it on by hand. */
const linkSeconds = 86_400

const emailOf = (text: string) => Either.mapLeft(readEmail(text), (rule) => ValidationFailed.at("email", rule))

/** Users of an account, as its operator manages them. */
export class Users extends Context.Tag("catalog/Users")<
  Users,
  {
    /**
     * Creates a one-time link, valid for a day, by which the user sets a password. Adds the user if the account has none with
     * this e-mail. ValidationFailed: not an e-mail address, an e-mail of another account, or a disabled user.
     */
    readonly invite: (
      accountId: AccountId,
      email: string
    ) => Effect.Effect<{ readonly email: string; readonly token: Redacted.Redacted }, ValidationFailed>
    /** The base URL with which the service was last started. Links begin with it. */
    readonly serviceAddress: Effect.Effect<Option.Option<string>>
    readonly keepServiceAddress: (baseUrl: string) => Effect.Effect<void>
    /** All users of the account, including disabled ones, oldest first. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<User>>
    /** Disables a user and ends the user's sessions and connections. NotFound: the account has no such user. */
    readonly disable: (accountId: AccountId, email: string) => Effect.Effect<void, NotFound>
  }
>() {
  static readonly layer = Layer.effect(
    Users,
    Effect.gen(function* () {
      const users = yield* UsersRepo
      const transaction = yield* Transaction

      return {
        serviceAddress: users.serviceAddress,
        keepServiceAddress: users.keepServiceAddress,
        invite: Effect.fn("Users.invite")(function* (accountId, given) {
          const email = yield* emailOf(given)
          const token = yield* mintSecret("passwordLink")
          const id = yield* mintId(UserId)
          yield* Effect.gen(function* () {
            yield* users.add(accountId, { id, email })
            const user = yield* Effect.flatMap(users.findByEmail(email), Effect.orDie)
            if (user.accountId !== accountId)
              return yield* ValidationFailed.at(
                "email",
                "belongs to a user of another account; choose another e-mail address"
              )
            if (user.disabled) return yield* ValidationFailed.at("email", "belongs to a user who was disabled")
            yield* users.setLink(accountId, user.id, hashOf(token), linkSeconds)
          }).pipe(transaction.run)
          return { email, token: Redacted.make(token) }
        }),
        list: users.list,
        disable: Effect.fn("Users.disable")(function* (accountId, given) {
          const email = yield* Either.mapLeft(readEmail(given), () => new NotFound())
          if (!(yield* users.disable(accountId, email))) return yield* new NotFound()
        })
      }
    })
  )
}
