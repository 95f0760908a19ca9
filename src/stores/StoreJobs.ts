import { Array as Arr, Effect, Option, Schema } from "effect"
import { emptyNote, joinNotes, noteOf } from "../drafts/ChangeNote.ts"
import { isEmpty, planDerivations } from "../drafts/ChangePlan.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { changesOfAll } from "../drafts/FeedChanges.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { anyKind, type StepResult, waitForImport } from "../jobs/JobKind.ts"
import type { AccountId } from "../model/Ids.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import { StoreJobHook } from "./StoreJobHook.ts"
import { StoresRepo } from "./StoresRepo.ts"

const Input = Schema.Struct({ storeId: StoreId })
export type StoreJobInput = typeof Input.Type

/** `Rows`: continue with the entities after `after`. `End`: all rows are done; the last step follows. */
const Cursor = Schema.Union(Schema.TaggedStruct("Rows", { after: EntityId }), Schema.TaggedStruct("End", {}))
type Cursor = typeof Cursor.Type

/** Number of products and collections to lock at once, together with the variants of the products. */
const ownersAtOnce = 100

/** The kinds of jobs that update the derived fields of a store's entities after it was linked again or unlinked. */
export const makeStoreJobKinds = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const importLock = yield* ImportLockRepo
  const repo = yield* StoresRepo
  const { onLinkEnded, onUnlinkEnded } = yield* StoreJobHook

  /** Updates the derived fields of the next entities. Null: there are no more. */
  const deriveNext = (accountId: AccountId, storeId: StoreId, after: EntityId | null, size: number) =>
    Effect.gen(function* () {
      const { entities, last, moved, stale } = yield* repo.refresh(accountId, storeId, after, size)
      const derived = yield* Effect.forEach(Arr.chunksOf(stale, ownersAtOnce), (owners) =>
        Effect.flatMap(drafts.lock(accountId, owners, []), (locked) => {
          const plan = planDerivations(locked)
          return isEmpty(plan)
            ? Effect.succeed(emptyNote)
            : Effect.as(drafts.save(accountId, plan), { ...noteOf(plan), moved: [] })
        })
      )
      const changes = moved.flatMap(({ ids, kind, to }) =>
        changesOfAll(to?.includes(storeId) ? "store_version.added" : "store_version.removed", kind, ids, storeId)
      )
      const note = joinNotes([{ ...emptyNote, changes, entities: moved.flatMap(({ ids }) => ids), moved }, ...derived])
      if (entities > 0) yield* drafts.raise(accountId, undefined, note)
      return { entities, last }
    })

  /** `end`: runs in the step after the last row. */
  const kindOf = (
    name: "store_link" | "store_unlink",
    end: (accountId: AccountId, storeId: StoreId) => Effect.Effect<void>
  ) =>
    anyKind({
      name,
      input: Input,
      cursor: Cursor,
      // The size grows while steps are short, and the next entities may cost more than those before. Writers wait for a step: with
      // at most 5,000 entities, one write of 36,686 waited 2.0 s.
      sizes: { first: 250, max: 1_000 },
      step: ({ accountId, cursor, input: { storeId }, size }) =>
        Effect.gen(function* (): Effect.fn.Return<StepResult<Cursor>> {
          if (cursor?._tag === "End") {
            yield* end(accountId, storeId)
            return { _tag: "Progress", cursor: null, done: 0 }
          }
          // All writers of the account share this lock, so they wait for at most one step. It keeps reviews from
          // starting, because a review requires that the entities do not change.
          if (Option.isSome(yield* importLock.take(accountId))) return waitForImport
          const { entities, last } = yield* deriveNext(accountId, storeId, cursor?.after ?? null, size)
          return {
            _tag: "Progress",
            cursor: last === null ? { _tag: "End" } : { _tag: "Rows", after: last },
            done: entities
          }
        })
    })

  return [
    kindOf("store_link", (accountId, storeId) =>
      Effect.zipRight(repo.completeLink(accountId, storeId), onLinkEnded(accountId))
    ),
    kindOf("store_unlink", onUnlinkEnded)
  ]
})
