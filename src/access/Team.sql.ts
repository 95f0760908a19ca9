import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { makeRunTransaction } from "../database/Transaction.ts"
import { AccountId, type UserId } from "../model/Ids.ts"
import { endAccess } from "./Sessions.sql.ts"
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

  const run = makeRunTransaction(sql)

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
      Effect.gen(function* () {
        const [user] = yield* sql<{ readonly id: UserId }>`
          UPDATE app_user SET disabled_at = coalesce(disabled_at, app_now())
          WHERE account_id = ${accountId} AND email = ${email}
          RETURNING id`
        if (user === undefined) return false
        yield* endAccess(sql, accountId, user.id)
        yield* sql`
          UPDATE oauth_grant SET ended_at = app_now(), end_reason = 'user_disabled'
          WHERE account_id = ${accountId} AND user_id = ${user.id} AND ended_at IS NULL`
        return true
      }).pipe(run, orDie)
  }
}
