import { Effect, Either, Option } from "effect"
import type { Aggregate, VersionState } from "../catalog/Aggregate.ts"
import { afterCommit } from "../database/CommitHooks.ts"
import { Transaction } from "../database/Transaction.ts"
import { CatalogChange, type Locked } from "../drafts/CatalogChange.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import type { HistoryActor } from "../drafts/History.ts"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { type Attributes, type EntityKind, typeOf } from "../model/Attribute.ts"
import { NotFound, PimLocked, RevisionConflict, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, type DropId, type EntityId, PublicationId, type StoreId } from "../model/Ids.ts"
import type { Store } from "../model/Store.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import {
  findProductsWithoutPlatformId,
  includedIds,
  isSameContent,
  type KnownVersion,
  type PublicationContent,
  pinDraft,
  toRepublishedContent
} from "./PublicationContent.ts"
import { type NewPublication, PublicationsRepo } from "./PublicationsRepo.ts"
import type { PublishSignal } from "./PublishSignal.ts"
import { makeSavePublishStates, toPublishEvents } from "./PublishStateChanges.ts"

/** The answer to a publish request. `joined`: an equal request is still open, and its publication is returned. */
export type RequestAnswer =
  | { readonly outcome: "asked" | "joined"; readonly publicationId: PublicationId; readonly draftRevision: number }
  | { readonly outcome: "nothing_to_publish"; readonly draftRevision: number }

export type RequestRefusal = NotFound | ValidationFailed | PimLocked | RevisionConflict

interface RequestOptions {
  /** The draft revision that the caller has seen. */
  readonly draftRevision?: number | undefined
  readonly dropId?: DropId | undefined | null
  /** Publish even if the store has accepted the draft already. */
  readonly isAgain?: boolean | undefined
}

interface Target {
  readonly entityId: EntityId
  readonly storeId: StoreId
}

/** The entity of a request and what it refers to, read under the locks of the transaction. */
interface LockedTarget {
  readonly locked: Locked
  readonly aggregate: Aggregate
  readonly version: VersionState
  /** Store versions of a collection's products. */
  readonly members: ReadonlyMap<EntityId, KnownVersion>
}

export const refuseWithoutPlatform = ({ domain }: Store) =>
  ValidationFailed.at("store_id", `${domain} has no platform: nothing can be published to it`)

/**
 * Locks the entity of a request with `related` and reads them. None: the gallery has media that `related` misses; locking
 * them now would break the order of locks.
 */
const makeLockTarget = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const repo = yield* PublicationsRepo
  const stores = yield* StoresRepo

  return (accountId: AccountId, { entityId, storeId }: Target, related: ReadonlyArray<EntityId>) =>
    Effect.gen(function* () {
      const store = Option.getOrUndefined(yield* stores.find(accountId, storeId))
      const locked = yield* drafts.lock(accountId, [entityId, ...related], [])
      if (store === undefined) return yield* new NotFound()
      const aggregate = locked.aggregates.get(entityId)
      const version = aggregate?.versions.find((each) => each.storeId === storeId)
      if (aggregate === undefined || version === undefined) return yield* new NotFound()
      if (aggregate.gallery.some(({ mediaId }) => !locked.aggregates.has(mediaId))) return Option.none<LockedTarget>()
      if (store.platform === "none") return yield* refuseWithoutPlatform(store)
      const members = yield* repo.known(accountId, storeId, aggregate.members)
      return Option.some<LockedTarget>({ locked, members, aggregate, version })
    })
})

/** Saves the publication of a request, preceded by those of products that must get their platform id first. */
const makeSaveRequest = Effect.gen(function* () {
  const faults = yield* FaultInjector
  const history = yield* HistoryRepo
  const repo = yield* PublicationsRepo
  const savePublishStates = yield* makeSavePublishStates

  const toRepublication = (
    { entityId, storeId }: Target,
    locked: Locked,
    by: HistoryActor,
    dropId: DropId | null
  ): Effect.Effect<NewPublication> =>
    Effect.map(mintId(PublicationId), (id) => ({
      id,
      entityId,
      storeId,
      draftRevision: locked.revisions.get(entityId) ?? 0,
      brings: [entityId],
      content: toRepublishedContent("product"),
      actor: by,
      dropId
    }))

  return (
    { aggregate, locked }: LockedTarget,
    { entityId, storeId }: Target,
    content: PublicationContent,
    withoutPlatformId: ReadonlyArray<EntityId>,
    dropId: DropId | null
  ) =>
    Effect.gen(function* () {
      const actor = yield* CurrentActor
      const { accountId } = actor
      const by = yield* history.nameOf(actor)
      const publishedIds = [
        entityId,
        ...includedIds(content).filter((id) => locked.aggregates.get(id)?.storeIds.includes(storeId))
      ]
      const republications: Array<NewPublication> = []
      for (const id of withoutPlatformId)
        if (Option.isNone(yield* repo.newest(accountId, id, storeId)))
          republications.push(yield* toRepublication({ entityId: id, storeId }, locked, by, dropId))
      const product = aggregate.parentId === null ? [] : [aggregate.parentId]
      const publication: NewPublication = {
        id: yield* mintId(PublicationId),
        entityId,
        storeId,
        draftRevision: locked.revisions.get(entityId) ?? 0,
        // The product of a variant is written together with it, and products without a platform id must get one before.
        brings: [...new Set([...publishedIds, ...product, ...withoutPlatformId])],
        content,
        actor: by,
        dropId
      }
      const events = [
        ...republications.flatMap((each) => toPublishEvents(each, [each.entityId], "publish_asked")),
        ...toPublishEvents(publication, publishedIds, "publish_asked")
      ]
      yield* savePublishStates(
        accountId,
        locked,
        [...republications.map((each) => each.entityId), ...publishedIds].map((id) =>
          CatalogChange.RequestPublish({ entityId: id, storeId })
        ),
        Effect.gen(function* () {
          yield* Effect.forEach([...republications, publication], (each) => repo.insert(accountId, each))
          yield* history.recordPublishes(accountId, by, dropId, events)
          yield* faults.at("asking")
        })
      )
      return publication.id
    })
})

