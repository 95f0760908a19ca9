import { Schema } from "effect"
import { HistoryActor } from "../drafts/History.ts"
import { type AccountId, ApiKeyId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { type AnyScope, Scope } from "./ApiKeyToken.ts"

/** The author of a change of a key. Null: not known, because an earlier version made the change. */
const Author = Schema.optionalWith(Schema.NullOr(HistoryActor), { default: () => null })

/** An API key as its account sees it. The token itself is shown only once, at creation, and never stored. */
export const ApiKey = Schema.Struct({
  id: ApiKeyId,
  name: Schema.String,
  lastFour: Schema.String,
  scopes: Schema.Array(Scope),
  createdAt: Timestamp,
  createdBy: Author,
  lastUsedAt: Schema.NullOr(Timestamp),
  expiresAt: Schema.NullOr(Timestamp),
  revokedAt: Schema.NullOr(Timestamp),
  revokedBy: Author
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
