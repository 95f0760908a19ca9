import { Context, Effect, Layer, Ref } from "effect"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"

/** The number of times that transactions took their locks; it rises if a transaction is repeated after a deadlock. */
export class LockCalls extends Context.Tag("test/LockCalls")<LockCalls, Ref.Ref<number>>() {}

/** Drafts with a counter of the lock calls. */
export const countingLocks = Layer.effect(
  DraftsRepo,
  Effect.gen(function* () {
    const drafts = yield* DraftsRepo
    const calls = yield* LockCalls
    return {
      ...drafts,
      // A transaction locks first with summaries. It may lock the summarized variants later, which is no repetition.
      lock: (accountId, owners, references, others) =>
        Effect.zipRight(
          Ref.update(calls, (count) => count + (others === "summarized" ? 1 : 0)),
          drafts.lock(accountId, owners, references, others)
        )
    } satisfies Context.Tag.Service<DraftsRepo>
  })
)
