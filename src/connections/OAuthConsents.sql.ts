import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, ClientId, ConsentId } from "../model/Ids.ts"
import { Client, StoredCode, StoredConsent } from "./OAuthRecords.ts"
import type { OAuthRepo } from "./OAuthRepo.ts"
import { lifeSeconds } from "./TokenLife.ts"

type Consents = Pick<
  Context.Tag.Service<OAuthRepo>,
  | "addClient"
  | "addCode"
  | "addConsent"
  | "decide"
  | "findClient"
  | "findClientAt"
  | "keepDocument"
  | "lockCode"
  | "lockConsent"
  | "spendCode"
>

/** SQL statements for clients, consents and codes. */
export const makeConsentStatements = (sql: SqlClient): Consents => {
  const findClient = SqlSchema.findOne({
    Request: ClientId,
    Result: Client,
    execute: (id) => sql`
      SELECT id, name, redirect_uris AS "redirectUris", metadata_url AS "metadataUrl" FROM oauth_client WHERE id = ${id}`
  })

  const findClientAt = SqlSchema.findOne({
    Request: Schema.String,
    Result: Client,
    execute: (metadataUrl) => sql`
      SELECT id, name, redirect_uris AS "redirectUris", metadata_url AS "metadataUrl" FROM oauth_client
      WHERE metadata_url = ${metadataUrl}`
  })

  const lockConsent = SqlSchema.findOne({
    Request: Schema.Struct({ accountId: AccountId, id: ConsentId }),
    Result: StoredConsent,
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
    Result: StoredCode,
    execute: (hash) => sql`
      SELECT c.account_id AS "accountId", c.user_id AS "userId", u.role, c.client_id AS "clientId",
             client.name AS "clientName", c.redirect_uri AS "redirectUri", c.tier, c.code_challenge AS "codeChallenge",
             c.resource, c.used_at IS NOT NULL AS used, c.grant_id AS "grantId", c.store_ids AS stores, c.confirm_publish AS "confirmPublish",
             c.expires_at <= app_now() OR u.disabled_at IS NOT NULL AS dead
      FROM oauth_code c
      JOIN oauth_client client ON client.id = c.client_id
      JOIN app_user u ON u.account_id = c.account_id AND u.id = c.user_id
      WHERE c.hash = decode(${hash}, 'hex')
      FOR UPDATE OF c`
  })

  return {
    addClient: (id, { name, redirectUris }) =>
      sql`INSERT INTO oauth_client (id, name, redirect_uris) VALUES (${id}, ${name}, ${[...redirectUris]})`.pipe(
        Effect.asVoid,
        orDie
      ),
    // Resets created_at, so that the sweep does not delete the client before its next consent.
    keepDocument: (id, metadataUrl, { name, redirectUris }) =>
      sql`
        INSERT INTO oauth_client (id, name, redirect_uris, metadata_url)
        VALUES (${id}, ${name}, ${[...redirectUris]}, ${metadataUrl})
        ON CONFLICT (metadata_url) DO UPDATE
        SET name = excluded.name, redirect_uris = excluded.redirect_uris, created_at = app_now()`.pipe(
        Effect.asVoid,
        orDie
      ),
    findClient: (id) => orDie(findClient(id)),
    findClientAt: (metadataUrl) => orDie(findClientAt(metadataUrl)),
    addConsent: (accountId, id, consent) =>
      sql`
        INSERT INTO oauth_request (account_id, id, user_id, session_hash, form_hash, client_id, redirect_uri, state, tier,
                                   code_challenge, resource, expires_at)
        VALUES (${accountId}, ${id}, ${consent.userId}, decode(${consent.sessionHash}, 'hex'),
                decode(${consent.formHash}, 'hex'), ${consent.clientId}, ${consent.redirectUri}, ${consent.state},
                ${consent.tier}, ${consent.codeChallenge}, ${consent.resource},
                app_now() + make_interval(secs => ${lifeSeconds.consent}))`.pipe(Effect.asVoid, orDie),
    lockConsent: (accountId, id) => orDie(lockConsent({ accountId, id })),
    decide: (accountId, id) =>
      sql`UPDATE oauth_request SET decided_at = app_now() WHERE account_id = ${accountId} AND id = ${id}`.pipe(
        Effect.asVoid,
        orDie
      ),
    addCode: (accountId, hash, code) =>
      sql`
        INSERT INTO oauth_code (account_id, hash, user_id, client_id, redirect_uri, tier, code_challenge, resource,
                                store_ids, confirm_publish, expires_at)
        VALUES (${accountId}, decode(${hash}, 'hex'), ${code.userId}, ${code.clientId}, ${code.redirectUri}, ${code.tier},
                ${code.codeChallenge}, ${code.resource}, ${code.stores === null ? null : [...code.stores]}::uuid[], ${code.confirmPublish},
                app_now() + make_interval(secs => ${lifeSeconds.code}))`.pipe(Effect.asVoid, orDie),
    lockCode: (hash) => orDie(lockCode(hash)),
    spendCode: (accountId, hash, grantId) =>
      sql`
        UPDATE oauth_code SET used_at = app_now(), grant_id = ${grantId}
        WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')`.pipe(Effect.asVoid, orDie)
  }
}
