import { Context, type Effect } from "effect"
import type { AccountId, StoreId } from "../model/Ids.ts"

/** Lets a feature above this folder run when a store is unlinked or linked again. */
export class UnlinkHook extends Context.Tag("catalog/UnlinkHook")<
  UnlinkHook,
  {
    /** Runs inside the transaction of the last step that unlinks the store. */
    readonly onUnlinked: (accountId: AccountId, storeId: StoreId) => Effect.Effect<void>
    /** Runs inside the transaction of the last step that links the store again. */
    readonly onLinkedAgain: (accountId: AccountId) => Effect.Effect<void>
  }
>() {}
