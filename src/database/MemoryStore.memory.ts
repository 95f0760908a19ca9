import { Context, Effect, Layer, Ref } from "effect"
import type { AccountId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"

/** The in-memory data of an account. Each feature declares its own fields and their empty values in its folder. */
export interface MemoryAccount {
  readonly id: AccountId
  readonly name: string
  readonly createdAt: Timestamp
  readonly version: number
  readonly changeSeq: number
  readonly lastChangedAt: Timestamp
  /** The version of the last change of the catalog. Later versions, of scans for example, changed nothing in it. */
  readonly notedVersion: number
}

/** The fields that features declare. */
export type MemorySlices = Omit<
  MemoryAccount,
  "id" | "name" | "createdAt" | "version" | "changeSeq" | "lastChangedAt" | "notedVersion"
>

export type MemoryState = ReadonlyMap<AccountId, MemoryAccount>

/** The state of all in-memory repositories: one immutable value, replaced as a whole. */
export class MemoryStore extends Context.Tag("catalog/MemoryStore")<MemoryStore, Ref.Ref<MemoryState>>() {
  static readonly layer = Layer.effect(MemoryStore, Ref.make<MemoryState>(new Map()))
}

/** Replaces an account. Dies if the account does not exist, because callers have read it from the store. */
export const updateAccount = (
  store: Ref.Ref<MemoryState>,
  id: AccountId,
  change: (account: MemoryAccount) => MemoryAccount
): Effect.Effect<void> =>
  Effect.flatMap(Ref.get(store), (state) => {
    const account = state.get(id)
    return account === undefined
      ? Effect.dieMessage(`no account ${id}`)
      : Ref.set(store, new Map(state).set(id, change(account)))
  })
