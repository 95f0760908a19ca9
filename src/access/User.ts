import { Schema } from "effect"
import { AccountId, UserId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"

/** A user who signs in to the pages of one account. */
export const User = Schema.Struct({
  id: UserId,
  email: Schema.String,
  createdAt: Timestamp,
  /** False until the user has set a password by the one-time link. */
  hasPassword: Schema.Boolean,
  disabledAt: Schema.NullOr(Timestamp)
})
export type User = typeof User.Type

/** A user with the digest of their password. */
export const Identity = Schema.Struct({
  accountId: AccountId,
  id: UserId,
  email: Schema.String,
  password: Schema.NullOr(Schema.String),
  disabled: Schema.Boolean
})
export type Identity = typeof Identity.Type

/** The signed-in user of a request, with the session. */
export const SignedIn = Schema.Struct({
  accountId: AccountId,
  accountName: Schema.String,
  userId: UserId,
  email: Schema.String,
  /** SHA-256 of the session cookie, in hexadecimal. */
  sessionHash: Schema.String
})
export type SignedIn = typeof SignedIn.Type
