import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { discardRows, findAll, findOne, hasRows } from "../database/Rows.ts"
import { AccountId, UserId } from "../model/Ids.ts"
import type { Identity } from "./User.ts"

/** A user by account and id. */
export const UserKey = Schema.Struct({ accountId: AccountId, id: UserId })
export type UserKey = typeof UserKey.Type

/** The stored second factor of a user. `secret` is encrypted. */
const StoredFactor = Schema.Struct({
  secret: Schema.Uint8ArrayFromSelf,
  isConfirmed: Schema.Boolean,
  codesLeft: Schema.Int
})

/** The user of a sign-in that waits for a code, with the digest of their password. */
const Waiting = Schema.Struct({
  ...UserKey.fields,
  email: Schema.String,
  password: Schema.NullOr(Schema.String)
})
export type Waiting = typeof Waiting.Type

/** How long a secret can be shown and confirmed after it was made. */
const confirmSeconds = 3_600

/** Number of accepted codes of a user that are remembered. */
const keptSteps = 100

/** SQL statements for recovery codes. Their hashes are in hexadecimal. */
const makeRecoveryCodeStatements = (sql: SqlClient.SqlClient) => ({
  /** Accepts a recovery code once. False: there is no such code. */
  useRecoveryCode: ({ accountId, id }: UserKey, hash: string) =>
    sql`
      DELETE FROM recovery_code
      WHERE account_id = ${accountId} AND user_id = ${id} AND hash = decode(${hash}, 'hex')
      RETURNING user_id`.pipe(hasRows),
  /** Deletes all recovery codes of the user. */
  deleteRecoveryCodes: ({ accountId, id }: UserKey) =>
    sql`DELETE FROM recovery_code WHERE account_id = ${accountId} AND user_id = ${id}`.pipe(discardRows),
  /** Stores the hashes of new recovery codes. */
  addRecoveryCodes: ({ accountId, id }: UserKey, codes: ReadonlyArray<string>) =>
    sql`
      INSERT INTO recovery_code (account_id, user_id, hash)
      SELECT ${accountId}, ${id}, decode(h.hash, 'hex') FROM unnest(${[...codes]}::text[]) AS h (hash)`.pipe(
      discardRows
    )
})

