import { Context, Data, Effect, Layer, Option, Redacted } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { ValidationFailed } from "../model/Errors.ts"
import { makeFairQueue, type QueueLimits } from "../runtime/FairQueue.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { makeCountAttempt, type SignInDelayed } from "./AttemptLimits.ts"
import { normalEmail } from "./Email.ts"
import { isOfKind } from "./OpaqueToken.ts"
import { makePasswordMisfit, type PasswordOwner } from "./PasswordRules.ts"
import { digestPassword, isPassword, PasswordCost } from "./Passwords.ts"
import { hashOf, mintSecret } from "./Secrets.ts"
import type { Identity, SignedIn } from "./User.ts"
import { linkDays, makeLinks, type PasswordLink } from "./Users.ts"
import { UsersRepo } from "./UsersRepo.ts"

/** Maximum failed attempts per window, of one e-mail or in one remembered browser. */
const maxFailures = 5
/** Limits the digests that run and wait, because they cost memory and processor time. A wait ends before its request times out. */
const digestQueue: QueueLimits = { running: 2, waitingInLane: 10, waiting: 100, waitMillis: 5_000 }

/** Retry-After in seconds if the queue is full. */
const busySeconds = 10

/** How long a browser is remembered after its last sign-in, in seconds. */
export const deviceSeconds = 180 * 86_400

/** Maximum remembered browsers per user. The oldest are forgotten first. */
const maxDevices = 20

/** Maximum requests for a new password of one e-mail, and from one network address, per window. */
const maxRequests = { email: 3, address: 30 } as const

/** Wrong e-mail or password. The error is the same if no user has this e-mail. */
export class SignInRefused extends Data.TaggedError("SignInRefused") {
  override get message() {
    return "E-mail or password is wrong."
  }
}

/** The current password, which confirms a change, is wrong. */
class PasswordRefused extends Data.TaggedError("PasswordRefused") {
  override get message() {
    return "The current password is wrong."
  }
}

/** The queue for checking passwords is full. */
class SignInBusy extends Data.TaggedError("SignInBusy") {
  readonly retryAfterSeconds = busySeconds
  override get message() {
    return `Too many sign-ins at the moment. Try again in ${this.retryAfterSeconds} seconds.`
  }
}

const refusalNames = { SignInRefused: "wrong", SignInDelayed: "delayed", SignInBusy: "busy" } as const

/** A one-time link was used, has expired, or was replaced by a newer one. */
export class LinkUsedUp extends Data.TaggedError("LinkUsedUp") {
  override get message() {
    return "This link is no longer valid: it was used, has expired, or was replaced by a newer one. Ask an administrator of your account for a new one."
  }
}

/** The e-mail of an invited user belongs to a user of another account. */
export class EmailTaken extends Data.TaggedError("EmailTaken") {
  override get message() {
    return "This e-mail address belongs to a user of another account. Sign in there, or, if you are disabled there, ask to be invited with another address."
  }
}

/** The origin of an attempt: the client's IP address, and the token in the browser's device cookie if it has one. */
interface Origin {
  readonly address: string
  readonly device: string | undefined
}

/** Changes of passwords, which are recorded as changes of the team. */
const makeRecordedPasswords = (users: UsersRepo["Type"], transaction: Transaction["Type"]) => {
  const record = ({ accountId, email, userId }: Pick<SignedIn, "accountId" | "email" | "userId">, isFirst: boolean) =>
    users.record({ _tag: "User", accountId, userId }, { action: isFirst ? "joined" : "password_set", email })
  return {
    /** Changes the user's own password. False: the password `before` has changed, or the user is disabled. */
    change: (user: SignedIn, before: string, after: string) =>
      users.changePassword(user.accountId, user.userId, { before, after, sessionHash: user.sessionHash }).pipe(
        Effect.tap((isChanged) => (isChanged ? record(user, false) : Effect.void)),
        transaction.run
      ),
    /** Sets a password by a link. None: the link is not valid, or the e-mail is taken. */
    set: (link: string, digest: string) =>
      users.setPassword(link, digest).pipe(
        Effect.tap(
          Option.match({
            onNone: () => Effect.void,
            onSome: (user) => record({ ...user, userId: user.id }, user.isFirst)
          })
        ),
        transaction.run
      )
  }
}

/** Finds the hash of a device token. Undefined: the user with this e-mail has not signed in on the device. */
export const makeFindDevice = (users: UsersRepo["Type"]) =>
  Effect.fnUntraced(function* (token: string | undefined, email: string) {
    if (token === undefined || !isOfKind("device", token)) return undefined
    const device = yield* users.findDevice(hashOf(token), deviceSeconds)
    return Option.exists(device, (each) => each.email === email) ? hashOf(token) : undefined
  })

