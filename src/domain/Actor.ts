import { Context } from "effect"
import type { AccountId, ApiKeyId } from "./Ids.ts"

/** Who acts: an API key over REST, or a person at the command line of the machine. */
export type Actor =
  | { readonly _tag: "Key"; readonly accountId: AccountId; readonly keyId: ApiKeyId }
  | { readonly _tag: "Cli"; readonly accountId: AccountId }

/**
 * Set once at the edge, read by services.
 *
 * @effect-leakable-service
 */
export class CurrentActor extends Context.Tag("catalog/CurrentActor")<CurrentActor, Actor>() {}
