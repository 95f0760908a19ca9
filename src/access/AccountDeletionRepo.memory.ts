import { Clock, Effect, Layer, Ref } from "effect"
import { linkedStores } from "../catalog/CatalogState.memory.ts"
import { type MemorySlices, MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import { isOpen } from "../jobs/Job.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import { AccountDeletionRepo } from "./AccountDeletionRepo.ts"

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    readonly deletingSince: Timestamp | null
  }
}

export const emptyDeletion: Pick<MemorySlices, "deletingSince"> = { deletingSince: null }

/** In memory, an account is one value, so it is deleted at once, without steps and without a record. */
export const layerAccountDeletionRepoMemory = Layer.effect(
  AccountDeletionRepo,
  Effect.map(MemoryStore, (store) => ({
    begin: (accountId) =>
      Effect.gen(function* () {
        const account = (yield* Ref.get(store)).get(accountId)
        if (account === undefined || account.deletingSince !== null) return false
        const now = fromMillis(yield* Clock.currentTimeMillis)
        yield* updateAccount(store, accountId, (each) => ({
          ...each,
          deletingSince: now,
          keys: [],
          stores: new Map(),
          credentials: new Map(),
          unlinkedStores: new Map([
            ...each.unlinkedStores,
            ...linkedStores(each).map((store) => [store.id, store] as const)
          ]),
          drops: new Map([...each.drops].map(([id, drop]) => [id, { ...drop, nextStep: null }])),
          jobs: new Map(
            [...each.jobs].map(([id, held]) => [
              id,
              isOpen(held.job)
                ? {
                    ...held,
                    claim: null,
                    job: {
                      ...held.job,
                      state: "cancelled",
                      ended_at: now,
                      waiting_for: null,
                      waits_for_platform: false
                    }
                  }
                : held
            ])
          )
        }))
        return true
      }),
    tables: Effect.succeed([]),
    deleteSome: () => Effect.succeedSome(0),
    finish: (accountId) =>
      Effect.as(
        Ref.update(store, (state) => new Map([...state].filter(([id]) => id !== accountId))),
        true
      )
  }))
)
