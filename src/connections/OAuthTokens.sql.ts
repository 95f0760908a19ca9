import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Schema } from "effect"
import { makeForget } from "../database/Forgetting.ts"
import { discardRows, findOne, findSingle } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { AccountId } from "../model/Ids.ts"
import { type NewGrant, type NewTokens, StoredRefreshToken, StoredToken } from "./OAuthRecords.ts"
import { lifeSeconds } from "./TokenLife.ts"

/** SQL statements for connections (grants) and tokens. */
export const makeTokenStatements = (sql: SqlClient) => {
  const addTokens = findSingle(Schema.Struct({ lifeSeconds: Schema.Int }))(
    (accountId: AccountId, { accessHash, accessTier, grantId, parentHash, refreshHash, refreshTier }: NewTokens) => sql`
      WITH made AS (
        INSERT INTO oauth_token (account_id, hash, grant_id, kind, tier, parent_hash, expires_at)
        SELECT g.account_id, decode(n.hash, 'hex'), g.id, n.kind, n.tier, decode(${parentHash}::text, 'hex'),
               least(app_now() + make_interval(secs => n.life),
                     g.created_at + make_interval(secs => ${lifeSeconds.connection}))
        FROM oauth_grant g
        CROSS JOIN (VALUES
          ('access', ${accessHash}, ${accessTier}, ${lifeSeconds.access}::float8),
          ('refresh', ${refreshHash}, ${refreshTier}, ${lifeSeconds.refresh}::float8)
        ) AS n (kind, hash, tier, life)
        WHERE g.account_id = ${accountId} AND g.id = ${grantId}
        RETURNING kind, expires_at
      ), lasting AS (
        UPDATE oauth_grant g SET lapses_at = m.expires_at
        FROM made m
        WHERE g.account_id = ${accountId} AND g.id = ${grantId} AND m.kind = 'refresh'
      )
      SELECT round(extract(epoch FROM expires_at - app_now()))::int AS "lifeSeconds" FROM made WHERE kind = 'access'`
  )

  const lockGrantOf = (hash: string) => sql`
    SELECT g.id
    FROM oauth_token t
    JOIN oauth_grant g ON g.account_id = t.account_id AND g.id = t.grant_id
    WHERE t.hash = decode(${hash}, 'hex') AND t.kind = 'refresh'
    FOR UPDATE OF g`

  // Separate from the statement that locks: after a wait for a lock, a statement still sees other rows as they were before the wait.
  const readRefresh = findOne(StoredRefreshToken)(
    (hash: string) => sql`
      SELECT t.account_id AS "accountId", g.id AS "grantId", g.client_id AS "clientId", g.tier, u.role, g.resource,
             t.expires_at <= app_now() OR g.ended_at IS NOT NULL OR u.disabled_at IS NOT NULL AS dead,
             extract(epoch FROM app_now() - t.used_at)::float8 AS "usedAgoSeconds",
             came.successors, came."successorUsed"
      FROM oauth_token t
      JOIN oauth_grant g ON g.account_id = t.account_id AND g.id = t.grant_id
      JOIN app_user u ON u.account_id = g.account_id AND u.id = g.user_id
      CROSS JOIN LATERAL (
        SELECT count(*)::int AS successors, coalesce(bool_or(s.used_at IS NOT NULL), false) AS "successorUsed"
        FROM oauth_token s
        WHERE s.account_id = t.account_id AND s.parent_hash = t.hash AND s.kind = 'refresh'
      ) came
      WHERE t.hash = decode(${hash}, 'hex') AND t.kind = 'refresh'`
  )

  const findToken = findOne(StoredToken)(
    (hash: string) => sql`
      SELECT t.account_id AS "accountId", g.id AS "grantId", g.client_id AS "clientId", t.kind
      FROM oauth_token t
      JOIN oauth_grant g ON g.account_id = t.account_id AND g.id = t.grant_id
      WHERE t.hash = decode(${hash}, 'hex')`
  )

  return {
    addGrant: (accountId: AccountId, grant: NewGrant) =>
      sql`
        INSERT INTO oauth_grant (account_id, id, user_id, client_id, client_name, redirect_host, tier, resource,
                                 store_ids, confirm_publish)
        VALUES (${accountId}, ${grant.id}, ${grant.userId}, ${grant.clientId}, ${grant.clientName},
                ${grant.redirectHost}, ${grant.tier}, ${grant.resource},
                ${grant.stores === null ? null : [...grant.stores]}::uuid[], ${grant.confirmPublish})`.pipe(
        discardRows
      ),
    /** Returns the seconds until the access token expires. The connection expires with the refresh token. */
    addTokens: (accountId: AccountId, tokens: NewTokens) =>
      // The connection exists, because the caller holds its lock or has just inserted it.
      Effect.map(addTokens(accountId, tokens), ({ lifeSeconds }) => lifeSeconds),
    /** Locks the token's connection until the transaction ends, and reads the token under that lock. */
    lockRefresh: (hash: string) =>
      Effect.flatMap(orDie(lockGrantOf(hash)), (locked) =>
        locked.length === 0 ? Effect.succeedNone : readRefresh(hash)
      ),
    /** Marks the refresh token as used. A later use does not change the time of the first. */
    useRefresh: (accountId: AccountId, hash: string) =>
      sql`
        UPDATE oauth_token SET used_at = coalesce(used_at, app_now())
        WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')`.pipe(discardRows),
    findToken,
    dropToken: (accountId: AccountId, hash: string) =>
      sql`DELETE FROM oauth_token WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')`.pipe(discardRows)
  }
}

export const makeForgetOAuth = (sql: SqlClient) =>
  orDie(
    makeForget(sql)({
      oauth_token: sql`t.expires_at <= app_now()`,
      oauth_request: sql`t.expires_at <= app_now()`,
      oauth_code: sql`t.expires_at <= app_now() - interval '1 day'`,
      // Clients are deleted last, because the other tables reference them.
      oauth_client: sql`t.created_at <= app_now() - interval '1 day'
        AND NOT EXISTS (SELECT FROM oauth_grant g WHERE g.client_id = t.id)
        AND NOT EXISTS (SELECT FROM oauth_code o WHERE o.client_id = t.id)
        AND NOT EXISTS (SELECT FROM oauth_request r WHERE r.client_id = t.id)`
    })
  )
