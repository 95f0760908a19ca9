import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId } from "../model/Ids.ts"
import { Identity, User } from "./User.ts"
import type { UsersRepo } from "./UsersRepo.ts"

type UserStatements = Pick<
  Context.Tag.Service<UsersRepo>,
  "add" | "disable" | "findByEmail" | "findLink" | "list" | "setLink" | "setPassword"
>

/** SQL statements for users, and for the one-time links with which they set passwords. */
export const makeUserStatements = (sql: SqlClient): UserStatements => {
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
      ), forgotten AS (
        DELETE FROM sign_in_device d USING used WHERE d.account_id = used.account_id AND d.user_id = used.user_id
      )
      UPDATE app_user u SET password = ${password}
      FROM used
      WHERE u.account_id = used.account_id AND u.id = used.user_id AND u.disabled_at IS NULL
      RETURNING u.account_id AS "accountId", u.id, u.email, u.password, false AS disabled`
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
        ), forgotten AS (
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
    findLink: (hash) => orDie(findLink(hash)),
    setPassword: (hash, password) => orDie(setPassword({ hash, password }))
  }
}
