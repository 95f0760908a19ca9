import { Effect } from "effect"
import { afterCommit } from "../database/CommitHooks.ts"
import { Transaction } from "../database/Transaction.ts"
import { CatalogChange } from "../drafts/CatalogChange.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { type EntityId, nilUuid, PublicationId, type StoreId } from "../model/Ids.ts"
import { cancelledCode, type PublishError } from "../model/PublishState.ts"
import { includedIds } from "./PublicationContent.ts"
import type { OpenPublication } from "./PublicationRecord.ts"
import { PublicationsRepo } from "./PublicationsRepo.ts"
import type { PublishSignal } from "./PublishSignal.ts"
import { makeSavePublishStates, toPublishEvents } from "./PublishStateChanges.ts"

const cancelled: PublishError = { code: cancelledCode, message: "The publish was cancelled before it was sent." }

/** No publication has this id. */
const nilPublication = PublicationId.make(nilUuid)

const waitsWithAnother =
  "it is published together with another record, such as its product: cancel the publish of that one"

const nothingWaits = "no publish to this store waits: there is nothing to cancel"

/** Why a publication cannot be cancelled; undefined: it certainly has not reached the store. */
const whyUncancellable = ({ content, dropId, isClaimed, outcomes }: OpenPublication): string | undefined => {
  if (isClaimed) return "the publish is being sent at this moment: wait for its outcome, or try again"
  // The values before a drop are sent at its end, or after a start that failed: without them the store would keep a part of the drop.
  if (dropId !== null && !(content._tag === "Fields" && content.isTakenBack === true))
    return "the publish gives the store the values from before a drop: it cannot be cancelled"
  // An attempt that found the platform unavailable has changed nothing. After all others nobody knows.
  return outcomes.every((outcome) => outcome === "unavailable")
    ? undefined
    : "the publish may have reached the store, so it cannot be cancelled: it ends when the store's platform answers, then the draft can be changed and published again"
}

/**
 * Cancels the open publications of an entity to a store, if none of them can have reached it. The versions get the state of the publish
 * before. A publication that a process claims at the same moment is not cancelled.
 */
export const makeCancelPublish = (signal: PublishSignal) =>
  Effect.gen(function* () {
    const drafts = yield* DraftsRepo
    const history = yield* HistoryRepo
    const importLock = yield* ImportLockRepo
    const repo = yield* PublicationsRepo
    const savePublishStates = yield* makeSavePublishStates
    const transaction = yield* Transaction

    const cancelLocked = (entityId: EntityId, storeId: StoreId, expected: ReadonlyArray<EntityId>) =>
      Effect.gen(function* () {
        const actor = yield* CurrentActor
        const { accountId } = actor
        if ((yield* importLock.share(accountId))._tag === "Some") return yield* new PimLocked()
        const locked = yield* drafts.lock(accountId, expected, [])
        const versionOf = (id: EntityId) =>
          locked.aggregates.get(id)?.versions.find((version) => version.storeId === storeId)
        if (versionOf(entityId) === undefined || !locked.storeIds.includes(storeId)) return yield* new NotFound()
        const open = yield* repo.lockOpen(accountId, entityId, storeId)
        const [first] = open
        if (first === undefined) {
          const others = yield* repo.broughtAgain(accountId, storeId, [entityId], nilPublication)
          return yield* ValidationFailed.at(
            "",
            others.get(entityId)?.isIncluded === true ? waitsWithAnother : nothingWaits
          )
        }
        const entityIds = [...new Set([entityId, ...open.flatMap(({ content }) => includedIds(content))])]
        // A request that was made since includes entities that are not locked.
        if (entityIds.some((id) => !expected.includes(id))) return false
        const refusal = open.map(whyUncancellable).find((why) => why !== undefined)
        if (refusal !== undefined) return yield* ValidationFailed.at("", refusal)
        const ids = open.map(({ id }) => id)
        yield* repo.cancel(accountId, ids, cancelled)
        const brought = yield* repo.broughtAgain(accountId, storeId, entityIds, first.id)
        const ownRequests = yield* repo.requestedAgain(accountId, storeId, entityIds, first.id)
        const failures = yield* repo.lastFailures(accountId, storeId, entityIds)
        const onStore = entityIds.filter((id) => versionOf(id) !== undefined)
        // Another publication saves an outcome of the entity, as after a failure.
        const staysPending = (id: EntityId) =>
          ownRequests.has(id) || (brought.get(id)?.isIncluded === true && versionOf(id)?.accepted === null)
        const by = yield* history.nameOf(actor)
        yield* savePublishStates(
          accountId,
          locked,
          onStore
            .filter((id) => !staysPending(id))
            .flatMap((id) => {
              const error = failures.get(id)
              return [
                ...(brought.has(id) ? [CatalogChange.MarkMayBeLive({ entityId: id, storeId })] : []),
                error === undefined
                  ? CatalogChange.CancelPublish({ entityId: id, storeId })
                  : CatalogChange.RefusePublish({ entityId: id, storeId, error })
              ]
            }),
          Effect.forEach(
            open,
            (each) =>
              history.recordPublishes(
                accountId,
                by,
                null,
                toPublishEvents(
                  { ...each, entityId, storeId },
                  [entityId, ...includedIds(each.content)].filter((id) => locked.aggregates.has(id)),
                  "publish_failed",
                  cancelled
                )
              ),
            { discard: true }
          )
        )
        return true
      })

    return (entityId: EntityId, storeId: StoreId) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        yield* Effect.repeat(
          Effect.flatMap(repo.openEntities(accountId, entityId, storeId), (ids) =>
            transaction.run(cancelLocked(entityId, storeId, [...new Set([entityId, ...ids])]))
          ),
          { until: (isDone) => isDone }
        )
        yield* afterCommit(signal.notify)
      })
  })
