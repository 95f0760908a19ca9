import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer } from "effect"
import { makeConsentStatements } from "./OAuthConsents.sql.ts"
import { makeForgetOAuth, makeTokenStatements } from "./OAuthTokens.sql.ts"

const make = Effect.map(SqlClient.SqlClient, (sql) => ({
  ...makeConsentStatements(sql),
  ...makeTokenStatements(sql),
  /**
   * Deletes expired tokens and consents, codes a day after they expired, and clients without a connection a day after they
   * registered. Returns the number of rows.
   */
  forget: makeForgetOAuth(sql)
}))

/**
 * Clients, consents, codes, connections (grants) and tokens. ConnectionsRepo reads connections as merchants see them. There is
 * no in-memory implementation. Secrets are stored as SHA-256; hashes are hexadecimal here.
 */
export class OAuthRepo extends Context.Tag("catalog/OAuthRepo")<OAuthRepo, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(OAuthRepo, make)
}
