import { Schema } from "effect"
import { AccountId, ConnectionId, UserId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { Tier } from "./Tier.ts"

/**
 * Why a connection ended: the merchant disconnected it; its client gave its token back; a token, or a code, that had been
 * used was used again, so somebody else may have it; its last refresh token expired; the user who consented was disabled.
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

/** What an agent was granted, as the merchant sees it; it stays as a record after it ended. */
export const Connection = Schema.Struct({
  id: ConnectionId,
  /** As the client calls itself: nobody has verified it. */
  clientName: Schema.String,
  /** Where the code was sent: a host, or the scheme of a program on somebody's machine. */
  redirectHost: Schema.String,
  tier: Tier,
  /** E-mail of the user who consented. */
  userEmail: Schema.String,
  createdAt: Timestamp,
  /** By the minute; null: never. */
  lastUsedAt: Schema.NullOr(Timestamp),
  endedAt: Schema.NullOr(Timestamp),
  endReason: Schema.NullOr(EndReason)
})
export type Connection = typeof Connection.Type

/** What an access token that opens something says of its bearer. */
export const ConnectionCredential = Schema.Struct({
  accountId: AccountId,
  connectionId: ConnectionId,
  /** The user who consented. */
  userId: UserId,
  clientName: Schema.String,
  /** That of the token, which may be narrower than the connection's. */
  tier: Tier,
  /** The account's version when the token was looked up. */
  accountVersion: Schema.Number,
  /** Whether the use of the connection in this minute is yet to be recorded. */
  useUnrecorded: Schema.Boolean
})
export type ConnectionCredential = typeof ConnectionCredential.Type
