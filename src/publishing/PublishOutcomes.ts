import { Duration, Effect, Random } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { CatalogChange, type LockedCatalog } from "../drafts/CatalogChange.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { type EntityId, PublicationId, type StoreId } from "../model/Ids.ts"
import { isDelayed, type PublishError } from "../model/PublishState.ts"
import type { PlatformOutcomeUnknown, PlatformUnavailable } from "../platform/PlatformErrors.ts"
import type { Published } from "../platform/Publication.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { metrics } from "../telemetry/Metrics.ts"
import type { FailedAttempt } from "./FailedAttempts.ts"
import { acceptFormerValue } from "./FirstOption.ts"
import type { AttemptEnd, ClaimedPublication, SilentPublication } from "./PublicationClaim.ts"
import {
  includedIds,
  type PublicationContent,
  type Push,
  toFollowingContents,
  toTakenBackContent
} from "./PublicationContent.ts"
import { type AttemptError, type AttemptOutcome, type PublishAttempt, toShownError } from "./PublicationRecord.ts"
import { type NewPublication, PublicationsRepo } from "./PublicationsRepo.ts"
import { countAttempts, interrupted, outcomeUnknown, toDelayedError, wasDelayed } from "./PublishFailures.ts"
import type { PublishingOptions } from "./PublishingOptions.ts"
import { makeSavePublishStates, toPublishEvents } from "./PublishStateChanges.ts"
import { loseGonePictures } from "./VariantPicture.ts"

/**
 * The final outcome of a publication. `entityIds`: the entities that failed together. `isPartlyWritten`: the store has taken a part of
 * the values.
 */
type PublicationOutcome =
  | { readonly _tag: "Published"; readonly push: Push; readonly published: Published }
  | {
      readonly _tag: "Failed"
      readonly entityIds: ReadonlyArray<EntityId>
      readonly error: PublishError
      readonly isPartlyWritten?: boolean
    }

/** The codes of failures after which it is not known whether the store has taken values. */
const unknownCodes: ReadonlySet<string> = new Set([outcomeUnknown, interrupted])

/** The outcomes of earlier attempts after which it is not known either, although a later attempt may have failed for another reason. */
const unknownOutcomes: ReadonlySet<AttemptOutcome> = new Set(["unknown", "interrupted", "lost"])

/** Whether the store may have taken values of a failed publication. */
const mayHaveWritten = (outcome: PublicationOutcome, earlier: ReadonlyArray<PublishAttempt>) =>
  outcome._tag === "Failed" &&
  (outcome.isPartlyWritten === true ||
    unknownCodes.has(outcome.error.code) ||
    earlier.some((attempt) => attempt.outcome !== null && unknownOutcomes.has(attempt.outcome)))

/**
 * The changes of store versions that an outcome causes. `staysPending`: another publication will save an outcome of the entity.
 * `isOnStore`: false for entities that were removed from the store meanwhile. They are left out.
 */
const toChanges = (
  outcome: PublicationOutcome,
  storeId: StoreId,
  isOnStore: (id: EntityId) => boolean,
  staysPending: (id: EntityId) => boolean,
  mayBeLive: (id: EntityId) => boolean
): ReadonlyArray<CatalogChange> =>
  outcome._tag === "Failed"
    ? outcome.entityIds
        .filter(isOnStore)
        .flatMap((entityId) => [
          ...(mayBeLive(entityId) ? [CatalogChange.MarkMayBeLive({ entityId, storeId })] : []),
          ...(staysPending(entityId) ? [] : [CatalogChange.RefusePublish({ entityId, storeId, error: outcome.error })])
        ])
    : [
        ...outcome.push.accepted
          .filter(({ entityId }) => isOnStore(entityId))
          .map(({ entityId, values }) =>
            CatalogChange.AcceptPinned({ entityId, storeId, values, isRequestedAgain: staysPending(entityId) })
          ),
        ...[...outcome.published.platformIds]
          .filter(([id]) => isOnStore(id))
          .map(([entityId, platformId]) => CatalogChange.Identify({ entityId, storeId, platformId }))
      ]

/**
 * The publications that follow an ended one, on behalf of the same actor: of entities that it left out, and of the values before it if
 * `isUncertain`: the store may have taken some of its values. A newer request of such an entity takes their place.
 */
