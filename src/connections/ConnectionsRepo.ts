import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { makeAccountVersions } from "../access/AccountVersions.sql.ts"
import { ClusterNodes } from "../database/ClusterNodes.ts"
import { DirectQuery } from "../database/DirectQuery.ts"
import { isDistributedAtStart } from "../database/Distribution.ts"
import { discardRows, findAll, hasRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { type AccountId, type ConnectionId, StoreId } from "../model/Ids.ts"
import { Role } from "../model/Role.ts"
import { Connection, ConnectionCredential, type EndReason } from "./Connection.ts"
import { lower, type Tier, tierOfRole } from "./Tier.ts"

/** The tier is never above the role of the user who consented. */
const boundedByRole = <A extends { readonly tier: Tier; readonly role: Role }>(row: A): A => ({
  ...row,
  tier: lower(row.tier, tierOfRole(row.role))
})

/** Reads the connections of an account with the domains of their stores. */
const makeList = (sql: SqlClient.SqlClient) => {
  const read = findAll(
    Schema.Struct({
      ...Connection.omit("storeDomains").fields,
      role: Role,
      storeIds: Schema.NullOr(Schema.Array(StoreId))
    })
  )(
    (accountId: AccountId) => sql`
      SELECT g.id, g.client_name AS "clientName", g.redirect_host AS "redirectHost", g.tier, u.role, u.email AS "userEmail",
             g.confirm_publish AS "confirmPublish", g.store_ids AS "storeIds",
             rfc3339(g.created_at) AS "createdAt", rfc3339(g.last_used_at) AS "lastUsedAt",
             rfc3339(coalesce(l.lapsed_at, g.ended_at)) AS "endedAt",
             CASE WHEN l.lapsed_at IS NULL THEN g.end_reason ELSE 'expired' END AS "endReason"
      FROM oauth_grant g
      JOIN app_user u ON u.account_id = g.account_id AND u.id = g.user_id
      -- The earlier of both ends. OFFSET: evaluated once, so that both columns agree.
      CROSS JOIN LATERAL (
        SELECT CASE WHEN g.lapses_at <= coalesce(g.ended_at, app_now()) THEN g.lapses_at END AS lapsed_at OFFSET 0
      ) l
      WHERE g.account_id = ${accountId}
      ORDER BY g.created_at DESC, g.id`
  )

  const domains = findAll(Schema.Struct({ id: StoreId, domain: Schema.String }))(
    (accountId: AccountId) => sql`
      SELECT id, domain FROM store WHERE account_id = ${accountId} ORDER BY domain COLLATE "C", id`
  )

  return (accountId: AccountId) =>
    Effect.gen(function* () {
      const connections = yield* read(accountId)
      const isLimited = connections.some(({ storeIds }) => storeIds !== null)
      const stores = isLimited ? yield* domains(accountId) : []
      return connections.map(boundedByRole).map(({ role: _, storeIds, ...connection }) => ({
        ...connection,
        storeDomains:
          storeIds === null ? null : stores.filter(({ id }) => storeIds.includes(id)).map(({ domain }) => domain)
      }))
    })
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const direct = yield* DirectQuery
  const versions = makeAccountVersions(sql, direct, yield* isDistributedAtStart, yield* ClusterNodes)

  const decodeCredentials = Schema.decodeUnknown(
    Schema.Array(Schema.Struct({ hash: Schema.String, resource: Schema.String, ...ConnectionCredential.fields }))
  )

  const findCredentials = (hashes: ReadonlyArray<string>) =>
    direct(sql`
      SELECT encode(t.hash, 'hex') AS hash, g.resource, t.account_id AS "accountId", g.id AS "connectionId",
             g.user_id AS "userId", g.client_name AS "clientName", t.tier, u.role, g.store_ids AS stores,
             g.confirm_publish AS "confirmPublish",
             g.last_used_at IS NULL OR g.last_used_at < date_trunc('minute', app_now()) AS "useUnrecorded"
             ${versions.column}
      FROM oauth_token t
      JOIN oauth_grant g ON g.account_id = t.account_id AND g.id = t.grant_id
      JOIN app_user u ON u.account_id = g.account_id AND u.id = g.user_id
      ${versions.join(sql`t.account_id`)}
      WHERE t.hash = ANY(${hashes.map((hash) => Buffer.from(hash, "hex"))}::bytea[])
        AND t.kind = 'access' AND t.expires_at > app_now() AND g.ended_at IS NULL AND u.disabled_at IS NULL`).pipe(
      Effect.flatMap(decodeCredentials),
      Effect.map((found) => new Map(found.map(({ hash, ...credential }) => [hash, boundedByRole(credential)])))
    )

  return {
    /**
     * The bearers of access tokens, by the tokens' SHA-256 in hexadecimal. Left out: expired tokens, ended connections and
     * disabled users.
     */
    findCredentials: (hashes: ReadonlyArray<string>) => orDie(findCredentials(hashes)),
    /** Undefined: `findCredentials` returns the versions of the accounts. */
    findVersions: versions.findVersions,
    /** Records that the connection was used in this minute. */
    recordUse: (accountId: AccountId, id: ConnectionId) =>
      sql`
        UPDATE oauth_grant SET last_used_at = app_now()
        WHERE account_id = ${accountId} AND id = ${id}
          AND (last_used_at IS NULL OR last_used_at < date_trunc('minute', app_now()))`.pipe(discardRows),
    /** All connections, also ended ones, newest first. */
    list: makeList(sql),
    /**
     * Ids that a connection limited to `stores` must not see: all other stores, and those entities among `candidates` that are
     * only on other stores.
     */
    outside: (accountId: AccountId, stores: ReadonlyArray<StoreId>, candidates: ReadonlyArray<string>) =>
      sql<{ id: string }>`
        SELECT s.id FROM store s
        WHERE s.account_id = ${accountId} AND s.id <> ALL (${[...stores]}::uuid[])
        UNION ALL
        SELECT e.id FROM entity e
        WHERE e.account_id = ${accountId} AND e.id = ANY (${[...candidates]}::uuid[])
          AND e.store_ids <> '{}' AND NOT e.store_ids && ${[...stores]}::uuid[]`.pipe(
        Effect.map((rows) => new Set(rows.map(({ id }) => id))),
        orDie
      ),
    /** Ends a connection. A connection that has ended keeps its time and reason. False: the account has no such connection. */
    end: (accountId: AccountId, id: ConnectionId, reason: EndReason) =>
      sql`
        UPDATE oauth_grant
        SET ended_at = coalesce(ended_at, app_now()), end_reason = coalesce(end_reason, ${reason})
        WHERE account_id = ${accountId} AND id = ${id}
        RETURNING id`.pipe(hasRows),
    /**
     * Invalidates all codes that are not redeemed yet. It waits for a code that is being redeemed, so that the next statement
     * sees the new connection.
     */
    withdrawCodes: (accountId: AccountId) =>
      sql`
        WITH waiting AS (
          SELECT account_id, hash FROM oauth_code
          WHERE account_id = ${accountId} AND used_at IS NULL
          ORDER BY hash FOR UPDATE
        )
        UPDATE oauth_code c SET used_at = app_now()
        FROM waiting WHERE c.account_id = waiting.account_id AND c.hash = waiting.hash`.pipe(discardRows),
    /** Ends all connections of the account. Returns their number. */
    endAll: (accountId: AccountId, reason: EndReason) =>
      sql`
        WITH living AS (
          SELECT account_id, id FROM oauth_grant
          WHERE account_id = ${accountId} AND ended_at IS NULL
          ORDER BY id FOR UPDATE
        )
        UPDATE oauth_grant g SET ended_at = app_now(), end_reason = ${reason}
        FROM living WHERE g.account_id = living.account_id AND g.id = living.id
        RETURNING g.id`.pipe(
        Effect.map((rows) => rows.length),
        orDie
      )
  }
})

/** Connections as merchants see them, and the look-up of access tokens. There is no in-memory implementation. */
export class ConnectionsRepo extends Context.Tag("catalog/ConnectionsRepo")<
  ConnectionsRepo,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(ConnectionsRepo, make)
}
