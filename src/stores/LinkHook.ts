import { Context, type Effect } from "effect"
import type { AccountId, StoreId } from "../model/Ids.ts"

/** Lets a feature above this folder run in the transaction that links a store again, under the exclusive import lock. */
export class LinkHook extends Context.Tag("catalog/LinkHook")<
  LinkHook,
  { readonly onLinkedAgain: (accountId: AccountId, storeId: StoreId) => Effect.Effect<void> }
>() {}
