import { Effect, Either, Option } from "effect"
import type { Aggregate, VersionState } from "../catalog/Aggregate.ts"
import { afterCommit } from "../database/CommitHooks.ts"
import { Transaction } from "../database/Transaction.ts"
import { CatalogChange, type LockedCatalog } from "../drafts/CatalogChange.ts"
import { type Difference, differencesOf } from "../drafts/Difference.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import type { HistoryActor } from "../drafts/History.ts"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { type Attributes, type EntityKind, effective, titleOf, typeOf } from "../model/Attribute.ts"
import { NotFound, PimLocked, RevisionConflict, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, type DropId, type EntityId, type JobId, PublicationId, type StoreId } from "../model/Ids.ts"
import { delayOf } from "../model/PublishState.ts"
import { filesOnly, type Store } from "../model/Store.ts"
import { PlatformRegistry } from "../platform/PlatformRegistry.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { findOptionOfValues } from "./FirstOption.ts"
import {
  type FieldsContent,
  findProductsWithoutPlatformId,
  includedIds,
  isSameContent,
  type MemberVersion,
  type PublicationContent,
  pinDraft,
  toRepublishedContent
} from "./PublicationContent.ts"
import { type FailuresBefore, toShownError } from "./PublicationRecord.ts"
import { type NewestPublication, type NewPublication, PublicationsRepo } from "./PublicationsRepo.ts"
import type { PublishSignal } from "./PublishSignal.ts"
import { makeSavePublishStates, toPublishEvents } from "./PublishStateChanges.ts"

/** The part that all answers share. `title`: the canonical title. `waiting`: see `findWaiting`. */
interface AnswerHead {
  readonly title: string
  readonly draftRevision: number
  readonly waiting: ReadonlyArray<EntityId>
}

/**
 * The answer to a publish request. `joined`: an equal request is still open; the answer names its publication. `delay`: why that one waits
 * for the store's platform; null: it does not.
 */
export type RequestAnswer = AnswerHead &
  (
    | { readonly outcome: "requested"; readonly publicationId: PublicationId }
    | { readonly outcome: "joined"; readonly publicationId: PublicationId; readonly delay: string | null }
    | { readonly outcome: "nothing_to_publish" }
  )

/** The effect that a publish request would have now. `joined`: an equal request is open already. */
export interface PublishPreview extends AnswerHead {
  readonly outcome: "would_publish" | "joined" | "nothing_to_publish"
  /** Whether the store ever accepted the entity. */
  readonly isLive: boolean
  readonly differences: ReadonlyArray<Difference>
  /** Entities that would be published together with this one. */
  readonly included: ReadonlyArray<EntityId>
}

export type RequestRefusal = NotFound | ValidationFailed | PimLocked | RevisionConflict

interface RequestOptions {
  /** The draft revision that the caller has seen. If it is not the current one, the request is refused. */
  readonly draftRevision?: number | undefined
  readonly dropId?: DropId | undefined
  readonly jobId?: JobId | undefined
  /** Publish even if the store has accepted the draft already. */
  readonly isAgain?: boolean | undefined
  /** A worker requests the publish. This can be any process, so it may have no adapter for the platform. */
  readonly isInBackground?: boolean | undefined
}

interface Target {
  readonly entityId: EntityId
  readonly storeId: StoreId
}

/** The entity of a request and its related entities, read under the locks of the transaction. */
interface LockedTarget {
  readonly locked: LockedCatalog
  readonly aggregate: Aggregate
  readonly version: VersionState
  /** The products of a collection that are on the store. */
  readonly members: ReadonlyMap<EntityId, MemberVersion>
}

/** The reason why a publish to a store without a platform is refused. */
export const noPlatform = "has no platform: nothing can be published to it"

/** Returns why no process can publish to a store. Undefined: one that has an adapter for its platform can. */
export const whyNeverPublishable = ({ domain, platform }: Store): string | undefined =>
  platform === filesOnly ? `${domain} ${noPlatform}` : undefined

