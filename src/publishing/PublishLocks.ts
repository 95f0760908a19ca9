import { Effect } from "effect"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import type { AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { PublicationsRepo } from "./PublicationsRepo.ts"

/**
 * Locks all entities that these publish requests lock, in one order. A transaction of several requests does this first, so that
 * it cannot deadlock with other writers.
 */
export const makeLockTargets = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const publications = yield* PublicationsRepo

  return (accountId: AccountId, pairs: ReadonlyArray<{ readonly entityId: EntityId; readonly storeId: StoreId }>) =>
    Effect.gen(function* () {
      const related = yield* Effect.forEach(pairs, ({ entityId, storeId }) =>
        publications.related(accountId, entityId, storeId)
      )
      const ids = new Set([...pairs.map(({ entityId }) => entityId), ...related.flat()])
      return yield* drafts.lock(accountId, [...ids], [])
    })
})
