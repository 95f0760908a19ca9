import { Effect, Option } from "effect"
import { afterCommit } from "../database/CommitHooks.ts"
import { Transaction } from "../database/Transaction.ts"
import { CatalogChange, type LockedCatalog } from "../drafts/CatalogChange.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { type DropId, type EntityId, nilUuid, PublicationId, type StoreId } from "../model/Ids.ts"
import { cancelledCode, type PublishError } from "../model/PublishState.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { includedIds } from "./PublicationContent.ts"
import type { FailuresBefore, OpenPublication } from "./PublicationRecord.ts"
import { PublicationsRepo } from "./PublicationsRepo.ts"
import type { PublishSignal } from "./PublishSignal.ts"
import { makeSavePublishStates, toPublishEvents } from "./PublishStateChanges.ts"

const cancelled: PublishError = { code: cancelledCode, message: "The publish was cancelled before it was sent." }

/** No publication has this id. */
export const nilPublication = PublicationId.make(nilUuid)

/**
 * `isAlready`: nothing waited, because the last publish was cancelled before. `isOfDrop`: a cancelled publish was the start of a drop, which
 * takes its values out of the drafts. `hasDraft`: the entity has a draft that is not published, apart from the values of a drop.
 */
export interface CancelOutcome {
  readonly isAlready: boolean
  readonly isOfDrop: boolean
  readonly hasDraft: boolean
}

export const waitsWithAnother =
  "it is published together with another record, such as its product: cancel the publish of that one"

export const nothingWaits = "no publish to this store waits: there is nothing to cancel"

/** Why a publication cannot be cancelled; undefined: it certainly has not reached the store. */
const whyUncancellable = ({ content, dropId, isClaimed, outcomes }: OpenPublication): string | undefined => {
  if (isClaimed) return "the publish is being sent at this moment: wait for its outcome, or try again"
  // The values before a drop are sent at its end, or after a start that failed: without them the store would keep a part of the drop.
  if (dropId !== null && !(content._tag === "Fields" && content.isTakenBack === true))
    return "the publish gives the store the values from before a drop: it cannot be cancelled"
  // An attempt that found the platform unavailable has changed nothing. The effect of all others is unknown.
  return outcomes.every((outcome) => outcome === "unavailable")
    ? undefined
    : "the publish may have reached the store, so it cannot be cancelled: it ends when the store's platform answers, then the draft can be changed and published again"
}

/** The entities to which the outcomes of publications are written. */
const entitiesOf = (open: ReadonlyArray<OpenPublication>) => [
  ...new Set(open.flatMap(({ content, entityId }) => [entityId, ...includedIds(content)]))
]

/** Ends the open publications of entities to a store, under the locks of all entities that they include. */
const makeCancelLocked = Effect.gen(function* () {
  const history = yield* HistoryRepo
  const repo = yield* PublicationsRepo
  const savePublishStates = yield* makeSavePublishStates

  /** Ends these publications. The versions get the state of the publish before. */
  const end = (storeId: StoreId, locked: LockedCatalog, open: ReadonlyArray<OpenPublication>) =>
    Effect.gen(function* () {
      const actor = yield* CurrentActor
      const { accountId } = actor
      const versionOf = (id: EntityId) =>
        locked.aggregates.get(id)?.versions.find((version) => version.storeId === storeId)
      yield* repo.cancel(
        accountId,
        open.map(({ id }) => id),
        cancelled
      )
      const entityIds = entitiesOf(open)
      const brought = yield* repo.broughtAgain(accountId, storeId, entityIds, nilPublication)
      const ownRequests = yield* repo.requestedAgain(accountId, storeId, entityIds, nilPublication)
      // The oldest of the publications knows the state before all of them. The history has no outcome of a refresh.
      const known = Object.assign({}, ...open.map(({ failuresBefore }) => failuresBefore).reverse()) as FailuresBefore
      const unknown = entityIds.filter((id) => !Object.hasOwn(known, id))
      const failures = yield* repo.lastFailures(accountId, storeId, unknown)
      // Another publication saves an outcome of the entity, as after a failure.
      const staysPending = (id: EntityId) =>
        ownRequests.has(id) || (brought.get(id)?.isIncluded === true && versionOf(id)?.accepted === null)
      const by = yield* history.nameOf(actor)
      yield* savePublishStates(
        accountId,
        locked,
        entityIds
          .filter((id) => versionOf(id) !== undefined && !staysPending(id))
          .flatMap((id) => {
            const error = known[id] ?? failures.get(id)
            return [
              ...(brought.has(id) ? [CatalogChange.MarkMayBeLive({ entityId: id, storeId })] : []),
              error === undefined
                ? CatalogChange.CancelPublish({ entityId: id, storeId })
                : CatalogChange.RefusePublish({ entityId: id, storeId, error })
            ]
          }),
        history.recordPublishes(
          accountId,
          by,
          null,
          open.flatMap((each) =>
            toPublishEvents(
              { ...each, storeId },
              [each.entityId, ...includedIds(each.content)].filter((id) => locked.aggregates.has(id)),
              "publish_failed",
              cancelled
            )
          )
        )
      )
    })

  /** `lockedIds`: the entities that are locked. Undefined: a request that was made since includes others. `until`: as for `lockOpen`. */
  return (
    entityIds: ReadonlyArray<EntityId>,
    storeId: StoreId,
    until: Timestamp | null,
    locked: LockedCatalog,
    lockedIds: ReadonlyArray<EntityId>
  ) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      const open = yield* repo.lockOpen(accountId, entityIds, storeId, until)
      if (entitiesOf(open).some((id) => !lockedIds.includes(id))) return undefined
      const kept = new Map(
        open.flatMap((each) => {
          const why = whyUncancellable(each)
          return why === undefined ? [] : [[each.entityId, why] as const]
        })
      )
      const ended = open.filter(({ entityId }) => !kept.has(entityId))
      if (ended.length > 0) yield* end(storeId, locked, ended)
      return { kept, ended, newest: new Map(open.map(({ entityId, id }) => [entityId, id])) }
    })
})

