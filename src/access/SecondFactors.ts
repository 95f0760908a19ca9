import { createHmac, randomBytes } from "node:crypto"
import { Clock, Context, Data, Effect, Layer, Option, Redacted } from "effect"
import { Secret, TOTP } from "otpauth"
import { Transaction } from "../database/Transaction.ts"
import { ValidationFailed } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import { SecretBox, type SecretUnreadable } from "../stores/SecretBox.ts"
import { makeEncryptAgain, type Rotation } from "../stores/SecretRotation.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { makeCountAttempt } from "./AttemptLimits.ts"
import { isOfKind } from "./OpaqueToken.ts"
import { makeRemoveFactor, SecondFactorsRepo, type UserKey, type Waiting } from "./SecondFactorsRepo.ts"
import { hashOf, mintSecret } from "./Secrets.ts"
import { makeFindDevice, SignInRefused } from "./SignIns.ts"
import type { TeamAction } from "./TeamLog.ts"
import type { Identity } from "./User.ts"
import { daySeconds, UsersRepo } from "./UsersRepo.ts"

/** The parameters that every authenticator app supports (RFC 6238). */
const algorithm = { algorithm: "SHA1", digits: 6, period: 30 } as const
const issuer = "Catalog"
const secretBytes = 20

/** Codes of the neighbouring time steps are accepted too, because clocks differ. */
const window = 1

/** Maximum wrong codes in 15 minutes, for each of: a user's sign-ins in unknown browsers, one remembered browser, a signed-in user. */
const maxFailures = 5

/** How long a sign-in waits for its code. */
const waitSeconds = 600

/** How long a sign-in that was ended can be ended again by the same form. */
const repeatSeconds = 60

const recoveryCodes = 10

/** The code is wrong, or was used before. */
export class CodeRefused extends Data.TaggedError("CodeRefused") {
  override get message() {
    return "This code is wrong or was used already. Enter the newest code of your app."
  }
}

/** The sign-in has waited too long for its code, or was completed already. */
class CodeTooLate extends Data.TaggedError("CodeTooLate") {
  override get message() {
    return "This sign-in has expired. Enter your e-mail and password again."
  }
}

/** Maximum wrong codes of a user's sign-ins in a day without a mail to the user. The next one sends it, at most once a day. */
const maxQuietCodes = 4

const refusalNames = { CodeRefused: "code", CodeTooLate: "late", SignInDelayed: "delayed" } as const

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

/**
 * A form that makes recovery codes: what it does, the code that was entered, and the token of the browser's session, which is
 * random and not stored.
 */
interface CodesForm {
  readonly action: "second_factor_on" | "recovery_codes_renewed"
  readonly code: string
  readonly session: string
}

/** A form that is sent again in the same period of this length, or in the next one, shows the same recovery codes again. */
const repeatMillis = 300_000

/** Longer texts are no codes. The time of normalizing is quadratic. */
const maxCodeLength = 100

/** People type codes with spaces and capitals, and with the digits of their keyboards: Arabic ones, or wide ones of Chinese input. */
const plainCode = (code: string) =>
  code
    .slice(0, maxCodeLength)
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[\s-]/g, "")
    .replaceAll(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) % 16))

/**
 * The recovery codes of a form: each has 50 bits in two groups of five, without letters that look alike. They follow from the form and
 * the period of its sending, so a form that is sent again gets the codes that the first answer showed, though only hashes are stored.
 * They also follow from the secret of the second factor, so the token of a session alone does not give them.
 */
const recoveryCodesOf = ({ action, code, session }: CodesForm, secret: string, period: number) =>
  Array.from({ length: recoveryCodes }, (_, index) => {
    const letters = "23456789abcdefghijkmnpqrstuvwxyz"
    const form = `${action} ${session} ${plainCode(code)} ${period} ${index}`
    const bytes = createHmac("sha256", secret).update(form).digest().subarray(0, 10)
    const text = [...bytes].map((byte) => letters[byte % 32]).join("")
    return `${text.slice(0, 5)}-${text.slice(5)}`
  })

const periodNow = Effect.map(Clock.currentTimeMillis, (millis) => Math.floor(millis / repeatMillis))

/** The codes that a signed-in user enters are counted apart, so that guesses of strangers at the sign-in do not delay the user. */
const ownCodes = ({ id }: UserKey) => hashOf(`own-codes ${id}`)

/** The hash that is stored of a sign-in that a code has ended. */
const endedHash = (token: string, code: string) => hashOf(`ended ${token} ${plainCode(code)}`)

