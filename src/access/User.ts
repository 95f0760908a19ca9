import { Schema } from "effect"
import { AccountId, UserId } from "../model/Ids.ts"
import { Role } from "../model/Role.ts"
import { Timestamp } from "../model/Timestamp.ts"

/** A user who signs in to the pages of one account. */
export const User = Schema.Struct({
  id: UserId,
  email: Schema.String,
  role: Role,
  createdAt: Timestamp,
  /** Time of the last request on the pages, to the minute. Null: none yet. */
  lastSeenAt: Schema.NullOr(Timestamp),
  /** False until the user has set a password by the one-time link. */
  hasPassword: Schema.Boolean,
  /** Expiry of the valid link by which the user can set a password. Null: there is none. */
  linkExpiresAt: Schema.NullOr(Timestamp),
  /** Why the mail with this link was not delivered. Null: it was, or the link was not sent by mail. */
  mailProblem: Schema.NullOr(Schema.String),
  /** Whether a process sends this mail again. A process that was lost counts for up to 75 s. */
  isMailWaiting: Schema.Boolean,
  /** Whether sign-in asks for a code of the user's authenticator app. */
  hasSecondFactor: Schema.Boolean,
  disabledAt: Schema.NullOr(Timestamp)
})
export type User = typeof User.Type

/** `invited`: the user has no password: not set yet, or deleted when the operator freed the e-mail address. */
export const userState = ({ disabledAt, hasPassword }: Pick<User, "disabledAt" | "hasPassword">) =>
  disabledAt !== null ? "disabled" : hasPassword ? "active" : "invited"

/** A user with the digest of their password. */
export const Identity = Schema.Struct({
  accountId: AccountId,
  id: UserId,
  email: Schema.String,
  password: Schema.NullOr(Schema.String),
  disabled: Schema.Boolean,
  hasSecondFactor: Schema.Boolean
})
export type Identity = typeof Identity.Type

/** The signed-in user of a request, with the session. */
export const SignedIn = Schema.Struct({
  accountId: AccountId,
  accountName: Schema.String,
  userId: UserId,
  email: Schema.String,
  role: Role,
  /** Null: the user has not chosen. */
  language: Schema.NullOr(Schema.String),
  /** A name of the IANA database. Null: UTC. */
  timeZone: Schema.NullOr(Schema.String),
  /** The account requires a second factor, and the user has none: the user must set it up before anything else. */
  lacksFactor: Schema.Boolean,
  /** SHA-256 of the session cookie, in hexadecimal. */
  sessionHash: Schema.String
})
export type SignedIn = typeof SignedIn.Type
