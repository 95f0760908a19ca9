import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { ValidationFailed } from "../model/Errors.ts"
import { AccountId } from "../model/Ids.ts"

export const SecretRpcs = RpcGroup.make(
  /**
   * Encrypts the tokens of stores and the secrets of webhooks and second factors, of all accounts, with the current key. ValidationFailed: SECRET_KEY is
   * not set.
   */
  Rpc.make("rotateSecrets", {
    success: Schema.Struct({
      rotated: Schema.Int,
      current: Schema.Int,
      /** `name`: the domain of a store, the id of a webhook, or the e-mail of a user. */
      unreadable: Schema.Array(
        Schema.Struct({ accountId: AccountId, kind: Schema.Literal("store", "webhook", "user"), name: Schema.String })
      )
    }),
    error: ValidationFailed
  })
)
