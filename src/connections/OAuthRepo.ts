import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, type Option, Schema } from "effect"
import { makeForget } from "../database/Forgetting.ts"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, ClientId, ConnectionId, ConsentId, UserId } from "../model/Ids.ts"
import type { ClientMetadata } from "./ClientMetadata.ts"
import { Tier } from "./Tier.ts"
import { lifeSeconds } from "./TokenLife.ts"

/** A program that registered itself. */
export const Client = Schema.Struct({
  id: ClientId,
  name: Schema.String,
  redirectUris: Schema.Array(Schema.String)
})
export type Client = typeof Client.Type

/** What a consent leads to, once it is given. */
const granted = {
  userId: UserId,
  clientId: ClientId,
  redirectUri: Schema.String,
  tier: Tier,
  codeChallenge: Schema.String,
  resource: Schema.String
}

const Consent = Schema.Struct({
  ...granted,
  sessionHash: Schema.String,
  formHash: Schema.String,
  state: Schema.NullOr(Schema.String)
})

/** What a page asked; `tier`: the highest that may be chosen. */
export type Consent = typeof Consent.Type

const KeptConsent = Schema.Struct({ ...Consent.fields, expired: Schema.Boolean, decided: Schema.Boolean })
export type KeptConsent = typeof KeptConsent.Type

const Code = Schema.Struct(granted)
export type Code = typeof Code.Type

const KeptCode = Schema.Struct({
  ...Code.fields,
  accountId: AccountId,
  clientName: Schema.String,
  used: Schema.Boolean,
  /** Expired, or its user was disabled. */
  dead: Schema.Boolean,
  grantId: Schema.NullOr(ConnectionId)
})
export type KeptCode = typeof KeptCode.Type

const KeptRefresh = Schema.Struct({
  accountId: AccountId,
  grantId: ConnectionId,
  clientId: ClientId,
  /** The connection's. */
  tier: Tier,
  resource: Schema.String,
  dead: Schema.Boolean,
  usedAgoSeconds: Schema.NullOr(Schema.Number),
  successors: Schema.Int,
  successorUsed: Schema.Boolean
})
export type KeptRefresh = typeof KeptRefresh.Type

const KeptToken = Schema.Struct({
  accountId: AccountId,
  grantId: ConnectionId,
  clientId: ClientId,
  kind: Schema.Literal("access", "refresh")
})
export type KeptToken = typeof KeptToken.Type

export interface NewGrant {
  readonly id: ConnectionId
  readonly userId: UserId
  readonly clientId: ClientId
  readonly clientName: string
  readonly redirectHost: string
  readonly tier: Tier
  readonly resource: string
}

export interface NewTokens {
  readonly grantId: ConnectionId
  readonly accessHash: string
  readonly accessTier: Tier
  readonly refreshHash: string
  readonly refreshTier: Tier
  /** The refresh token that was used for them; null: they came of a code. */
  readonly parentHash: string | null
}

/**
 * What an authorization server keeps, but for what a merchant sees of it (ConnectionsRepo). In a database only: it has no layer
 * on memory. Secrets are given and kept as their SHA-256, in hexadecimal here.
 */
