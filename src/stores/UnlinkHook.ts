import { Context, type Effect } from "effect"
import type { AccountId, StoreId } from "../model/Ids.ts"

/** What a feature above this folder does when a store is unlinked. */
export class UnlinkHook extends Context.Tag("catalog/UnlinkHook")<
  UnlinkHook,
  {
    /** Runs inside the transaction that unlinks the store. `afterCommit` is for what must follow the commit. */
    readonly onUnlinked: (accountId: AccountId, storeId: StoreId) => Effect.Effect<void>
  }
>() {}
