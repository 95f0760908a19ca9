import { Duration, Effect, Random } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { CatalogChange } from "../drafts/CatalogChange.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { type EntityId, PublicationId, type StoreId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { Published } from "../platform/Publication.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { metrics } from "../telemetry/Metrics.ts"
import type { FailedAttempt } from "./FailedAttempts.ts"
import type { AttemptEnd, ClaimedPublication } from "./PublicationClaim.ts"
import { includedIds, type PublicationContent, type Push, toFollowingContents } from "./PublicationContent.ts"
import { type NewPublication, PublicationsRepo } from "./PublicationsRepo.ts"
import { countAttempts } from "./PublishFailures.ts"
import type { PublishingOptions } from "./PublishingOptions.ts"
import { makeSavePublishStates, toPublishEvents } from "./PublishStateChanges.ts"

/** The final outcome of a publication. `entityIds`: the entities that failed together. */
export type PublicationOutcome =
  | { readonly _tag: "Published"; readonly push: Push; readonly published: Published }
  | { readonly _tag: "Failed"; readonly entityIds: ReadonlyArray<EntityId>; readonly error: PublishError }

/**
 * The changes of store versions that an outcome causes. If a newer publish request exists, the version stays pending.
 * `isOnStore`: false for entities that were removed from the store meanwhile. They are left out.
 */
const toChanges = (
  outcome: PublicationOutcome,
  storeId: StoreId,
  isOnStore: (id: EntityId) => boolean,
  requestedAgain: ReadonlySet<EntityId>
): ReadonlyArray<CatalogChange> =>
  outcome._tag === "Failed"
    ? outcome.entityIds
        .filter((id) => isOnStore(id) && !requestedAgain.has(id))
        .map((id) => CatalogChange.RefusePublish({ entityId: id, storeId, error: outcome.error }))
    : [
        ...outcome.push.accepted
          .filter(({ entityId }) => isOnStore(entityId))
          .map(({ entityId, values }) =>
            CatalogChange.AcceptPinned({ entityId, storeId, values, isRequestedAgain: requestedAgain.has(entityId) })
          ),
        ...[...outcome.published.platformIds]
          .filter(([id]) => isOnStore(id))
          .map(([entityId, platformId]) => CatalogChange.Identify({ entityId, storeId, platformId }))
      ]

/** A publication that follows another one, on behalf of the same actor. */
const toFollowing = (
  { actor, dropId, storeId }: ClaimedPublication,
  { content, entityId }: ReturnType<typeof toFollowingContents>[number]
): Effect.Effect<NewPublication> =>
  Effect.map(mintId(PublicationId), (id) => ({
    id,
    entityId,
    storeId,
    draftRevision: content.revisions[entityId] ?? 0,
    // A variant is written together with its product.
    entityIds: content.productId === null ? [entityId] : [entityId, content.productId],
    content,
    actor,
    dropId
  }))

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
      const error = isFailed ? outcome.error : null
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
      const asked = leftOut.filter((each) => !requestedAgain.has(each))
      const following = yield* Effect.forEach(toFollowingContents(content, asked, locked, storeId), (each) =>
        toFollowing(claimed, each)
      )
      const isOnStore = (id: EntityId) => locked.aggregates.get(id)?.storeIds.includes(storeId) ?? false
      const action = isFailed ? "publish_failed" : "published"
      yield* savePublishStates(
        accountId,
        locked,
        [
          ...toChanges(outcome, storeId, isOnStore, requestedAgain),
          ...following.map((each) => CatalogChange.RequestPublish({ entityId: each.entityId, storeId }))
        ],
        Effect.gen(function* () {
          yield* Effect.forEach(following, (each) => repo.insert(accountId, each))
          yield* history.recordPublishes(
            accountId,
            actor,
            dropId,
            toPublishEvents({ ...claimed, content }, entityIds, action, error)
          )
          yield* faults.at("settling")
        })
      )
      return true
    })

  return (claimed: ClaimedPublication, content: PublicationContent, end: AttemptEnd, outcome: PublicationOutcome) =>
    transaction.run(saveOutcome(claimed, content, end, outcome)).pipe(
      Effect.tap((isSaved) => Effect.sync(() => isSaved && metrics.publishAttempts.of(end.outcome).add(1))),
      Effect.tap((isSaved) => (isSaved ? faults.at("settled") : Effect.void)),
      Effect.map((isSaved): FailedAttempt | undefined =>
        isSaved && outcome._tag === "Failed" ? { error: outcome.error, nextSeconds: null } : undefined
      ),
      // The entities are locked and on the store. A change that is refused is therefore a defect.
      Effect.catchTags({ NotFound: Effect.die, ValidationFailed: Effect.die })
    )
})

/** Ends an attempt without an outcome, and delays the next attempt. Returns the failure, unless another process has the claim. */
export const makePostponePublication = (options: PublishingOptions) =>
  Effect.gen(function* () {
    const faults = yield* FaultInjector
    const repo = yield* PublicationsRepo
    const transaction = yield* Transaction

    return (claimed: ClaimedPublication, end: AttemptEnd, error: PublishError) =>
      Effect.gen(function* () {
        const maxSeconds = Math.min(
          Duration.toSeconds(options.longestDelay),
          Duration.toSeconds(options.firstDelay) * 2 ** (countAttempts(claimed) - 1)
        )
        // At least half of the maximum: after an unknown outcome, the store needs time to finish its work.
        const delaySeconds = maxSeconds * (yield* Random.nextRange(0.5, 1))
        const isSaved = yield* transaction.run(repo.postpone(claimed, end, error, delaySeconds))
        metrics.publishAttempts.of(end.outcome).add(1)
        yield* faults.at("postponed")
        return isSaved ? ({ error, nextSeconds: delaySeconds } satisfies FailedAttempt) : undefined
      })
  })
