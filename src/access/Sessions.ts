import { Context, Effect, Layer, Option, Redacted } from "effect"
import type { AccountId } from "../model/Ids.ts"
import { isOfKind } from "./OpaqueToken.ts"
import { hashOf, mintSecret } from "./Secrets.ts"
import { deviceSeconds, SignInRefused } from "./SignIns.ts"
import type { Identity, SignedIn } from "./User.ts"
import { type SessionLife, type SessionRow, UsersRepo } from "./UsersRepo.ts"

/** A session ends 12 hours after its last request, and after 30 days at the latest. */
export const sessionLife: SessionLife = { idleSeconds: 12 * 3_600, wholeSeconds: 30 * 86_400 }

/** Age at which counted attempts are deleted: one hour, the longest window (of registrations). */
const attemptSeconds = 3_600

/** Sessions of signed-in browsers. */
export class Sessions extends Context.Tag("catalog/Sessions")<
  Sessions,
  {
    /**
     * Starts a session and returns its token, which must only be used for the session cookie. SignInRefused: since the sign-in was
     * checked, the user was disabled or got another password.
     */
    readonly start: (
      user: Pick<Identity, "accountId" | "id" | "password">
    ) => Effect.Effect<Redacted.Redacted, SignInRefused>
    /**
     * The user of a session. None: the session does not exist or has ended. `isUse` false: the request was not made by the
     * person, so it does not prolong the session.
     */
    readonly find: (token: string, isUse?: boolean) => Effect.Effect<Option.Option<SignedIn>>
    readonly end: (accountId: AccountId, sessionHash: string) => Effect.Effect<void>
    /** The user's sessions, newest use first. */
    readonly list: (user: Pick<SignedIn, "accountId" | "userId">) => Effect.Effect<ReadonlyArray<SessionRow>>
    /** Ends one session of the user. A session that has ended, or of another user, is left alone. */
    readonly endOwn: (user: Pick<SignedIn, "accountId" | "userId">, sessionHash: string) => Effect.Effect<void>
    /** Ends all sessions of the user except this one. */
    readonly endOthers: (user: SignedIn) => Effect.Effect<void>
    /** Deletes expired sessions, links, devices and attempts. Returns the number of rows. */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.map(UsersRepo, (users) => ({
      start: Effect.fn("Sessions.start")(function* (user) {
        const token = yield* mintSecret("session")
        if (!(yield* users.startSession(user, hashOf(token)))) return yield* new SignInRefused()
        return Redacted.make(token)
      }),
      find: Effect.fn("Sessions.find")(function* (token, isUse = true) {
        if (!isOfKind("session", token)) return Option.none()
        const found = yield* users.findSession(hashOf(token), sessionLife)
        if (isUse && Option.isSome(found) && found.value.useUnrecorded)
          yield* users.recordSession(found.value.accountId, found.value.sessionHash)
        return found
      }),
      end: users.endSession,
      list: ({ accountId, userId }) => users.sessionsOf(accountId, userId, sessionLife),
      endOwn: Effect.fn("Sessions.endOwn")(function* ({ accountId, userId }, sessionHash) {
        const own = yield* users.sessionsOf(accountId, userId, sessionLife)
        if (own.some(({ hash }) => hash === sessionHash)) yield* users.endSession(accountId, sessionHash)
      }),
      endOthers: ({ accountId, sessionHash, userId }) => users.endOtherSessions(accountId, userId, sessionHash),
      forget: users.forget(sessionLife, attemptSeconds, deviceSeconds)
    }))
  )
}
