import { Context, Effect, Either, Layer, type Option, Redacted } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, UserId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { readEmail } from "./Email.ts"
import { hashOf, mintSecret } from "./Secrets.ts"
import type { User } from "./User.ts"
import { UsersRepo } from "./UsersRepo.ts"

/** A link is carried to somebody by hand. */
const linkSeconds = 86_400

const emailOf = (text: string) => Either.mapLeft(readEmail(text), (rule) => ValidationFailed.at("email", rule))

/** The users who sign in to the pages of an account, as its operator manages them. */
export class Users extends Context.Tag("catalog/Users")<
  Users,
  {
    /**
     * A one-time link by which the user sets a password, good for a day; the user is added if the account does not have it.
     * ValidationFailed: no e-mail address, one that signs in to another account, or a user who is disabled.
     */
    readonly invite: (
      accountId: AccountId,
      email: string
    ) => Effect.Effect<{ readonly email: string; readonly token: Redacted.Redacted }, ValidationFailed>
    /** Where the service was started last, which links lead to. */
    readonly serviceAddress: Effect.Effect<Option.Option<string>>
    readonly keepServiceAddress: (baseUrl: string) => Effect.Effect<void>
    /** Oldest first, disabled ones too. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<User>>
    /** Signs the user out everywhere; no connection that they consented to opens anything any more. NotFound: no such user. */
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
            const known = yield* Effect.flatMap(users.findByEmail(email), Effect.orDie)
            if (known.accountId !== accountId)
              return yield* ValidationFailed.at("email", "signs in to another account already; choose another address")
            if (known.disabled) return yield* ValidationFailed.at("email", "belongs to a user who was disabled")
            yield* users.setLink(accountId, known.id, hashOf(token), linkSeconds)
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