/** Makes the link of a user who has forgotten the password. None: no user with a password has this e-mail. */
const makeNewLink = (users: UsersRepo["Type"]) => {
  const makeLink = makeLinks(users)
  return (email: string) =>
    Effect.gen(function* () {
      const found = yield* email.includes("\u0000") ? Effect.succeedNone : users.findByEmail(email)
      // A user without a password was invited. Only an administrator can replace the link of an invitation.
      if (Option.isNone(found) || found.value.disabled || found.value.password === null) return Option.none()
      return Option.some(yield* makeLink(found.value.accountId, found.value, linkDays.password))
    })
}

/** Sign-in, and setting a password by a one-time link. */
export class SignIns extends Context.Tag("catalog/SignIns")<
  SignIns,
  {
    /**
     * SignInDelayed: five failures for the e-mail in 15 minutes, or too many from the IP address. In a browser where this user
     * signed in before, failures are counted per browser instead. SignInBusy: too many passwords wait to be checked.
     */
    readonly signIn: (
      email: string,
      password: string,
      origin: Origin
    ) => Effect.Effect<Identity, SignInRefused | SignInDelayed | SignInBusy>
    /** Remembers the browser and returns its new device token, which replaces the token `before`. */
    readonly rememberDevice: (
      user: Pick<Identity, "accountId" | "id">,
      before: string | undefined
    ) => Effect.Effect<Redacted.Redacted>
    /** The e-mail of the user to whom the link belongs. */
    readonly findLink: (token: string) => Effect.Effect<string, LinkUsedUp | EmailTaken>
    /** Sets the password of the link's user and ends the user's sessions. ValidationFailed: refused by `makePasswordMisfit`. */
    readonly setPassword: (
      token: string,
      password: string
    ) => Effect.Effect<Identity, LinkUsedUp | EmailTaken | SignInBusy | ValidationFailed>
    /**
     * Counts a request for a new password. The effect `makeLink` makes the link; None: no user with a password has this
     * e-mail. The response does not wait for it, so that it takes equally long for every e-mail. SignInDelayed:
     * three requests for the e-mail in 15 minutes, or too many from the IP address.
     */
    readonly requestLink: (
      email: string,
      address: string
    ) => Effect.Effect<{ readonly makeLink: Effect.Effect<Option.Option<PasswordLink>> }, SignInDelayed>
    /** Checks the user's own password, which confirms a change. SignInDelayed: five wrong ones in 15 minutes. */
    readonly checkPassword: (
      user: Pick<SignedIn, "userId" | "email">,
      password: string
    ) => Effect.Effect<void, PasswordRefused | SignInDelayed | SignInBusy>
    /**
     * Changes the user's own password and ends the user's other sessions. If the new password is set already, because the form was sent
     * twice, the current one is not needed, and nothing changes. ValidationFailed: the new password is refused by `makePasswordMisfit`.
     * PasswordRefused: the current password is wrong, or has just been changed.
     */
    readonly changePassword: (
      user: SignedIn,
      current: string,
      next: string
    ) => Effect.Effect<void, PasswordRefused | SignInDelayed | SignInBusy | ValidationFailed>
  }
