import { Context, Effect, Schema } from "effect"
import { AccountId, ApiKeyId, ConnectionId, UserId } from "./Ids.ts"

/** The author of a request: an API key over REST, an agent's connection, a user of the pages, or an operator at the command line. */
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

/** Runs an effect for the account of the actor. */
export const withAccountId = <A, E, R>(use: (accountId: AccountId) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(CurrentActor, ({ accountId }) => use(accountId))

const StoredActor = Schema.Union(
  Schema.TaggedStruct("Key", { accountId: AccountId, keyId: ApiKeyId }),
  Schema.TaggedStruct("Connection", { accountId: AccountId, connectionId: ConnectionId }),
  Schema.TaggedStruct("User", { accountId: AccountId, userId: UserId }),
  Schema.TaggedStruct("Cli", { accountId: AccountId })
)
/**
 * The stored form of an actor, for work that runs later. A new kind of actor does not compile until it has a stored
 * form.
 */
export const ActorJson: Schema.Schema<Actor, typeof StoredActor.Encoded> = StoredActor
