import { Context, type Effect } from "effect"
import type { AccountId, StoreId } from "../model/Ids.ts"

/** Runs code of a feature that this folder must not import (data health) when a store is unlinked. */
export class UnlinkHook extends Context.Tag("catalog/UnlinkHook")<
  UnlinkHook,
  {
    /** Runs inside the transaction that unlinks the store. Use `afterCommit` for work after the commit. */
    readonly onUnlinked: (accountId: AccountId, storeId: StoreId) => Effect.Effect<void>
  }
>() {}