const toFollowing = (
  { actor, dropId, draftRevision, entityId, storeId }: ClaimedPublication,
  content: PublicationContent,
  leftOut: ReadonlyArray<EntityId>,
  locked: LockedCatalog,
  isUncertain: boolean
): Effect.Effect<ReadonlyArray<NewPublication>> => {
  const takenBack = isUncertain ? toTakenBackContent(content) : undefined
  return Effect.forEach(
    [
      ...toFollowingContents(content, leftOut, locked, storeId),
      ...(takenBack === undefined ? [] : [{ entityId, draftRevision, content: takenBack }])
    ],
    (following) =>
      Effect.map(mintId(PublicationId), (id) => ({
        ...following,
        id,
        storeId,
        // A variant is written together with its product.
        entityIds: [...new Set([following.entityId, following.content.productId ?? following.entityId])],
        actor,
        dropId,
        // The job counts only the outcome of the publish that it requested, not of the ones that follow it.
        jobId: null,
        error: null,
        failuresBefore: null
      }))
  )
}

/** Ends a publication: saves its outcome, the publish states of its entities and their history. Returns the failure that it has saved. */
export const makeFinishPublication = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const faults = yield* FaultInjector
  const history = yield* HistoryRepo
  const importLock = yield* ImportLockRepo
  const repo = yield* PublicationsRepo
  const savePublishStates = yield* makeSavePublishStates
  const transaction = yield* Transaction

  /** Saves the outcome. False: another process has claimed the publication, or the store was unlinked. */
  const saveOutcome = (
    claimed: ClaimedPublication,
    content: PublicationContent,
    end: AttemptEnd,
    outcome: PublicationOutcome
  ) =>
    Effect.gen(function* () {
      const { accountId, actor, dropId, entityId, id, storeId } = claimed
      const isFailed = outcome._tag === "Failed"
      const error = isFailed ? outcome.error : (outcome.published.notDone ?? outcome.push.notDone ?? null)
      const entityIds = isFailed ? outcome.entityIds : outcome.push.accepted.map((each) => each.entityId)
      const identifiedIds = isFailed ? [] : [...outcome.published.platformIds.keys()]
      // The import lock keeps imports from being applied meanwhile. It is shared, so an import under review does not block this.
      yield* importLock.shareDuringImport(accountId)
      const leftOut = includedIds(content).filter((each) => !entityIds.includes(each))
      const ids = [...new Set([entityId, ...entityIds, ...identifiedIds, ...leftOut])]
      const locked = yield* drafts.lock(accountId, ids, [])
      if (!locked.storeIds.includes(storeId)) {
        // The store was unlinked. The publication waits until the store is linked again; the next attempt then reads it back.
        yield* repo.giveBack(claimed)
        return false
      }
      const isStillClaimed = yield* repo.finish(claimed, end, isFailed ? "failed" : "published", error)
      if (!isStillClaimed) return false
      const requestedAgain = yield* repo.requestedAgain(accountId, storeId, [...entityIds, ...leftOut], id)
      const earlier = isFailed && claimed.attempts > 1 ? yield* repo.attempts(accountId, id) : []
      const isUncertain = mayHaveWritten(outcome, earlier)
      const brought = isFailed
        ? yield* repo.broughtAgain(accountId, storeId, entityIds, id)
        : new Map<EntityId, { readonly isIncluded: boolean }>()
      const following = (yield* toFollowing(claimed, content, leftOut, locked, isUncertain)).filter(
        (each) => !requestedAgain.has(each.entityId)
      )
      const versionOf = (id: EntityId) =>
        locked.aggregates.get(id)?.versions.find((version) => version.storeId === storeId)
      const isOnStore = (id: EntityId) => versionOf(id) !== undefined
      // While the store was unlinked, an entity that the publication includes may have been deleted.
      const isThere = (id: EntityId) => locked.aggregates.has(id)
      // A publication leaves out an included entity whose values the store has accepted meanwhile.
      const staysPending = (id: EntityId) =>
        requestedAgain.has(id) || (brought.get(id)?.isIncluded === true && versionOf(id)?.accepted === null)
      // A publication that only depends on the entity saves no outcome of it, but may still bring it to the store.
      const mayBeLive = (id: EntityId) => isUncertain || (brought.has(id) && !staysPending(id))
      const { firstOption } = isFailed ? {} : outcome.published
      const gallery = isFailed
        ? undefined
        : outcome.push.accepted.find((each) => each.entityId === entityId && content.kind === "product")?.values.media
      const action = isFailed ? "publish_failed" : "published"
      yield* savePublishStates(
        accountId,
        locked,
        [
          ...toChanges(outcome, storeId, isOnStore, staysPending, mayBeLive),
          ...(firstOption === undefined
            ? []
            : acceptFormerValue(locked.aggregates, content.productId ?? entityId, storeId, firstOption, entityIds)),
          ...(gallery === undefined
            ? []
            : loseGonePictures(locked.aggregates.values(), entityId, storeId, gallery, entityIds)),
          ...following.map((each) => CatalogChange.RequestPublish({ entityId: each.entityId, storeId }))
        ],
        Effect.gen(function* () {
          yield* Effect.forEach(following, (each) => repo.insert(accountId, each))
          // Entities that were left out have their request in the history already.
          const takenBack = following.filter((each) => each.entityId === entityId)
          yield* history.recordPublishes(accountId, actor, dropId, [
            ...toPublishEvents({ ...claimed, content }, entityIds.filter(isThere), action, error).map((event) =>
              // What the store did not do concerns only the record of this entity.
              isFailed || event.entityId === entityId ? event : { ...event, error: null }
            ),
            ...takenBack.flatMap((each) => toPublishEvents(each, [entityId], "publish_asked"))
          ])
          yield* faults.at("settling")
        })
      )
      return true
    })

  return (claimed: ClaimedPublication, content: PublicationContent, end: AttemptEnd, outcome: PublicationOutcome) =>
    transaction.run(saveOutcome(claimed, content, end, outcome)).pipe(
      Effect.tap((isSaved) => Effect.sync(() => isSaved && metrics.publishAttempts.of(end.outcome).add(1))),
      Effect.tap((isSaved) => (isSaved ? faults.at("settled") : Effect.void)),
      // The platform answers again, so the other delayed publishes of the store are tried at once. Only a publish that was tried
      // in the outage does this: it is tried again first, and each of the others would repeat the statement for nothing.
      Effect.tap((isSaved) =>
        isSaved && outcome._tag === "Published" && isDelayed(claimed.error) && claimed.givenBack > 0
          ? transaction.run(repo.hasten(claimed.accountId, claimed.storeId, null))
          : Effect.void
      ),
      Effect.map((isSaved): FailedAttempt | undefined =>
        isSaved && outcome._tag === "Failed" ? { error: outcome.error, nextSeconds: null } : undefined
      ),
      // The entities are locked and on the store. A change that is refused is therefore a defect.
      Effect.catchTags({ NotFound: Effect.die, ValidationFailed: Effect.die })
    )
})

