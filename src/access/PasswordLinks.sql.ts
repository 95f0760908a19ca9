import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Option, Schema } from "effect"
import { findOne, hasRows } from "../database/Rows.ts"
import { orDie, uniqueAsConflict } from "../database/SqlErrors.ts"
import { makeRunTransaction } from "../database/Transaction.ts"
import type { AccountId, UserId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { endAccess } from "./Sessions.sql.ts"
import { Identity } from "./User.ts"
import { hasSecondFactor, Reader } from "./Users.sql.ts"

/** The expiry of a link, and how its user reads texts and times. */
export const LinkReader = Schema.Struct({ expiresAt: Timestamp, ...Reader.fields })
export type LinkReader = typeof LinkReader.Type

/** SQL statements for the one-time links with which users set passwords. */
export const makePasswordLinkStatements = (sql: SqlClient) => {
  const run = makeRunTransaction(sql)

  /** SQL: whether a user of another account signs in with the e-mail of `u`. */
  const isTaken = sql`EXISTS (
    SELECT FROM app_user o
    WHERE o.email = u.email AND o.password IS NOT NULL AND (o.account_id, o.id) <> (u.account_id, u.id)
  )`

  const findLink = findOne(
    Schema.Struct({ email: Schema.String, accountName: Schema.String, isTaken: Schema.Boolean })
  )(
    (hash: string) => sql`
      SELECT u.email, a.name AS "accountName", ${isTaken} AS "isTaken"
      FROM password_link l
      JOIN app_user u ON u.account_id = l.account_id AND u.id = l.user_id
      JOIN account a ON a.id = l.account_id
      WHERE l.hash = decode(${hash}, 'hex') AND l.expires_at > app_now() AND u.disabled_at IS NULL`
  )

  const setLink = findOne(LinkReader)(
    (accountId: AccountId, id: UserId, hash: string, lifeSeconds: number) => sql`
      WITH kept AS (
        INSERT INTO password_link (account_id, user_id, hash, expires_at)
        VALUES (${accountId}, ${id}, decode(${hash}, 'hex'), app_now() + make_interval(secs => ${lifeSeconds}))
        ON CONFLICT (account_id, user_id) DO UPDATE
        SET hash = excluded.hash, expires_at = excluded.expires_at, mail_problem = NULL, mail_retry_until = NULL
        WHERE password_link.hash <> excluded.hash
        RETURNING expires_at
      )
      SELECT rfc3339(k.expires_at) AS "expiresAt", u.language, u.time_zone AS "timeZone"
      FROM kept k CROSS JOIN app_user u
      WHERE u.account_id = ${accountId} AND u.id = ${id}`
  )

  const findOwnLink = findOne(LinkReader)(
    (accountId: AccountId, id: UserId, hash: string) => sql`
      SELECT rfc3339(l.expires_at) AS "expiresAt", u.language, u.time_zone AS "timeZone"
      FROM password_link l
      JOIN app_user u ON u.account_id = l.account_id AND u.id = l.user_id
      WHERE l.account_id = ${accountId} AND l.user_id = ${id} AND l.hash = decode(${hash}, 'hex')
        AND l.expires_at > app_now() AND u.disabled_at IS NULL`
  )

  const setPassword = SqlSchema.findOne({
    Request: Schema.Struct({ hash: Schema.String, password: Schema.String }),
    Result: Schema.Struct({ ...Identity.fields, isFirst: Schema.Boolean }),
    execute: ({ hash, password }) => sql`
      WITH used AS (
        DELETE FROM password_link l
        USING app_user u
        WHERE l.hash = decode(${hash}, 'hex') AND l.expires_at > app_now()
          AND u.account_id = l.account_id AND u.id = l.user_id AND NOT ${isTaken}
        RETURNING l.account_id, l.user_id, u.password IS NULL AS "isFirst"
      )
      UPDATE app_user u SET password = ${password}
      FROM used
      WHERE u.account_id = used.account_id AND u.id = used.user_id AND u.disabled_at IS NULL
      RETURNING u.account_id AS "accountId", u.id, u.email, u.password, false AS disabled,
                ${hasSecondFactor(sql)}, used."isFirst"`
  })

  return {
    /** Stores a link of the user. It replaces the older link, because a user has at most one. None: it is stored already. */
    setLink,
    /** The link of a user with this hash. None: the user has no such link, or it is not valid any more. */
    findOwnLink,
    /**
     * Stores the result of an attempt to send the mail with a link. `problem`: why it was not delivered; null: it was, or no mail is sent.
     * `retrySeconds`: for how long the link counts as one whose mail is sent again; null: it is not sent again. Returns false if the link
     * was used or replaced, or has expired.
     */
    keepMailState: (accountId: AccountId, hash: string, problem: string | null, retrySeconds: number | null) =>
      sql`
        UPDATE password_link
        SET mail_problem = ${problem}::text, mail_retry_until = app_now() + make_interval(secs => ${retrySeconds}::float8)
        WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex') AND expires_at > app_now()
        RETURNING user_id`.pipe(hasRows),
    /** The e-mail and account of a link's user. `isTaken`: a user of another account signs in with it. None: the link is not valid. */
    findLink,
    /**
     * Invalidates the link, sets the password and ends the user's sessions. `isFirst`: the user had no password. None: the link is not
     * valid, or a user of another account signs in with the e-mail; then the link stays valid.
     */
    setPassword: (hash: string, password: string) =>
      uniqueAsConflict(setPassword({ hash, password })).pipe(
        Effect.tap(
          Option.match({ onNone: () => Effect.void, onSome: ({ accountId, id }) => endAccess(sql, accountId, id) })
        ),
        run,
        orDie
      )
  }
}
