import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option } from "effect"
import type { AccountId, ClientId, ConnectionId, ConsentId } from "../model/Ids.ts"
import type { ClientMetadata } from "./ClientMetadata.ts"
import { makeConsentStatements } from "./OAuthConsents.sql.ts"
import type {
  Client,
  Code,
  NewGrant,
  NewTokens,
  PendingConsent,
  StoredCode,
  StoredConsent,
  StoredRefreshToken,
  StoredToken
} from "./OAuthRecords.ts"
import { makeForgetOAuth, makeTokenStatements } from "./OAuthTokens.sql.ts"

/**
 * Clients, consents, codes, connections (grants) and tokens. ConnectionsRepo reads connections as merchants see them. There is
 * no in-memory implementation. Secrets are stored as SHA-256; hashes are hexadecimal here.
 */
export class OAuthRepo extends Context.Tag("catalog/OAuthRepo")<
  OAuthRepo,
  {
    readonly addClient: (id: ClientId, client: Pick<ClientMetadata, "name" | "redirectUris">) => Effect.Effect<void>
    /** Adds the client of a document, or updates it from the document. `id`: the id of the client if it is new. */
    readonly keepDocument: (
      id: ClientId,
      metadataUrl: string,
      client: Pick<ClientMetadata, "name" | "redirectUris">
    ) => Effect.Effect<void>
    readonly findClient: (id: ClientId) => Effect.Effect<Option.Option<Client>>
    readonly findClientAt: (metadataUrl: string) => Effect.Effect<Option.Option<Client>>
    readonly addConsent: (accountId: AccountId, id: ConsentId, consent: PendingConsent) => Effect.Effect<void>
    /** Reads a consent and locks its row until the transaction ends. */
    readonly lockConsent: (accountId: AccountId, id: ConsentId) => Effect.Effect<Option.Option<StoredConsent>>
    readonly decide: (accountId: AccountId, id: ConsentId) => Effect.Effect<void>
    readonly addCode: (accountId: AccountId, hash: string, code: Code) => Effect.Effect<void>
    /** Reads a code and locks its row until the transaction ends. */
    readonly lockCode: (hash: string) => Effect.Effect<Option.Option<StoredCode>>
    /** Marks the code as used. `grantId`: the connection that it began; null: none. */
    readonly spendCode: (accountId: AccountId, hash: string, grantId: ConnectionId | null) => Effect.Effect<void>
    readonly addGrant: (accountId: AccountId, grant: NewGrant) => Effect.Effect<void>
    /** Returns the seconds until the access token expires. The connection expires with the refresh token. */
    readonly addTokens: (accountId: AccountId, tokens: NewTokens) => Effect.Effect<number>
    /** Locks the token's connection until the transaction ends, and reads the token under that lock. */
    readonly lockRefresh: (hash: string) => Effect.Effect<Option.Option<StoredRefreshToken>>
    /** Marks the refresh token as used. A later use does not change the time of the first. */
    readonly useRefresh: (accountId: AccountId, hash: string) => Effect.Effect<void>
    readonly findToken: (hash: string) => Effect.Effect<Option.Option<StoredToken>>
    readonly dropToken: (accountId: AccountId, hash: string) => Effect.Effect<void>
    /**
     * Deletes expired tokens and consents, codes a day after they expired, and clients without a connection a day after they
     * registered. Returns the number of rows.
     */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    OAuthRepo,
    Effect.map(SqlClient.SqlClient, (sql) => ({
      ...makeConsentStatements(sql),
      ...makeTokenStatements(sql),
      forget: makeForgetOAuth(sql)
    }))
  )
}
