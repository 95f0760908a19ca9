import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, UserId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { SignedIn } from "./User.ts"
import type { UsersRepo } from "./UsersRepo.ts"

type SessionStatements = Pick<
  Context.Tag.Service<UsersRepo>,
  | "endOtherSessions"
  | "endSession"
  | "sessionsOf"
  | "findDevice"
  | "findSession"
  | "recordSession"
  | "rememberDevice"
  | "startSession"
>

/**
 * Ends the sessions of a user but the one with this hash, and forgets remembered browsers, links and sign-ins that wait for a code.
 * It must follow the statement that changes the user, in the same transaction: a session that began before that statement had the
 * row is only visible to a later one.
 */
export const endAccess = (sql: SqlClient, accountId: AccountId, id: UserId, sessionHash = "") => sql`
  WITH ended AS (
    DELETE FROM session
    WHERE account_id = ${accountId} AND user_id = ${id} AND hash <> decode(${sessionHash}, 'hex')
  ), forgotten AS (
    DELETE FROM sign_in_device WHERE account_id = ${accountId} AND user_id = ${id}
  ), withdrawn AS (
    DELETE FROM password_link WHERE account_id = ${accountId} AND user_id = ${id}
  )
  DELETE FROM sign_in_step WHERE account_id = ${accountId} AND user_id = ${id}`

/** SQL statements for sessions, and for devices (browsers in which a user signed in before). */
export const makeSessionStatements = (sql: SqlClient): SessionStatements => {
  const findSession = SqlSchema.findOne({
    Request: Schema.Struct({ hash: Schema.String, idleSeconds: Schema.Number, wholeSeconds: Schema.Number }),
    Result: Schema.Struct({ ...SignedIn.fields, useUnrecorded: Schema.Boolean }),
    execute: ({ hash, idleSeconds, wholeSeconds }) => sql`
      SELECT s.account_id AS "accountId", a.name AS "accountName", u.id AS "userId", u.email, u.role,
             u.language, u.time_zone AS "timeZone",
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

  const sessionsOf = SqlSchema.findAll({
    Request: Schema.Struct({
      accountId: AccountId,
      id: UserId,
      idleSeconds: Schema.Number,
      wholeSeconds: Schema.Number
    }),
    Result: Schema.Struct({ hash: Schema.String, createdAt: Timestamp, lastSeenAt: Timestamp }),
    execute: ({ accountId, id, idleSeconds, wholeSeconds }) => sql`
      SELECT encode(hash, 'hex') AS hash, rfc3339(created_at) AS "createdAt", rfc3339(last_seen_at) AS "lastSeenAt"
      FROM session
      WHERE account_id = ${accountId} AND user_id = ${id}
        AND last_seen_at > app_now() - make_interval(secs => ${idleSeconds})
        AND created_at > app_now() - make_interval(secs => ${wholeSeconds})
      ORDER BY last_seen_at DESC, created_at DESC, hash`
  })

  return {
    sessionsOf: (accountId, id, life) => orDie(sessionsOf({ accountId, id, ...life })),
    endOtherSessions: (accountId, id, hash) =>
      sql`
        DELETE FROM session
        WHERE account_id = ${accountId} AND user_id = ${id} AND hash <> decode(${hash}, 'hex')`.pipe(
        Effect.asVoid,
        orDie
      ),
    startSession: ({ accountId, id, password }, hash) =>
      sql`
        WITH seen AS (
          UPDATE app_user SET last_seen_at = app_now()
          WHERE account_id = ${accountId} AND id = ${id} AND disabled_at IS NULL
            AND password IS NOT DISTINCT FROM ${password}::text
          RETURNING account_id, id
        )
        INSERT INTO session (account_id, user_id, hash) SELECT account_id, id, decode(${hash}, 'hex') FROM seen
        RETURNING user_id`.pipe(
        Effect.map((rows) => rows.length > 0),
        orDie
      ),
    findSession: (hash, life) => orDie(findSession({ hash, ...life })),
    recordSession: (accountId, hash) =>
      sql`
        WITH seen AS (
          UPDATE session SET last_seen_at = app_now()
          WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')
            AND last_seen_at < date_trunc('minute', app_now())
          RETURNING account_id, user_id
        )
        UPDATE app_user u SET last_seen_at = app_now()
        FROM seen
        WHERE u.account_id = seen.account_id AND u.id = seen.user_id`.pipe(Effect.asVoid, orDie),
    endSession: (accountId, hash) =>
      sql`DELETE FROM session WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')`.pipe(
        Effect.asVoid,
        orDie
      ),
    findDevice: (hash, lifeSeconds) => orDie(findDevice({ hash, lifeSeconds })),
    rememberDevice: (accountId, id, { hash, maxDevices, replaces }) =>
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
        )`.pipe(Effect.asVoid, orDie)
  }
}
