import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { ApiKey } from "../access/ApiKey.ts"
import { Scope } from "../access/ApiKeyToken.ts"
import { TeamEvent } from "../access/TeamLog.ts"
import { User } from "../access/User.ts"
import { Job } from "../jobs/Job.ts"
import { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { AccountId, ApiKeyId } from "../model/Ids.ts"
import { Role } from "../model/Role.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { accountRpc, anyAccountRpc } from "./AccountRpc.ts"
import { Refusal } from "./Refusal.ts"

const Account = Schema.Struct({ id: AccountId, name: Schema.String })

const CreatedKey = Schema.Struct({
  id: ApiKeyId,
  token: Schema.Redacted(Schema.String),
  name: Schema.String,
  scopes: Schema.Array(Scope),
  lastFour: Schema.String
})

/** A one-time link. Tokens are sent in plain text, because only the owner of the process can read the socket. */
const Invitation = Schema.Struct({ email: Schema.String, token: Schema.Redacted(Schema.String) })

/** Commands about accounts, API keys, users and encrypted secrets. */
export const AccessRpcs = RpcGroup.make(
  /**
   * Creates an account, and its first user if `email` is given. ValidationFailed: the name is blank or over 200 characters, or the
   * e-mail address is malformed or belongs to a user of another account.
   */
  Rpc.make("createAccount", {
    payload: { name: Schema.String, email: Schema.optional(Schema.String) },
    success: Schema.Struct({ ...Account.fields, invitation: Schema.optional(Invitation) }),
    error: ValidationFailed
  }),
  /** All accounts, oldest first. */
  Rpc.make("listAccounts", {
    success: Schema.Array(
      Schema.Struct({ ...Account.fields, createdAt: Timestamp, deletingSince: Schema.NullOr(Timestamp) })
    )
  }),
  /**
   * Begins to delete an account. `name`: its name, which confirms the deletion. ValidationFailed: another name, or the account is
   * being deleted already.
   */
  anyAccountRpc(
    "deleteAccount",
    { name: Schema.String },
    { success: Job, error: Schema.Union(NotFound, ValidationFailed, PimLocked) }
  ),
  /** Creates another demo account with a user and a key that can read and write. */
  Rpc.make("createDemo", {
    success: Schema.Struct({ account: Account, key: CreatedKey, invitation: Invitation })
  }),
  /** `expiresAt` null: the key never expires. ValidationFailed: no name, no scope, an unknown scope, or an expiry in the past. */
  accountRpc(
    "createKey",
    { name: Schema.String, scopes: Schema.Array(Schema.String), expiresAt: Schema.NullOr(Timestamp) },
    { success: CreatedKey, error: ValidationFailed }
  ),
  /** All keys, including revoked and expired ones, oldest first. */
  accountRpc("listKeys", {}, { success: Schema.Array(ApiKey) }),
  /** Revokes a key. `key`: its id or name, as typed. A revoked key can be revoked again. */
  accountRpc("revokeKey", { key: Schema.String }, { success: Schema.Struct({ id: ApiKeyId }), error: NotFound }),
  /** The base URL with which the service was last started. Null: it was never started. */
  Rpc.make("serviceAddress", { success: Schema.NullOr(Schema.String) }),
  accountRpc(
    "inviteUser",
    { email: Schema.String, role: Schema.optional(Role) },
    { success: Invitation, error: ValidationFailed }
  ),
  /** All users, including disabled ones, oldest first. */
  accountRpc("listUsers", {}, { success: Schema.Array(User) }),
  /** Changes what a user may do. ValidationFailed: the user is the last administrator. */
  accountRpc("setUserRole", { email: Schema.String, role: Role }, { error: Schema.Union(NotFound, ValidationFailed) }),
  /** Disables a user. Disabling a user twice succeeds. ValidationFailed: the user is the last administrator. */
  accountRpc("disableUser", { email: Schema.String }, { error: Schema.Union(NotFound, ValidationFailed) }),
  /** Lets a disabled user sign in again. */
  accountRpc("enableUser", { email: Schema.String }, { error: NotFound }),
  /** Switches the second factor of a user off. False: it was off. */
  accountRpc("resetSecondFactor", { email: Schema.String }, { success: Schema.Boolean, error: NotFound }),
  /**
   * Frees an e-mail address: the user who signs in with it is disabled and has no password any more. Returns the user's account.
   * NotFound: nobody signs in with it. Refusal: the user is the last administrator.
   */
  Rpc.make("freeAddress", {
    payload: { email: Schema.String },
    success: Schema.Struct({ account: Account, email: Schema.String }),
    error: Schema.Union(NotFound, Refusal)
  }),
  /** Whether all users of the account need a second factor. */
  accountRpc("requiresSecondFactor", {}, { success: Schema.Boolean }),
  /** ValidationFailed: secrets cannot be encrypted, so no user could set up a second factor. */
  accountRpc("requireSecondFactor", { isRequired: Schema.Boolean }, { error: ValidationFailed }),
  /** The newest changes of the team, newest first. */
  accountRpc("showTeamLog", { limit: Schema.Int }, { success: Schema.Array(TeamEvent) }),
  /**
   * Encrypts the tokens of stores and the secrets of webhooks and second factors, of all accounts, with the current key of the process
   * that answers. `keyDigest`: the digest of the caller's SECRET_KEY; null: it has none. ValidationFailed: SECRET_KEY is not set.
   * Refusal: the caller's SECRET_KEY is another key.
   */
  Rpc.make("rotateSecrets", {
    payload: { keyDigest: Schema.NullOr(Schema.String) },
    success: Schema.Struct({
      rotated: Schema.Int,
      current: Schema.Int,
      /** `name`: the domain of a store, the id of a webhook, or the e-mail of a user. */
      unreadable: Schema.Array(
        Schema.Struct({ accountId: AccountId, kind: Schema.Literal("store", "webhook", "user"), name: Schema.String })
      )
    }),
    error: Schema.Union(ValidationFailed, Refusal)
  })
)