/** Returns why nothing can be published to a store from this process. Undefined: its platform can be called. */
export const makeWhyUnpublishable = Effect.map(PlatformRegistry, ({ whyMissing }) => (store: Store) => {
  const { domain, platform } = store
  const never = whyNeverPublishable(store)
  if (never !== undefined) return never
  const why = whyMissing(platform)
  return why === undefined ? undefined : `${domain} ${why}: nothing can be published to it`
})

/**
 * Reads the entity of a request and the `related` entities; `locks` says whether it locks them. None: the gallery has media that are
 * missing in `related`. The request must start over then, because locking these media now would break the order of locks.
 */
const makeReadTarget = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const repo = yield* PublicationsRepo
  const stores = yield* StoresRepo
  const whyUnpublishable = yield* makeWhyUnpublishable

  return (
    accountId: AccountId,
    { entityId, storeId }: Target,
    related: ReadonlyArray<EntityId>,
    { isInBackground, locks }: { readonly isInBackground: boolean; readonly locks: boolean }
  ) =>
    Effect.gen(function* () {
      const store = Option.getOrUndefined(yield* stores.find(accountId, storeId))
      const read = locks ? drafts.lock : drafts.read
      const locked = yield* read(accountId, [entityId, ...related], [])
      if (store === undefined) return yield* new NotFound()
      const aggregate = locked.aggregates.get(entityId)
      const version = aggregate?.versions.find((each) => each.storeId === storeId)
      if (aggregate === undefined || version === undefined) return yield* new NotFound()
      if (aggregate.gallery.some(({ mediaId }) => !locked.aggregates.has(mediaId))) return Option.none<LockedTarget>()
      const refusal = isInBackground ? whyNeverPublishable(store) : whyUnpublishable(store)
      if (refusal !== undefined) return yield* ValidationFailed.at("store_id", refusal)
      const members = yield* repo.memberVersions(accountId, storeId, aggregate.members)
      return Option.some<LockedTarget>({ locked, members, aggregate, version })
    })
})

/** The drop and the job that request a publish on behalf of the actor. */
type RequestedFor = Pick<NewPublication, "dropId" | "jobId">

/** The failures of versions that are not being published. */
const failuresIn = (locked: LockedCatalog, storeId: StoreId, ids: ReadonlyArray<EntityId>): FailuresBefore =>
  Object.fromEntries(
    ids.flatMap((id) => {
      const version = locked.aggregates.get(id)?.versions.find((each) => each.storeId === storeId)
      if (version === undefined || version.lastPublishStatus === "pending") return []
      return [[id, version.lastPublishStatus === "failed" ? version.lastPublishError : null] as const]
    })
  )

