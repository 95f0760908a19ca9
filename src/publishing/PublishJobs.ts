import { Array as Arr, Context, Effect, Layer, Option, Schema } from "effect"
import { type ChosenEntities, MaxListedIds } from "../catalog/MerchantLists.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { isPublishing, type Job, type JobError, JobStopped, noLongerExists, noneExists } from "../jobs/Job.ts"
import { anyKind, type StepInput, type StepResult, waitForImport } from "../jobs/JobKind.ts"
import { Jobs } from "../jobs/Jobs.ts"
import { CurrentActor } from "../model/Actor.ts"
import { EntityKind } from "../model/Attribute.ts"
import { type NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, EntityId, type JobId, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { Stores } from "../stores/Stores.ts"
import { countsOf, FoundCursor, FoundInput, itemOf, makeFoundStep, othersAfter } from "./FoundPublishes.ts"
import { firstPlace, kindsOfPart, PendingPlace } from "./PendingRequests.ts"
import { QueuePlace } from "./PublicationRecord.ts"
import { PublicationsRepo } from "./PublicationsRepo.ts"
import { nilPublication, nothingWaits, waitsWithAnother } from "./PublishCancels.ts"
import { Publishing } from "./Publishing.ts"
import { makeLockTargets } from "./PublishLocks.ts"
import { makeWhyUnpublishable, whyNeverPublishable } from "./PublishRequests.ts"

const WaitingInput = Schema.Struct({ storeId: StoreId })

/** `until`: publishes that were requested later go on. `ids`: only those of these entities. */
const CancelInput = Schema.Struct({
  storeId: StoreId,
  until: Timestamp,
  ids: Schema.optional(Schema.Array(EntityId))
})

/** `ids`: in the order in which they are requested. The first `products` of them are products. Those of other `kinds` do not exist for the job. */
const SelectedInput = Schema.Struct({
  storeId: StoreId,
  ids: Schema.Array(EntityId),
  products: Schema.optionalWith(Schema.Int, { default: () => 0 }),
  kinds: Schema.optionalWith(Schema.Array(EntityKind), { default: () => EntityKind.literals })
})

/**
 * `Requests`: the next step requests publishes, beginning at `place`. `Outcomes`: it waits for the publishes that were requested
 * until a time, then continues at `next`.
 */
const WaitingCursor = Schema.Union(
  Schema.TaggedStruct("Requests", { place: PendingPlace }),
  Schema.TaggedStruct("Outcomes", { until: Timestamp, next: Schema.NullOr(PendingPlace) })
)
type WaitingCursor = typeof WaitingCursor.Type

/**
 * A number: of entities before the next step. `Outcomes`: the next step waits for the publishes that were requested until a time, then
 * continues at `next`. The others: of a job whose entities are found by filters.
 */
const SelectedCursor = Schema.Union(
  Schema.Int,
  Schema.TaggedStruct("Outcomes", { until: Timestamp, next: Schema.Int }),
  FoundCursor
)
type SelectedCursor = typeof SelectedCursor.Type

const sizes = { first: 10, max: 200 }

const titles = {
  publish_waiting: (domain: string) => `Publish all changes to ${domain}`,
  publish_selected: (domain: string, total: number) => `Publish ${total.toLocaleString("en")} selected to ${domain}`,
  publish_cancel: (domain: string) => `Cancel the publishes to ${domain}`
}
const titleOfSelected = (domain: string) => `Cancel the selected publishes to ${domain}`

/** Delay between queries of the outcomes of publishes. In an outage they are far away, and many jobs may wait for them. */
const lookSeconds = 1
const lookSecondsInOutage = 10

const tooManyToCancel = (most: number) =>
  `the filters find more than ${most.toLocaleString("en")} items: narrow them, or cancel all publishes that wait on the page of the store`

const errorOfGone =
  ([kind, ...others]: ReadonlyArray<EntityKind>) =>
  (id: EntityId): JobError => ({
    item: `${others.length > 0 || kind === undefined ? "entity" : kind} ${id}`,
    message: noLongerExists
  })

/** Makes the function that requests publishes of the next selected entities. */
const makeNamedStep = Effect.gen(function* () {
  const lockTargets = yield* makeLockTargets
  const publishing = yield* Publishing
  const repo = yield* PublicationsRepo

  return ({
    accountId,
    cursor,
    id,
    input: { ids, kinds, products, storeId },
    size
  }: StepInput<typeof SelectedInput.Type, number>) =>
    Effect.gen(function* () {
      const from = cursor ?? 0
      const batch = ids.slice(from, Math.min(from + size, from < products ? products : ids.length))
      yield* lockTargets(
        accountId,
        batch.map((entityId) => ({ entityId, storeId }))
      )
      const answer = yield* publishing.requestEach(storeId, batch, id, kinds)
      const next = from + batch.length
      const { now } = yield* repo.pendingUntil(accountId, storeId, null)
      const following: SelectedCursor = next === products ? { _tag: "Outcomes", until: now, next } : next
      // Collections and media that refer to selected products are requested when the products are live.
      return {
        _tag: "Progress",
        cursor: next < ids.length ? following : null,
        done: batch.length,
        ...countsOf(answer, answer.gone.map(errorOfGone(kinds)))
      } as const
    })
})

/** Makes the function that finds those of these entities that wait for a publish of another one to a store, and have none of their own. */
const makeWaitingWithOthers = Effect.map(
  PublicationsRepo,
  (repo) => (accountId: AccountId, storeId: StoreId, ids: ReadonlyArray<EntityId>) =>
    Effect.gen(function* () {
      const others = yield* repo.broughtAgain(accountId, storeId, ids, nilPublication)
      const own = yield* repo.requestedAgain(accountId, storeId, ids, nilPublication)
      return ids.filter((id) => others.get(id)?.isIncluded === true && !own.has(id))
    })
)

/**
 * Makes the function that cancels the next publishes of a store, the newest first: the queue begins with the oldest. Of a selection, it
 * refuses at last those that another publish includes.
 */
const makeCancelStep = Effect.gen(function* () {
  const publishing = yield* Publishing
  const repo = yield* PublicationsRepo
  const waitingWithOthers = yield* makeWaitingWithOthers

  return ({
    accountId,
    cursor,
    input: { ids, storeId, until },
    size
  }: StepInput<typeof CancelInput.Type, QueuePlace>) =>
    Effect.gen(function* () {
      const places = yield* repo.openBefore(accountId, storeId, until, cursor, ids ?? null, size)
      const last = places.at(-1)
      if (last === undefined) {
        const included = ids === undefined ? [] : yield* waitingWithOthers(accountId, storeId, ids)
        const errors = (yield* repo.entities(accountId, included)).map((each) => ({
          item: itemOf(each),
          message: waitsWithAnother
        }))
        return {
          _tag: "Progress",
          cursor: null,
          done: errors.length,
          counts: { refused: errors.length },
          errors
        } as const
      }
      const answer = yield* publishing.cancelEach(storeId, [...new Set(places.map(({ entityId }) => entityId))], until)
      // The step is repeated, with the locks of its next transaction.
      if (answer === undefined)
        return { _tag: "Wait", why: "publishes that were changed meanwhile", seconds: 0 } as const
      const { ended, kept, newest } = answer
      const refused = places.filter(({ entityId }) => kept.has(entityId)).length
      // An entity with several publishes is listed once, though they may be in several steps.
      const listed = places.flatMap(({ entityId, id }) => (newest.get(entityId) === id ? [entityId] : []))
      const errors = (yield* repo.entities(accountId, listed)).flatMap((each) => {
        const message = kept.get(each.id)
        return message === undefined ? [] : [{ item: itemOf(each), message }]
      })
      return {
        _tag: "Progress",
        cursor: { sequence: last.sequence, id: last.id },
        done: ended.length + refused,
        counts: { cancelled: ended.length, refused },
        errors
      } as const
    })
})

/** Makes the function that waits for the publishes to a store that were requested until a time. Undefined: all have ended. */
const makeWaitUntil = Effect.map(
  PublicationsRepo,
  (repo) => (accountId: AccountId, storeId: StoreId, until: Timestamp) =>
    Effect.map(repo.pendingUntil(accountId, storeId, until), ({ count, delay }) => {
      if (count === 0) return undefined
      return delay === null
        ? ({ _tag: "Wait", why: `the outcomes of publishes (${count} left)`, seconds: lookSeconds } as const)
        : ({
            _tag: "Wait",
            why: `the outcomes of publishes (${count} left); the store's platform does not answer`,
            isForPlatform: true,
            seconds: lookSecondsInOutage
          } as const)
    })
)

/** The kinds of jobs that request publishes to a store and wait for their outcomes, or cancel them. */
export const makePublishJobKinds = Effect.gen(function* () {
  const importLock = yield* ImportLockRepo
  const lockTargets = yield* makeLockTargets
  const publishing = yield* Publishing
  const repo = yield* PublicationsRepo
  const foundStep = yield* makeFoundStep
  const namedStep = yield* makeNamedStep
  const cancelStep = yield* makeCancelStep
  const waitUntil = yield* makeWaitUntil

  /** A job waits for an import, and stops if the store is gone. */
  const orStop = <Cursor>(
    step: Effect.Effect<StepResult<Cursor>, NotFound | ValidationFailed | PimLocked, CurrentActor>
  ): Effect.Effect<StepResult<Cursor>, JobStopped, CurrentActor> =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      return Option.isSome(yield* importLock.share(accountId)) ? waitForImport : yield* step
    }).pipe(
      Effect.catchTags({
        PimLocked: () => Effect.succeed<StepResult<Cursor>>(waitForImport),
        NotFound: () =>
          new JobStopped({
            why: "The store is no longer linked.",
            next: "The publishes that were requested before remain requested. Link the store again, then resume the job."
          }),
        ValidationFailed: ({ message }) =>
          new JobStopped({ why: message, next: "Link the store with a platform, then resume the job." })
      })
    )

  const waiting = anyKind({
    name: "publish_waiting",
    input: WaitingInput,
    cursor: WaitingCursor,
    sizes,
    step: ({ accountId, cursor, id, input: { storeId }, size }) =>
      orStop(
        Effect.gen(function* (): Effect.fn.Return<
          StepResult<WaitingCursor>,
          NotFound | ValidationFailed | PimLocked,
          CurrentActor
        > {
          if (cursor?._tag === "Outcomes") {
            const wait = yield* waitUntil(accountId, storeId, cursor.until)
            if (wait !== undefined) return wait
            const { next } = cursor
            if (next !== null) return { _tag: "Progress", cursor: { _tag: "Requests", place: next }, done: 0 }
            // Lists of jobs, and processes of an older version, show the saved count. All others use `withOutcomes`.
            const { failed } = yield* repo.outcomesOf(accountId, id)
            return { _tag: "Progress", cursor: null, done: 0, ...(failed > 0 && { counts: { failed } }) }
          }
          const place = cursor?.place ?? firstPlace
          const batch = yield* repo.pendingAfter(accountId, storeId, kindsOfPart[place.part], place.after, size)
          yield* lockTargets(
            accountId,
            batch.map(({ id }) => ({ entityId: id, storeId }))
          )
          const answer = yield* publishing.requestPending(storeId, place, size, id)
          const { next } = answer
          const { now } = yield* repo.pendingUntil(accountId, storeId, null)
          // The kinds that refer to products are requested when the products are live.
          return {
            _tag: "Progress",
            cursor:
              next !== null && next.part === place.part
                ? { _tag: "Requests", place: next }
                : { _tag: "Outcomes", until: now, next },
            done: batch.length,
            ...countsOf(answer)
          } as const
        })
      )
  })

  const selected = anyKind({
    name: "publish_selected",
    input: Schema.Union(SelectedInput, FoundInput),
    cursor: SelectedCursor,
    sizes,
    step: ({ accountId, cursor, id, input, size }) =>
      orStop(
        Effect.gen(function* (): Effect.fn.Return<
          StepResult<SelectedCursor>,
          NotFound | ValidationFailed | PimLocked,
          CurrentActor
        > {
          if (typeof cursor === "object" && cursor !== null && cursor._tag !== "Found") {
            const wait = yield* waitUntil(accountId, input.storeId, cursor.until)
            const next = cursor._tag === "Outcomes" ? cursor.next : othersAfter(cursor)
            return wait ?? ({ _tag: "Progress", cursor: next, done: 0 } as const)
          }
          if ("found" in input)
            return yield* foundStep({ accountId, id, input, cursor: typeof cursor === "number" ? null : cursor, size })
          return yield* namedStep({ accountId, id, input, cursor: typeof cursor === "number" ? cursor : null, size })
        })
      )
  })

  const cancelling = anyKind({
    name: "publish_cancel",
    input: CancelInput,
    cursor: QueuePlace,
    sizes,
    step: (step) => orStop(cancelStep(step))
  })

  return [waiting, selected, cancelling]
})

