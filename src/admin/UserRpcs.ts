import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { User } from "../access/User.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { Role } from "../model/Role.ts"
import { account, Refusal } from "./Refusal.ts"

/** A one-time link. Tokens are sent in plain text, because only the owner of the process can read the socket. */
export const Invitation = Schema.Struct({ email: Schema.String, token: Schema.Redacted(Schema.String) })

export const UserRpcs = RpcGroup.make(
  /** The base URL with which the service was last started. Null: it was never started. */
  Rpc.make("serviceAddress", { success: Schema.NullOr(Schema.String) }),
  Rpc.make("inviteUser", {
    payload: { account, email: Schema.String, role: Schema.optional(Role) },
    success: Invitation,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** All users, including disabled ones, oldest first. */
  Rpc.make("listUsers", { payload: { account }, success: Schema.Array(User), error: Refusal }),
  /** Changes what a user may do. ValidationFailed: the user is the last administrator. */
  Rpc.make("setUserRole", {
    payload: { account, email: Schema.String, role: Role },
    error: Schema.Union(Refusal, NotFound, ValidationFailed)
  }),
  /** Disables a user. Disabling a user twice succeeds. ValidationFailed: the user is the last administrator. */
  Rpc.make("disableUser", {
    payload: { account, email: Schema.String },
    error: Schema.Union(Refusal, NotFound, ValidationFailed)
  }),
  /** Lets a disabled user sign in again. */
  Rpc.make("enableUser", { payload: { account, email: Schema.String }, error: Schema.Union(Refusal, NotFound) })
)
