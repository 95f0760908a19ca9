import { Clock, Context, Data, Effect, Either, Layer, Option, Redacted } from "effect"
import { ValidationFailed } from "../model/Errors.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import { makeFairQueue, type QueueLimits } from "../runtime/FairQueue.ts"
import { readEmail } from "./Email.ts"
import { isOfKind } from "./OpaqueToken.ts"
import { isPassword, keepPassword } from "./Passwords.ts"
import { hashOf, mintSecret } from "./Secrets.ts"
import { type AttemptKind, type Identity, UsersRepo } from "./UsersRepo.ts"

/** Failures of an e-mail, and in a known browser, before it waits until the window is over. */
const maxFailures = 5
const windowSeconds = 900

/** Digests need memory and processor time: few are made at once, and few wait. Nobody waits until their request has timed out. */
const digestQueue: QueueLimits = { running: 2, waitingInLane: 10, waiting: 100, waitMillis: 5_000 }

/** How soon a full queue is worth another try. */
const busySeconds = 10

/** How long a browser is known after its last sign-in. */
export const deviceSeconds = 180 * 86_400

/** Browsers that are known of one user; the oldest is forgotten first. */
const maxDevices = 20

const passwordCharacters = { least: 10, most: 200 } as const

/** E-mail and password do not belong together. The same for an e-mail that nobody has. */
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

/** Too many failures, whether or not somebody has the e-mail. */
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

/** More people sign in, or guess, than passwords can be checked. */
export class SignInBusy extends Data.TaggedError("SignInBusy") {
  readonly retryAfterSeconds = busySeconds
  override get message() {
    return `Too many sign-ins at the moment. Try again in ${this.retryAfterSeconds} seconds.`
  }
}

/** A one-time link was used, has expired, or was replaced by a newer one. */
export class LinkUsedUp extends Data.TaggedError("LinkUsedUp") {
  override get message() {
    return "This link is no longer good: it was used, is older than a day, or was replaced by a newer one. Ask whoever runs this service for another."
  }
}

/** What is wrong with a password; undefined: nothing. */
const misfitOfPassword = (password: string): string | undefined => {
  const { length } = [...password]
  return length < passwordCharacters.least || length > passwordCharacters.most
    ? `must have ${passwordCharacters.least} to ${passwordCharacters.most} characters`
    : undefined
}

/** Where an attempt comes from: the client's address, and the token of the browser's device cookie if it sent one. */
export interface Origin {
  readonly address: string
  readonly device: string | undefined
}

/** What users do before they are signed in. */
export class SignIns extends Context.Tag("catalog/SignIns")<
  SignIns,
  {
    /**
     * SignInDelayed: five failures of the e-mail in 15 minutes, or too many of the address. In a browser where this user signed in
     * before, failures are counted in that browser instead. SignInBusy: too many passwords wait to be checked.
     */
    readonly signIn: (
      email: string,
      password: string,
      origin: Origin
    ) => Effect.Effect<Identity, SignInRefused | SignInDelayed | SignInBusy>
    /** Knows the browser from now on; its token replaces the one it had. */
    readonly rememberDevice: (
      user: Pick<Identity, "accountId" | "id">,
      before: string | undefined
    ) => Effect.Effect<Redacted.Redacted>
    /** The e-mail of the user whose link it is. */
    readonly findLink: (token: string) => Effect.Effect<string, LinkUsedUp>
    /** Sets the password of the user whose link it is, and signs their browsers out. ValidationFailed: its length. */
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

        const count = (counted: Counted, subject: string, most: number) =>
          Effect.gen(function* () {
            const retryAfterSeconds = yield* users.attempt(counted, subject, { most, windowSeconds })
            if (retryAfterSeconds === 0) return
            const until = fromMillis((yield* Clock.currentTimeMillis) + retryAfterSeconds * 1_000)
            return yield* new SignInDelayed({ counted, retryAfterSeconds, until })
          })

        /** The hash of a device where the user of this e-mail signed in. */
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
              // Counted before it is judged: a thousand at once are five.
              if (device === undefined) {
                yield* count("sign-in-address", address, failuresPerAddress)
                yield* count("sign-in", subject, maxFailures)
              } else yield* count("sign-in-device", device, maxFailures)
              const found = yield* email.includes("\u0000") ? Effect.succeedNone : users.findByEmail(email)
              const kept = Option.flatMapNullable(found, (user) => (user.disabled ? null : user.password))
              const right = yield* isPassword(password, Option.getOrNull(kept))
              if (Option.isNone(found) || !right) return yield* new SignInRefused()
              if (device === undefined) {
                yield* users.forgive("sign-in", subject)
                // Others at this address may have failed: only this attempt is taken back.
                yield* users.takeBack("sign-in-address", address)
              } else yield* users.forgive("sign-in-device", device)
              return found.value
            }).pipe(digests.run({ name: device ?? origin.address, preferred: device !== undefined }))
          }),
          rememberDevice: Effect.fn("SignIns.rememberDevice")(function* ({ accountId, id }, before) {
            const token = yield* mintSecret("device")
            yield* users.rememberDevice(accountId, id, {
              hash: hashOf(token),
              replaces: hashOf(before ?? ""),
              most: maxDevices
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
            const misfit = misfitOfPassword(password)
            if (misfit !== undefined) return yield* ValidationFailed.at("password", misfit)
            // Nobody without a good link makes us work.
            const link = hashOf(token)
            if (Option.isNone(yield* users.findLink(link))) return yield* new LinkUsedUp()
            const kept = yield* digests.run({ name: link, preferred: true })(keepPassword(password))
            return yield* Effect.mapError(yield* users.setPassword(link, kept), () => new LinkUsedUp())
          })
        }
      })
    )
}
