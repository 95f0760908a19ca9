import { Clock, Context, Data, Effect, Either, Layer, Option, Redacted } from "effect"
import { ValidationFailed } from "../model/Errors.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import { makeFairQueue, type QueueLimits } from "../runtime/FairQueue.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { readEmail } from "./Email.ts"
import { isOfKind } from "./OpaqueToken.ts"
import { digestPassword, isPassword } from "./Passwords.ts"
import { hashOf, mintSecret } from "./Secrets.ts"
import type { Identity } from "./User.ts"
import { type AttemptKind, UsersRepo } from "./UsersRepo.ts"

/** Failed attempts per window: of one e-mail, or in one remembered browser. */
const maxFailures = 5
const windowSeconds = 900

/** Digests cost memory and processor time, so few run at once and few wait. A wait ends before its request times out. */
const digestQueue: QueueLimits = { running: 2, waitingInLane: 10, waiting: 100, waitMillis: 5_000 }

/** When a client can try again after the queue was full. */
const busySeconds = 10

/** How long a browser is remembered after its last sign-in. */
export const deviceSeconds = 180 * 86_400

/** Remembered browsers per user. The oldest is forgotten first. */
const maxDevices = 20

const minCharacters = 10
const maxCharacters = 200

/** Wrong e-mail or password. An e-mail that no user has gets the same error. */
export class SignInRefused extends Data.TaggedError("SignInRefused") {
  override get message() {
    return "E-mail or password is wrong."
  }
}

const countedWords = {
  "sign-in": "with this e-mail",
  "sign-in-address": "from your network",
  "sign-in-device": "in this browser"
} as const satisfies Partial<Record<AttemptKind, string>>
type Counted = keyof typeof countedWords

/** Too many failed attempts, whether or not the e-mail exists. */
export class SignInDelayed extends Data.TaggedError("SignInDelayed")<{
  readonly counted: Counted
  readonly retryAfterSeconds: number
  readonly until: Timestamp
}> {
  override get message() {
    const minutes = Math.ceil(this.retryAfterSeconds / 60)
    const until = `${this.until.slice(0, 10)} ${this.until.slice(11, 16)} UTC`
    return `Too many failed attempts ${countedWords[this.counted]}. Try again in ${minutes} ${minutes === 1 ? "minute" : "minutes"} (after ${until}).`
  }
}

/** The queue for checking passwords is full. */
export class SignInBusy extends Data.TaggedError("SignInBusy") {
  readonly retryAfterSeconds = busySeconds
  override get message() {
    return `Too many sign-ins at the moment. Try again in ${this.retryAfterSeconds} seconds.`
  }
}

const refusalNames = { SignInRefused: "wrong", SignInDelayed: "delayed", SignInBusy: "busy" } as const

/** A one-time link was used, has expired, or was replaced by a newer one. */
export class LinkUsedUp extends Data.TaggedError("LinkUsedUp") {
  override get message() {
    return "This link is no longer valid: it was used, is more than a day old, or was replaced by a newer one. Ask whoever runs this service for a new one."
  }
}

/** Why a password is not accepted. Undefined: it is. */
const passwordMisfit = (password: string): string | undefined => {
  const { length } = [...password]
  return length < minCharacters || length > maxCharacters
    ? `must have ${minCharacters} to ${maxCharacters} characters`
    : undefined
}

/** Where an attempt comes from: the client's address, and the token of the browser's device cookie if it sent one. */
export interface Origin {
  readonly address: string
  readonly device: string | undefined
}

