import { Context, type Effect } from "effect"
import type { AccountId, StoreId } from "../model/Ids.ts"

/** Lets a feature above this folder run at the end of the job that unlinks a store, or links it again. */
export class StoreJobHook extends Context.Tag("catalog/StoreJobHook")<
  StoreJobHook,
  {
    /** Runs inside the transaction of the last step that unlinks the store. */
    readonly onUnlinkEnded: (accountId: AccountId, storeId: StoreId) => Effect.Effect<void>
    /** Runs inside the transaction of the last step that links the store again. */
    readonly onLinkEnded: (accountId: AccountId) => Effect.Effect<void>
  }
>() {}
