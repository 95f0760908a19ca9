import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Option, Schema } from "effect"
import { discardRows, findAll, findOne, hasRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { makeRunTransaction } from "../database/Transaction.ts"
import { type AccountId, UserId } from "../model/Ids.ts"
import type { Role } from "../model/Role.ts"
import { endAccess } from "./Sessions.sql.ts"

/** A user that a statement has found. `isChanged`: false if the user was in the wanted state before. */
const ChangedUser = Schema.Struct({ id: UserId, isChanged: Schema.Boolean })

const makeEndConnections = (sql: SqlClient) => (accountId: AccountId, id: UserId) =>
  sql`
    UPDATE oauth_grant SET ended_at = app_now(), end_reason = 'user_disabled'
    WHERE account_id = ${accountId} AND user_id = ${id} AND ended_at IS NULL`

/** SQL statements that disable users. */
const makeDisablingStatements = (sql: SqlClient) => {
  const run = makeRunTransaction(sql)
  const endConnections = makeEndConnections(sql)

  const setDisabled = findOne(ChangedUser)(
    (accountId: AccountId, email: string) => sql`
      WITH before AS (
        SELECT id, disabled_at FROM app_user WHERE account_id = ${accountId} AND email = ${email} FOR UPDATE
      )
      UPDATE app_user u SET disabled_at = coalesce(b.disabled_at, app_now()) FROM before b
      WHERE u.account_id = ${accountId} AND u.id = b.id
      RETURNING u.id, b.disabled_at IS NULL AS "isChanged"`
  )

  const takeAddress = findOne(Schema.Struct({ id: UserId }))(
    (accountId: AccountId, email: string) => sql`
      UPDATE app_user SET password = NULL, disabled_at = coalesce(disabled_at, app_now())
      WHERE account_id = ${accountId} AND email = ${email} AND password IS NOT NULL
      RETURNING id`
  )

  /** Runs a statement that disables a user, then ends the user's sessions, links and connections. */
  const disabling = <User extends { readonly id: UserId }>(
    accountId: AccountId,
    statement: Effect.Effect<Option.Option<User>>
  ) =>
    Effect.gen(function* () {
      const user = yield* statement
      if (Option.isNone(user)) return user
      yield* endAccess(sql, accountId, user.value.id)
      yield* endConnections(accountId, user.value.id)
      return user
    }).pipe(run, orDie)

  return {
    /** Disables a user, and ends their sessions, links and connections. None: the account has no such user. */
    disable: (accountId: AccountId, email: string) => disabling(accountId, setDisabled(accountId, email)),
    /** As `disable`, and deletes the password. None: no user of the account signs in with this e-mail. */
    takeAddress: (accountId: AccountId, email: string) => disabling(accountId, takeAddress(accountId, email))
  }
}

/** SQL statements by which administrators manage the users of their account. */
export const makeTeamStatements = (sql: SqlClient) => {
  const lockAdministrators = findAll(Schema.Struct({ email: Schema.String, hasPassword: Schema.Boolean }))(
    (accountId: AccountId) => sql`
      SELECT email, password IS NOT NULL AS "hasPassword"
      FROM app_user
      WHERE account_id = ${accountId} AND role = 'admin' AND disabled_at IS NULL
      ORDER BY id
      FOR UPDATE`
  )

  const run = makeRunTransaction(sql)
  const endConnections = makeEndConnections(sql)

  const setRole = findOne(ChangedUser)(
    (accountId: AccountId, email: string, role: Role) => sql`
      WITH before AS (
        SELECT id, role FROM app_user WHERE account_id = ${accountId} AND email = ${email} FOR UPDATE
      )
      UPDATE app_user u SET role = ${role} FROM before b
      WHERE u.account_id = ${accountId} AND u.id = b.id
      RETURNING u.id, b.role <> ${role} AS "isChanged"`
  )

  const enable = findOne(Schema.Struct({ ...ChangedUser.fields, isRefused: Schema.Boolean }))(
    (accountId: AccountId, email: string, isOperator: boolean) => sql`
      WITH before AS (
        SELECT id, disabled_at IS NOT NULL AS disabled, password IS NOT NULL OR ${isOperator} AS "canBeEnabled"
        FROM app_user WHERE account_id = ${accountId} AND email = ${email} FOR UPDATE
      ), enabled AS (
        UPDATE app_user u SET disabled_at = NULL FROM before b
        WHERE u.account_id = ${accountId} AND u.id = b.id AND b.disabled AND b."canBeEnabled"
        RETURNING u.id
      ), withdrawn AS (
        DELETE FROM password_link l USING enabled e WHERE l.account_id = ${accountId} AND l.user_id = e.id
      )
      SELECT b.id, b.disabled AND b."canBeEnabled" AS "isChanged", b.disabled AND NOT b."canBeEnabled" AS "isRefused"
      FROM before b`
  )

  const findRequirement = findOne(Schema.Struct({ isRequired: Schema.Boolean }))(
    (accountId: AccountId) => sql`SELECT requires_second_factor AS "isRequired" FROM account WHERE id = ${accountId}`
  )

  return {
    ...makeDisablingStatements(sql),
    /** Whether all users of the account need a second factor. */
    requiresSecondFactor: (accountId: AccountId) =>
      Effect.map(
        findRequirement(accountId),
        Option.exists(({ isRequired }) => isRequired)
      ),
    /** False: the setting was the same before. */
    setRequiresSecondFactor: (accountId: AccountId, isRequired: boolean) =>
      sql`
        UPDATE account SET requires_second_factor = ${isRequired}
        WHERE id = ${accountId} AND requires_second_factor <> ${isRequired}
        RETURNING id`.pipe(hasRows),
    endSessionsWithoutFactor: (accountId: AccountId) =>
      sql`
        DELETE FROM session s
        WHERE s.account_id = ${accountId} AND NOT EXISTS (
          SELECT FROM second_factor f
          WHERE f.account_id = ${accountId} AND f.user_id = s.user_id AND f.confirmed_at IS NOT NULL
        )`.pipe(discardRows),
    /** The administrators who are not disabled. Locks their rows until the transaction ends. */
    lockAdministrators,
    /** None: the account has no such user. */
    setRole,
    /**
     * Lets a disabled user sign in again. Withdraws the user's unused codes, and a link or connection that was made while the user was
     * being disabled. `isRefused`: the user has no password, and the caller is not the operator. None: the account has no such user.
     */
    enable: (accountId: AccountId, email: string, { isOperator }: { readonly isOperator: boolean }) =>
      Effect.gen(function* () {
        const user = yield* enable(accountId, email, isOperator)
        if (Option.isNone(user) || !user.value.isChanged) return user
        // Not in `disable`: it locks the user, and the redemption of a code waits for that lock with the code locked. They would deadlock.
        yield* sql`
          UPDATE oauth_code SET used_at = app_now()
          WHERE account_id = ${accountId} AND user_id = ${user.value.id} AND used_at IS NULL`
        // A separate statement, which sees the connections of codes that were being redeemed.
        yield* endConnections(accountId, user.value.id)
        return user
      }).pipe(run, orDie),
    /** Deletes a user who has never signed in, with the link. False: the account has no such user. */
    remove: (accountId: AccountId, email: string) =>
      sql`
        WITH invited AS (
          SELECT account_id, id FROM app_user
          WHERE account_id = ${accountId} AND email = ${email} AND password IS NULL AND last_seen_at IS NULL
          FOR UPDATE
        ), withdrawn AS (
          DELETE FROM password_link l USING invited i WHERE l.account_id = i.account_id AND l.user_id = i.id
        )
        DELETE FROM app_user u USING invited i WHERE u.account_id = i.account_id AND u.id = i.id
        RETURNING u.id`.pipe(hasRows)
  }
}