/** Makes the functions that check whether a job can publish to a store, and that begin one. */
const makeBegin = Effect.gen(function* () {
  const importLock = yield* ImportLockRepo
  const jobs = yield* Jobs
  const stores = yield* Stores
  const whyUnpublishable = yield* makeWhyUnpublishable

  /** NotFound, ValidationFailed or PimLocked: nothing can be published to the store now. */
  const check = (storeId: StoreId, cancels = false) =>
    Effect.gen(function* () {
      const store = yield* stores.find(storeId)
      // A cancellation makes no call to the platform.
      const refusal = cancels ? whyNeverPublishable(store) : whyUnpublishable(store)
      if (refusal !== undefined) return yield* ValidationFailed.at("store_id", refusal)
      const { accountId } = yield* CurrentActor
      if (Option.isSome(yield* importLock.share(accountId))) return yield* new PimLocked()
      return store
    })

  const begin = (
    kind: "publish_waiting" | "publish_selected" | "publish_cancel",
    storeId: StoreId,
    input: typeof WaitingInput.Type | typeof SelectedInput.Type | FoundInput | typeof CancelInput.Type,
    total: number,
    id?: JobId
  ) =>
    Effect.gen(function* () {
      const store = yield* check(storeId, kind === "publish_cancel")
      // A cancellation of a selection begins nothing that another job must not see, so it does not wait for one.
      const isOfSelected = kind === "publish_cancel" && "ids" in input
      const begun = jobs.begin({
        kind,
        title: isOfSelected ? titleOfSelected(store.domain) : titles[kind](store.domain, total),
        subject: isOfSelected ? null : storeId,
        input,
        total,
        ...(id !== undefined && { id })
      })
      // The same form may be sent twice.
      return yield* id === undefined
        ? begun
        : Effect.catchTag(begun, "ValidationFailed", (refusal) =>
            Effect.catchTag(jobs.get(id), "NotFound", () => refusal)
          )
    })

  return { begin, check }
})