/** Cancels open publications, if none of those of an entity can have reached the store. One that a process claims meanwhile is not cancelled. */
export const makePublishCancels = (signal: PublishSignal) =>
  Effect.gen(function* () {
    const cancelLocked = yield* makeCancelLocked
    const drafts = yield* DraftsRepo
    const importLock = yield* ImportLockRepo
    const repo = yield* PublicationsRepo
    const transaction = yield* Transaction

    const cancelBatch = (storeId: StoreId, entityIds: ReadonlyArray<EntityId>, until: Timestamp | null) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        if ((yield* importLock.share(accountId))._tag === "Some") return yield* new PimLocked()
        const lockedIds = [...new Set([...entityIds, ...(yield* repo.openEntities(accountId, entityIds, storeId))])]
        const locked = yield* drafts.lock(accountId, lockedIds, [])
        if (!locked.storeIds.includes(storeId)) return yield* new NotFound()
        const answer = yield* cancelLocked(entityIds, storeId, until, locked, lockedIds)
        return answer === undefined ? undefined : { ...answer, locked }
      })

    const cancelOne = (entityId: EntityId, storeId: StoreId) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        const answer = yield* cancelBatch(storeId, [entityId], null)
        if (answer === undefined) return undefined
        const { ended, kept, locked } = answer
        const version = locked.aggregates.get(entityId)?.versions.find((each) => each.storeId === storeId)
        if (version === undefined) return yield* new NotFound()
        const refusal = kept.get(entityId)
        if (refusal !== undefined) return yield* ValidationFailed.at("", refusal)
        const { pendingPublish } = version
        const outcome = (dropIds: ReadonlyArray<DropId | null>, isAlready: boolean): CancelOutcome => {
          const isOfDrop = dropIds.some((dropId) => dropId !== null)
          return { isAlready, isOfDrop, hasDraft: pendingPublish && dropIds.includes(null) }
        }
        if (ended.length > 0)
          return outcome(
            ended.map(({ dropId }) => dropId),
            false
          )
        const others = yield* repo.broughtAgain(accountId, storeId, [entityId], nilPublication)
        if (others.get(entityId)?.isIncluded === true) return yield* ValidationFailed.at("", waitsWithAnother)
        const before = yield* repo.lastCancelled(accountId, entityId, storeId)
        if (Option.isNone(before)) return yield* ValidationFailed.at("", nothingWaits)
        return outcome([before.value.dropId], true)
      })

    return {
      /**
       * Cancels the publishes of an entity to a store that wait and were not sent. Its drafts stay, and can be published again. If the last
       * publish was cancelled already, nothing changes.
       *
       * NotFound: the entity or the store does not exist, or the entity is not on the store. ValidationFailed: no publish waits, or one may
       * have reached the store, or gives it the values from before a drop. PimLocked: an import locks the account.
       */
      cancel: Effect.fn("Publishing.cancel")((entityId: EntityId, storeId: StoreId) =>
        Effect.repeat(transaction.run(cancelOne(entityId, storeId)), {
          until: (outcome): outcome is CancelOutcome => outcome !== undefined
        }).pipe(Effect.zipLeft(afterCommit(signal.notify)))
      ),
      /**
       * Cancels the publishes of these entities to a store that were requested until a time, for a job. `kept`: the entities whose publishes
       * go on, and why. `newest`: the newest of the publishes of each entity. Undefined: try again, because the entities of a publish have
       * changed meanwhile.
       *
       * NotFound: no such store. PimLocked: as for `cancel`.
       */
      cancelEach: Effect.fn("Publishing.cancelEach")(
        (storeId: StoreId, entityIds: ReadonlyArray<EntityId>, until: Timestamp) =>
          Effect.zipLeft(cancelBatch(storeId, entityIds, until), afterCommit(signal.notify))
      )
    }
  })
