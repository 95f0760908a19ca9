import { Schema } from "effect"
import { type AccountId, ApiKeyId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { type AnyScope, Scope } from "./ApiKeyToken.ts"

/** An API key as its account sees it. The token itself is shown only once, at creation, and never stored. */
export const ApiKey = Schema.Struct({
  id: ApiKeyId,
  name: Schema.String,
  lastFour: Schema.String,
  scopes: Schema.Array(Scope),
  createdAt: Timestamp,
  lastUsedAt: Schema.NullOr(Timestamp),
  expiresAt: Schema.NullOr(Timestamp),
  revokedAt: Schema.NullOr(Timestamp)
})
export type ApiKey = typeof ApiKey.Type

/** A valid API key, as the gate needs it to authorize a request. */
export interface Credential {
  readonly accountId: AccountId
  readonly keyId: ApiKeyId
  readonly scopes: ReadonlyArray<AnyScope>
  /** The account's version when the key was looked up. Null on a cluster: `ApiKeys.versionOf` reads it. */
  readonly accountVersion: number | null
  /** Whether a use in this minute must still be recorded. */
  readonly useUnrecorded: boolean
}
