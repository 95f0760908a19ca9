import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { makeForget } from "../database/Forgetting.ts"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, UserId } from "../model/Ids.ts"
import { SignedIn, User } from "./User.ts"

/** Whose attempts are counted. */
export type AttemptKind = "sign-in" | "sign-in-address" | "sign-in-device" | "registration"

/** How long a browser stays signed in: after its last request, and in all. */
export interface SessionLife {
  readonly idleSeconds: number
  readonly wholeSeconds: number
}

/** How a user is known, and what their password is compared with. */
const Identity = Schema.Struct({
  accountId: AccountId,
  id: UserId,
  email: Schema.String,
  password: Schema.NullOr(Schema.String),
  disabled: Schema.Boolean
})
export type Identity = typeof Identity.Type

/**
 * Users, the links by which they set passwords, their browsers, and attempts of those who are not known yet. In a database only:
 * it has no in-memory layer. Secrets are given and kept as their SHA-256, in hexadecimal here.
 */
export class UsersRepo extends Context.Tag("catalog/UsersRepo")<
  UsersRepo,
  {
    /** Whether the user was added: not when the e-mail signs in somewhere already. */
    readonly add: (
      accountId: AccountId,
      user: { readonly id: UserId; readonly email: string }
    ) => Effect.Effect<boolean>
    readonly findByEmail: (email: string) => Effect.Effect<Option.Option<Identity>>
    /** Oldest first, disabled ones too. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<User>>
    /** From now on nothing opens with them: neither sessions nor links. Whether the account has such a user. */
    readonly disable: (accountId: AccountId, email: string) => Effect.Effect<boolean>
    /** The user's one link: an older one is good no more. */
    readonly setLink: (accountId: AccountId, id: UserId, hash: string, lifeSeconds: number) => Effect.Effect<void>
    /** Where the service was started last, which links lead to. */
    readonly serviceAddress: Effect.Effect<Option.Option<string>>
    readonly keepServiceAddress: (baseUrl: string) => Effect.Effect<void>
    /** The user of a link that is good. */
    readonly findLink: (hash: string) => Effect.Effect<Option.Option<Identity>>
    /** Uses the link up, sets the password, and signs the user's browsers out; none when the link is no longer good. */
    readonly setPassword: (hash: string, password: string) => Effect.Effect<Option.Option<Identity>>
    readonly startSession: (accountId: AccountId, id: UserId, hash: string) => Effect.Effect<void>
    /** Whose browser it is; `useUnrecorded`: its use in this minute is yet to be recorded. */
    readonly findSession: (
      hash: string,
      life: SessionLife
    ) => Effect.Effect<Option.Option<SignedIn & { readonly useUnrecorded: boolean }>>
    readonly recordSession: (accountId: AccountId, hash: string) => Effect.Effect<void>
    readonly endSession: (accountId: AccountId, hash: string) => Effect.Effect<void>
    /**
     * Counts an attempt, in one step: 0 when it may be made, else the seconds until the window of those before it is over.
     * An attempt that may not be made is not counted.
     */
    readonly attempt: (
      kind: AttemptKind,
      subject: string,
      limits: { readonly most: number; readonly windowSeconds: number }
    ) => Effect.Effect<number>
    /** Forgets the attempts of one that succeeded. */
    readonly forgive: (kind: AttemptKind, subject: string) => Effect.Effect<void>
    /** Takes one attempt back, which succeeded, and leaves the others counted. */
    readonly takeBack: (kind: AttemptKind, subject: string) => Effect.Effect<void>
    /** The e-mail of the user who signed in with this device within so long. */
    readonly findDevice: (hash: string, lifeSeconds: number) => Effect.Effect<Option.Option<{ readonly email: string }>>
    /** Keeps a device of the user in place of another of theirs, and no more than the newest so many. */
    readonly rememberDevice: (
      accountId: AccountId,
      id: UserId,
      device: { readonly hash: string; readonly replaces: string; readonly most: number }
    ) => Effect.Effect<void>
    /** Deletes what is over: sessions, links, devices and attempts older than these. How many rows. */
    readonly forget: (life: SessionLife, attemptSeconds: number, deviceSeconds: number) => Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    UsersRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const forget = makeForget(sql)

      const findByEmail = SqlSchema.findOne({
        Request: Schema.String,
        Result: Identity,
        execute: (email) => sql`
          SELECT account_id AS "accountId", id, email, password, disabled_at IS NOT NULL AS disabled
          FROM app_user
          WHERE email = ${email}`
      })

      const list = SqlSchema.findAll({
        Request: AccountId,
        Result: User,
        execute: (accountId) => sql`
          SELECT id, email, rfc3339(created_at) AS "createdAt", password IS NOT NULL AS "hasPassword",
                 rfc3339(disabled_at) AS "disabledAt"
          FROM app_user
          WHERE account_id = ${accountId}
          ORDER BY created_at, id`
      })

      const findLink = SqlSchema.findOne({
        Request: Schema.String,
        Result: Identity,
        execute: (hash) => sql`
          SELECT u.account_id AS "accountId", u.id, u.email, u.password, u.disabled_at IS NOT NULL AS disabled
          FROM password_link l
          JOIN app_user u ON u.account_id = l.account_id AND u.id = l.user_id
          WHERE l.hash = decode(${hash}, 'hex') AND l.expires_at > app_now() AND u.disabled_at IS NULL`
      })

      const setPassword = SqlSchema.findOne({
        Request: Schema.Struct({ hash: Schema.String, password: Schema.String }),
        Result: Identity,
        execute: ({ hash, password }) => sql`
          WITH used AS (
            DELETE FROM password_link
            WHERE hash = decode(${hash}, 'hex') AND expires_at > app_now()
            RETURNING account_id, user_id
          ), ended AS (
            DELETE FROM session s USING used WHERE s.account_id = used.account_id AND s.user_id = used.user_id
          ), unknown AS (
            DELETE FROM sign_in_device d USING used WHERE d.account_id = used.account_id AND d.user_id = used.user_id
          )
          UPDATE app_user u SET password = ${password}
          FROM used
          WHERE u.account_id = used.account_id AND u.id = used.user_id AND u.disabled_at IS NULL
          RETURNING u.account_id AS "accountId", u.id, u.email, u.password, false AS disabled`
      })

      const findSession = SqlSchema.findOne({
        Request: Schema.Struct({ hash: Schema.String, idleSeconds: Schema.Number, wholeSeconds: Schema.Number }),
        Result: Schema.Struct({ ...SignedIn.fields, useUnrecorded: Schema.Boolean }),
        execute: ({ hash, idleSeconds, wholeSeconds }) => sql`
          SELECT s.account_id AS "accountId", a.name AS "accountName", u.id AS "userId", u.email,
                 encode(s.hash, 'hex') AS "sessionHash", s.last_seen_at < date_trunc('minute', app_now()) AS "useUnrecorded"
          FROM session s
          JOIN app_user u ON u.account_id = s.account_id AND u.id = s.user_id
          JOIN account a ON a.id = s.account_id
          WHERE s.hash = decode(${hash}, 'hex') AND u.disabled_at IS NULL
            AND s.last_seen_at > app_now() - make_interval(secs => ${idleSeconds})
            AND s.created_at > app_now() - make_interval(secs => ${wholeSeconds})`
      })

      const findDevice = SqlSchema.findOne({
        Request: Schema.Struct({ hash: Schema.String, lifeSeconds: Schema.Number }),
        Result: Schema.Struct({ email: Schema.String }),
        execute: ({ hash, lifeSeconds }) => sql`
          SELECT u.email
          FROM sign_in_device d
          JOIN app_user u ON u.account_id = d.account_id AND u.id = d.user_id
          WHERE d.hash = decode(${hash}, 'hex') AND u.disabled_at IS NULL
            AND d.signed_in_at > app_now() - make_interval(secs => ${lifeSeconds})`
      })

      const Wait = Schema.Struct({ waitSeconds: Schema.Int })
      // Begun later than a window from now: the clock was set back meanwhile.
      const isOpen = (seconds: number) => sql`a.since > app_now() - make_interval(secs => ${seconds})
        AND a.since < app_now() + make_interval(secs => ${seconds})`
      const attempt = SqlSchema.findOne({
        Request: Schema.Struct({
          kind: Schema.String,
          subject: Schema.String,
          most: Schema.Int,
          windowSeconds: Schema.Int
        }),
        Result: Wait,
        execute: ({ kind, most, subject, windowSeconds }) => sql`
          WITH counted AS (
            INSERT INTO attempt AS a (kind, subject) VALUES (${kind}, decode(${subject}, 'hex'))
            ON CONFLICT (kind, subject) DO UPDATE SET
              attempts = CASE WHEN ${isOpen(windowSeconds)} THEN a.attempts + 1 ELSE 1 END,
              since = CASE WHEN ${isOpen(windowSeconds)} THEN a.since ELSE app_now() END
            WHERE a.attempts < ${most} OR NOT (${isOpen(windowSeconds)})
            RETURNING 0 AS "waitSeconds"
          )
          SELECT "waitSeconds" FROM counted
          UNION ALL
          SELECT least(${windowSeconds}::int,
                       greatest(1, ceil(extract(epoch FROM since + make_interval(secs => ${windowSeconds}) - app_now()))))::int
          FROM attempt
          WHERE kind = ${kind} AND subject = decode(${subject}, 'hex') AND NOT EXISTS (SELECT FROM counted)`
      })

      return {
        add: (accountId, { email, id }) =>
          sql`
            INSERT INTO app_user (account_id, id, email) VALUES (${accountId}, ${id}, ${email})
            ON CONFLICT (email) DO NOTHING
            RETURNING id`.pipe(
            Effect.map((rows) => rows.length > 0),
            orDie
          ),
        findByEmail: (email) => orDie(findByEmail(email)),
        list: (accountId) => orDie(list(accountId)),
        disable: (accountId, email) =>
          sql`
            WITH disabled AS (
              UPDATE app_user SET disabled_at = coalesce(disabled_at, app_now())
              WHERE account_id = ${accountId} AND email = ${email}
              RETURNING account_id, id
            ), ended AS (
              DELETE FROM session s USING disabled d WHERE s.account_id = d.account_id AND s.user_id = d.id
            ), unknown AS (
              DELETE FROM sign_in_device k USING disabled d WHERE k.account_id = d.account_id AND k.user_id = d.id
            ), disconnected AS (
              UPDATE oauth_grant g SET ended_at = app_now(), end_reason = 'user_disabled'
              FROM disabled d
              WHERE g.account_id = d.account_id AND g.user_id = d.id AND g.ended_at IS NULL
            ), withdrawn AS (
              DELETE FROM password_link l USING disabled d WHERE l.account_id = d.account_id AND l.user_id = d.id
            )
            SELECT id FROM disabled`.pipe(
            Effect.map((rows) => rows.length > 0),
            orDie
          ),
        setLink: (accountId, id, hash, lifeSeconds) =>
          sql`
            INSERT INTO password_link (account_id, user_id, hash, expires_at)
            VALUES (${accountId}, ${id}, decode(${hash}, 'hex'), app_now() + make_interval(secs => ${lifeSeconds}))
            ON CONFLICT (account_id, user_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at`.pipe(
            Effect.asVoid,
            orDie
          ),
        serviceAddress: sql<{ readonly address: string | null }>`SELECT base_url AS address FROM installation`.pipe(
          Effect.map(([row]) => Option.fromNullable(row?.address)),
          orDie
        ),
        // A start that changes nothing writes nothing.
        keepServiceAddress: (baseUrl) =>
          sql`UPDATE installation SET base_url = ${baseUrl} WHERE base_url IS DISTINCT FROM ${baseUrl}`.pipe(
            Effect.asVoid,
            orDie
          ),
        findLink: (hash) => orDie(findLink(hash)),
        setPassword: (hash, password) => orDie(setPassword({ hash, password })),
        startSession: (accountId, id, hash) =>
          sql`
            INSERT INTO session (account_id, user_id, hash) VALUES (${accountId}, ${id}, decode(${hash}, 'hex'))`.pipe(
            Effect.asVoid,
            orDie
          ),
        findSession: (hash, life) => orDie(findSession({ hash, ...life })),
        recordSession: (accountId, hash) =>
          sql`
            UPDATE session SET last_seen_at = app_now()
            WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')
              AND last_seen_at < date_trunc('minute', app_now())`.pipe(Effect.asVoid, orDie),
        endSession: (accountId, hash) =>
          sql`DELETE FROM session WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')`.pipe(
            Effect.asVoid,
            orDie
          ),
        attempt: (kind, subject, { most, windowSeconds }) =>
          Effect.map(orDie(attempt({ kind, subject, most, windowSeconds })), (found) =>
            // The row was made by another that is not yet visible here: its window has just begun.
            Option.match(found, { onNone: () => windowSeconds, onSome: ({ waitSeconds }) => waitSeconds })
          ),
        forgive: (kind, subject) =>
          sql`DELETE FROM attempt WHERE kind = ${kind} AND subject = decode(${subject}, 'hex')`.pipe(
            Effect.asVoid,
            orDie
          ),
        takeBack: (kind, subject) =>
          sql`
            UPDATE attempt SET attempts = attempts - 1
            WHERE kind = ${kind} AND subject = decode(${subject}, 'hex') AND attempts > 0`.pipe(Effect.asVoid, orDie),
        findDevice: (hash, lifeSeconds) => orDie(findDevice({ hash, lifeSeconds })),
        rememberDevice: (accountId, id, { hash, most, replaces }) =>
          sql`
            WITH added AS (
              INSERT INTO sign_in_device (account_id, user_id, hash) VALUES (${accountId}, ${id}, decode(${hash}, 'hex'))
            )
            DELETE FROM sign_in_device
            WHERE account_id = ${accountId} AND user_id = ${id} AND (
              hash = decode(${replaces}, 'hex')
              OR hash IN (
                SELECT hash FROM sign_in_device
                WHERE account_id = ${accountId} AND user_id = ${id}
                ORDER BY signed_in_at DESC, hash OFFSET ${most - 1}
              )
            )`.pipe(Effect.asVoid, orDie),
        forget: ({ idleSeconds, wholeSeconds }, attemptSeconds, deviceSeconds) =>
          orDie(
            forget({
              session: sql`(t.last_seen_at <= app_now() - make_interval(secs => ${idleSeconds})
                OR t.created_at <= app_now() - make_interval(secs => ${wholeSeconds}))`,
              password_link: sql`t.expires_at <= app_now()`,
              sign_in_device: sql`t.signed_in_at <= app_now() - make_interval(secs => ${deviceSeconds})`,
              attempt: sql`t.since <= app_now() - make_interval(secs => ${attemptSeconds})`
            })
          )
      }
    })
  )
}
