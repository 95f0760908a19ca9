import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { TeamEvent } from "../access/TeamLog.ts"
import { User } from "../access/User.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { Role } from "../model/Role.ts"
import { accountRpc } from "./AccountRpc.ts"

/** A one-time link. Tokens are sent in plain text, because only the owner of the process can read the socket. */
export const Invitation = Schema.Struct({ email: Schema.String, token: Schema.Redacted(Schema.String) })

export const UserRpcs = RpcGroup.make(
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
  /** Whether all users of the account need a second factor. */
  accountRpc("requiresSecondFactor", {}, { success: Schema.Boolean }),
  /** ValidationFailed: secrets cannot be encrypted, so no user could set up a second factor. */
  accountRpc("requireSecondFactor", { isRequired: Schema.Boolean }, { error: ValidationFailed }),
  /** The newest changes of the team, newest first. */
  accountRpc("showTeamLog", { limit: Schema.Int }, { success: Schema.Array(TeamEvent) })
)
