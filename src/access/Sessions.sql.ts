import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Schema } from "effect"
import { discardRows, findAll, findOne, hasRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { makeRunTransaction } from "../database/Transaction.ts"
import type { AccountId, UserId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import type { BrowserName } from "./BrowserName.ts"
import { type Identity, SignedIn } from "./User.ts"
import type { SessionLife } from "./UsersRepo.ts"

/** A signed-in browser of a user. */
export const SessionRow = Schema.Struct({
  /** SHA-256 of the session cookie, in hexadecimal. */
  hash: Schema.String,
  createdAt: Timestamp,
  lastSeenAt: Timestamp,
  /** Null: not recognised. */
  browser: Schema.NullOr(Schema.String),
  system: Schema.NullOr(Schema.String)
})
export type SessionRow = typeof SessionRow.Type

/**
 * Ends the sessions of a user but the one with this hash, and forgets remembered browsers, links, sign-ins that wait for a code, and a
 * second factor that is not confirmed: a session that is ended now may have read its secret. It must run after the statement that
 * changes the user, in the same transaction: only a later statement sees the sessions that began while that statement waited for the
 * user's row.
 */
export const endAccess = (sql: SqlClient, accountId: AccountId, id: UserId, sessionHash = "") => sql`
  WITH ended AS (
    DELETE FROM session
    WHERE account_id = ${accountId} AND user_id = ${id} AND hash <> decode(${sessionHash}, 'hex')
  ), forgotten AS (
    DELETE FROM sign_in_device WHERE account_id = ${accountId} AND user_id = ${id}
  ), withdrawn AS (
    DELETE FROM password_link WHERE account_id = ${accountId} AND user_id = ${id}
  ), unconfirmed AS (
    DELETE FROM second_factor WHERE account_id = ${accountId} AND user_id = ${id} AND confirmed_at IS NULL
  )
  DELETE FROM sign_in_step WHERE account_id = ${accountId} AND user_id = ${id}`

const lockUser = (sql: SqlClient, accountId: AccountId, id: UserId) =>
  discardRows(sql`SELECT FROM app_user WHERE account_id = ${accountId} AND id = ${id} FOR UPDATE`)

/** The user of a new session, as the sign-in has checked it. `hasSecondFactor`: the sign-in has checked a code too. */
export type SessionUser = Pick<Identity, "accountId" | "id" | "password" | "hasSecondFactor">

/** SQL statements for sessions, and for devices (browsers in which a user signed in before). */
export const makeSessionStatements = (sql: SqlClient) => {
  const run = makeRunTransaction(sql)

  const findSession = findOne(Schema.Struct({ ...SignedIn.fields, useUnrecorded: Schema.Boolean }))(
    (hash: string, { idleSeconds, wholeSeconds }: SessionLife) => sql`
      SELECT s.account_id AS "accountId", a.name AS "accountName", u.id AS "userId", u.email, u.role,
             u.language, u.time_zone AS "timeZone",
             a.requires_second_factor AND NOT EXISTS (
               SELECT FROM second_factor f
               WHERE f.account_id = s.account_id AND f.user_id = s.user_id AND f.confirmed_at IS NOT NULL
             ) AS "lacksFactor",
             encode(s.hash, 'hex') AS "sessionHash", s.last_seen_at < date_trunc('minute', app_now()) AS "useUnrecorded"
      FROM session s
      JOIN app_user u ON u.account_id = s.account_id AND u.id = s.user_id
      JOIN account a ON a.id = s.account_id
      WHERE s.hash = decode(${hash}, 'hex') AND u.disabled_at IS NULL
        AND s.last_seen_at > app_now() - make_interval(secs => ${idleSeconds})
        AND s.created_at > app_now() - make_interval(secs => ${wholeSeconds})`
  )

  const findDevice = findOne(Schema.Struct({ email: Schema.String }))(
    (hash: string, lifeSeconds: number) => sql`
      SELECT u.email
      FROM sign_in_device d
      JOIN app_user u ON u.account_id = d.account_id AND u.id = d.user_id
      WHERE d.hash = decode(${hash}, 'hex') AND u.disabled_at IS NULL
        AND d.signed_in_at > app_now() - make_interval(secs => ${lifeSeconds})`
  )

  const sessionsOf = findAll(SessionRow)(
    (accountId: AccountId, id: UserId, { idleSeconds, wholeSeconds }: SessionLife) => sql`
      SELECT encode(hash, 'hex') AS hash, rfc3339(created_at) AS "createdAt", rfc3339(last_seen_at) AS "lastSeenAt",
             browser, operating_system AS system
      FROM session
      WHERE account_id = ${accountId} AND user_id = ${id}
        AND last_seen_at > app_now() - make_interval(secs => ${idleSeconds})
        AND created_at > app_now() - make_interval(secs => ${wholeSeconds})
      ORDER BY last_seen_at DESC, created_at DESC, hash`
  )

  return {
    /** The sessions of a user that have not expired, newest use first. */
    sessionsOf,
    /**
     * Ends all sessions of the user except the one with this hash, in a transaction. False: there is no other. Waits for sessions that are
     * about to start, and those that start later wait for the end of the transaction.
     */
    endOtherSessions: (accountId: AccountId, id: UserId, hash: string) =>
      Effect.zipRight(
        lockUser(sql, accountId, id),
        hasRows(sql`
          DELETE FROM session
          WHERE account_id = ${accountId} AND user_id = ${id} AND hash <> decode(${hash}, 'hex')
          RETURNING user_id`)
      ),
    /**
     * Starts a session. False: the user was disabled or has another password by now, or has set up a second factor although
     * `hasSecondFactor` is false. The first statement may wait for the end of such a change; only a later one sees a new second factor.
     */
    startSession: (
      { accountId, hasSecondFactor, id, password }: SessionUser,
      hash: string,
      { browser, system }: BrowserName
    ) =>
      Effect.gen(function* () {
        const isSame = yield* hasRows(sql`
          UPDATE app_user SET last_seen_at = app_now()
          WHERE account_id = ${accountId} AND id = ${id} AND disabled_at IS NULL
            AND password IS NOT DISTINCT FROM ${password}::text
          RETURNING id`)
        return (
          isSame &&
          (yield* hasRows(sql`
            INSERT INTO session (account_id, user_id, hash, browser, operating_system)
            SELECT ${accountId}::uuid, ${id}::uuid, decode(${hash}, 'hex'), ${browser}::text, ${system}::text
            WHERE ${hasSecondFactor}::boolean OR NOT EXISTS (
              SELECT FROM second_factor
              WHERE account_id = ${accountId} AND user_id = ${id} AND confirmed_at IS NOT NULL
            )
            RETURNING user_id`))
        )
      }).pipe(run, orDie),
    /** The user of a session. `useUnrecorded`: a use in this minute must still be recorded. */
    findSession,
    recordSession: (accountId: AccountId, hash: string) =>
      sql`
        WITH seen AS (
          UPDATE session SET last_seen_at = app_now()
          WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')
            AND last_seen_at < date_trunc('minute', app_now())
          RETURNING account_id, user_id
        )
        UPDATE app_user u SET last_seen_at = app_now()
        FROM seen
        WHERE u.account_id = seen.account_id AND u.id = seen.user_id`.pipe(discardRows),
    endSession: (accountId: AccountId, hash: string) =>
      sql`DELETE FROM session WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')`.pipe(discardRows),
    /** The e-mail of the user who signed in on this device within `lifeSeconds`. */
    findDevice,
    /** Stores a device of the user, deletes the one that it replaces, and keeps only the newest `maxDevices`. */
    rememberDevice: (
      accountId: AccountId,
      id: UserId,
      { hash, maxDevices, replaces }: { readonly hash: string; readonly replaces: string; readonly maxDevices: number }
    ) =>
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
            ORDER BY signed_in_at DESC, hash OFFSET ${maxDevices - 1}
          )
        )`.pipe(discardRows)
  }
}
