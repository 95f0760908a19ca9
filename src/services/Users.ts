import { Context, Data, Effect, Either, Layer, Option, Redacted } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { readEmail } from "../domain/Email.ts"
import { NotFound, ValidationFailed } from "../domain/Errors.ts"
import { type AccountId, UserId } from "../domain/Ids.ts"
import { isOfKind } from "../domain/OpaqueToken.ts"
import type { User } from "../domain/User.ts"
import { type Identity, UsersRepo } from "../repos/UsersRepo.ts"
import { mintId } from "./Identifiers.ts"
import { isPassword, keepPassword } from "./Passwords.ts"
import { hashOf, mintSecret } from "./Secrets.ts"

/** A link is carried to somebody by hand. */
const linkSeconds = 86_400

/** Failures of an e-mail in so long a time, after which it waits until that time is over. */
const failures = { most: 5, windowSeconds: 900 } as const

/** Digests need memory: so many are made at once, the others wait. */
const digestsAtOnce = 2

const passwordCharacters = { least: 10, most: 200 } as const

/** E-mail and password do not belong together. The same for an e-mail that nobody has. */
export class SignInRefused extends Data.TaggedError("SignInRefused") {
  override get message() {
    return "E-mail or password is wrong."
  }
}

/** Too many failures of this e-mail, whether or not somebody has it. */
export class SignInDelayed extends Data.TaggedError("SignInDelayed")<{ readonly retryAfterSeconds: number }> {
  override get message() {
    return `Too many failed attempts with this e-mail. Try again in ${Math.ceil(this.retryAfterSeconds / 60)} minutes.`
  }
}

/** A one-time link was used, has expired, or was replaced by a newer one. */
export class LinkUsedUp extends Data.TaggedError("LinkUsedUp") {
  override get message() {
    return "This link is no longer good: it was used, is older than a day, or was replaced by a newer one. Ask for another with `catalog user invite --email E`."
  }
}

/** What is wrong with a password; undefined: nothing. */
const misfitOfPassword = (password: string): string | undefined => {
  const { length } = [...password]
  return length < passwordCharacters.least || length > passwordCharacters.most
    ? `must have ${passwordCharacters.least} to ${passwordCharacters.most} characters`
    : undefined
}

const emailOf = (text: string) => Either.mapLeft(readEmail(text), (rule) => ValidationFailed.at("email", rule))

/** Who signs in to the pages of an account. */
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
    /** The e-mail of the user whose link it is. */
    readonly findLink: (token: string) => Effect.Effect<string, LinkUsedUp>
    /** Sets the password of the user whose link it is, and signs their browsers out. ValidationFailed: its length. */
    readonly setPassword: (token: string, password: string) => Effect.Effect<Identity, LinkUsedUp | ValidationFailed>
    /** SignInDelayed: after five failures of the e-mail in 15 minutes, until those are over. */
    readonly signIn: (email: string, password: string) => Effect.Effect<Identity, SignInRefused | SignInDelayed>
  }
>() {
  static readonly layer = Layer.effect(
    Users,
    Effect.gen(function* () {
      const users = yield* UsersRepo
      const transaction = yield* Transaction
      const digests = yield* Effect.makeSemaphore(digestsAtOnce)

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
        }),
        findLink: Effect.fn("Users.findLink")(function* (token) {
          if (!isOfKind("passwordLink", token)) return yield* new LinkUsedUp()
          const found = yield* users.findLink(hashOf(token))
          return yield* Effect.mapBoth(found, { onFailure: () => new LinkUsedUp(), onSuccess: ({ email }) => email })
        }),
        setPassword: Effect.fn("Users.setPassword")(function* (token, password) {
          if (!isOfKind("passwordLink", token)) return yield* new LinkUsedUp()
          const misfit = misfitOfPassword(password)
          if (misfit !== undefined) return yield* ValidationFailed.at("password", misfit)
          // Nobody without a good link makes us work.
          const found = yield* users.findLink(hashOf(token))
          if (Option.isNone(found)) return yield* new LinkUsedUp()
          const kept = yield* digests.withPermits(1)(keepPassword(password))
          const user = yield* users.setPassword(hashOf(token), kept)
          return yield* Effect.mapError(user, () => new LinkUsedUp())
        }),
        signIn: Effect.fn("Users.signIn")(function* (given, password) {
          const email = Either.getOrElse(readEmail(given), () => given.trim().toLowerCase())
          const subject = hashOf(email)
          // Counted before it is judged: a thousand at once are five.
          const retryAfterSeconds = yield* users.attempt("sign-in", subject, failures)
          if (retryAfterSeconds > 0) return yield* new SignInDelayed({ retryAfterSeconds })
          const found = yield* email.includes("\u0000") ? Effect.succeedNone : users.findByEmail(email)
          const kept = Option.flatMapNullable(found, (user) => (user.disabled ? null : user.password))
          const right = yield* digests.withPermits(1)(isPassword(password, Option.getOrNull(kept)))
          if (Option.isNone(found) || !right) return yield* new SignInRefused()
          yield* users.forgive("sign-in", subject)
          return found.value
        })
      }
    })
  )
}
