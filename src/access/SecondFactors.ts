import { randomBytes } from "node:crypto"
import { Clock, Context, Data, Effect, Layer, Option, Redacted } from "effect"
import { Secret, TOTP } from "otpauth"
import { Transaction } from "../database/Transaction.ts"
import type { Actor } from "../model/Actor.ts"
import { ValidationFailed } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import { SecretBox, type SecretUnreadable } from "../stores/SecretBox.ts"
import { makeEncryptAgain, type Rotation } from "../stores/SecretRotation.ts"
import { makeCountAttempt } from "./AttemptLimits.ts"
import { isOfKind } from "./OpaqueToken.ts"
import { SecondFactorsRepo, type UserKey } from "./SecondFactorsRepo.ts"
import { hashOf, mintSecret } from "./Secrets.ts"
import { makeFindDevice, SignInRefused } from "./SignIns.ts"
import { authorIn, type TeamAction } from "./TeamLog.ts"
import type { Identity } from "./User.ts"
import { UsersRepo } from "./UsersRepo.ts"

/** The parameters that every authenticator app supports (RFC 6238). */
const algorithm = { algorithm: "SHA1", digits: 6, period: 30 } as const
const issuer = "Catalog"
const secretBytes = 20

/** Codes of the neighbouring time steps are accepted too, because clocks differ. */
const window = 1

/** Maximum wrong codes in 15 minutes, of a user or in one remembered browser. */
const maxFailures = 5

/** How long a sign-in waits for its code. */
const waitSeconds = 600

const recoveryCodes = 10

/** The code is wrong, or was used before. */
export class CodeRefused extends Data.TaggedError("CodeRefused") {
  override get message() {
    return "This code is wrong or was used already. Enter the newest code of your app."
  }
}

/** The sign-in has waited too long for its code, or was completed already. */
export class CodeTooLate extends Data.TaggedError("CodeTooLate") {
  override get message() {
    return "This sign-in has expired. Enter your e-mail and password again."
  }
}

/** The secret of an authenticator app, as its user enters it: as text, or as a URI in a QR code. */
export interface Enrolment {
  readonly secret: string
  readonly uri: string
}

const totpOf = (secret: string, email: string) =>
  new TOTP({ ...algorithm, issuer, label: email, secret: Secret.fromBase32(secret) })

/** The time step of a code, and the latest step whose code is accepted now. Undefined: no step within the window has this code. */
const stepOf = (secret: string, code: string, millis: number) => {
  const delta = totpOf(secret, "").validate({ token: code, timestamp: millis, window })
  const now = Math.floor(millis / 1_000 / algorithm.period)
  return delta === null ? undefined : { step: now + delta, latest: now + window }
}

/** A recovery code: 50 random bits in two groups of five, without letters that look alike. */
const newRecoveryCode = () => {
  const letters = "23456789abcdefghijkmnpqrstuvwxyz"
  const text = [...randomBytes(10)].map((byte) => letters[byte % 32]).join("")
  return `${text.slice(0, 5)}-${text.slice(5)}`
}

/** People type codes with spaces and capitals. */
const plainCode = (code: string) => code.toLowerCase().replaceAll(/[\s-]/g, "")

const newRecoveryCodes = () => Array.from({ length: recoveryCodes }, newRecoveryCode)

const recoveryHash = ({ id }: UserKey, code: string) => hashOf(`recovery ${id} ${plainCode(code)}`)

