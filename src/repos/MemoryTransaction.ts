import { Effect, Layer, Ref } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { MemoryStore } from "./MemoryStore.ts"

/** The memory twin of a transaction: one at a time, and a failed one leaves the store as it was. */
export const layerMemoryTransaction = Layer.effect(
  Transaction,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const oneAtATime = yield* Effect.makeSemaphore(1)
    return {
      run: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.flatMap(Ref.get(store), (before) => Effect.tapErrorCause(effect, () => Ref.set(store, before))).pipe(
          oneAtATime.withPermits(1)
        )
    }
  })
)
