import { Context, Effect, Layer, Option, Redacted } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { browserNameOf } from "./BrowserName.ts"
import { isOfKind } from "./OpaqueToken.ts"
import { hashOf, mintSecret } from "./Secrets.ts"
import type { SessionUser } from "./Sessions.sql.ts"
import { deviceSeconds, SignInRefused } from "./SignIns.ts"
import type { SignedIn } from "./User.ts"
import { type SessionLife, UsersRepo } from "./UsersRepo.ts"

/** A session ends 12 hours after its last request, and after 30 days at the latest. */
export const sessionLife: SessionLife = { idleSeconds: 12 * 3_600, wholeSeconds: 30 * 86_400 }

/** Age at which counted attempts are deleted: one hour, the longest window (of registrations). */
const attemptSeconds = 3_600

type Own = Pick<SignedIn, "accountId" | "userId" | "email">

const make = Effect.map(Effect.all([UsersRepo, Transaction]), ([users, transaction]) => ({
  /**
   * Starts a session and returns its token, which must only be used for the session cookie. SignInRefused: since the sign-in was
   * checked, the user was disabled, got another password, or set up a second factor. `userAgent`: the header that names the browser.
   */
  start: Effect.fn("Sessions.start")(function* (user: SessionUser, userAgent?: string) {
    const token = yield* mintSecret("session")
    if (!(yield* users.startSession(user, hashOf(token), browserNameOf(userAgent)))) return yield* new SignInRefused()
    return Redacted.make(token)
  }),
  /**
   * The user of a session. None: the session does not exist or has ended. `isUse` false: the request was not made by the
   * person, so it does not prolong the session.
   */
  find: Effect.fn("Sessions.find")(function* (token: string, isUse: boolean = true) {
    if (!isOfKind("session", token)) return Option.none()
    const found = yield* users.findSession(hashOf(token), sessionLife)
    if (isUse && Option.isSome(found) && found.value.useUnrecorded)
      yield* users.recordSession(found.value.accountId, found.value.sessionHash)
    return found
  }),
  end: users.endSession,
  /** The user's sessions, newest use first. */
  list: ({ accountId, userId }: Pick<SignedIn, "accountId" | "userId">) =>
    users.sessionsOf(accountId, userId, sessionLife),
  /** Ends one session of the user. A session that has ended, or of another user, is left alone. */
  endOwn: Effect.fn("Sessions.endOwn")(function* (user: Own, sessionHash: string) {
    const own = yield* users.sessionsOf(user.accountId, user.userId, sessionLife)
    if (!own.some(({ hash }) => hash === sessionHash)) return
    yield* users.endSession(user.accountId, sessionHash)
    yield* recordEnd(users, user)
  }, transaction.run),
  /** Ends all sessions of the user except this one. */
  endOthers: (user: Own & Pick<SignedIn, "sessionHash">) =>
    Effect.gen(function* () {
      if (yield* users.endOtherSessions(user.accountId, user.userId, user.sessionHash)) yield* recordEnd(users, user)
    }).pipe(transaction.run),
  /** Deletes expired sessions, links, devices and attempts. Returns the number of rows. */
  forget: users.forget(sessionLife, attemptSeconds, deviceSeconds)
}))

const recordEnd = (users: UsersRepo["Type"], { accountId, email, userId }: Own) =>
  users.record({ _tag: "User", accountId, userId }, { action: "sessions_ended", email })

/** Sessions of signed-in browsers. */
export class Sessions extends Context.Tag("catalog/Sessions")<Sessions, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Sessions, make)
}
