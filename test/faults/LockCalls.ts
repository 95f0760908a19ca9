import { Context, Effect, Layer, Ref } from "effect"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"

/** How often a transaction asked for its locks: more than once when it lost to another and was run again. */
export class LockCalls extends Context.Tag("test/LockCalls")<LockCalls, Ref.Ref<number>>() {}

/** Drafts whose locks are counted. */
export const countingLocks = Layer.effect(
  DraftsRepo,
  Effect.gen(function* () {
    const drafts = yield* DraftsRepo
    const calls = yield* LockCalls
    return {
      ...drafts,
      lock: (...request) =>
        Effect.zipRight(
          Ref.update(calls, (count) => count + 1),
          drafts.lock(...request)
        )
    } satisfies Context.Tag.Service<DraftsRepo>
  })
)
