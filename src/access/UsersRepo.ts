import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Option } from "effect"
import { makeForget } from "../database/Forgetting.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { AccountId, UserId } from "../model/Ids.ts"
import type { Role } from "../model/Role.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { makeAttemptStatements } from "./Attempts.sql.ts"
import { makeSessionStatements } from "./Sessions.sql.ts"
import { makeTeamStatements } from "./Team.sql.ts"
import type { Identity, SignedIn, User } from "./User.ts"
import { makeUserStatements } from "./Users.sql.ts"

export type AttemptKind =
  | "sign-in"
  | "sign-in-address"
  | "sign-in-device"
  | "registration"
  | "second-factor"
  | "own-password"
  | "new-password"
  | "new-password-address"

/** A signed-in browser of a user. */
export interface SessionRow {
  /** SHA-256 of the session cookie, in hexadecimal. */
  readonly hash: string
  readonly createdAt: Timestamp
  readonly lastSeenAt: Timestamp
}

/** Maximum lifetime of a session after its last request (`idleSeconds`), and in total (`wholeSeconds`). */
export interface SessionLife {
  readonly idleSeconds: number
  readonly wholeSeconds: number
}

/**
 * Users, the one-time links with which they set passwords, their browsers, and attempts to sign in or register. There is no
 * in-memory implementation. Secrets are passed and stored as SHA-256, here in hexadecimal.
 */
