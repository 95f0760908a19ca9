import { Context, Effect, Layer, Option, Redacted } from "effect"
import type { AccountId } from "../model/Ids.ts"
import { isOfKind } from "./OpaqueToken.ts"
import { hashOf, mintSecret } from "./Secrets.ts"
import { deviceSeconds } from "./SignIns.ts"
import type { SignedIn } from "./User.ts"
import { type Identity, type SessionLife, UsersRepo } from "./UsersRepo.ts"

/** 12 hours after the last request, 30 days in all. */
export const sessionLife: SessionLife = { idleSeconds: 12 * 3_600, wholeSeconds: 30 * 86_400 }

/** The longest window in which attempts are counted: an hour. */
const attemptSeconds = 3_600

/** Browsers that are signed in. */
export class Sessions extends Context.Tag("catalog/Sessions")<
  Sessions,
  {
    /** A new session; its token belongs into the browser's cookie and nowhere else. */
    readonly start: (user: Pick<Identity, "accountId" | "id">) => Effect.Effect<Redacted.Redacted>
    /** Whose browser shows this cookie; none: nobody's, or no longer. */
    readonly find: (token: string) => Effect.Effect<Option.Option<SignedIn>>
    readonly end: (accountId: AccountId, sessionHash: string) => Effect.Effect<void>
    /** Deletes sessions, links and known browsers that are over, and attempts that no longer count. How many. */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.map(UsersRepo, (users) => ({
      start: Effect.fn("Sessions.start")(function* ({ accountId, id }) {
        const token = yield* mintSecret("session")
        yield* users.startSession(accountId, id, hashOf(token))
        return Redacted.make(token)
      }),
      find: Effect.fn("Sessions.find")(function* (token) {
        if (!isOfKind("session", token)) return Option.none()
        const found = yield* users.findSession(hashOf(token), sessionLife)
        if (Option.isSome(found) && found.value.useUnrecorded)
          yield* users.recordSession(found.value.accountId, found.value.sessionHash)
        return found
      }),
      end: users.endSession,
      forget: users.forget(sessionLife, attemptSeconds, deviceSeconds)
    }))
  )
}
