import { Context } from "effect"
import type { AccountId, ApiKeyId, ConnectionId, UserId } from "./Ids.ts"

/**
 * Who acts: an API key over REST, an agent through its connection, a user of the pages, or a person at the command line of
 * the machine.
 */
export type Actor =
  | { readonly _tag: "Key"; readonly accountId: AccountId; readonly keyId: ApiKeyId }
  | { readonly _tag: "Connection"; readonly accountId: AccountId; readonly connectionId: ConnectionId }
  | { readonly _tag: "User"; readonly accountId: AccountId; readonly userId: UserId }
  | { readonly _tag: "Cli"; readonly accountId: AccountId }

/**
 * Set once at the edge, read by services.
 *
 * @effect-leakable-service
 */
export class CurrentActor extends Context.Tag("catalog/CurrentActor")<CurrentActor, Actor>() {}