/** SQL statements for sign-ins that wait for a code. */
const makeSignInStatements = (sql: SqlClient.SqlClient) => {
  const findSignIn = findOne(Waiting)(
    (hash: string) => sql`
      SELECT s.account_id AS "accountId", s.user_id AS id, u.email, u.password
      FROM sign_in_step s
      JOIN app_user u ON u.account_id = s.account_id AND u.id = s.user_id
      WHERE s.hash = decode(${hash}, 'hex') AND s.expires_at > app_now() AND u.disabled_at IS NULL`
  )

  return {
    /** The user of a sign-in that waits for a code, or was ended a short time ago. */
    findSignIn,
    /**
     * Stores a sign-in that waits for a code. False: the user was disabled or has another password by now. The lock on the user makes
     * a change of the password wait, so that it ends this sign-in.
     */
    addSignIn: (
      { accountId, id, password }: Pick<Identity, "accountId" | "id" | "password">,
      hash: string,
      lifeSeconds: number
    ) =>
      sql`
        WITH same AS (
          SELECT account_id, id FROM app_user
          WHERE account_id = ${accountId} AND id = ${id} AND disabled_at IS NULL
            AND password IS NOT DISTINCT FROM ${password}::text
          FOR SHARE
        )
        INSERT INTO sign_in_step (account_id, user_id, hash, expires_at)
        SELECT account_id, id, decode(${hash}, 'hex'), app_now() + make_interval(secs => ${lifeSeconds}) FROM same
        RETURNING user_id`.pipe(hasRows),
    /** Completes a sign-in that waits for a code. For `keptSeconds` more, the hash `ended` finds it. */
    endSignIn: ({ accountId, id }: UserKey, hash: string, ended: string, keptSeconds: number) =>
      sql`
        UPDATE sign_in_step
        SET hash = decode(${ended}, 'hex'),
            expires_at = least(expires_at, app_now() + make_interval(secs => ${keptSeconds}))
        WHERE account_id = ${accountId} AND user_id = ${id} AND hash = decode(${hash}, 'hex')`.pipe(discardRows)
  }
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const isRecent = sql`created_at > app_now() - make_interval(secs => ${confirmSeconds})`

  const find = findOne(StoredFactor)(
    ({ accountId, id }: UserKey) => sql`
      SELECT f.secret, f.confirmed_at IS NOT NULL AS "isConfirmed",
             (SELECT count(*)::int FROM recovery_code c
              WHERE c.account_id = f.account_id AND c.user_id = f.user_id) AS "codesLeft"
      FROM second_factor f
      WHERE f.account_id = ${accountId} AND f.user_id = ${id} AND (f.confirmed_at IS NOT NULL OR ${isRecent})`
  )

  const list = findAll(Schema.Struct({ id: UserId, email: Schema.String, secret: Schema.Uint8ArrayFromSelf }))(
    (accountId: AccountId) => sql`
      SELECT u.id, u.email, f.secret
      FROM second_factor f
      JOIN app_user u ON u.account_id = f.account_id AND u.id = f.user_id
      WHERE f.account_id = ${accountId}
      ORDER BY u.email COLLATE "C"`
  )

  const remove = findOne(Schema.Struct({ isConfirmed: Schema.Boolean }))(
    ({ accountId, id }: UserKey) => sql`
      WITH codes AS (
        DELETE FROM recovery_code WHERE account_id = ${accountId} AND user_id = ${id}
      ), steps AS (
        DELETE FROM sign_in_step WHERE account_id = ${accountId} AND user_id = ${id}
      )
      DELETE FROM second_factor WHERE account_id = ${accountId} AND user_id = ${id}
      RETURNING confirmed_at IS NOT NULL AS "isConfirmed"`
  )

  const recoveryHashes = findAll(Schema.Struct({ hash: Schema.String }))(
    ({ accountId, id }: UserKey) => sql`
      SELECT encode(hash, 'hex') AS hash FROM recovery_code WHERE account_id = ${accountId} AND user_id = ${id}`
  )

  return {
    ...makeRecoveryCodeStatements(sql),
    /** The hashes of the recovery codes that are left. */
    recoveryHashes: (user: UserKey) => Effect.map(recoveryHashes(user), (rows) => rows.map(({ hash }) => hash)),
    ...makeSignInStatements(sql),
    /** The second factor of a user. None: there is none, or it was not confirmed within an hour. */
    find,
    /** Secrets of all users of an account. */
    list,
    /** Locks the second factor of a user until the transaction ends, so that its changes do not overlap. */
    lock: ({ accountId, id }: UserKey) =>
      sql`SELECT FROM second_factor WHERE account_id = ${accountId} AND user_id = ${id} FOR UPDATE`.pipe(discardRows),
    /** Stores a secret that is not confirmed yet. It replaces one that is not confirmed. False: the user has a confirmed one. */
    begin: ({ accountId, id }: UserKey, secret: Uint8Array) =>
      sql`
        INSERT INTO second_factor AS f (account_id, user_id, secret) VALUES (${accountId}, ${id}, ${secret})
        ON CONFLICT (account_id, user_id) DO UPDATE SET secret = excluded.secret, created_at = app_now()
        WHERE f.confirmed_at IS NULL
        RETURNING f.user_id`.pipe(hasRows),
    /**
     * Confirms a secret by the code of a time step, and stores the hashes of recovery codes. False: a secret is confirmed already,
     * another one was stored since, or it was made more than an hour ago.
     */
    confirm: ({ accountId, id }: UserKey, secret: Uint8Array, step: number, codes: ReadonlyArray<string>) =>
      sql`
        WITH confirmed AS (
          UPDATE second_factor SET confirmed_at = app_now(), last_step = ${step}, used_steps = ARRAY[${step}::bigint]
          WHERE account_id = ${accountId} AND user_id = ${id} AND secret = ${secret} AND confirmed_at IS NULL AND ${isRecent}
          RETURNING account_id, user_id
        ), given AS (
          INSERT INTO recovery_code (account_id, user_id, hash)
          SELECT c.account_id, c.user_id, decode(h.hash, 'hex')
          FROM confirmed c CROSS JOIN unnest(${[...codes]}::text[]) AS h (hash)
        )
        SELECT user_id FROM confirmed`.pipe(hasRows),
    /**
     * Accepts the code of a time step once. False: a code of this step, or of a later one up to `latest`, was accepted before. Steps
     * after `latest` are in the future: their codes were accepted while the clock was ahead, and must not block the current ones.
     */
    useStep: ({ accountId, id }: UserKey, step: number, latest: number) =>
      sql`
        UPDATE second_factor
        SET last_step = ${step}, used_steps = (ARRAY[${step}::bigint] || used_steps)[1:${sql.literal(String(keptSteps))}]
        WHERE account_id = ${accountId} AND user_id = ${id} AND confirmed_at IS NOT NULL
          AND ${step} <> ALL(used_steps) AND (last_step < ${step} OR last_step > ${latest})
        RETURNING user_id`.pipe(hasRows),
    /** Removes the secret, the recovery codes, and sign-ins that wait for a code. False: the user had no confirmed secret. */
    remove: (user: UserKey) =>
      Effect.map(
        remove(user),
        Option.exists(({ isConfirmed }) => isConfirmed)
      ),
    /** Replaces a secret that was encrypted again. False: it has changed meanwhile. */
    replaceSecret: ({ accountId, id }: UserKey, before: Uint8Array, after: Uint8Array) =>
      sql`
        UPDATE second_factor SET secret = ${after}
        WHERE account_id = ${accountId} AND user_id = ${id} AND secret = ${before}
        RETURNING user_id`.pipe(hasRows)
  }
})

/** Authenticator apps and recovery codes of users, and sign-ins that wait for a code. There is no in-memory implementation. */
export class SecondFactorsRepo extends Context.Tag("catalog/SecondFactorsRepo")<
  SecondFactorsRepo,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(SecondFactorsRepo, make)
}

/** Removes a second factor. Locks it first: else recovery codes that are renewed at the same time would stay. False: it was off. */
export const makeRemoveFactor = (factors: SecondFactorsRepo["Type"]) => (user: UserKey) =>
  Effect.zipRight(factors.lock(user), factors.remove(user))
