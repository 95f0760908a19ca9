import { Schema } from "effect"
import { ConnectionBounds } from "../model/ConnectionBounds.ts"
import { AccountId, ClientId, ConnectionId, UserId } from "../model/Ids.ts"
import { Role } from "../model/Role.ts"
import { Tier } from "./Tier.ts"

/** A client: it has registered itself, or publishes a document about itself. */
export const Client = Schema.Struct({
  id: ClientId,
  /** The URL of the document, which is its client id. Null: the client has registered itself. */
  metadataUrl: Schema.NullOr(Schema.String),
  name: Schema.String,
  redirectUris: Schema.Array(Schema.String)
})
export type Client = typeof Client.Type

/** The fields that are copied from a consent to its code, and from the code to the connection. */
const terms = {
  userId: UserId,
  clientId: ClientId,
  redirectUri: Schema.String,
  tier: Tier,
  codeChallenge: Schema.String,
  resource: Schema.String
}

/** A consent that awaits its decision. `tier`: the highest that the merchant can choose. */
export const PendingConsent = Schema.Struct({
  ...terms,
  sessionHash: Schema.String,
  formHash: Schema.String,
  state: Schema.NullOr(Schema.String)
})
export type PendingConsent = typeof PendingConsent.Type

export const StoredConsent = Schema.Struct({
  ...PendingConsent.fields,
  expired: Schema.Boolean,
  decided: Schema.Boolean
})
export type StoredConsent = typeof StoredConsent.Type

/** The access that the merchant allowed: the chosen tier, and the limits of the connection. */
export const Code = Schema.Struct({ ...terms, ...ConnectionBounds.fields })
export type Code = typeof Code.Type

export const StoredCode = Schema.Struct({
  ...Code.fields,
  accountId: AccountId,
  /** The role of the user who consented. */
  role: Role,
  clientName: Schema.String,
  used: Schema.Boolean,
  /** Whether the code has expired or its user is disabled. */
  dead: Schema.Boolean,
  grantId: Schema.NullOr(ConnectionId)
})
export type StoredCode = typeof StoredCode.Type

export const StoredRefreshToken = Schema.Struct({
  accountId: AccountId,
  grantId: ConnectionId,
  clientId: ClientId,
  /** The tier of the connection. */
  tier: Tier,
  /** The role of the user who consented. */
  role: Role,
  resource: Schema.String,
  dead: Schema.Boolean,
  usedAgoSeconds: Schema.NullOr(Schema.Number),
  successors: Schema.Int,
  successorUsed: Schema.Boolean
})
export type StoredRefreshToken = typeof StoredRefreshToken.Type

export const StoredToken = Schema.Struct({
  accountId: AccountId,
  grantId: ConnectionId,
  clientId: ClientId,
  kind: Schema.Literal("access", "refresh")
})
export type StoredToken = typeof StoredToken.Type

export interface NewGrant extends ConnectionBounds {
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
  /** The refresh token that was exchanged for these tokens. Null: a code was exchanged. */
  readonly parentHash: string | null
}
