import { Schema } from "effect"
import { AccountId, UserId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"

/** Somebody who signs in to the pages of one account. */
export const User = Schema.Struct({
  id: UserId,
  email: Schema.String,
  createdAt: Timestamp,
  /** Whether a password was set: before that, only the one-time link opens anything. */
  hasPassword: Schema.Boolean,
  disabledAt: Schema.NullOr(Timestamp)
})
export type User = typeof User.Type

/** Whose browser asks. */
export const SignedIn = Schema.Struct({
  accountId: AccountId,
  accountName: Schema.String,
  userId: UserId,
  email: Schema.String,
  /** SHA-256 of the browser's cookie, in hexadecimal. */
  sessionHash: Schema.String
})
export type SignedIn = typeof SignedIn.Type
