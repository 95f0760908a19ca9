import {
  Cause,
  Context,
  Duration,
  Effect,
  Either,
  FiberSet,
  Layer,
  Option,
  PubSub,
  Queue,
  Random,
  Schema
} from "effect"
import { Transaction } from "../database/Transaction.ts"
import { CatalogChange, isEmpty, type Locked, planChanges } from "../drafts/CatalogChange.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import type { PublishEvent } from "../drafts/History.ts"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { type Attributes, type EntityKind, typeOf } from "../model/Attribute.ts"
import { NotFound, PimLocked, RevisionConflict, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, type DropId, EntityId, nilUuid, PublicationId, type StoreId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { Store } from "../model/Store.ts"
import { PlatformClient } from "../platform/PlatformClient.ts"
import type { PlatformOutcomeUnknown, PlatformRefused, PlatformUnavailable } from "../platform/PlatformErrors.ts"
import type { Published } from "../platform/Publication.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { StoreAccess } from "../stores/StoreAccess.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import {
  acceptedAgain,
  concerned,
  isSameContent,
  type PublicationContent,
  type Push,
  pinDraft,
  pushOf,
  settleFields,
  unnamedFor
} from "./PublicationContent.ts"
import type {
  FailedPublication,
  PendingCount,
  PendingEntity,
  PublicationRecord,
  PublishAttempt
} from "./PublicationRecord.ts"
import { type AttemptEnd, type Claimed, type NewPublication, PublicationsRepo } from "./PublicationsRepo.ts"

/** How publications are carried out. */
export interface PublishingOptions {
  /** Under way in this process. Far more than of one store: those that hang leave room for all others. */
  readonly mostAtOnce: number
  /** Under way of one store, in all processes together. */
  readonly mostPerStore: number
  /** Attempts that push. */
  readonly mostPushes: number
  /** Attempts after those that only read back what became of a push whose outcome is unknown. */
  readonly mostReadings: number
  /** Attempts that may end with their process, which say nothing about the store and do not count as the above. */
  readonly mostLost: number
  /** The most that the second attempt is delayed by; each further one by twice as much. */
  readonly firstDelay: Duration.Duration
  readonly longestDelay: Duration.Duration
  /** An attempt, everything included. */
  readonly attemptLimit: Duration.Duration
  /** How long a publication stays with a process that is gone. */
  readonly lease: Duration.Duration
  readonly betweenRenewals: Duration.Duration
  /** How often it is looked for what other processes were asked for. */
  readonly pollEvery: Duration.Duration
}

export const defaultPublishingOptions: PublishingOptions = {
  mostAtOnce: 128,
  mostPerStore: 4,
  mostPushes: 6,
  mostReadings: 6,
  mostLost: 10,
  firstDelay: Duration.seconds(1),
  longestDelay: Duration.minutes(1),
  attemptLimit: Duration.minutes(5),
  lease: Duration.seconds(30),
  betweenRenewals: Duration.seconds(10),
  pollEvery: Duration.seconds(2)
}

/** What became of an ask. `joined`: the same was asked for before and its outcome is still open. */
export type Asked =
  | { readonly outcome: "asked" | "joined"; readonly publicationId: PublicationId; readonly draftRevision: number }
  | { readonly outcome: "nothing_to_publish"; readonly draftRevision: number }

/** A place among all that waits on a store. */
export const PendingPlace = Schema.Struct({ part: Schema.Literal("products", "others"), after: EntityId })
export type PendingPlace = typeof PendingPlace.Type

export const firstPlace: PendingPlace = { part: "products", after: EntityId.make(nilUuid) }

const kindsOf: Readonly<Record<PendingPlace["part"], ReadonlyArray<EntityKind>>> = {
  products: ["product"],
  others: ["collection", "variant", "media"]
}

/** What became of a piece of all that waits. */
export interface AskedPending {
  readonly asked: number
  readonly refused: ReadonlyArray<PendingEntity & { readonly message: string }>
  readonly next: PendingPlace | null
}

type AskRefusal = NotFound | ValidationFailed | PimLocked | RevisionConflict

/** How a publication ended: what the store took and what it calls it, or why it did not. */
type Ending =
  | { readonly _tag: "Published"; readonly push: Push; readonly published: Published }
  | { readonly _tag: "Failed"; readonly entityIds: ReadonlyArray<EntityId>; readonly error: PublishError }

const afterFailure = Duration.seconds(10)

/** Most that are asked for by one piece of all that waits: a page waits for it. */
const mostAsked = 200

/** Most failures that are listed at once. */
const mostFailures = 100

const notOnStore: PublishError = {
  code: "NOT_ON_STORE",
  message: "It was taken off the store before it was published."
}

/** Publishes drafts to stores: exactly once for each ask, in the order of asking. */
export class Publishing extends Context.Tag("catalog/Publishing")<
  Publishing,
  {
    /**
     * Asks for a publish of the draft of an entity to one store, as it is now: whatever is edited afterwards stays a draft. A
     * product's first publish carries its variants; media that the store never accepted go with whatever shows them.
     *
     * NotFound: the entity, the store or its version is not there. ValidationFailed: the store has no platform, or a variant
     * or member's product is not live there. PimLocked: an import is under review or applied. RevisionConflict: the draft is
     * not at `draftRevision`, when that is given. `isAgain`: it is asked for although nothing differs from what the store
     * accepted, which then takes it anew.
     */
    readonly ask: (
      entityId: EntityId,
      storeId: StoreId,
      draftRevision?: number,
      isAgain?: boolean
    ) => Effect.Effect<Asked, AskRefusal, CurrentActor>
    /** How much a store has not the draft of, by kind. NotFound: no such store. */
    readonly pending: (storeId: StoreId) => Effect.Effect<ReadonlyArray<PendingCount>, NotFound, CurrentActor>
    /**
     * Asks for a piece of all that waits on a store, from a place on: products first, which bring their variants and media,
     * and what needs products that are live in pieces of its own behind them. What cannot be asked for is told, and stays
     * pending. `next`: where the rest begins; null: there is none.
     *
     * NotFound: no such store. ValidationFailed: it has no platform. PimLocked: as for `ask`; what was asked for stays so.
     */
    readonly askPending: (
      storeId: StoreId,
      from: PendingPlace
    ) => Effect.Effect<AskedPending, NotFound | ValidationFailed | PimLocked, CurrentActor>
    /**
     * Asks for a publish of what the store accepted last with these values in place of its own (null or `""` empties one), and
     * of nothing else: drafts stay drafts. Afterwards the store has accepted them. May be part of a transaction, whose first
     * lock is the import lock's.
     *
     * Refusals as for `ask`; ValidationFailed too for an entity that the store never accepted. `dropId`: the drop of the actor
     * that asks.
     */
    readonly askValues: (
      entityId: EntityId,
      storeId: StoreId,
      values: Readonly<Record<string, string | null>>,
      dropId?: DropId
    ) => Effect.Effect<Asked, AskRefusal, CurrentActor>
    /** Those of the actor's account with these ids, oldest first. */
    readonly find: (
      ids: ReadonlyArray<PublicationId>
    ) => Effect.Effect<ReadonlyArray<PublicationRecord>, never, CurrentActor>
    /**
     * What the stores did not take and nobody asked for again since: the newest first, at least 1 and at most 100. Publications
     * are kept for 30 days.
     */
    readonly failures: (limit: number) => Effect.Effect<ReadonlyArray<FailedPublication>, never, CurrentActor>
    /** The attempts to carry a publication out, in their order. */
    readonly attempts: (id: PublicationId) => Effect.Effect<ReadonlyArray<PublishAttempt>, never, CurrentActor>
    /**
     * Carries these publications out, beside whoever else does, and waits for their outcomes. `report`: how many are still
     * open, whenever that changes.
     */
    readonly settle: (
      ids: ReadonlyArray<PublicationId>,
      report: (open: number) => Effect.Effect<void>
    ) => Effect.Effect<ReadonlyArray<PublicationRecord>, never, CurrentActor>
    /** Carries out what anybody asked for, until it is interrupted. */
    readonly work: Effect.Effect<never>
    /** Asks for what waits for an outcome that nobody will bring: versions from before publishes were kept. How many. */
    readonly adopt: Effect.Effect<number>
    /** Deletes publications that ended more than 30 days ago, with their attempts; how many. */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layerWith = (options: PublishingOptions) =>
    Layer.scoped(
      Publishing,
      Effect.gen(function* () {
        const access = yield* StoreAccess
        const drafts = yield* DraftsRepo
        const faults = yield* FaultInjector
        const history = yield* HistoryRepo
        const importLock = yield* ImportLockRepo
        const platform = yield* PlatformClient
        const repo = yield* PublicationsRepo
        const stores = yield* StoresRepo
        const transaction = yield* Transaction
        // Something was asked for, or has ended: whoever works or waits in this process looks at once.
        const news = yield* Effect.acquireRelease(PubSub.sliding<void>(1), PubSub.shutdown)

        /** Once there is news, else after a while. */
        const untilNews = (dequeue: Queue.Dequeue<void>) =>
          Effect.raceFirst(Queue.take(dequeue), Effect.sleep(options.pollEvery))

        /** Writes changes of publish states and their history, under the locks; the counter last. */
        const write = (
          accountId: AccountId,
          locked: Locked,
          changes: ReadonlyArray<CatalogChange>,
          between: Effect.Effect<void>
        ) =>
          Effect.gen(function* () {
            const plan = yield* planChanges(locked, changes)
            yield* drafts.save(accountId, plan)
            yield* between
            if (!isEmpty(plan)) yield* drafts.raise(accountId)
          })

        const eventsOf = (
          { draftRevision, entityId, storeId }: Pick<Claimed, "draftRevision" | "entityId" | "storeId">,
          content: PublicationContent,
          entityIds: ReadonlyArray<EntityId>,
          action: PublishEvent["action"],
          error: PublishError | null = null
        ) =>
          entityIds.map(
            (id): PublishEvent => ({
              entityId: id,
              draftRevision:
                content._tag === "Draft" && id !== entityId ? (content.revisions[id] ?? draftRevision) : draftRevision,
              storeId,
              action,
              error
            })
          )

        /** Locks what an ask is about, and sees it; null: something came along that was not locked in its order. */
        const see = (accountId: AccountId, entityId: EntityId, storeId: StoreId, besides: ReadonlyArray<EntityId>) =>
          Effect.gen(function* () {
            const store = Option.getOrUndefined(yield* stores.find(accountId, storeId))
            const locked = yield* drafts.lock(accountId, [entityId, ...besides], [])
            if (store === undefined) return yield* new NotFound()
            const aggregate = locked.aggregates.get(entityId)
            const version = aggregate?.versions.find((each) => each.storeId === storeId)
            if (aggregate === undefined || version === undefined) return yield* new NotFound()
            if (aggregate.gallery.some(({ mediaId }) => !locked.aggregates.has(mediaId))) return null
            if (store.platform === "none") return yield* withoutPlatform(store)
            const members = yield* repo.known(accountId, storeId, aggregate.members)
            return { locked, members, aggregate, version }
          })
        type Sight = Exclude<Effect.Effect.Success<ReturnType<typeof see>>, null>

        /** One transaction: the versions are pending and the publication is there, or neither. */
        const askFor = (
          entityId: EntityId,
          storeId: StoreId,
          {
            draftRevision,
            dropId = null,
            isAgain = false
          }: {
            readonly draftRevision?: number | undefined
            readonly dropId?: DropId | undefined | null
            readonly isAgain?: boolean | undefined
          },
          pin: (sight: Sight) => Either.Either<PublicationContent, NotFound | ValidationFailed>
        ) =>
          Effect.gen(function* () {
            const actor = yield* CurrentActor
            const { accountId } = actor
            const attempt = Effect.gen(function* () {
              const besides = yield* repo.besides(accountId, entityId, storeId)
              return yield* transaction.run(
                Effect.gen(function* () {
                  const holder = yield* importLock.share(accountId)
                  const sight = yield* see(accountId, entityId, storeId, besides)
                  if (sight === null) return Option.none<Asked>()
                  const { aggregate, locked, version } = sight
                  const content = yield* pin(sight)
                  const unnamed = unnamedFor(locked, aggregate, storeId, sight.members)
                  if (unnamed.some((id) => !locked.aggregates.has(id))) return Option.none<Asked>()
                  if (Option.isSome(holder)) return yield* new PimLocked()
                  const current = locked.revisions.get(entityId) ?? 0
                  if (draftRevision !== undefined && draftRevision !== current)
                    return yield* new RevisionConflict({ entityId, currentRevision: current })
                  const before = yield* repo.newest(accountId, entityId, storeId)
                  if (Option.isSome(before) && isSameContent(before.value.content, content))
                    return Option.some<Asked>({
                      outcome: "joined",
                      publicationId: before.value.id,
                      draftRevision: current
                    })
                  const carried = content._tag === "Draft" ? content.carried.map((each) => each.entityId) : []
                  if (
                    content._tag === "Draft" &&
                    !isAgain &&
                    Option.isNone(before) &&
                    version.lastPublishStatus === "published" &&
                    !version.pendingPublish &&
                    carried.length === 0
                  )
                    return Option.some<Asked>({ outcome: "nothing_to_publish", draftRevision: current })
                  const taking = [
                    entityId,
                    ...carried.filter((id) => locked.aggregates.get(id)?.storeIds.includes(storeId))
                  ]
                  const by = yield* history.nameOf(actor)
                  const naming: Array<NewPublication> = []
                  for (const id of unnamed)
                    if (Option.isNone(yield* repo.newest(accountId, id, storeId)))
                      naming.push({
                        id: yield* mintId(PublicationId),
                        entityId: id,
                        storeId,
                        draftRevision: locked.revisions.get(id) ?? 0,
                        brings: [id],
                        content: acceptedAgain("product"),
                        actor: by,
                        dropId
                      })
                  const publication: NewPublication = {
                    id: yield* mintId(PublicationId),
                    entityId,
                    storeId,
                    draftRevision: current,
                    // A variant's product is written with it, and whatever has no name yet must have one.
                    brings: [
                      ...taking,
                      ...(aggregate.parentId === null ? [] : [aggregate.parentId]),
                      ...unnamed
                    ].filter((id, index, all) => all.indexOf(id) === index),
                    content,
                    actor: by,
                    dropId
                  }
                  yield* write(
                    accountId,
                    locked,
                    [...naming.map((each) => each.entityId), ...taking].map((id) =>
                      CatalogChange.AskPublish({ entityId: id, storeId })
                    ),
                    Effect.gen(function* () {
                      yield* Effect.forEach([...naming, publication], (each) => repo.insert(accountId, each))
                      yield* history.recordPublishes(accountId, by, dropId, [
                        ...naming.flatMap((each) => eventsOf(each, each.content, [each.entityId], "publish_asked")),
                        ...eventsOf(publication, content, taking, "publish_asked")
                      ])
                      yield* faults.at("asking")
                    })
                  )
                  return Option.some<Asked>({
                    outcome: "asked",
                    publicationId: publication.id,
                    draftRevision: current
                  })
                })
              )
            })
            // Whoever adds to a gallery again and again does it for a while only.
            const asked = yield* Effect.repeat(attempt, { until: Option.isSome })
            if (Option.isNone(asked)) return yield* new NotFound()
            yield* faults.at("asked")
            yield* PubSub.publish(news, undefined)
            return asked.value
          })

        /** Writes how a publication ended, unless another process has it by now. */
        const settled = (claimed: Claimed, content: PublicationContent, end: AttemptEnd, ending: Ending) =>
          Effect.gen(function* () {
            const { accountId, entityId, storeId } = claimed
            const entityIds =
              ending._tag === "Failed" ? ending.entityIds : ending.push.taken.map((each) => each.entityId)
            const named = ending._tag === "Failed" ? new Map<EntityId, string>() : ending.published.platformIds
            const isWritten = yield* transaction.run(
              Effect.gen(function* () {
                // Shared, so that no import writes meanwhile; one under review learns what its stores accepted.
                yield* importLock.share(accountId)
                const locked = yield* drafts.lock(
                  accountId,
                  [...new Set([entityId, ...entityIds, ...named.keys()])],
                  []
                )
                if (!locked.storeIds.includes(storeId)) {
                  // Unlinked: it is read back when the store is linked again.
                  yield* repo.giveBack(claimed)
                  return false
                }
                const isThere = (id: EntityId) => locked.aggregates.get(id)?.storeIds.includes(storeId) ?? false
                const error = ending._tag === "Failed" ? ending.error : null
                const isMine = yield* repo.finish(
                  claimed,
                  end,
                  ending._tag === "Failed" ? "failed" : "published",
                  error
                )
                if (!isMine) return false
                const again = yield* repo.askedAgain(accountId, storeId, entityIds, claimed.id)
                const changes =
                  ending._tag === "Failed"
                    ? ending.entityIds
                        .filter((id) => isThere(id) && !again.has(id))
                        .map((id) => CatalogChange.RefusePublish({ entityId: id, storeId, error: ending.error }))
                    : [
                        ...ending.push.taken
                          .filter((each) => isThere(each.entityId))
                          .map(({ entityId, values }) =>
                            CatalogChange.AcceptPinned({ entityId, storeId, values, isAskedAgain: again.has(entityId) })
                          ),
                        ...[...named]
                          .filter(([id]) => isThere(id))
                          .map(([entityId, platformId]) => CatalogChange.Identify({ entityId, storeId, platformId }))
                      ]
                yield* write(
                  accountId,
                  locked,
                  changes,
                  Effect.zipRight(
                    history.recordPublishes(
                      accountId,
                      claimed.actor,
                      claimed.dropId,
                      eventsOf(
                        claimed,
                        content,
                        entityIds,
                        ending._tag === "Failed" ? "publish_failed" : "published",
                        error
                      )
                    ),
                    faults.at("settling")
                  )
                )
                return true
              })
            )
            if (isWritten) yield* faults.at("settled")
          }).pipe(
            // What is locked is there: a change that cannot hold is a defect of ours.
            Effect.catchTags({ NotFound: Effect.die, ValidationFailed: Effect.die })
          )

        const postponed = (claimed: Claimed, end: AttemptEnd, error: PublishError) =>
          Effect.gen(function* () {
            const most = Math.min(
              Duration.toSeconds(options.longestDelay),
              Duration.toSeconds(options.firstDelay) * 2 ** (counted(claimed) - 1)
            )
            // Half of it for certain: after an unknown outcome the store must have had time to do what it does.
            const delaySeconds = most * (yield* Random.nextRange(0.5, 1))
            yield* transaction.run(repo.postpone(claimed, end, error, delaySeconds))
            yield* faults.at("postponed")
          })

        /** What the publication brings, fixed when its turn has come. */
        const settleContent = (claimed: Claimed) =>
          Effect.gen(function* () {
            const { accountId, content, entityId, storeId } = claimed
            if (content._tag === "Draft" || content.values !== null) return content
            const accepted = (yield* repo.known(accountId, storeId, [entityId])).get(entityId)?.accepted ?? null
            if (accepted === null) return content
            const pinned = settleFields(content, accepted)
            yield* transaction.run(repo.pin(claimed, pinned))
            return pinned
          })

        const attempt = (claimed: Claimed) =>
          Effect.gen(function* () {
            yield* faults.at("claimed")
            const { accountId, entityId, id, storeId } = claimed
            const content = yield* settleContent(claimed)
            const known = yield* repo.known(accountId, storeId, concerned(entityId, content))
            const { values } = content
            const pinned =
              values === null || !known.has(entityId)
                ? Either.left(notOnStore)
                : pushOf({ content, entityId, id, values }, known)
            const isOpen = (carriedId: EntityId) => (known.get(carriedId)?.accepted ?? null) === null
            const carried = content._tag === "Draft" ? content.carried.map((each) => each.entityId).filter(isOpen) : []
            const fail = (end: AttemptEnd, error: PublishError, entityIds: ReadonlyArray<EntityId>) =>
              settled(claimed, content, end, { _tag: "Failed", entityIds, error })
            if (Either.isLeft(pinned))
              return yield* fail({ outcome: "refused", reason: pinned.left.code }, pinned.left, [entityId, ...carried])
            const push = pinned.right
            const taking = push.taken.map((each) => each.entityId)
            const refused = ({ code, message }: PlatformRefused) =>
              fail({ outcome: "refused", reason: code }, { code, message }, taking)
            const accept = (published: Published) =>
              settled(claimed, content, { outcome: "published", reason: null }, { _tag: "Published", push, published })
            const later = (error: PlatformUnavailable | PlatformOutcomeUnknown) =>
              postponed(
                claimed,
                { outcome: error._tag === "PlatformUnavailable" ? "unavailable" : "unknown", reason: error.reason },
                errorOf(error)
              )
            const opened = yield* Effect.either(access.open(accountId, storeId))
            if (Either.isLeft(opened))
              return yield* opened.left._tag === "NotFound"
                ? transaction.run(repo.giveBack(claimed))
                : refused(opened.left)
            const store = opened.right
            const pushes = counted(claimed)
            if (claimed.attempts > 1) {
              const read = yield* Effect.either(platform.readBack(store, push.publication))
              yield* faults.at("readBack")
              if (Either.isLeft(read)) {
                if (read.left._tag === "PlatformRefused") return yield* refused(read.left)
                return pushes < options.mostPushes + options.mostReadings
                  ? yield* later(read.left)
                  : yield* fail(
                      { outcome: "unavailable", reason: read.left.reason },
                      givenUp(claimed.error ?? errorOf(read.left), pushes),
                      taking
                    )
              }
              if (Option.isSome(read.right)) return yield* accept(read.right.value)
              if (pushes > options.mostPushes)
                return yield* fail(
                  { outcome: "unavailable", reason: null },
                  givenUp(claimed.error ?? tooSlow, pushes),
                  taking
                )
            }
            yield* faults.at("pushing")
            const answer = yield* Effect.either(platform.publish(store, push.publication))
            yield* faults.at("pushed")
            if (Either.isRight(answer)) return yield* accept(answer.right)
            const failure = answer.left
            switch (failure._tag) {
              case "PlatformRefused":
                return yield* refused(failure)
              case "PlatformUnavailable":
                return pushes < options.mostPushes
                  ? yield* later(failure)
                  : yield* fail(
                      { outcome: "unavailable", reason: failure.reason },
                      givenUp(errorOf(failure), pushes),
                      taking
                    )
              case "PlatformOutcomeUnknown": {
                const read = yield* Effect.either(platform.readBack(store, push.publication))
                yield* faults.at("readBack")
                // None may mean: not yet. The next attempt begins with another look.
                return Either.isRight(read) && Option.isSome(read.right)
                  ? yield* accept(read.right.value)
                  : yield* later(failure)
              }
            }
          })

        const isHopeless = (claimed: Claimed) =>
          claimed.lost > options.mostLost || counted(claimed) > options.mostPushes + options.mostReadings

        /** Ends what nobody came to the end of, however often: its processes died of it, or it takes too long. */
        const giveUp = (claimed: Claimed) => {
          const { content, entityId, error, lost } = claimed
          const carried = content._tag === "Draft" ? content.carried.map((each) => each.entityId) : []
          return settled(
            claimed,
            content,
            { outcome: "unknown", reason: null },
            {
              _tag: "Failed",
              entityIds: [entityId, ...carried],
              error: lost > options.mostLost ? lostWith(lost) : givenUp(error ?? tooSlow, counted(claimed) - 1)
            }
          )
        }

        /** Carries one out. It ends with its lease, with an outcome, or with a defect, after which its lease runs out. */
        const carryOut = (claimed: Claimed) =>
          Effect.raceFirst(
            Effect.timeoutOption(isHopeless(claimed) ? giveUp(claimed) : attempt(claimed), options.attemptLimit).pipe(
              Effect.flatMap((ended) =>
                Option.isSome(ended)
                  ? Effect.void
                  : postponed(claimed, { outcome: "unknown", reason: "timeout" }, tooSlow)
              )
            ),
            transaction
              .run(repo.renew(claimed, Duration.toSeconds(options.lease)))
              .pipe(Effect.delay(options.betweenRenewals), Effect.repeat({ while: (isHeld) => isHeld }), Effect.asVoid)
          ).pipe(
            // Whoever comes next need not wait for the lease of a process that was told to stop.
            Effect.onInterrupt(() => Effect.ignoreLogged(Effect.sandbox(transaction.run(repo.giveBack(claimed))))),
            Effect.catchAllCause((cause) =>
              Cause.isInterruptedOnly(cause)
                ? Effect.void
                : Effect.logWarning(`Publication ${claimed.id} could not be carried out`, cause)
            )
          )

        /** Claims and carries out, until it is interrupted. */
        const workOn = (only: ReadonlyArray<PublicationId> | null): Effect.Effect<never> =>
          Effect.scoped(
            Effect.gen(function* () {
              const dequeue = yield* PubSub.subscribe(news)
              const run = yield* FiberSet.makeRuntime<never>()
              let underWay = 0
              for (;;) {
                const most = options.mostAtOnce - underWay
                const request = {
                  most,
                  mostPerStore: options.mostPerStore,
                  leaseSeconds: Duration.toSeconds(options.lease),
                  only
                }
                const claimed =
                  most === 0
                    ? []
                    : yield* transaction.run(repo.claim(request)).pipe(
                        Effect.catchAllCause((cause) =>
                          // The database is away, as a rule: it is not asked as often as usual.
                          Effect.logWarning("Looking for publications failed", cause).pipe(
                            Effect.zipRight(Effect.sleep(afterFailure)),
                            Effect.as([])
                          )
                        )
                      )
                for (const each of claimed) {
                  underWay++
                  run(
                    Effect.ensuring(
                      carryOut(each),
                      Effect.suspend(() => {
                        underWay--
                        return PubSub.publish(news, undefined)
                      })
                    )
                  )
                }
                yield* untilNews(dequeue)
              }
            })
          )

        const waitFor = (
          accountId: AccountId,
          ids: ReadonlyArray<PublicationId>,
          report: (open: number) => Effect.Effect<void>
        ) =>
          Effect.scoped(
            Effect.gen(function* () {
              const dequeue = yield* PubSub.subscribe(news)
              for (let before = -1; ; ) {
                const records = yield* repo.find(accountId, ids)
                const open = records.filter(({ state }) => state === "pending").length
                if (open !== before) yield* report(open)
                if (open === 0) return records
                before = open
                yield* untilNews(dequeue)
              }
            })
          )

        const fieldsOf = (
          kind: EntityKind,
          values: Readonly<Record<string, string | null>>,
          layers: ReadonlyArray<Attributes>
        ) =>
          Object.fromEntries(
            Object.entries(values).map(([key, value]) => [key, { value: value ?? "", type: typeOf(kind, key, layers) }])
          )

        const ask = (entityId: EntityId, storeId: StoreId, draftRevision?: number, isAgain?: boolean) =>
          askFor(entityId, storeId, { draftRevision, isAgain }, ({ locked, members }) =>
            pinDraft(locked, entityId, storeId, members)
          )

        const storeOf = (storeId: StoreId) =>
          Effect.gen(function* () {
            const { accountId } = yield* CurrentActor
            const store = yield* stores.find(accountId, storeId)
            return Option.isNone(store) ? yield* new NotFound() : store.value
          })

        return {
          ask: Effect.fn("Publishing.ask")(ask),
          pending: Effect.fn("Publishing.pending")(function* (storeId) {
            const { accountId } = yield* CurrentActor
            yield* storeOf(storeId)
            return yield* repo.pendingCounts(accountId, storeId)
          }),
          askPending: Effect.fn("Publishing.askPending")(function* (storeId, { after, part }) {
            const { accountId } = yield* CurrentActor
            const store = yield* storeOf(storeId)
            if (store.platform === "none") return yield* withoutPlatform(store)
            // One more than are asked for: whether there is a rest.
            const waiting = yield* repo.pendingAfter(accountId, storeId, kindsOf[part], after, mostAsked + 1)
            const piece = waiting.slice(0, mostAsked)
            const refused: Array<AskedPending["refused"][number]> = []
            let asked = 0
            for (const entity of piece) {
              const answer = yield* Effect.either(ask(entity.id, storeId))
              if (Either.isRight(answer)) {
                if (answer.right.outcome !== "nothing_to_publish") asked++
              } else if (answer.left._tag === "ValidationFailed")
                refused.push({ ...entity, message: answer.left.issues.map(({ message }) => message).join("; ") })
              else if (answer.left._tag === "PimLocked") return yield* answer.left
              // Taken off the store meanwhile: nothing of it waits any more.
            }
            const last = piece.at(-1)
            const hasRest = waiting.length > piece.length && last !== undefined
            const others: PendingPlace = { ...firstPlace, part: "others" }
            const hasOthers =
              part === "products" &&
              (yield* repo.pendingAfter(accountId, storeId, kindsOf.others, others.after, 1)).length > 0
            return { asked, refused, next: hasRest ? { part, after: last.id } : hasOthers ? others : null }
          }),
          askValues: Effect.fn("Publishing.askValues")((entityId, storeId, values, dropId) =>
            askFor(entityId, storeId, { dropId }, ({ aggregate, version }) =>
              version.accepted === null
                ? Either.left(
                    ValidationFailed.at(
                      "entity_id",
                      `the ${aggregate.kind} was never published to this store: publish it first`
                    )
                  )
                : Either.right<PublicationContent>({
                    _tag: "Fields",
                    kind: aggregate.kind,
                    productId: aggregate.parentId,
                    fields: fieldsOf(aggregate.kind, values, [
                      version.accepted.attributes,
                      version.overrides,
                      aggregate.attributes
                    ]),
                    values: null
                  })
            )
          ),
          find: Effect.fn("Publishing.find")(function* (ids) {
            const { accountId } = yield* CurrentActor
            return yield* repo.find(accountId, ids)
          }),
          failures: Effect.fn("Publishing.failures")(function* (limit) {
            const { accountId } = yield* CurrentActor
            return yield* repo.failures(accountId, Math.min(Math.max(limit, 1), mostFailures))
          }),
          attempts: Effect.fn("Publishing.attempts")(function* (id) {
            const { accountId } = yield* CurrentActor
            return yield* repo.attempts(accountId, id)
          }),
          settle: Effect.fn("Publishing.settle")(function* (ids, report) {
            const { accountId } = yield* CurrentActor
            // With those before them, which nobody else may work on: after them nothing is under way.
            const all = yield* repo.ahead(accountId, ids)
            return yield* Effect.raceFirst(waitFor(accountId, ids, report), workOn(all))
          }),
          work: workOn(null),
          adopt: Effect.gen(function* () {
            let adopted = 0
            // A product's first publish brings its variants and media, so it is asked before them.
            for (const kind of ["product", "collection", "variant", "media"] as const)
              for (const { accountId, entityId, storeId } of yield* repo.orphans(kind))
                adopted += yield* ask(entityId, storeId).pipe(
                  Effect.provideService(CurrentActor, { _tag: "Cli", accountId }),
                  Effect.as(1),
                  Effect.catchAll((refusal) =>
                    Effect.as(Effect.logWarning(`${entityId} cannot be published: ${refusal.message}`), 0)
                  )
                )
            return adopted
          }),
          forget: repo.forget
        }
      })
    )

  static readonly layer = Publishing.layerWith(defaultPublishingOptions)
}

const withoutPlatform = ({ domain }: Store) =>
  ValidationFailed.at("store_id", `${domain} is known by its files alone: nothing can be published to it`)

/** Attempts that count, this one among them. */
const counted = ({ attempts, givenBack, lost }: Claimed) => attempts - givenBack - lost

const errorOf = (error: PlatformUnavailable | PlatformOutcomeUnknown): PublishError => ({
  code: error._tag === "PlatformUnavailable" ? "PLATFORM_UNAVAILABLE" : "OUTCOME_UNKNOWN",
  message: error.message
})

const lostWith = (processes: number): PublishError => ({
  code: "INTERRUPTED",
  message: `The processes that published it ended before they were done, ${processes} times.`
})
const tooSlow: PublishError = { code: "OUTCOME_UNKNOWN", message: "The store's platform took too long." }

const givenUp = ({ code, message }: PublishError, attempts: number): PublishError => ({
  code,
  message: `${message} Tried ${attempts} ${attempts === 1 ? "time" : "times"}.`
})

/** The workers of a server: they begin when it starts. */
export const layerWorkers: Layer.Layer<never, never, Publishing> = Layer.scopedDiscard(
  Effect.flatMap(Publishing, ({ adopt, work }) =>
    Effect.forkScoped(
      adopt.pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("Looking for what waits to be published failed", cause)),
        Effect.zipRight(work)
      )
    )
  )
)
