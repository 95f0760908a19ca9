import type { SqlClient } from "@effect/sql/SqlClient"
import { discardRows, findOne } from "../database/Rows.ts"
import type { AccountId, ClientId, ConnectionId, ConsentId } from "../model/Ids.ts"
import type { ClientMetadata } from "./ClientMetadata.ts"
import { Client, type Code, type PendingConsent, StoredCode, StoredConsent } from "./OAuthRecords.ts"
import { lifeSeconds } from "./TokenLife.ts"

/** SQL statements for clients, consents and codes. */
export const makeConsentStatements = (sql: SqlClient) => {
  const findClient = findOne(Client)(
    (id: ClientId) => sql`
      SELECT id, name, redirect_uris AS "redirectUris", metadata_url AS "metadataUrl" FROM oauth_client WHERE id = ${id}`
  )

  const findClientAt = findOne(Client)(
    (metadataUrl: string) => sql`
      SELECT id, name, redirect_uris AS "redirectUris", metadata_url AS "metadataUrl" FROM oauth_client
      WHERE metadata_url = ${metadataUrl}`
  )

  const lockConsent = findOne(StoredConsent)(
    (accountId: AccountId, id: ConsentId) => sql`
      SELECT user_id AS "userId", client_id AS "clientId", redirect_uri AS "redirectUri", tier,
             code_challenge AS "codeChallenge", resource, encode(session_hash, 'hex') AS "sessionHash",
             encode(form_hash, 'hex') AS "formHash", state, expires_at <= app_now() AS expired,
             decided_at IS NOT NULL AS decided
      FROM oauth_request
      WHERE account_id = ${accountId} AND id = ${id}
      FOR UPDATE`
  )

  const lockCode = findOne(StoredCode)(
    (hash: string) => sql`
      SELECT c.account_id AS "accountId", c.user_id AS "userId", u.role, c.client_id AS "clientId",
             client.name AS "clientName", c.redirect_uri AS "redirectUri", c.tier, c.code_challenge AS "codeChallenge",
             c.resource, c.used_at IS NOT NULL AS used, c.grant_id AS "grantId", c.store_ids AS stores, c.confirm_publish AS "confirmPublish",
             c.expires_at <= app_now() OR u.disabled_at IS NOT NULL AS dead
      FROM oauth_code c
      JOIN oauth_client client ON client.id = c.client_id
      JOIN app_user u ON u.account_id = c.account_id AND u.id = c.user_id
      WHERE c.hash = decode(${hash}, 'hex')
      FOR UPDATE OF c`
  )

  return {
    addClient: (id: ClientId, { name, redirectUris }: Pick<ClientMetadata, "name" | "redirectUris">) =>
      sql`INSERT INTO oauth_client (id, name, redirect_uris) VALUES (${id}, ${name}, ${[...redirectUris]})`.pipe(
        discardRows
      ),
    // Resets created_at, so that the sweep does not delete the client before its next consent.
    /** Adds the client of a document, or updates it from the document. `id`: the id of the client if it is new. */
    keepDocument: (
      id: ClientId,
      metadataUrl: string,
      { name, redirectUris }: Pick<ClientMetadata, "name" | "redirectUris">
    ) =>
      sql`
        INSERT INTO oauth_client (id, name, redirect_uris, metadata_url)
        VALUES (${id}, ${name}, ${[...redirectUris]}, ${metadataUrl})
        ON CONFLICT (metadata_url) DO UPDATE
        SET name = excluded.name, redirect_uris = excluded.redirect_uris, created_at = app_now()`.pipe(discardRows),
    findClient,
    findClientAt,
    addConsent: (accountId: AccountId, id: ConsentId, consent: PendingConsent) =>
      sql`
        INSERT INTO oauth_request (account_id, id, user_id, session_hash, form_hash, client_id, redirect_uri, state, tier,
                                   code_challenge, resource, expires_at)
        VALUES (${accountId}, ${id}, ${consent.userId}, decode(${consent.sessionHash}, 'hex'),
                decode(${consent.formHash}, 'hex'), ${consent.clientId}, ${consent.redirectUri}, ${consent.state},
                ${consent.tier}, ${consent.codeChallenge}, ${consent.resource},
                app_now() + make_interval(secs => ${lifeSeconds.consent}))`.pipe(discardRows),
    /** Reads a consent and locks its row until the transaction ends. */
    lockConsent,
    decide: (accountId: AccountId, id: ConsentId) =>
      sql`UPDATE oauth_request SET decided_at = app_now() WHERE account_id = ${accountId} AND id = ${id}`.pipe(
        discardRows
      ),
    addCode: (accountId: AccountId, hash: string, code: Code) =>
      sql`
        INSERT INTO oauth_code (account_id, hash, user_id, client_id, redirect_uri, tier, code_challenge, resource,
                                store_ids, confirm_publish, expires_at)
        VALUES (${accountId}, decode(${hash}, 'hex'), ${code.userId}, ${code.clientId}, ${code.redirectUri}, ${code.tier},
                ${code.codeChallenge}, ${code.resource}, ${code.stores === null ? null : [...code.stores]}::uuid[], ${code.confirmPublish},
                app_now() + make_interval(secs => ${lifeSeconds.code}))`.pipe(discardRows),
    /** Reads a code and locks its row until the transaction ends. */
    lockCode,
    /** Marks the code as used. `grantId`: the connection that it began; null: none. */
    spendCode: (accountId: AccountId, hash: string, grantId: ConnectionId | null) =>
      sql`
        UPDATE oauth_code SET used_at = app_now(), grant_id = ${grantId}
        WHERE account_id = ${accountId} AND hash = decode(${hash}, 'hex')`.pipe(discardRows)
  }
}