/** The checks of codes, and the record of changes. */
const makeChecks = Effect.gen(function* () {
  const box = yield* SecretBox
  const repo = yield* SecondFactorsRepo
  const users = yield* UsersRepo
  const transaction = yield* Transaction
  const count = makeCountAttempt(users)

  /** Runs a change of the user's second factor, and records it if there was one. `by`: its author, by default the user. */
  const recorded = (change: Effect.Effect<boolean>, action: TeamAction, user: UserKey, by?: Actor) =>
    Effect.gen(function* () {
      const isChanged = yield* change
      if (isChanged) {
        const email = yield* users.emailOf(user.accountId, user.id)
        yield* users.record(by ?? { _tag: "User", accountId: user.accountId, userId: user.id }, { action, email })
      }
      return isChanged
    }).pipe(transaction.run)

  const ownerOf = ({ accountId, id }: UserKey) => ({ accountId, userId: id })

  /** The secret in base32. None: it cannot be decrypted; the log has the reason. */
  const decrypt = (user: UserKey, sealed: Uint8Array) =>
    box.open(sealed, ownerOf(user)).pipe(
      Effect.map((secret) => Option.some(Redacted.value(secret))),
      Effect.catchAll((error: SecretUnreadable) => Effect.as(Effect.logWarning(error.message), Option.none<string>()))
    )

  /** The time step of a code that the user's secret has now. */
  const currentStep = (user: UserKey, sealed: Uint8Array, code: string) =>
    Effect.gen(function* () {
      const secret = yield* decrypt(user, sealed)
      const millis = yield* Clock.currentTimeMillis
      return Option.isNone(secret) ? undefined : stepOf(secret.value, plainCode(code), millis)
    })

  const isAccepted = (user: UserKey, code: string) =>
    Effect.gen(function* () {
      const stored = yield* repo.find(user)
      if (Option.isNone(stored) || !stored.value.isConfirmed) return false
      if (!/^\d{6}$/.test(plainCode(code))) return yield* repo.useRecoveryCode(user, recoveryHash(user, code))
      const found = yield* currentStep(user, stored.value.secret, code)
      return found !== undefined && (yield* repo.useStep(user, found.step, found.latest))
    })

  /** Counts a code before it is checked, so that concurrent guesses are limited too. `subject`: the hash of a device of the user. */
  const countAttempt = <A, E>(user: UserKey, check: Effect.Effect<A, E>, subject = hashOf(user.id)) =>
    Effect.zipRight(
      count("second-factor", subject, maxFailures),
      Effect.tap(check, () => users.clearAttempts("second-factor", subject))
    )

  return { countAttempt, currentStep, decrypt, findDevice: makeFindDevice(users), isAccepted, ownerOf, recorded }
})

