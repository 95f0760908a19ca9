import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId } from "../model/Ids.ts"
import type { UsersRepo } from "./UsersRepo.ts"

type TeamStatements = Pick<
  Context.Tag.Service<UsersRepo>,
  "disable" | "enable" | "lockAdministrators" | "remove" | "setRole"
>

/** SQL statements by which administrators manage the users of their account. */
export const makeTeamStatements = (sql: SqlClient): TeamStatements => {
  const lockAdministrators = SqlSchema.findAll({
    Request: AccountId,
    Result: Schema.Struct({ email: Schema.String, hasPassword: Schema.Boolean }),
    execute: (accountId) => sql`
      SELECT email, password IS NOT NULL AS "hasPassword"
      FROM app_user
      WHERE account_id = ${accountId} AND role = 'admin' AND disabled_at IS NULL
      ORDER BY id
      FOR UPDATE`
  })

  return {
    lockAdministrators: (accountId) => orDie(lockAdministrators(accountId)),
    setRole: (accountId, email, role) =>
      sql`UPDATE app_user SET role = ${role} WHERE account_id = ${accountId} AND email = ${email} RETURNING id`.pipe(
        Effect.map((rows) => rows.length > 0),
        orDie
      ),
    enable: (accountId, email) =>
      sql`
        UPDATE app_user SET disabled_at = NULL WHERE account_id = ${accountId} AND email = ${email} RETURNING id`.pipe(
        Effect.map((rows) => rows.length > 0),
        orDie
      ),
    remove: (accountId, email) =>
      sql`
        WITH invited AS (
          SELECT account_id, id FROM app_user
          WHERE account_id = ${accountId} AND email = ${email} AND password IS NULL AND last_seen_at IS NULL
          FOR UPDATE
        ), withdrawn AS (
          DELETE FROM password_link l USING invited i WHERE l.account_id = i.account_id AND l.user_id = i.id
        )
        DELETE FROM app_user u USING invited i WHERE u.account_id = i.account_id AND u.id = i.id
        RETURNING u.id`.pipe(
        Effect.map((rows) => rows.length > 0),
        orDie
      ),
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
      )
  }
}