export class OAuthRepo extends Context.Tag("catalog/OAuthRepo")<
  OAuthRepo,
  {
    readonly addClient: (id: ClientId, client: Pick<ClientMetadata, "name" | "redirectUris">) => Effect.Effect<void>
    readonly findClient: (id: ClientId) => Effect.Effect<Option.Option<Client>>
    readonly addConsent: (accountId: AccountId, id: ConsentId, consent: Consent) => Effect.Effect<void>
    /** Locks the row until the transaction ends. */
    readonly lockConsent: (accountId: AccountId, id: ConsentId) => Effect.Effect<Option.Option<KeptConsent>>
    readonly decide: (accountId: AccountId, id: ConsentId) => Effect.Effect<void>
    readonly addCode: (accountId: AccountId, hash: string, code: Code) => Effect.Effect<void>
    /** Locks the row until the transaction ends. */
    readonly lockCode: (hash: string) => Effect.Effect<Option.Option<KeptCode>>
    /** Uses the code up; `grantId`: for this connection, null: for nothing. */
    readonly spendCode: (accountId: AccountId, hash: string, grantId: ConnectionId | null) => Effect.Effect<void>
    readonly addGrant: (accountId: AccountId, grant: NewGrant) => Effect.Effect<void>
    /** Seconds that the access token is good for. The connection lapses when the refresh token expires. */
    readonly addTokens: (accountId: AccountId, tokens: NewTokens) => Effect.Effect<number>
    /** Locks the token's connection until the transaction ends, and reads what it is like under that lock. */
    readonly lockRefresh: (hash: string) => Effect.Effect<Option.Option<KeptRefresh>>
    /** Keeps the time of the first use. */
    readonly useRefresh: (accountId: AccountId, hash: string) => Effect.Effect<void>
    readonly findToken: (hash: string) => Effect.Effect<Option.Option<KeptToken>>
    readonly dropToken: (accountId: AccountId, hash: string) => Effect.Effect<void>
    /** Deletes what is over: tokens, codes (a day later), consents, registrations that came to nothing in a day. How many rows. */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    OAuthRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const forget = makeForget(sql)

      const findClient = SqlSchema.findOne({
        Request: ClientId,
        Result: Client,
        execute: (id) => sql`SELECT id, name, redirect_uris AS "redirectUris" FROM oauth_client WHERE id = ${id}`
      })

      const lockConsent = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: AccountId, id: ConsentId }),
        Result: KeptConsent,
        execute: ({ accountId, id }) => sql`
          SELECT user_id AS "userId", client_id AS "clientId", redirect_uri AS "redirectUri", tier,
                 code_challenge AS "codeChallenge", resource, encode(session_hash, 'hex') AS "sessionHash",
                 encode(form_hash, 'hex') AS "formHash", state, expires_at <= app_now() AS expired,
                 decided_at IS NOT NULL AS decided
          FROM oauth_request
          WHERE account_id = ${accountId} AND id = ${id}
          FOR UPDATE`
      })

      const lockCode = SqlSchema.findOne({
        Request: Schema.String,
        Result: KeptCode,
        execute: (hash) => sql`
          SELECT c.account_id AS "accountId", c.user_id AS "userId", c.client_id AS "clientId",
                 client.name AS "clientName", c.redirect_uri AS "redirectUri", c.tier, c.code_challenge AS "codeChallenge",
                 c.resource, c.used_at IS NOT NULL AS used, c.grant_id AS "grantId",
                 c.expires_at <= app_now() OR u.disabled_at IS NOT NULL AS dead
          FROM oauth_code c
          JOIN oauth_client client ON client.id = c.client_id
          JOIN app_user u ON u.account_id = c.account_id AND u.id = c.user_id
          WHERE c.hash = decode(${hash}, 'hex')
          FOR UPDATE OF c`
      })

      const lockGrantOf = (hash: string) => sql`
        SELECT g.id
        FROM oauth_token t
        JOIN oauth_grant g ON g.account_id = t.account_id AND g.id = t.grant_id
        WHERE t.hash = decode(${hash}, 'hex') AND t.kind = 'refresh'
        FOR UPDATE OF g`

      // A statement of its own: what waits for a lock reads the rest as it was before it waited.
      const readRefresh = SqlSchema.findOne({
        Request: Schema.String,
        Result: KeptRefresh,
        execute: (hash) => sql`
          SELECT t.account_id AS "accountId", g.id AS "grantId", g.client_id AS "clientId", g.tier, g.resource,
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
      })

      const findToken = SqlSchema.findOne({
        Request: Schema.String,
        Result: KeptToken,
        execute: (hash) => sql`
          SELECT t.account_id AS "accountId", g.id AS "grantId", g.client_id AS "clientId", t.kind
          FROM oauth_token t
          JOIN oauth_grant g ON g.account_id = t.account_id AND g.id = t.grant_id
          WHERE t.hash = decode(${hash}, 'hex')`
      })

      const addTokens = SqlSchema.single({
        Request: Schema.Struct({
          accountId: AccountId,
          grantId: ConnectionId,
          accessHash: Schema.String,
          accessTier: Tier,
          refreshHash: Schema.String,
          refreshTier: Tier,
          parentHash: Schema.NullOr(Schema.String)
        }),
        Result: Schema.Struct({ lifeSeconds: Schema.Int }),
        execute: ({ accessHash, accessTier, accountId, grantId, parentHash, refreshHash, refreshTier }) => sql`
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
      })

      const done = <A, E, R>(statement: Effect.Effect<A, E, R>) => Effect.asVoid(statement)

      return {
        addClient: (id, { name, redirectUris }) =>
          sql`
            INSERT INTO oauth_client (id, name, redirect_uris) VALUES (${id}, ${name}, ${[...redirectUris]})`.pipe(
            done,
            orDie
          ),
        findClient: (id) => orDie(findClient(id)),
        addConsent: (accountId, id, consent) =>
          sql`
            INSERT INTO oauth_request (account_id, id, user_id, session_hash, form_hash, client_id, redirect_uri, state, tier,
                                       code_challenge, resource, expires_at)
            VALUES (${accountId}, ${id}, ${consent.userId}, decode(${consent.sessionHash}, 'hex'),
                    decode(${consent.formHash}, 'hex'), ${consent.clientId}, ${consent.redirectUri}, ${consent.state},
                    ${consent.tier}, ${consent.codeChallenge}, ${consent.resource},
                    app_now() + make_interval(secs => ${lifeSeconds.consent}))`.pipe(done, orDie),
        lockConsent: (accountId, id) => orDie(lockConsent({ accountId, id })),
        decide: (accountId, id) =>
          sql`
            UPDATE oauth_request SET decided_at = app_now() WHERE account_id = ${accountId} AND id = ${id}`.pipe(
            done,
            orDie
          ),
        addCode: (accountId, hash, code) =>
          sql`
            INSERT INTO oauth_code (account_id, hash, user_id, client_id, redirect_uri, tier, code_challenge, resource, expires_at)
            VALUES (${accountId}, decode(${hash}, 'hex'), ${code.userId}, ${code.clientId}, ${code.redirectUri}, ${code.tier},
                    ${code.codeChallenge}, ${code.resource}, app_now() + make_interval(secs => ${lifeSeconds.code}))`.pipe(
            done,
            orDie
          ),
        lockCode: (hash) => orDie(lockCode(hash)),
        spendCode: (accountId, hash, grantId) =>
          sql`
            UPDATE oauth_code SET used_at = app_now(), grant_id = ${grantId}
            WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')`.pipe(done, orDie),
        addGrant: (accountId, grant) =>
          sql`
            INSERT INTO oauth_grant (account_id, id, user_id, client_id, client_name, redirect_host, tier, resource)
            VALUES (${accountId}, ${grant.id}, ${grant.userId}, ${grant.clientId}, ${grant.clientName},
                    ${grant.redirectHost}, ${grant.tier}, ${grant.resource})`.pipe(done, orDie),
        addTokens: (accountId, tokens) =>
          addTokens({ accountId, ...tokens }).pipe(
            Effect.map(({ lifeSeconds }) => lifeSeconds),
            // The connection is there: whoever calls holds its lock, or has just made it.
            Effect.catchTag("NoSuchElementException", Effect.die),
            orDie
          ),
        lockRefresh: (hash) =>
          Effect.flatMap(orDie(lockGrantOf(hash)), (locked) =>
            locked.length === 0 ? Effect.succeedNone : orDie(readRefresh(hash))
          ),
        useRefresh: (accountId, hash) =>
          sql`
            UPDATE oauth_token SET used_at = coalesce(used_at, app_now())
            WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')`.pipe(done, orDie),
        findToken: (hash) => orDie(findToken(hash)),
        dropToken: (accountId, hash) =>
          sql`DELETE FROM oauth_token WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')`.pipe(
            done,
            orDie
          ),
        forget: orDie(
          forget({
            oauth_token: sql`t.expires_at <= app_now()`,
            oauth_request: sql`t.expires_at <= app_now()`,
            oauth_code: sql`t.expires_at <= app_now() - interval '1 day'`,
            // After what names them.
            oauth_client: sql`t.created_at <= app_now() - interval '1 day'
              AND NOT EXISTS (SELECT FROM oauth_grant g WHERE g.client_id = t.id)
              AND NOT EXISTS (SELECT FROM oauth_code o WHERE o.client_id = t.id)
              AND NOT EXISTS (SELECT FROM oauth_request r WHERE r.client_id = t.id)`
          })
        )
      }
    })
  )
}