const make = Effect.gen(function* () {
  const box = yield* SecretBox
  const repo = yield* SecondFactorsRepo
  const { countAttempt, currentStep, decrypt, findDevice, isAccepted, ownerOf, recorded } = yield* makeChecks

  /** Deletes the second factor. Locks it first: else codes that are renewed at the same time would stay. */
  const removal = (user: UserKey) => Effect.zipRight(repo.lock(user), repo.remove(user))

  /** Replaces the recovery codes if `code` is accepted. The lock keeps two renewals from adding their codes both. */
  const renewal = (user: UserKey, code: string, hashes: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      yield* repo.lock(user)
      if (!(yield* isAccepted(user, code))) return false
      yield* repo.deleteRecoveryCodes(user)
      yield* repo.addRecoveryCodes(user, hashes)
      return true
    })

  return {
    /** `pending`: a secret was shown in the last hour, but no code of it was entered yet. */
    state: (user: UserKey) =>
      Effect.map(
        repo.find(user),
        Option.match({
          onNone: () => ({ state: "off" as const, codesLeft: 0 }),
          onSome: ({ codesLeft, isConfirmed }) => ({
            state: isConfirmed ? ("on" as const) : ("pending" as const),
            codesLeft
          })
        })
      ),
    /** Makes a new secret. ValidationFailed: the user has a second factor already, or secrets cannot be encrypted (SECRET_KEY). */
    begin: Effect.fn("SecondFactors.begin")(function* (user: UserKey) {
      const secret = new Secret({ buffer: new Uint8Array(randomBytes(secretBytes)).buffer })
      const sealed = yield* box.seal(Redacted.make(secret.base32), ownerOf(user))
      if (!(yield* repo.begin(user, sealed))) return yield* ValidationFailed.at("", "is on already")
    }),
    /** The secret that is not confirmed yet. None: there is none, it was made more than an hour ago, or it cannot be decrypted. */
    pending: (user: UserKey, email: string) =>
      Effect.gen(function* () {
        const stored = yield* repo.find(user)
        if (Option.isNone(stored) || stored.value.isConfirmed) return Option.none()
        return Option.map(yield* decrypt(user, stored.value.secret), (secret) => ({
          secret,
          uri: totpOf(secret, email).toString()
        }))
      }),
    /** Switches the second factor on and returns ten recovery codes, which are shown only once. ValidationFailed: nothing is pending. */
    confirm: Effect.fn("SecondFactors.confirm")(function* (user: UserKey, code: string) {
      const nothingPending = ValidationFailed.at("", "was not started; start again")
      const check = Effect.gen(function* () {
        const stored = yield* repo.find(user)
        if (Option.isNone(stored) || stored.value.isConfirmed) return yield* nothingPending
        const found = yield* currentStep(user, stored.value.secret, code)
        if (found === undefined) return yield* new CodeRefused()
        const codes = newRecoveryCodes()
        const hashes = codes.map((each) => recoveryHash(user, each))
        const confirmed = repo.confirm(user, stored.value.secret, found.step, hashes)
        return (yield* recorded(confirmed, "second_factor_on", user)) ? codes : yield* nothingPending
      })
      return yield* countAttempt(user, check)
    }),
    /**
     * Replaces the recovery codes, and returns ten new ones, which are shown only once. Needs a code of the app or a recovery code.
     * SignInDelayed: five wrong codes of the user in 15 minutes. CodeRefused: also if the second factor is off.
     */
    renewCodes: Effect.fn("SecondFactors.renewCodes")(function* (user: UserKey, code: string) {
      const codes = newRecoveryCodes()
      const hashes = codes.map((each) => recoveryHash(user, each))
      const renewed = recorded(renewal(user, code, hashes), "recovery_codes_renewed", user)
      yield* countAttempt(
        user,
        Effect.filterOrFail(renewed, Boolean, () => new CodeRefused())
      )
      return codes
    }),
    /** Switches the user's own second factor off. */
    remove: (user: UserKey) => recorded(removal(user), "second_factor_off", user),
    /** Switches the second factor of another user off. */
    reset: (user: UserKey) =>
      Effect.flatMap(authorIn(user.accountId), (by) => recorded(removal(user), "second_factor_reset", user, by)),
    /**
     * Begins a sign-in that waits ten minutes for a code. Returns its token. SignInRefused: since the password was checked, the user was
     * disabled or got another password.
     */
    await: Effect.fn("SecondFactors.await")(function* (user: Pick<Identity, "accountId" | "id" | "password">) {
      const token = yield* mintSecret("signInStep")
      if (!(yield* repo.addSignIn(user, hashOf(token), waitSeconds))) return yield* new SignInRefused()
      return Redacted.make(token)
    }),
    /**
     * Ends a sign-in with a code of the app or a recovery code, which is accepted once. SignInDelayed: five wrong codes of the user in
     * 15 minutes. In a browser where this user signed in before, as its token `device` proves, codes are counted per browser instead.
     */
    finish: Effect.fn("SecondFactors.finish")(function* (token: string, code: string, device?: string) {
      if (!isOfKind("signInStep", token)) return yield* new CodeTooLate()
      const user = yield* Effect.mapError(yield* repo.findSignIn(hashOf(token)), () => new CodeTooLate())
      const check = Effect.filterOrFail(isAccepted(user, code), Boolean, () => new CodeRefused())
      yield* countAttempt(user, check, yield* findDevice(device, user.email))
      if (!(yield* repo.endSignIn(user, hashOf(token)))) return yield* new CodeTooLate()
      return user
    })
  }
})

/** Second factors: authenticator apps (TOTP) and recovery codes. */
export class SecondFactors extends Context.Tag("catalog/SecondFactors")<
  SecondFactors,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(SecondFactors, make)
}

/** Encrypts the secrets of all second factors of an account with the current key, as `makeEncryptAgain` does. */
export const makeRotateSecondFactors = Effect.gen(function* () {
  const repo = yield* SecondFactorsRepo
  const encryptAgain = yield* makeEncryptAgain

  return (accountId: AccountId): Effect.Effect<Rotation, ValidationFailed> =>
    encryptAgain(
      Effect.map(repo.list(accountId), (all) =>
        all.map(({ email, id, secret }) => ({
          name: email,
          owner: { accountId, userId: id },
          sealed: secret,
          replace: (again) => repo.replaceSecret({ accountId, id }, secret, again)
        }))
      )
    )
})
