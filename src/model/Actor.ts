import { Context } from "effect"
import type { AccountId, ApiKeyId, ConnectionId, UserId } from "./Ids.ts"

/** Who makes a request: an API key over REST, an agent's connection, a user of the pages, or an operator at the command line. */
export type Actor =
  | { readonly _tag: "Key"; readonly accountId: AccountId; readonly keyId: ApiKeyId }
  | { readonly _tag: "Connection"; readonly accountId: AccountId; readonly connectionId: ConnectionId }
  | { readonly _tag: "User"; readonly accountId: AccountId; readonly userId: UserId }
  | { readonly _tag: "Cli"; readonly accountId: AccountId }

/**
 * The actor of the current request. The surface that received the request sets it.
 *
 * @effect-leakable-service
 */
export class CurrentActor extends Context.Tag("catalog/CurrentActor")<CurrentActor, Actor>() {}