/** Sign-in, and setting a password by a one-time link. */
export class SignIns extends Context.Tag("catalog/SignIns")<
  SignIns,
  {
    /**
     * SignInDelayed: five failures of the e-mail in 15 minutes, or too many from the address. In a browser where this user
     * signed in before, failures are counted per browser instead. SignInBusy: too many passwords wait to be checked.
     */
    readonly signIn: (
      email: string,
      password: string,
      origin: Origin
    ) => Effect.Effect<Identity, SignInRefused | SignInDelayed | SignInBusy>
    /** Remembers the browser. Its new token replaces the one in `before`. */
    readonly rememberDevice: (
      user: Pick<Identity, "accountId" | "id">,
      before: string | undefined
    ) => Effect.Effect<Redacted.Redacted>
    /** The e-mail of the user to whom the link belongs. */
    readonly findLink: (token: string) => Effect.Effect<string, LinkUsedUp>
    /** Sets the password of the user to whom the link belongs, and ends their sessions. ValidationFailed: its length. */
    readonly setPassword: (
      token: string,
      password: string
    ) => Effect.Effect<Identity, LinkUsedUp | SignInBusy | ValidationFailed>
  }
>() {
  /** `failuresPerAddress`: failed attempts from one address in 15 minutes. */
  static readonly layer = ({ failuresPerAddress }: { readonly failuresPerAddress: number }) =>
    Layer.effect(
      SignIns,
      Effect.gen(function* () {
        const users = yield* UsersRepo
        const digests = makeFairQueue(digestQueue, () => new SignInBusy())

        const count = (counted: Counted, subject: string, maxAttempts: number) =>
          Effect.gen(function* () {
            const retryAfterSeconds = yield* users.countAttempt(counted, subject, { maxAttempts, windowSeconds })
            if (retryAfterSeconds === 0) return
            const until = fromMillis((yield* Clock.currentTimeMillis) + retryAfterSeconds * 1_000)
            return yield* new SignInDelayed({ counted, retryAfterSeconds, until })
          })

        /** The hash of a device on which the user of this e-mail signed in. */
        const findDevice = (token: string | undefined, email: string) =>
          token === undefined || !isOfKind("device", token)
            ? Effect.succeedNone
            : Effect.map(
                users.findDevice(hashOf(token), deviceSeconds),
                Option.flatMap((device) => (device.email === email ? Option.some(hashOf(token)) : Option.none()))
              )

        return {
          signIn: Effect.fn("SignIns.signIn")(function* (given, password, origin) {
            const email = Either.getOrElse(readEmail(given), () => given.trim().toLowerCase())
            const subject = hashOf(email)
            const address = hashOf(origin.address)
            const device = Option.getOrUndefined(yield* findDevice(origin.device, email))
            return yield* Effect.gen(function* () {
              // Counted before the password is checked: of a thousand attempts at once, five are checked.
              if (device === undefined) {
                yield* count("sign-in-address", address, failuresPerAddress)
                yield* count("sign-in", subject, maxFailures)
              } else yield* count("sign-in-device", device, maxFailures)
              const found = yield* email.includes("\u0000") ? Effect.succeedNone : users.findByEmail(email)
              const stored = Option.flatMapNullable(found, (user) => (user.disabled ? null : user.password))
              const isRight = yield* isPassword(password, Option.getOrNull(stored))
              if (Option.isNone(found) || !isRight) return yield* new SignInRefused()
              if (device === undefined) {
                yield* users.clearAttempts("sign-in", subject)
                // Other users at this address may have failed: only this attempt is uncounted.
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
          findLink: Effect.fn("SignIns.findLink")(function* (token) {
            if (!isOfKind("passwordLink", token)) return yield* new LinkUsedUp()
            const found = yield* users.findLink(hashOf(token))
            return yield* Effect.mapBoth(found, { onFailure: () => new LinkUsedUp(), onSuccess: ({ email }) => email })
          }),
          setPassword: Effect.fn("SignIns.setPassword")(function* (token, password) {
            if (!isOfKind("passwordLink", token)) return yield* new LinkUsedUp()
            const misfit = passwordMisfit(password)
            if (misfit !== undefined) return yield* ValidationFailed.at("password", misfit)
            // A digest is costly: it is made only for a valid link.
            const link = hashOf(token)
            if (Option.isNone(yield* users.findLink(link))) return yield* new LinkUsedUp()
            const digest = yield* digests.run({ name: link, preferred: true })(digestPassword(password))
            return yield* Effect.mapError(yield* users.setPassword(link, digest), () => new LinkUsedUp())
          })
        }
      })
    )
}
