import { Effect, FiberRef, Layer, Ref } from "effect"
import { collectHooks, releaseHooks } from "./CommitHooks.ts"
import { MemoryStore } from "./MemoryStore.memory.ts"
import { Transaction } from "./Transaction.ts"

/**
 * In-memory transactions run one at a time. A failed or interrupted one restores the store. A nested transaction is a savepoint.
 */
export const layerMemoryTransaction = Layer.scoped(
  Transaction,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const oneAtATime = yield* Effect.makeSemaphore(1)
    const isOpen = yield* FiberRef.make(false)

    const restoring = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.flatMap(Ref.get(store), (before) => Effect.onError(effect, () => Ref.set(store, before)))

    return {
      run: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.flatMap(FiberRef.get(isOpen), (isInside) =>
          isInside
            ? restoring(collectHooks(effect))
            : restoring(collectHooks(effect)).pipe(Effect.locally(isOpen, true), oneAtATime.withPermits(1))
        ).pipe(Effect.flatMap(releaseHooks))
    }
  })
)