>() {
  /** `failuresPerAddress`: maximum failed attempts from one IP address in 15 minutes. */
  static readonly layer = ({ failuresPerAddress }: { readonly failuresPerAddress: number }) =>
    Layer.effect(
      SignIns,
      Effect.gen(function* () {
        const users = yield* UsersRepo
        const cost = yield* PasswordCost
        const passwords = makeRecordedPasswords(users, yield* Transaction)
        const newLink = makeNewLink(users)
        const passwordMisfit = yield* makePasswordMisfit
        const digests = makeFairQueue(digestQueue, () => new SignInBusy())

        const count = makeCountAttempt(users)
        const findDevice = makeFindDevice(users)

        const findLink = Effect.fn("SignIns.findLink")(function* (token: string) {
          if (!isOfKind("passwordLink", token)) return yield* new LinkUsedUp()
          const owner = yield* Effect.mapError(yield* users.findLink(hashOf(token)), () => new LinkUsedUp())
          return owner.isTaken ? yield* new EmailTaken() : owner
        })

        const requireFit = (password: string, owner: PasswordOwner) =>
          Effect.flatMap(
            passwordMisfit(password, owner),
            Option.match({
              onNone: () => Effect.void,
              onSome: (misfit) => Effect.fail(ValidationFailed.at("password", misfit))
            })
          )

        /** The digest of the user's password, and the first of `passwords` that is right. */
        const ownDigest = (
          { email, userId }: Pick<SignedIn, "userId" | "email">,
          ...passwords: ReadonlyArray<string>
        ) =>
          Effect.gen(function* () {
            const subject = hashOf(userId)
            yield* count("own-password", subject, maxFailures)
            const user = yield* users.findByEmail(email)
            const stored = Option.getOrNull(Option.flatMapNullable(user, (each) => each.password))
            const right = yield* Effect.findFirst(passwords, (password) => isPassword(password, stored, cost))
            if (Option.isNone(right) || stored === null) return yield* new PasswordRefused()
            yield* users.clearAttempts("own-password", subject)
            return { stored, right: right.value }
          }).pipe(digests.run({ name: userId, preferred: true }))

        return {
          checkPassword: (user, password) => Effect.asVoid(ownDigest(user, password)),
          changePassword: Effect.fn("SignIns.changePassword")(function* (user, current, next) {
            yield* requireFit(next, user)
            const change = Effect.gen(function* () {
              const { right, stored } = yield* ownDigest(user, current, next)
              // The same form has set the new password before.
              if (right !== current) return true
              const after = yield* digests.run({ name: user.userId, preferred: true })(digestPassword(next, cost))
              return yield* passwords.change(user, stored, after)
            })
            // Tried twice: if the same form was sent twice, it may have changed the password between the check and the change.
            if (!((yield* change) || (yield* change))) return yield* new PasswordRefused()
          }),
          requestLink: Effect.fn("SignIns.requestLink")(function* (rawEmail, address) {
            const email = normalEmail(rawEmail)
            yield* count("new-password-address", hashOf(address), maxRequests.address)
            yield* count("new-password", hashOf(email), maxRequests.email)
            return { makeLink: newLink(email) }
          }),
          signIn: Effect.fn("SignIns.signIn")(function* (rawEmail, password, origin) {
            const email = normalEmail(rawEmail)
            const subject = hashOf(email)
            const address = hashOf(origin.address)
            const device = yield* findDevice(origin.device, email)
            return yield* Effect.gen(function* () {
              // Attempts are counted before the password is checked, so only five of a thousand concurrent attempts are checked.
              if (device === undefined) {
                yield* count("sign-in-address", address, failuresPerAddress)
                yield* count("sign-in", subject, maxFailures)
              } else yield* count("sign-in-device", device, maxFailures)
              const found = yield* email.includes("\u0000") ? Effect.succeedNone : users.findByEmail(email)
              const stored = Option.flatMapNullable(found, (user) => (user.disabled ? null : user.password))
              const isRight = yield* isPassword(password, Option.getOrNull(stored), cost)
              if (Option.isNone(found) || !isRight) return yield* new SignInRefused()
              if (device === undefined) {
                yield* users.clearAttempts("sign-in", subject)
                // Removes only this attempt, because other users at this IP address may have failed.
                yield* users.uncountAttempt("sign-in-address", address)
              } else yield* users.clearAttempts("sign-in-device", device)
              return found.value
            }).pipe(
              digests.run({ name: device ?? origin.address, preferred: device !== undefined }),
              Effect.tapError(({ _tag }) => Effect.sync(() => metrics.signInRefusals.of(refusalNames[_tag]).add(1)))
            )
          }),
          rememberDevice: Effect.fn("SignIns.rememberDevice")(function* ({ accountId, id }, before) {
            const token = yield* mintSecret("device")
            yield* users.rememberDevice(accountId, id, {
              hash: hashOf(token),
              replaces: hashOf(before ?? ""),
              maxDevices
            })
            return Redacted.make(token)
          }),
          findLink: (token) => Effect.map(findLink(token), ({ email }) => email),
          setPassword: Effect.fn("SignIns.setPassword")(function* (token, password) {
            if (!isOfKind("passwordLink", token)) return yield* new LinkUsedUp()
            // Checks the link first, because a digest is costly.
            yield* requireFit(password, yield* findLink(token))
            const link = hashOf(token)
            const digest = yield* digests.run({ name: link, preferred: true })(digestPassword(password, cost))
            const set = yield* passwords.set(link, digest)
            if (Option.isSome(set)) return set.value
            // The link was used meanwhile, or the same e-mail was accepted in another account.
            yield* findLink(token)
            return yield* new LinkUsedUp()
          })
        }
      })
    )
}