/** Saves the publication of a request, and before it publications of products that must get their platform id first. */
const makeSaveRequest = Effect.gen(function* () {
  const faults = yield* FaultInjector
  const history = yield* HistoryRepo
  const repo = yield* PublicationsRepo
  const savePublishStates = yield* makeSavePublishStates

  const toRepublication = (
    { entityId, storeId }: Target,
    locked: LockedCatalog,
    by: HistoryActor,
    shared: Pick<NewPublication, "dropId" | "error" | "jobId">
  ): Effect.Effect<NewPublication> =>
    Effect.map(mintId(PublicationId), (id) => ({
      id,
      entityId,
      storeId,
      draftRevision: locked.revisions.get(entityId) ?? 0,
      entityIds: [entityId],
      content: toRepublishedContent("product"),
      actor: by,
      failuresBefore: failuresIn(locked, storeId, [entityId]),
      ...shared
    }))

  return (
    { aggregate, locked }: LockedTarget,
    { entityId, storeId }: Target,
    content: PublicationContent,
    withoutPlatformId: ReadonlyArray<EntityId>,
    requestedFor: RequestedFor
  ) =>
    Effect.gen(function* () {
      const actor = yield* CurrentActor
      const { accountId } = actor
      const by = yield* history.nameOf(actor)
      const outage = yield* repo.outage(accountId, storeId)
      const shared = { ...requestedFor, error: Option.getOrNull(outage) }
      const publishedIds = [
        entityId,
        ...includedIds(content).filter((id) => locked.aggregates.get(id)?.storeIds.includes(storeId))
      ]
      const republications: Array<NewPublication> = []
      for (const id of withoutPlatformId)
        if (Option.isNone(yield* repo.newest(accountId, id, storeId)))
          republications.push(yield* toRepublication({ entityId: id, storeId }, locked, by, shared))
      const product = aggregate.parentId === null ? [] : [aggregate.parentId]
      // A variant is written together with its product. Products without a platform id must be published before this one.
      const entityIds = [...new Set([...publishedIds, ...product, ...withoutPlatformId])]
      // An error of a drop's publish means that the store's platform failed after its request (`endedInOutage`).
      const mayTakeReason = Option.isNone(outage) && requestedFor.dropId === null
      const delay = mayTakeReason ? yield* repo.delayAhead(accountId, storeId, entityIds) : outage
      const publication: NewPublication = {
        id: yield* mintId(PublicationId),
        entityId,
        storeId,
        draftRevision: locked.revisions.get(entityId) ?? 0,
        entityIds,
        content,
        actor: by,
        failuresBefore: failuresIn(locked, storeId, publishedIds),
        ...requestedFor,
        error: Option.getOrNull(delay)
      }
      const events = [
        ...republications.flatMap((each) => toPublishEvents(each, [each.entityId], "publish_asked")),
        ...toPublishEvents(publication, publishedIds, "publish_asked")
      ]
      yield* savePublishStates(
        accountId,
        locked,
        [
          ...republications.map((each) => ({ id: each.entityId, error: each.error })),
          ...publishedIds.map((id) => ({ id, error: publication.error }))
        ].flatMap(({ error, id }) => [
          CatalogChange.RequestPublish({ entityId: id, storeId }),
          ...(error === null ? [] : [CatalogChange.DelayPublish({ entityId: id, storeId, error: toShownError(error) })])
        ]),
        Effect.gen(function* () {
          yield* Effect.forEach([...republications, publication], (each) => repo.insert(accountId, each))
          yield* history.recordPublishes(accountId, by, requestedFor.dropId, events)
          yield* faults.at("requesting")
        })
      )
      return publication.id
    })
})

/** Whether the store has accepted the draft already and no other entity is included. */
const isPublished = (content: PublicationContent, { lastPublishStatus, pendingPublish }: VersionState) =>
  content._tag === "Draft" && lastPublishStatus === "published" && !pendingPublish && includedIds(content).length === 0

/**
 * Related entities whose drafts for the store stay unpublished: variants of a product, the product of a variant, and media of
 * the gallery. They need publish requests of their own.
 */
const findWaiting = (
  { aggregate, locked }: LockedTarget,
  { storeId }: Target,
  content: PublicationContent
): ReadonlyArray<EntityId> => {
  const included = new Set(includedIds(content))
  const gallery = new Set(aggregate.gallery.map(({ mediaId }) => mediaId))
  return [...locked.aggregates.values()]
    .filter(
      ({ id, parentId, versions }) =>
        (parentId === aggregate.id || id === aggregate.parentId || gallery.has(id)) &&
        !included.has(id) &&
        versions.some(
          (version) => version.storeId === storeId && version.pendingPublish && version.lastPublishStatus !== "pending"
        )
    )
    .map(({ id }) => id)
    .sort()
}

/** The decision on a request: insert a publication, join an open one, or do nothing. `hasOpen`: a different one is open. */
type PublishDecision = {
  readonly lockedTarget: LockedTarget
  readonly content: PublicationContent
  readonly head: AnswerHead
} & (
  | { readonly _tag: "New"; readonly withoutPlatformId: ReadonlyArray<EntityId>; readonly hasOpen: boolean }
  | { readonly _tag: "Open"; readonly open: NewestPublication }
  | { readonly _tag: "Nothing" }
)