const make = Effect.gen(function* () {
  const { begin, check } = yield* makeBegin
  const jobs = yield* Jobs
  const maxListed = yield* MaxListedIds
  const publishing = yield* Publishing
  const repo = yield* PublicationsRepo
  const waitingWithOthers = yield* makeWaitingWithOthers

  /** Publishes these entities: first the products, then, when these are live, what refers to them. */
  const selected = Effect.fn("PublishJobs.selected")(function* (
    storeId: StoreId,
    ids: ReadonlyArray<EntityId>,
    id?: JobId,
    kinds: ReadonlyArray<EntityKind> = EntityKind.literals
  ) {
    const { accountId } = yield* CurrentActor
    yield* check(storeId)
    const entities = (yield* repo.entities(accountId, ids)).filter(({ kind }) => kinds.includes(kind))
    if (entities.length === 0) return yield* ValidationFailed.at("", noneExists)
    const isProduct = new Set(entities.flatMap(({ id, kind }) => (kind === "product" ? [id] : [])))
    const [others, products] = Arr.partition(ids, (id) => isProduct.has(id))
    return yield* begin(
      "publish_selected",
      storeId,
      { storeId, ids: [...products, ...others], products: products.length, kinds },
      ids.length,
      id
    )
  })

  return {
    check: (storeId: StoreId) => check(storeId),
    /** Publishes all drafts of the store that are not published yet. */
    all: Effect.fn("PublishJobs.all")(function* (storeId: StoreId) {
      const counts = yield* publishing.pending(storeId)
      const total = counts.reduce((sum, { waiting }) => sum + waiting, 0)
      return yield* begin("publish_waiting", storeId, { storeId }, total)
    }),
    selected,
    /**
     * Cancels all publishes to the store that wait and were not sent, and the job that requests more of them. ValidationFailed: also if
     * no publish waits.
     */
    cancelAll: Effect.fn("PublishJobs.cancelAll")(function* (storeId: StoreId) {
      const { accountId } = yield* CurrentActor
      yield* check(storeId, true)
      if ((yield* repo.pendingUntil(accountId, storeId, null)).count === 0)
        return yield* ValidationFailed.at("", nothingWaits)
      const open = Option.filter(yield* jobs.openOn(storeId), isPublishing)
      // A job that has ended meanwhile is no hindrance.
      if (Option.isSome(open)) yield* Effect.ignore(jobs.command("cancel", open.value.id))
      const { count, now } = yield* repo.pendingUntil(accountId, storeId, null)
      return yield* begin("publish_cancel", storeId, { storeId, until: now }, count)
    }),
    /**
     * Cancels the publishes of those of these entities that have one of the kinds, if they wait and were not sent. `id`: of the job, if the
     * caller has minted it. ValidationFailed: also if none of them waits, or filters find too many to be named.
     */
    cancelChosen: Effect.fn("PublishJobs.cancelChosen")(function* (
      storeId: StoreId,
      kinds: ReadonlyArray<EntityKind>,
      chosen: ChosenEntities,
      id?: JobId
    ) {
      const { accountId } = yield* CurrentActor
      yield* check(storeId, true)
      if (!("ids" in chosen)) return yield* ValidationFailed.at("", tooManyToCancel(maxListed))
      const entities = yield* repo.entities(accountId, chosen.ids)
      const ids = entities.filter(({ kind }) => kinds.includes(kind)).map((each) => each.id)
      const { count, now } = yield* repo.pendingUntil(accountId, storeId, null, ids)
      const included = yield* waitingWithOthers(accountId, storeId, ids)
      if (count === 0) return yield* ValidationFailed.at("", included.length > 0 ? waitsWithAnother : nothingWaits)
      return yield* begin("publish_cancel", storeId, { storeId, until: now, ids }, count + included.length, id)
    }),
    /**
     * The job with the numbers of its publishes that have `failed` until now, or are `incomplete`, in its result. A job that publishes a
     * selection is done when all are requested, so its publishes end later.
     */
    withOutcomes: Effect.fn("PublishJobs.withOutcomes")(function* (job: Job) {
      if (!isPublishing(job)) return job
      const { accountId } = yield* CurrentActor
      const outcomes = Object.entries(yield* repo.outcomesOf(accountId, job.id)).filter(([, count]) => count > 0)
      return outcomes.length === 0 ? job : { ...job, result: { ...job.result, ...Object.fromEntries(outcomes) } }
    }),
    /**
     * As `selected`, for these entities, or for all of these kinds that the filters find when their turn comes. Entities that are created
     * later are left out. `id`: of the job, if the caller has minted it.
     */
    chosen: (storeId: StoreId, kinds: ReadonlyArray<EntityKind>, chosen: ChosenEntities, id?: JobId) =>
      "ids" in chosen
        ? selected(storeId, chosen.ids, id, kinds)
        : begin("publish_selected", storeId, { storeId, found: { kinds, filters: chosen.filters } }, chosen.count, id)
  }
})

/**
 * Begins jobs that publish to a store. NotFound: no such store. ValidationFailed: no platform, or another job works on it.
 * PimLocked: an import locks the account.
 */
export class PublishJobs extends Context.Tag("catalog/PublishJobs")<PublishJobs, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(PublishJobs, make)
}