/** Whether a draft equals what the store has accepted, with nothing else to publish along with it. */
const isPublished = (content: PublicationContent, { lastPublishStatus, pendingPublish }: VersionState) =>
  content._tag === "Draft" && lastPublishStatus === "published" && !pendingPublish && includedIds(content).length === 0

/** Handles one request in one transaction: the versions become pending and the publication is inserted, or neither. */
const makeRequest = (signal: PublishSignal) =>
  Effect.gen(function* () {
    const faults = yield* FaultInjector
    const importLock = yield* ImportLockRepo
    const lockTarget = yield* makeLockTarget
    const repo = yield* PublicationsRepo
    const saveRequest = yield* makeSaveRequest
    const transaction = yield* Transaction

    return (
      target: Target,
      { draftRevision, dropId = null, isAgain = false }: RequestOptions,
      toContent: (lockedTarget: LockedTarget) => Either.Either<PublicationContent, NotFound | ValidationFailed>
    ) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        const { entityId, storeId } = target

        const answerUnderLocks = (related: ReadonlyArray<EntityId>) =>
          Effect.gen(function* () {
            const importHolder = yield* importLock.share(accountId)
            const lockedTarget = yield* lockTarget(accountId, target, related)
            if (Option.isNone(lockedTarget)) return Option.none<RequestAnswer>()
            const { aggregate, locked, members, version } = lockedTarget.value
            const content = yield* toContent(lockedTarget.value)
            const withoutPlatformId = findProductsWithoutPlatformId(locked, aggregate, storeId, members)
            if (withoutPlatformId.some((id) => !locked.aggregates.has(id))) return Option.none<RequestAnswer>()
            if (Option.isSome(importHolder)) return yield* new PimLocked()
            const currentRevision = locked.revisions.get(entityId) ?? 0
            if (draftRevision !== undefined && draftRevision !== currentRevision)
              return yield* new RevisionConflict({ entityId, currentRevision })
            const open = yield* repo.newest(accountId, entityId, storeId)
            if (Option.isSome(open) && isSameContent(open.value.content, content))
              return Option.some<RequestAnswer>({
                outcome: "joined",
                publicationId: open.value.id,
                draftRevision: currentRevision
              })
            if (Option.isNone(open) && !isAgain && isPublished(content, version))
              return Option.some<RequestAnswer>({ outcome: "nothing_to_publish", draftRevision: currentRevision })
            const publicationId = yield* saveRequest(lockedTarget.value, target, content, withoutPlatformId, dropId)
            return Option.some<RequestAnswer>({ outcome: "asked", publicationId, draftRevision: currentRevision })
          })

        // Entities to lock are read before the transaction, so that all locks are taken in one order. The request starts
        // over when one was missing.
        const answer = yield* Effect.repeat(
          Effect.flatMap(repo.besides(accountId, entityId, storeId), (related) =>
            transaction.run(answerUnderLocks(related))
          ),
          { until: Option.isSome }
        )
        if (Option.isNone(answer)) return yield* new NotFound()
        yield* faults.at("asked")
        yield* afterCommit(signal.notify)
        return answer.value
      })
  })

/** New values by key, typed as the first of these layers that has the key. */
const toAttributes = (
  kind: EntityKind,
  values: Readonly<Record<string, string | null>>,
  layers: ReadonlyArray<Attributes>
): Attributes =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, { value: value ?? "", type: typeOf(kind, key, layers) }])
  )

/** Makes the requests that publish one entity to one store: its draft, or new values over the accepted ones. */
export const makePublishRequests = (signal: PublishSignal) =>
  Effect.map(makeRequest(signal), (request) => ({
    requestDraft: (entityId: EntityId, storeId: StoreId, draftRevision?: number, isAgain?: boolean) =>
      request({ entityId, storeId }, { draftRevision, isAgain }, ({ locked, members }) =>
        pinDraft(locked, entityId, storeId, members)
      ),
    requestValues: (
      entityId: EntityId,
      storeId: StoreId,
      values: Readonly<Record<string, string | null>>,
      dropId?: DropId
    ) =>
      request({ entityId, storeId }, { dropId }, ({ aggregate, version: { accepted, overrides } }) =>
        accepted === null
          ? Either.left(
              ValidationFailed.at(
                "entity_id",
                `the ${aggregate.kind} was never published to this store: publish it first`
              )
            )
          : Either.right({
              _tag: "Fields",
              kind: aggregate.kind,
              productId: aggregate.parentId,
              fields: toAttributes(aggregate.kind, values, [accepted.attributes, overrides, aggregate.attributes]),
              values: null
            })
      )
  }))

export type PublishRequests = Effect.Effect.Success<ReturnType<typeof makePublishRequests>>