type ToContent = (lockedTarget: LockedTarget) => Either.Either<PublicationContent, NotFound | ValidationFailed>

/** Decides a request and acts on the decision, in one transaction. */
const makeDecide = Effect.gen(function* () {
  const importLock = yield* ImportLockRepo
  const readTarget = yield* makeReadTarget
  const repo = yield* PublicationsRepo
  const transaction = yield* Transaction

  return <A>(
    target: Target,
    { draftRevision, isAgain = false, isInBackground = false }: RequestOptions,
    toContent: ToContent,
    act: (decided: PublishDecision) => Effect.Effect<A, NotFound | ValidationFailed, CurrentActor>
  ) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      const { entityId, storeId } = target

      const actUnderLocks = (related: ReadonlyArray<EntityId>) =>
        Effect.gen(function* () {
          const importHolder = yield* importLock.share(accountId)
          const locks = Option.isNone(importHolder)
          const found = yield* readTarget(accountId, target, related, { isInBackground, locks })
          if (Option.isNone(found)) return Option.none<A>()
          const lockedTarget = found.value
          const { aggregate, locked, members, version } = lockedTarget
          const content = yield* toContent(lockedTarget)
          const withoutPlatformId = findProductsWithoutPlatformId(locked, aggregate, storeId, members)
          if (withoutPlatformId.some((id) => !locked.aggregates.has(id))) return Option.none<A>()
          if (Option.isSome(importHolder)) return yield* new PimLocked()
          const currentRevision = locked.revisions.get(entityId) ?? 0
          if (draftRevision !== undefined && draftRevision !== currentRevision)
            return yield* new RevisionConflict({ entityId, currentRevision })
          const head = {
            title: titleOf(aggregate.kind, aggregate.attributes),
            draftRevision: currentRevision,
            waiting: findWaiting(lockedTarget, target, content)
          }
          const decided = { lockedTarget, content, head }
          const open = yield* repo.newest(accountId, entityId, storeId)
          if (Option.isSome(open) && isSameContent(open.value.content, content))
            return Option.some(yield* act({ ...decided, _tag: "Open", open: open.value }))
          if (Option.isNone(open) && !isAgain && isPublished(content, version))
            return Option.some(yield* act({ ...decided, _tag: "Nothing" }))
          return Option.some(yield* act({ ...decided, _tag: "New", withoutPlatformId, hasOpen: Option.isSome(open) }))
        })

      // The entities to lock are read before the transaction, so that all locks are taken in one order. If one was missing, the
      // request starts over.
      const answer = yield* Effect.repeat(
        Effect.flatMap(repo.related(accountId, entityId, storeId), (related) =>
          transaction.run(actUnderLocks(related))
        ),
        { until: Option.isSome }
      )
      return Option.isNone(answer) ? yield* new NotFound() : answer.value
    })
})

/** Handles one request in one transaction: it makes the versions pending and inserts the publication, or does neither. */
const makeRequest = (signal: PublishSignal) =>
  Effect.gen(function* () {
    const decide = yield* makeDecide
    const faults = yield* FaultInjector
    const repo = yield* PublicationsRepo
    const saveRequest = yield* makeSaveRequest

    const act = ({ entityId, storeId }: Target, { dropId, jobId }: RequestOptions, decided: PublishDecision) =>
      Effect.gen(function* (): Effect.fn.Return<RequestAnswer, NotFound | ValidationFailed, CurrentActor> {
        const { content, head, lockedTarget } = decided
        // A person who publishes again need not wait for the pauses of an outage. An open publication runs before a new one.
        const hasten = Effect.flatMap(CurrentActor, ({ accountId }) => repo.hasten(accountId, storeId, entityId))
        switch (decided._tag) {
          case "Open": {
            const { error, id } = decided.open
            yield* hasten
            return { ...head, outcome: "joined", publicationId: id, delay: delayOf(error) }
          }
          case "Nothing":
            return { ...head, outcome: "nothing_to_publish" }
          case "New": {
            if (decided.hasOpen) yield* hasten
            const target = { entityId, storeId }
            const requestedFor = { dropId: dropId ?? null, jobId: jobId ?? null }
            const id = yield* saveRequest(lockedTarget, target, content, decided.withoutPlatformId, requestedFor)
            return { ...head, outcome: "requested", publicationId: id }
          }
        }
      })

    return (target: Target, options: RequestOptions, toContent: ToContent) =>
      Effect.gen(function* () {
        const answer = yield* decide(target, options, toContent, (decided) => act(target, options, decided))
        yield* faults.at("requested")
        yield* afterCommit(signal.notify)
        return answer
      })
  })

