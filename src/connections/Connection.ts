import { Schema } from "effect"
import { ConnectionBounds } from "../model/ConnectionBounds.ts"
import { AccountId, ConnectionId, UserId } from "../model/Ids.ts"
import { Role } from "../model/Role.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { Tier } from "./Tier.ts"

/**
 * Why a connection ended. `disconnected`: by the merchant. `revoked`: by its client. `token_replayed`, `code_replayed`: a secret
 * was used twice, so somebody else may have a copy. `expired`: its last refresh token expired. `user_disabled`: the user who
 * consented was disabled.
 */
export const EndReason = Schema.Literal(
  "disconnected",
  "revoked",
  "token_replayed",
  "code_replayed",
  "expired",
  "user_disabled"
)
export type EndReason = typeof EndReason.Type

/** The access of an agent, as the merchant sees it. An ended connection stays as a record. */
export const Connection = Schema.Struct({
  id: ConnectionId,
  /** The name that the client gave itself. It is not verified. */
  clientName: Schema.String,
  /** The host that received the code, or the scheme of a program on the user's machine. */
  redirectHost: Schema.String,
  /** The granted tier, or a lower one if the role of the user who consented is lower now. */
  tier: Tier,
  /** Sorted domains of the stores to which it is limited. Null: all stores, also those that are linked later. */
  storeDomains: Schema.NullOr(Schema.Array(Schema.String)),
  confirmPublish: ConnectionBounds.fields.confirmPublish,
  /** E-mail of the user who consented. */
  userEmail: Schema.String,
  createdAt: Timestamp,
  /** Time of the last use, to the minute. Null: never used. */
  lastUsedAt: Schema.NullOr(Timestamp),
  endedAt: Schema.NullOr(Timestamp),
  endReason: Schema.NullOr(EndReason)
})
export type Connection = typeof Connection.Type

/** The bearer of a valid access token. */
export const ConnectionCredential = Schema.Struct({
  accountId: AccountId,
  connectionId: ConnectionId,
  /** The user who consented. */
  userId: UserId,
  clientName: Schema.String,
  /** The tier of the token, bounded by `role`. It can be lower than the connection's. */
  tier: Tier,
  /** The role of the user who consented, when the token was looked up. */
  role: Role,
  ...ConnectionBounds.fields,
  /** The account's version when the token was looked up. Null on a cluster: `Connections.versionOf` reads it. */
  accountVersion: Schema.NullOr(Schema.Number),
  /** Whether a use in this minute must still be recorded. */
  useUnrecorded: Schema.Boolean
})
export type ConnectionCredential = typeof ConnectionCredential.Type
