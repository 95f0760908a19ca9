import { Context, Schema } from "effect"
import { AccountId, ApiKeyId, ConnectionId, UserId } from "./Ids.ts"

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

const StoredActor = Schema.Union(
  Schema.TaggedStruct("Key", { accountId: AccountId, keyId: ApiKeyId }),
  Schema.TaggedStruct("Connection", { accountId: AccountId, connectionId: ConnectionId }),
  Schema.TaggedStruct("User", { accountId: AccountId, userId: UserId }),
  Schema.TaggedStruct("Cli", { accountId: AccountId })
)
/**
 * An actor as it is stored with work that is carried out later. The type makes a new kind of actor fail to compile until it
 * can be stored.
 */
export const ActorJson: Schema.Schema<Actor, typeof StoredActor.Encoded> = StoredActor
