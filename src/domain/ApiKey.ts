import type { AnyScope, Scope } from "./ApiKeyToken.ts"
import type { AccountId, ApiKeyId } from "./Ids.ts"
import type { Timestamp } from "./Timestamp.ts"

/** An API key as its account sees it. The token itself is shown once and kept nowhere. */
export interface ApiKey {
  readonly id: ApiKeyId
  readonly name: string
  readonly lastFour: string
  readonly scopes: ReadonlyArray<Scope>
  readonly createdAt: Timestamp
  readonly lastUsedAt: Timestamp | null
  readonly expiresAt: Timestamp | null
  readonly revokedAt: Timestamp | null
}

/** What a key that opens something says of its bearer. */
export interface Credential {
  readonly accountId: AccountId
  readonly keyId: ApiKeyId
  readonly scopes: ReadonlyArray<AnyScope>
  /** The account's version when the key was looked up. */
  readonly accountVersion: number
  /** Whether the use of the key in this minute is yet to be recorded. */
  readonly useUnrecorded: boolean
}