/**
 * Makes the function that saves that the publish of these entities is delayed, in the state of their versions. `save` writes the
 * publication under the locks; false: it has ended, or another attempt holds it.
 */
const makeSaveDelayed = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const importLock = yield* ImportLockRepo
  const savePublishStates = yield* makeSavePublishStates

  return (
    { accountId, storeId }: Pick<ClaimedPublication, "accountId" | "storeId">,
    entityIds: ReadonlyArray<EntityId>,
    delayed: AttemptError,
    save: Effect.Effect<boolean>
  ) =>
    Effect.gen(function* () {
      const error = toShownError(delayed)
      yield* importLock.shareDuringImport(accountId)
      const locked = yield* drafts.lock(accountId, entityIds, [])
      if (!(yield* save)) return false
      const isOnStore = (id: EntityId) =>
        locked.aggregates.get(id)?.versions.some((version) => version.storeId === storeId)
      yield* savePublishStates(
        accountId,
        locked,
        entityIds.filter(isOnStore).map((entityId) => CatalogChange.DelayPublish({ entityId, storeId, error })),
        Effect.void
      )
      return true
    }).pipe(Effect.catchTags({ NotFound: Effect.die, ValidationFailed: Effect.die }))
})

/** Makes the function that saves why these publications to a store wait, which no attempt has tried. Returns the number of those that still wait. */
export const makeExplain = Effect.gen(function* () {
  const repo = yield* PublicationsRepo
  const saveDelayed = yield* makeSaveDelayed
  const transaction = yield* Transaction

  return (
    store: Pick<ClaimedPublication, "accountId" | "storeId">,
    publications: ReadonlyArray<SilentPublication>,
    error: PublishError
  ) =>
    Effect.map(
      Effect.filter(publications, ({ content, entityId, id }) =>
        transaction.run(
          saveDelayed(store, [entityId, ...includedIds(content)], error, repo.sayWhy(store.accountId, id, error))
        )
      ),
      (explained) => explained.length
    )
})