const recoveryHash = ({ id }: UserKey, code: string) => hashOf(`recovery ${id} ${plainCode(code)}`)

/** The checks of codes, and the record of changes. */
const makeChecks = Effect.gen(function* () {
  const box = yield* SecretBox
  const repo = yield* SecondFactorsRepo
  const users = yield* UsersRepo
  const transaction = yield* Transaction
  const count = makeCountAttempt(users)

  /** Runs a change of the user's own second factor, and records it if there was one. */
  const recorded = (change: Effect.Effect<boolean>, action: TeamAction, user: UserKey) =>
    Effect.gen(function* () {
      const isChanged = yield* change
      if (isChanged) {
        const email = yield* users.emailOf(user.accountId, user.id)
        yield* users.record({ _tag: "User", accountId: user.accountId, userId: user.id }, { action, email })
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

  /**
   * Counts a code before it is checked, so that concurrent guesses are limited too. `subject`: whose codes are counted, by default those
   * of sign-ins of the user in unknown browsers.
   */
  const countAttempt = <A, E>(user: UserKey, check: Effect.Effect<A, E>, subject = hashOf(user.id)) =>
    Effect.zipRight(
      count("second-factor", subject, maxFailures),
      Effect.tap(check, () => users.clearAttempts("second-factor", subject))
    )

  /**
   * The recovery codes that a form shows if it is sent in the present period, or was sent `ago` periods before. They are derived from the
   * secret of the second factor, or random if that cannot be decrypted.
   */
  const codesOf = (user: UserKey, form: CodesForm, ago = 0) =>
    Effect.gen(function* () {
      const stored = yield* repo.find(user)
      const secret = Option.isSome(stored) ? yield* decrypt(user, stored.value.secret) : Option.none()
      const key = Option.getOrElse(secret, () => randomBytes(32).toString("hex"))
      return recoveryCodesOf(form, key, (yield* periodNow) - ago)
    })

  /** The recovery codes that the same form has made before. Undefined: it has made none, or not all of them are valid now. */
  const shownBefore = (user: UserKey, form: CodesForm) =>
    Effect.gen(function* () {
      const stored = new Set(yield* repo.recoveryHashes(user))
      const made = [yield* codesOf(user, form), yield* codesOf(user, form, 1)]
      return made.find((codes) => codes.every((code) => stored.has(recoveryHash(user, code))))
    })

  return {
    ...{ countAttempt, currentStep, decrypt, findDevice: makeFindDevice(users), isAccepted, ownerOf, recorded },
    ...{ codesOf, shownBefore }
  }
})

/** Counts a wrong code of a sign-in whose password was right, and lets the user know after the fifth in a day. */
const makeNoteWrongCode = (users: UsersRepo["Type"], transaction: Transaction["Type"]) =>
  Effect.fnUntraced(function* ({ accountId, email, id }: Waiting) {
    const isFull = (kind: "wrong-code" | "wrong-code-mail", maxAttempts: number) =>
      Effect.map(
        users.countAttempt(kind, hashOf(id), { maxAttempts, windowSeconds: daySeconds }),
        (waitSeconds) => waitSeconds > 0
      )
    if (!(yield* isFull("wrong-code", maxQuietCodes))) return
    const addMail = users.addMail(accountId, email, "codes_guessed", null)
    yield* isFull("wrong-code-mail", 1).pipe(
      Effect.flatMap((isTold) => (isTold ? Effect.void : addMail)),
      transaction.run
    )
  })

/** Sign-ins that wait for a code. */
const makeSignInSteps = Effect.gen(function* () {
  const repo = yield* SecondFactorsRepo
  const transaction = yield* Transaction
  const noteWrongCode = makeNoteWrongCode(yield* UsersRepo, transaction)
  const { countAttempt, findDevice, isAccepted } = yield* makeChecks

  /**
   * Completes a sign-in with its code. If its form is sent twice, the lock makes the second request wait for the first. The second
   * request then succeeds too, with the same code.
   */
  const signInEnd = (user: Waiting, token: string, code: string) =>
    Effect.gen(function* () {
      yield* repo.lock(user)
      if (Option.isNone(yield* repo.findSignIn(hashOf(token)))) return yield* endedBefore(token, code)
      if (!(yield* isAccepted(user, code))) return yield* new CodeRefused()
      yield* repo.endSignIn(user, hashOf(token), endedHash(token, code), repeatSeconds)
      return user
    }).pipe(transaction.run)

  /** The user of a sign-in that the same form has completed in the last minute. */
  const endedBefore = (token: string, code: string) =>
    Effect.flatMap(
      repo.findSignIn(endedHash(token, code)),
      Effect.mapError(() => new CodeTooLate())
    )

  return {
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
     * Completes a sign-in with a code of the app or a recovery code, which is accepted once. The same code for the same sign-in is accepted
     * again for a minute, because a form may be sent twice. SignInDelayed: five wrong codes of the user in
     * 15 minutes. In a browser where this user signed in before, as its token `device` proves, codes are counted per browser instead.
     */
    finish: Effect.fn("SecondFactors.finish")(
      function* (token: string, code: string, device?: string) {
        if (!isOfKind("signInStep", token)) return yield* new CodeTooLate()
        const waiting = yield* repo.findSignIn(hashOf(token))
        if (Option.isNone(waiting)) return yield* endedBefore(token, code)
        const user = waiting.value
        const end = Effect.tapErrorTag(signInEnd(user, token, code), "CodeRefused", () => noteWrongCode(user))
        return yield* countAttempt(user, end, yield* findDevice(device, user.email))
      },
      Effect.tapError(({ _tag }) => Effect.sync(() => metrics.signInRefusals.of(refusalNames[_tag]).add(1)))
    ),
    /** The e-mail of the user of a sign-in that waits for a code. Empty: there is no such sign-in. */
    emailOfSignIn: (token: string) =>
      isOfKind("signInStep", token)
        ? Effect.map(repo.findSignIn(hashOf(token)), (found) => Option.getOrUndefined(found)?.email ?? "")
        : Effect.succeed("")
  }
})

const make = Effect.gen(function* () {
  const box = yield* SecretBox
  const repo = yield* SecondFactorsRepo
  const users = yield* UsersRepo
  const { codesOf, countAttempt, currentStep, decrypt, isAccepted, ownerOf, recorded, shownBefore } = yield* makeChecks

  /** Replaces the recovery codes if `code` is accepted. The lock makes the second of two renewals wait, so that only its codes stay. */
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
    /**
     * Switches the second factor on, ends the user's other sessions, and returns ten recovery codes,
     * which are shown only once. `session`: the token of the session that stays. The same code of the same session returns
     * them again for some minutes, because a form may be sent twice. ValidationFailed: nothing is pending.
     */
    confirm: Effect.fn("SecondFactors.confirm")(function* (user: UserKey, code: string, session: string) {
      const form = { action: "second_factor_on", code, session } as const
      const nothingPending = Effect.gen(function* () {
        return (yield* shownBefore(user, form)) ?? (yield* ValidationFailed.at("", "is not being set up: begin again"))
      })
      const check = Effect.gen(function* () {
        const stored = yield* repo.find(user)
        if (Option.isNone(stored) || stored.value.isConfirmed) return yield* nothingPending
        const found = yield* currentStep(user, stored.value.secret, code)
        if (found === undefined) return yield* new CodeRefused()
        const codes = yield* codesOf(user, form)
        const hashes = codes.map((each) => recoveryHash(user, each))
        const confirmed = Effect.tap(repo.confirm(user, stored.value.secret, found.step, hashes), (isOn) =>
          isOn ? users.endOtherSessions(user.accountId, user.id, hashOf(session)) : Effect.void
        )
        return (yield* recorded(confirmed, form.action, user)) ? codes : yield* nothingPending
      })
      return yield* countAttempt(user, check, ownCodes(user))
    }),
    /**
     * Replaces the recovery codes, and returns ten new ones, which are shown only once. Needs a code of the app or a recovery code. The
     * same code of the same session returns them again for some minutes, because a form may be sent twice.
     * SignInDelayed: five wrong codes of the signed-in user in 15 minutes. CodeRefused: also if the second factor is off.
     */
    renewCodes: Effect.fn("SecondFactors.renewCodes")(function* (user: UserKey, code: string, session: string) {
      const form = { action: "recovery_codes_renewed", code, session } as const
      const codes = yield* codesOf(user, form)
      const hashes = codes.map((each) => recoveryHash(user, each))
      const check = Effect.gen(function* () {
        if (yield* recorded(renewal(user, code, hashes), form.action, user)) return codes
        return (yield* shownBefore(user, form)) ?? (yield* new CodeRefused())
      })
      return yield* countAttempt(user, check, ownCodes(user))
    }),
    /** Switches the user's own second factor off. */
    remove: (user: UserKey) => recorded(makeRemoveFactor(repo)(user), "second_factor_off", user),
    ...(yield* makeSignInSteps)
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
