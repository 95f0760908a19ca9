import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Option, Schema } from "effect"
import { discardRows, findAll, findOne, hasRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { makeRunTransaction } from "../database/Transaction.ts"
import type { AccountId, UserId } from "../model/Ids.ts"
import type { Role } from "../model/Role.ts"
import { endAccess } from "./Sessions.sql.ts"
import { Identity, User } from "./User.ts"

/** SQL statements for users, and for the one-time links with which they set passwords. */
export const makeUserStatements = (sql: SqlClient) => {
  const run = makeRunTransaction(sql)
  const hasSecondFactor = sql`EXISTS (
    SELECT FROM second_factor f WHERE f.account_id = u.account_id AND f.user_id = u.id AND f.confirmed_at IS NOT NULL
  ) AS "hasSecondFactor"`

  const findByEmail = findOne(Identity)(
    (email: string) => sql`
      SELECT u.account_id AS "accountId", u.id, u.email, u.password, u.disabled_at IS NOT NULL AS disabled,
             ${hasSecondFactor}
      FROM app_user u
      WHERE u.email = ${email}`
  )

  const list = findAll(User)(
    (accountId: AccountId) => sql`
      SELECT u.id, u.email, u.role, rfc3339(u.created_at) AS "createdAt", rfc3339(u.last_seen_at) AS "lastSeenAt",
             u.password IS NOT NULL AS "hasPassword", rfc3339(u.disabled_at) AS "disabledAt",
             (SELECT rfc3339(l.expires_at) FROM password_link l
              WHERE l.account_id = u.account_id AND l.user_id = u.id AND l.expires_at > app_now()) AS "linkExpiresAt",
             ${hasSecondFactor}
      FROM app_user u
      WHERE u.account_id = ${accountId}
      ORDER BY u.created_at, u.id`
  )

  const findLink = findOne(Identity)(
    (hash: string) => sql`
      SELECT u.account_id AS "accountId", u.id, u.email, u.password, u.disabled_at IS NOT NULL AS disabled,
             ${hasSecondFactor}
      FROM password_link l
      JOIN app_user u ON u.account_id = l.account_id AND u.id = l.user_id
      WHERE l.hash = decode(${hash}, 'hex') AND l.expires_at > app_now() AND u.disabled_at IS NULL`
  )

  const setPassword = SqlSchema.findOne({
    Request: Schema.Struct({ hash: Schema.String, password: Schema.String }),
    Result: Identity,
    execute: ({ hash, password }) => sql`
      WITH used AS (
        DELETE FROM password_link
        WHERE hash = decode(${hash}, 'hex') AND expires_at > app_now()
        RETURNING account_id, user_id
      )
      UPDATE app_user u SET password = ${password}
      FROM used
      WHERE u.account_id = used.account_id AND u.id = used.user_id AND u.disabled_at IS NULL
      RETURNING u.account_id AS "accountId", u.id, u.email, u.password, false AS disabled,
                ${hasSecondFactor}`
  })

  return {
    /** Adds a user. False: a user of this or another account has this e-mail already. */
    add: (
      accountId: AccountId,
      { email, id, role }: { readonly id: UserId; readonly email: string; readonly role: Role }
    ) =>
      sql`
        INSERT INTO app_user (account_id, id, email, role) VALUES (${accountId}, ${id}, ${email}, ${role})
        ON CONFLICT (email) DO NOTHING
        RETURNING id`.pipe(hasRows),
    findByEmail,
    /** All users of the account, including disabled ones, oldest first. */
    list,
    /**
     * Replaces the password `before`, and ends the user's other sessions, remembered browsers and links. False: the password has
     * changed meanwhile, or the user is disabled.
     */
    changePassword: (
      accountId: AccountId,
      id: UserId,
      { after, before, sessionHash }: { readonly before: string; readonly after: string; readonly sessionHash: string }
    ) =>
      Effect.gen(function* () {
        const changed = yield* sql`
          UPDATE app_user SET password = ${after}
          WHERE account_id = ${accountId} AND id = ${id} AND password = ${before} AND disabled_at IS NULL
          RETURNING id`
        if (changed.length === 0) return false
        yield* endAccess(sql, accountId, id, sessionHash)
        return true
      }).pipe(run, orDie),
    setProfile: (
      accountId: AccountId,
      id: UserId,
      { language, timeZone }: { readonly language: string | null; readonly timeZone: string | null }
    ) =>
      sql`
        UPDATE app_user SET language = ${language}, time_zone = ${timeZone}
        WHERE account_id = ${accountId} AND id = ${id}`.pipe(discardRows),
    /** Stores a link of the user. It replaces the older link, because a user has at most one. */
    setLink: (accountId: AccountId, id: UserId, hash: string, lifeSeconds: number) =>
      sql`
        INSERT INTO password_link (account_id, user_id, hash, expires_at)
        VALUES (${accountId}, ${id}, decode(${hash}, 'hex'), app_now() + make_interval(secs => ${lifeSeconds}))
        ON CONFLICT (account_id, user_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at`.pipe(
        discardRows
      ),
    /** The user of a link. None: the link is not valid. */
    findLink,
    /** Invalidates the link, sets the password and ends the user's sessions. None: the link is not valid. */
    setPassword: (hash: string, password: string) =>
      setPassword({ hash, password }).pipe(
        Effect.tap(
          Option.match({ onNone: () => Effect.void, onSome: ({ accountId, id }) => endAccess(sql, accountId, id) })
        ),
        run,
        orDie
      )
  }
}