/** Maximum number of publications behind a delayed one that get its reason after one attempt. The next attempt continues. */
const maxBehind = 100

/** Makes the function that gives the reason of a delayed publication to those that it must run before. */
const makeExplainBehind = Effect.gen(function* () {
  const explain = yield* makeExplain
  const repo = yield* PublicationsRepo

  return (claimed: ClaimedPublication, error: PublishError) =>
    Effect.gen(function* () {
      const { accountId, storeId } = claimed
      let ahead = [claimed.id]
      for (let left = maxBehind; left > 0 && ahead.length > 0; left -= ahead.length) {
        const behind = yield* repo.silent(accountId, storeId, left, ahead)
        yield* explain(claimed, behind, error)
        ahead = behind.map(({ id }) => id)
      }
    })
})

/** The longest pause of an outage, in multiples of `longestDelay`. */
const outageFactor = 5

/** Ends attempts without an outcome. Both functions return the failure, unless another process has the claim. */
export const makePostponePublication = (options: PublishingOptions) =>
  Effect.gen(function* () {
    const explainBehind = yield* makeExplainBehind
    const faults = yield* FaultInjector
    const repo = yield* PublicationsRepo
    const saveDelayed = yield* makeSaveDelayed
    const transaction = yield* Transaction
    const longest = Duration.toSeconds(options.longestDelay)

    const growing = (attempts: number) => Duration.toSeconds(options.firstDelay) * 2 ** (attempts - 1)

    const end = (
      save: (delaySeconds: number) => Effect.Effect<boolean>,
      outcome: AttemptOutcome,
      error: PublishError,
      maxSeconds: number
    ) =>
      Effect.gen(function* () {
        // At least half of the maximum: after an unknown outcome, the store needs time to finish its work.
        const delaySeconds = maxSeconds * (yield* Random.nextRange(0.5, 1))
        const isSaved = yield* transaction.run(save(delaySeconds))
        metrics.publishAttempts.of(outcome).add(1)
        yield* faults.at("postponed")
        return isSaved ? ({ error, nextSeconds: delaySeconds } satisfies FailedAttempt) : undefined
      })

    return {
      /** Delays the next attempt. */
      postpone: (claimed: ClaimedPublication, ended: AttemptEnd, error: PublishError) => {
        // While calls are paused, further attempts would be used up without a call.
        const maxSeconds = ended.reason === "suspended" ? longest : Math.min(longest, growing(countAttempts(claimed)))
        return end(
          (delaySeconds) => repo.postpone(claimed, ended, error, delaySeconds),
          ended.outcome,
          error,
          maxSeconds
        )
      },
      /**
       * Delays the next attempt because the store's whole platform does not answer, or takes no writes. This attempt does not count.
       * `isAlone`: only this publish waits. `entityIds`: the entities whose versions get the error.
       */
      delay: (
        claimed: ClaimedPublication,
        ended: AttemptEnd,
        failure: PlatformUnavailable | PlatformOutcomeUnknown,
        isAlone: boolean,
        entityIds: ReadonlyArray<EntityId>
      ) => {
        const error = toDelayedError(failure, isAlone, options)
        const pause = Math.max(growing(claimed.attempts), ended.reason === "suspended" ? longest : 0)
        const save = (delaySeconds: number) => {
          const saveAttempt = isAlone
            ? repo.postpone(claimed, ended, error, delaySeconds, { isCounted: false })
            : repo.meetOutage(claimed, ended, error, delaySeconds)
          // Only once for each limit, because the versions keep the error, and each write takes locks.
          return wasDelayed(claimed, isAlone) ? saveAttempt : saveDelayed(claimed, entityIds, error, saveAttempt)
        }
        return Effect.tap(end(save, ended.outcome, error, Math.min(outageFactor * longest, pause)), (saved) =>
          saved === undefined ? Effect.void : explainBehind(claimed, toShownError(error))
        )
      }
    }
  })