const previewOutcomes = { New: "would_publish", Open: "joined", Nothing: "nothing_to_publish" } as const

const toPreview = ({
  _tag,
  content,
  head,
  lockedTarget: {
    aggregate: { kind },
    version: { accepted }
  }
}: PublishDecision): PublishPreview => ({
  ...head,
  outcome: previewOutcomes[_tag],
  isLive: accepted !== null,
  differences: content.values === null ? [] : differencesOf(kind, accepted, content.values),
  included: includedIds(content)
})

/** New values by key. The type comes from the first of these layers that has the key. */
const toAttributes = (
  kind: EntityKind,
  values: Readonly<Record<string, string | null>>,
  layers: ReadonlyArray<Attributes>
): Attributes =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, { value: value ?? "", type: typeOf(kind, key, layers) }])
  )

const toDraft =
  ({ entityId, storeId }: Target): ToContent =>
  ({ locked, members }) =>
    pinDraft(locked, entityId, storeId, members)

/** See `PublicationContent`. */
export type ValueLimits = Pick<FieldsContent, "endsAt" | "isTakenBack">

const toFields =
  (storeId: StoreId, values: Readonly<Record<string, string | null>>, limits: ValueLimits): ToContent =>
  ({ aggregate, locked: { aggregates }, version: { accepted, overrides } }) => {
    const { attributes, kind, parentId } = aggregate
    if (accepted === null)
      return Either.left(
        ValidationFailed.at("entity_id", `the ${kind} was never published to this store: publish it first`)
      )
    const fields = toAttributes(kind, values, [accepted.attributes, overrides, attributes])
    const sent = effective(accepted.attributes, fields)
    const firstOption = findOptionOfValues(aggregates, aggregate, storeId, fields, sent)
    return Either.right({
      _tag: "Fields",
      kind,
      productId: parentId,
      fields,
      values: null,
      ...(firstOption !== undefined && { firstOption }),
      ...limits
    })
  }

/** Publish requests of one entity to one store: of its draft, or of new values in place of the accepted values. */
export const makePublishRequests = (signal: PublishSignal) =>
  Effect.map(Effect.all([makeRequest(signal), makeDecide]), ([request, decide]) => ({
    requestDraft: (entityId: EntityId, storeId: StoreId, options: RequestOptions = {}) =>
      request({ entityId, storeId }, options, toDraft({ entityId, storeId })),
    previewDraft: (entityId: EntityId, storeId: StoreId, draftRevision?: number) =>
      decide({ entityId, storeId }, { draftRevision }, toDraft({ entityId, storeId }), (decided) =>
        Effect.succeed(toPreview(decided))
      ),
    requestValues: (
      entityId: EntityId,
      storeId: StoreId,
      values: Readonly<Record<string, string | null>>,
      { dropId, ...limits }: ValueLimits & { readonly dropId?: DropId } = {}
    ) =>
      request(
        { entityId, storeId },
        { dropId, isInBackground: dropId !== undefined },
        toFields(storeId, values, limits)
      )
  }))

export type PublishRequests = Effect.Effect.Success<ReturnType<typeof makePublishRequests>>
