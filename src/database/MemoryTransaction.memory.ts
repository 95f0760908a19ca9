import { Effect, FiberRef, Layer, Ref } from "effect"
import { collectHooks, releaseHooks } from "./CommitHooks.ts"
import { MemoryStore } from "./MemoryStore.memory.ts"
import { Transaction } from "./Transaction.ts"

/**
 * An in-memory transaction: one at a time, and a failed or interrupted one leaves the store as it was. One inside
 * another is a savepoint of it.
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
