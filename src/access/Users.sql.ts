import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Schema } from "effect"
import { discardRows, findAll, findOne, hasRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { makeRunTransaction } from "../database/Transaction.ts"
import type { AccountId, UserId } from "../model/Ids.ts"
import type { Role } from "../model/Role.ts"
import { endAccess } from "./Sessions.sql.ts"
import { Identity, User } from "./User.ts"

/** How a user reads texts and times. Null: the user has not chosen. */
export const Reader = Schema.Struct({ language: Schema.NullOr(Schema.String), timeZone: Schema.NullOr(Schema.String) })

/** Whether the user `u` has a second factor. */
export const hasSecondFactor = (sql: SqlClient) => sql`EXISTS (
  SELECT FROM second_factor f WHERE f.account_id = u.account_id AND f.user_id = u.id AND f.confirmed_at IS NOT NULL
) AS "hasSecondFactor"`

/** SQL statements for users. */
export const makeUserStatements = (sql: SqlClient) => {
  const run = makeRunTransaction(sql)
  const identity = sql`
    SELECT u.account_id AS "accountId", u.id, u.email, u.password, u.disabled_at IS NOT NULL AS disabled, ${hasSecondFactor(sql)}
    FROM app_user u`

  const findByEmail = findOne(Identity)(
    (email: string) => sql`${identity} WHERE u.email = ${email} AND u.password IS NOT NULL`
  )

  const findInAccount = findOne(Identity)(
    (accountId: AccountId, email: string) => sql`${identity} WHERE u.account_id = ${accountId} AND u.email = ${email}`
  )

  const list = findAll(User)(
    (accountId: AccountId) => sql`
      SELECT u.id, u.email, u.role, rfc3339(u.created_at) AS "createdAt", rfc3339(u.last_seen_at) AS "lastSeenAt",
             u.password IS NOT NULL AS "hasPassword", rfc3339(u.disabled_at) AS "disabledAt",
             rfc3339(l.expires_at) AS "linkExpiresAt", l.mail_problem AS "mailProblem",
             coalesce(l.mail_retry_until > app_now(), false) AS "isMailWaiting",
             ${hasSecondFactor(sql)}
      FROM app_user u
      LEFT JOIN password_link l
        ON l.account_id = ${accountId} AND l.user_id = u.id AND l.expires_at > app_now()
      WHERE u.account_id = ${accountId}
      ORDER BY u.created_at, u.id`
  )

  return {
    /** Adds a user. False: a user of the account has this e-mail already. */
    add: (
      accountId: AccountId,
      { email, id, role }: { readonly id: UserId; readonly email: string; readonly role: Role }
    ) =>
      sql`
        INSERT INTO app_user (account_id, id, email, role) VALUES (${accountId}, ${id}, ${email}, ${role})
        ON CONFLICT (account_id, email) DO NOTHING
        RETURNING id`.pipe(hasRows),
    /** The user who signs in with this e-mail. None: nobody has set a password. */
    findByEmail,
    /** The user of the account with this e-mail. */
    findInAccount,
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
        WHERE account_id = ${accountId} AND id = ${id}`.pipe(discardRows)
  }
}
