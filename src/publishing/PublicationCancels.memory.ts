import { Clock, Effect, Option, Ref } from "effect"
import { type MemoryState, updateAccount } from "../database/MemoryStore.memory.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import { cancelledCode } from "../model/PublishState.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { isOpen, isUntil, publicationsOf } from "./MemoryPublication.memory.ts"
import { includedIds } from "./PublicationContent.ts"
import { outcomeActions } from "./PublicationRecord.ts"
import type { PublicationCancels } from "./PublicationsRepo.ts"

/** Cancels publications. */
export const makePublicationCancels = (store: Ref.Ref<MemoryState>): PublicationCancels => {
  const openOf = (accountId: AccountId, storeId: StoreId, until: Timestamp | null) =>
    Effect.map(publicationsOf(store, accountId), (all) =>
      all.filter((each) => isOpen(each) && each.storeId === storeId && isUntil(each, until))
    )
  return {
    openEntities: (accountId, entityIds, storeId) =>
      Effect.map(openOf(accountId, storeId, null), (all) =>
        all.filter(({ entityId }) => entityIds.includes(entityId)).flatMap(({ content }) => includedIds(content))
      ),
    lockOpen: (accountId, entityIds, storeId, until) =>
      Effect.map(openOf(accountId, storeId, until), (all) =>
        all
          .filter(({ entityId }) => entityIds.includes(entityId))
          .map(({ attempts, claim, content, draftRevision, dropId, entityId, failuresBefore, id }) => ({
            id,
            entityId,
            draftRevision,
            content,
            dropId,
            isClaimed: claim !== null,
            failuresBefore,
            outcomes: attempts.map(({ outcome }) => outcome)
          }))
      ),
    openBefore: (accountId, storeId, until, before, entityIds, limit) =>
      Effect.gen(function* () {
        const all = yield* publicationsOf(store, accountId)
        const places = (yield* openOf(accountId, storeId, until)).map(({ entityId, id }) => ({
          sequence: all.findIndex((each) => each.id === id),
          id,
          entityId
        }))
        return places
          .reverse()
          .filter(({ sequence }) => before === null || sequence < before.sequence)
          .filter(({ entityId }) => entityIds === null || entityIds.includes(entityId))
          .slice(0, limit)
      }),
    lastCancelled: (accountId, entityId, storeId) =>
      Effect.map(publicationsOf(store, accountId), (all) =>
        Option.filter(
          Option.fromNullable(all.findLast((each) => each.entityId === entityId && each.storeId === storeId)),
          ({ error }) => error?.code === cancelledCode
        )
      ),
    cancel: (accountId, ids, error) =>
      Effect.flatMap(Clock.currentTimeMillis, (finishedAt) =>
        updateAccount(store, accountId, (account) => ({
          ...account,
          publications: account.publications.map((each) =>
            ids.includes(each.id) && isOpen(each) && each.claim === null
              ? { ...each, state: "failed" as const, finishedAt, error }
              : each
          ),
          outages: new Map(
            [...account.outages].map(([storeId, outage]) => {
              const isAlone = outage.metBy !== null && ids.includes(outage.metBy) && outage.error === null
              return [storeId, isAlone ? { ...outage, metBy: null } : outage]
            })
          )
        }))
      ),
    lastFailures: (accountId, storeId, ids) =>
      Effect.map(Ref.get(store), (state) => {
        const outcomes = (state.get(accountId)?.history ?? []).filter(
          ({ action, error, store_id }) =>
            store_id === storeId && outcomeActions.includes(action) && error?.code !== cancelledCode
        )
        return new Map(
          ids.flatMap((id) => {
            const last = outcomes.findLast(({ entityId }) => entityId === id)
            return last?.action === "publish_failed" && last.error !== null ? [[id, last.error] as const] : []
          })
        )
      })
  }
}