export class UsersRepo extends Context.Tag("catalog/UsersRepo")<
  UsersRepo,
  {
    /** Adds a user. False: a user of this or another account has this e-mail already. */
    readonly add: (
      accountId: AccountId,
      user: { readonly id: UserId; readonly email: string; readonly role: Role }
    ) => Effect.Effect<boolean>
    readonly findByEmail: (email: string) => Effect.Effect<Option.Option<Identity>>
    /** All users of the account, including disabled ones, oldest first. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<User>>
    /** The administrators who are not disabled. Locks their rows until the transaction ends. */
    readonly lockAdministrators: (
      accountId: AccountId
    ) => Effect.Effect<ReadonlyArray<{ readonly email: string; readonly hasPassword: boolean }>>
    /** False: the account has no such user. */
    readonly setRole: (accountId: AccountId, email: string, role: Role) => Effect.Effect<boolean>
    /** Lets a disabled user sign in again. False: the account has no such user. */
    readonly enable: (accountId: AccountId, email: string) => Effect.Effect<boolean>
    /** Deletes a user who has never signed in, with the link. False: the account has no such user. */
    readonly remove: (accountId: AccountId, email: string) => Effect.Effect<boolean>
    /** Disables a user, and ends their sessions, links and connections. False: the account has no such user. */
    readonly disable: (accountId: AccountId, email: string) => Effect.Effect<boolean>
    /** Stores a link of the user. It replaces the older link, because a user has at most one. */
    readonly setLink: (accountId: AccountId, id: UserId, hash: string, lifeSeconds: number) => Effect.Effect<void>
    /** The base URL with which the service was last started. Links begin with it. */
    readonly serviceAddress: Effect.Effect<Option.Option<string>>
    readonly keepServiceAddress: (baseUrl: string) => Effect.Effect<void>
    /** The user of a link. None: the link is not valid. */
    readonly findLink: (hash: string) => Effect.Effect<Option.Option<Identity>>
    /** Invalidates the link, sets the password and ends the user's sessions. None: the link is not valid. */
    readonly setPassword: (hash: string, password: string) => Effect.Effect<Option.Option<Identity>>
    /**
     * Replaces the password `before`, and ends the user's other sessions, remembered browsers and links. False: the password has
     * changed meanwhile, or the user is disabled.
     */
    readonly changePassword: (
      accountId: AccountId,
      id: UserId,
      change: { readonly before: string; readonly after: string; readonly sessionHash: string }
    ) => Effect.Effect<boolean>
    readonly setProfile: (
      accountId: AccountId,
      id: UserId,
      profile: { readonly language: string | null; readonly timeZone: string | null }
    ) => Effect.Effect<void>
    /** The sessions of a user that have not expired, newest use first. */
    readonly sessionsOf: (
      accountId: AccountId,
      id: UserId,
      life: SessionLife
    ) => Effect.Effect<ReadonlyArray<SessionRow>>
    /** Ends all sessions of the user except the one with this hash. */
    readonly endOtherSessions: (accountId: AccountId, id: UserId, hash: string) => Effect.Effect<void>
    /** False: the user was disabled or has another password by now. */
    readonly startSession: (
      user: Pick<Identity, "accountId" | "id" | "password">,
      hash: string
    ) => Effect.Effect<boolean>
    /** The user of a session. `useUnrecorded`: a use in this minute must still be recorded. */
    readonly findSession: (
      hash: string,
      life: SessionLife
    ) => Effect.Effect<Option.Option<SignedIn & { readonly useUnrecorded: boolean }>>
    readonly recordSession: (accountId: AccountId, hash: string) => Effect.Effect<void>
    readonly endSession: (accountId: AccountId, hash: string) => Effect.Effect<void>
    /**
     * Counts an attempt in one step. Returns 0 if it is allowed, else the seconds until the window ends. An attempt that is
     * not allowed is not counted.
     */
    readonly countAttempt: (
      kind: AttemptKind,
      subject: string,
      limits: { readonly maxAttempts: number; readonly windowSeconds: number }
    ) => Effect.Effect<number>
    readonly clearAttempts: (kind: AttemptKind, subject: string) => Effect.Effect<void>
    /** Subtracts one attempt from the count, because it succeeded. */
    readonly uncountAttempt: (kind: AttemptKind, subject: string) => Effect.Effect<void>
    /** The e-mail of the user who signed in on this device within `lifeSeconds`. */
    readonly findDevice: (hash: string, lifeSeconds: number) => Effect.Effect<Option.Option<{ readonly email: string }>>
    /** Stores a device of the user, deletes the one that it replaces, and keeps only the newest `maxDevices`. */
    readonly rememberDevice: (
      accountId: AccountId,
      id: UserId,
      device: { readonly hash: string; readonly replaces: string; readonly maxDevices: number }
    ) => Effect.Effect<void>
    /** Deletes expired sessions, links, devices and attempts. Returns the number of rows. */
    readonly forget: (life: SessionLife, attemptSeconds: number, deviceSeconds: number) => Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    UsersRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const forget = makeForget(sql)

      return {
        ...makeUserStatements(sql),
        ...makeTeamStatements(sql),
        ...makeSessionStatements(sql),
        ...makeAttemptStatements(sql),
        serviceAddress: sql<{ readonly address: string | null }>`SELECT base_url AS address FROM installation`.pipe(
          Effect.map(([row]) => Option.fromNullable(row?.address)),
          orDie
        ),
        // Writes nothing if the URL is the same as at the last start.
        keepServiceAddress: (baseUrl) =>
          sql`UPDATE installation SET base_url = ${baseUrl} WHERE base_url IS DISTINCT FROM ${baseUrl}`.pipe(
            Effect.asVoid,
            orDie
          ),
        forget: ({ idleSeconds, wholeSeconds }, attemptSeconds, deviceSeconds) =>
          orDie(
            forget({
              session: sql`(t.last_seen_at <= app_now() - make_interval(secs => ${idleSeconds})
                OR t.created_at <= app_now() - make_interval(secs => ${wholeSeconds}))`,
              password_link: sql`t.expires_at <= app_now()`,
              sign_in_step: sql`t.expires_at <= app_now()`,
              sign_in_device: sql`t.signed_in_at <= app_now() - make_interval(secs => ${deviceSeconds})`,
              attempt: sql`t.since <= app_now() - make_interval(secs => ${attemptSeconds})`
            })
          )
      }
    })
  )
}
