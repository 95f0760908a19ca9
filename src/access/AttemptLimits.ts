import { Clock, Data, Effect } from "effect"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import type { AttemptKind, UsersRepo } from "./UsersRepo.ts"

/** The window in which attempts are counted, in seconds. */
const windowSeconds = 900

const countedWords = {
  "sign-in": "failed attempts with this e-mail",
  "sign-in-address": "failed attempts from your network",
  "sign-in-device": "failed attempts in this browser",
  "second-factor": "wrong codes",
  "own-password": "wrong passwords",
  "new-password": "requests for this e-mail",
  "new-password-address": "requests from your network"
} as const satisfies Partial<Record<AttemptKind, string>>
type Counted = keyof typeof countedWords

/** Too many attempts. The error is the same whether or not a user has the e-mail. */
export class SignInDelayed extends Data.TaggedError("SignInDelayed")<{
  readonly counted: Counted
  readonly retryAfterSeconds: number
  readonly until: Timestamp
}> {
  /** The words of the message: the kind of attempts, and the time to wait. */
  get parts() {
    const minutes = Math.ceil(this.retryAfterSeconds / 60)
    return { counted: countedWords[this.counted], duration: `${minutes} ${minutes === 1 ? "minute" : "minutes"}` }
  }
  override get message() {
    const { counted, duration } = this.parts
    const until = `${this.until.slice(0, 10)} ${this.until.slice(11, 16)} UTC`
    return `Too many ${counted}. Try again in ${duration} (after ${until}).`
  }
}

/** Counts an attempt, by the SHA-256 of its subject. SignInDelayed: `maxAttempts` were counted in 15 minutes. */
export const makeCountAttempt =
  (users: UsersRepo["Type"]) =>
  (counted: Counted, subject: string, maxAttempts: number): Effect.Effect<void, SignInDelayed> =>
    Effect.gen(function* () {
      const retryAfterSeconds = yield* users.countAttempt(counted, subject, { maxAttempts, windowSeconds })
      if (retryAfterSeconds === 0) return
      const until = fromMillis((yield* Clock.currentTimeMillis) + retryAfterSeconds * 1_000)
      return yield* new SignInDelayed({ counted, retryAfterSeconds, until })
    })
