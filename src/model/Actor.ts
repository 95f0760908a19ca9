import { Context } from "effect"
import type { AccountId, ApiKeyId, ConnectionId, UserId } from "./Ids.ts"

/**
 * Who makes a request: an API key over REST, a connection of an agent, a user of the pages, or an operator at the command line.
 */
export type Actor =
  | { readonly _tag: "Key"; readonly accountId: AccountId; readonly keyId: ApiKeyId }
  | { readonly _tag: "Connection"; readonly accountId: AccountId; readonly connectionId: ConnectionId }
  | { readonly _tag: "User"; readonly accountId: AccountId; readonly userId: UserId }
  | { readonly _tag: "Cli"; readonly accountId: AccountId }

/**
 * Set by the surface that received the request.
 *
 * @effect-leakable-service
 */
export class CurrentActor extends Context.Tag("catalog/CurrentActor")<CurrentActor, Actor>() {}
