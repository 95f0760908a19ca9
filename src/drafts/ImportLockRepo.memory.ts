import { Effect, Layer, Option, Ref } from "effect"
import type { MemorySlices } from "../database/MemoryStore.memory.ts"
import { MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import type { AccountId, ImportId } from "../model/Ids.ts"
import { ImportLockRepo } from "./ImportLockRepo.ts"

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** The import that locks the account. */
    readonly lockedBy: ImportId | null
  }
}

export const emptyImportLock: Pick<MemorySlices, "lockedBy"> = { lockedBy: null }

/** In-memory transactions run one at a time, so the lock itself is not needed. */
export const layerImportLockRepoMemory = Layer.effect(
  ImportLockRepo,
  Effect.map(MemoryStore, (store) => {
    const holder = (accountId: AccountId) =>
      Effect.map(Ref.get(store), (state) => Option.fromNullable(state.get(accountId)?.lockedBy))
    return {
      share: holder,
      take: holder,
      shareDuringImport: holder,
      takeDuringImport: holder,
      keep: (accountId, lockedBy) => updateAccount(store, accountId, (account) => ({ ...account, lockedBy }))
    }
  })
)
