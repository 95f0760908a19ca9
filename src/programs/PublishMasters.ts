import { Array as Arr, Duration, Effect, Either } from "effect"
import { Catalog } from "../catalog/Catalog.ts"
import { details, type StorePublishState } from "../catalog/Entity.ts"
import type { CurrentActor } from "../model/Actor.ts"
import { CurrentBounds, includes } from "../model/ConnectionBounds.ts"
import { NotFound, RevisionConflict, ValidationFailed } from "../model/Errors.ts"
import type { EntityId, PublicationId, StoreId } from "../model/Ids.ts"
import { isDelayed } from "../model/PublishState.ts"
import type { PublicationRecord } from "../publishing/PublicationRecord.ts"
import type { PublishAnswer, PublishedEntity, PublishedToStore } from "../publishing/PublishAnswer.ts"
import { Publishing } from "../publishing/Publishing.ts"
import { makeWhyUnpublishable, type RequestRefusal } from "../publishing/PublishRequests.ts"
import { Stores } from "../stores/Stores.ts"
import { PublishProgress } from "./PublishProgress.ts"

interface OneVersion {
  readonly master_id: EntityId
  readonly draft_revision: number
}

/** The arguments of publish_master_v1: either `master_id` and `draft_revision`, or `masters` and one channel. */
export interface PublishRequest {
  readonly payload: {
    readonly master_id?: EntityId | undefined
    readonly draft_revision?: number | undefined
    readonly masters?: ReadonlyArray<OneVersion> | undefined
    readonly channel_ids?: ReadonlyArray<StoreId> | undefined
    readonly dry_run?: boolean | undefined
  }
}

type Outcome = Pick<PublishedToStore, "outcome" | "message" | "changes" | "included">

/** The result of one publish request. */
interface RequestResult {
  readonly title: string
  readonly draftRevision: number
  readonly outcome: Outcome
  /** null: no publish was requested. */
  readonly publicationId: PublicationId | null
  readonly waiting: ReadonlyArray<EntityId>
}

/** Maximum number of ids in a list that has a `count` of all. */
const maxListed = 20

const listSome = (ids: ReadonlyArray<EntityId>) => ({ count: ids.length, entity_ids: ids.slice(0, maxListed) })

const upToDate: Outcome = { outcome: "nothing_to_publish", message: "the store already has this draft" }
const requestedBefore = "a publish of this draft is already requested"
const requestedAlready: Outcome = { outcome: "pending", message: requestedBefore }

/** Why a channel was refused, and how to continue. Paths of issues are left out, because they are paths in a REST body. */
const reasonOf = (error: RequestRefusal): string => {
  switch (error._tag) {
    case "ValidationFailed":
      return error.reasons
    case "RevisionConflict":
      return `the master was changed meanwhile: its draft_revision is now ${error.currentRevision}; call get_master_v1, then publish_master_v1 with the new draft_revision`
    default:
      return error.message
  }
}

const makeRequestOrPreview = Effect.gen(function* () {
  const publishing = yield* Publishing

  const request = (id: EntityId, storeId: StoreId, revision: number) =>
    Effect.map(publishing.request(id, storeId, revision), (answer): RequestResult => {
      switch (answer.outcome) {
        case "nothing_to_publish":
          return { ...answer, outcome: upToDate, publicationId: null }
        case "joined":
          return {
            ...answer,
            outcome:
              answer.delay === null
                ? requestedAlready
                : { outcome: "pending", message: `${requestedBefore}, and waits: ${answer.delay}` }
          }
        case "requested":
          return { ...answer, outcome: { outcome: "pending" } }
      }
    })

  const preview = (id: EntityId, storeId: StoreId, revision: number) =>
    Effect.map(
      publishing.preview(id, storeId, revision),
      ({ differences, included, isLive, outcome, ...head }): RequestResult => {
        const changes = differences.map(({ draft, key, live }) => ({ key, live: isLive ? live : null, new: draft }))
        const details = { changes, ...(included.length > 0 && { included: listSome(included) }) }
        switch (outcome) {
          case "nothing_to_publish":
            return { ...head, outcome: upToDate, publicationId: null }
          case "joined":
            return { ...head, outcome: { ...requestedAlready, ...details }, publicationId: null }
          case "would_publish":
            return { ...head, outcome: { outcome, ...details }, publicationId: null }
        }
      }
    )

  return (isDryRun: boolean) => (isDryRun ? preview : request)
})

/** Publishes one master to several of its channels. */
const makePublishOne = Effect.gen(function* () {
  const catalog = yield* Catalog
  const requestOrPreview = yield* makeRequestOrPreview

  return ({ draft_revision, master_id }: OneVersion, channels: ReadonlyArray<StoreId> | undefined, isDryRun: boolean) =>
    Effect.gen(function* () {
      const publish = requestOrPreview(isDryRun)
      const kind = yield* catalog.kindOf(master_id)
      const master = details[kind](yield* catalog.get(kind, master_id))
      if (master.draft_revision !== draft_revision)
        return yield* new RevisionConflict({ entityId: master_id, currentRevision: master.draft_revision })
      const on: ReadonlyMap<StoreId, StorePublishState> = new Map(master.stores.map((store) => [store.store_id, store]))
      if (channels?.some((id) => !on.has(id))) return yield* new NotFound()
      const bounds = yield* CurrentBounds
      const allowed = [...on.keys()].filter((id) => includes(bounds, id))
      const stores: Array<PublishedToStore> = []
      const waiting = new Set<EntityId>()
      for (const store_id of new Set(channels ?? allowed)) {
        const state = on.get(store_id)
        const row = (outcome: Outcome) => stores.push({ store_id, store_domain: state?.store_domain ?? "", ...outcome })
        const result = yield* Effect.either(publish(master_id, store_id, draft_revision))
        if (Either.isRight(result)) {
          row(result.right.outcome)
          for (const id of result.right.waiting) waiting.add(id)
        } else if (
          result.left._tag === "ValidationFailed" &&
          channels === undefined &&
          state?.pending_publish === false
        )
          // The caller did not name this store, the store has no platform and nothing is pending there, so it is not
          // listed as refused.
          row(upToDate)
        // Requests for other channels may have succeeded, so a failure becomes a row of the result.
        else if (result.left._tag === "ValidationFailed" || stores.length > 0)
          row({ outcome: "refused", message: reasonOf(result.left) })
        else return yield* result.left
      }
      if (stores.length > 0 && stores.every(({ outcome }) => outcome === "refused"))
        return yield* new ValidationFailed({
          issues: stores.map(({ message = "", store_id }) => ({
            path: "channel_ids",
            message: `${store_id} is refused: ${message}`
          }))
        })
      return {
        entity_id: master_id,
        title: master.title,
        draft_revision,
        ...(stores.length === 0 && { message: "The master is on no channel: nothing can be published." }),
        stores,
        ...(waiting.size > 0 && { waiting: listSome([...waiting].sort()) })
      } satisfies PublishAnswer
    })
})

/** The outcome of a publish request, from its publication. A publish is pending with a reason if it waits for the store's platform. */
const outcomeOf = ({ error, state }: PublicationRecord): Outcome => {
  const isExplained = error !== null && (state !== "pending" || isDelayed(error))
  return { outcome: state, ...(isExplained && { message: `${error.message} (${error.code})` }) }
}

const lineOf = ({ message, outcome, title }: PublishedEntity) =>
  `${title === undefined || title === "" ? "A master" : title}: ${outcome.replaceAll("_", " ")}${message === undefined ? "" : ` (${message})`}`

/** Waits for the stores, for `waitMillis` of the progress listener at most, and puts the outcomes into the rows. */
const makeFollow = Effect.gen(function* () {
  const publishing = yield* Publishing

  return (rows: Array<PublishedEntity>, requested: ReadonlyMap<PublicationId, number>) =>
    Effect.gen(function* () {
      const { report, waitMillis } = yield* PublishProgress
      const { stores } = yield* CurrentBounds
      const open = new Map(requested)
      let done = 0
      // A reason may name masters that the caller must not see. The answer has the reasons without these.
      const tell = ({ message, ...row }: PublishedEntity) =>
        report(++done, rows.length, lineOf(stores === null && message !== undefined ? { ...row, message } : row))
      const awaited = new Set(waitMillis > 0 ? requested.values() : [])
      yield* Effect.forEach(
        rows.filter((_, place) => !awaited.has(place)),
        tell
      )
      if (waitMillis <= 0 || open.size === 0) return
      const settle = (records: ReadonlyArray<PublicationRecord>) =>
        Effect.forEach(
          records.filter(({ error, id, state }) => open.has(id) && (state !== "pending" || isDelayed(error))),
          (record) => {
            const place = open.get(record.id) ?? 0
            const { message: _, ...row } = rows[place] as PublishedEntity
            rows[place] = { ...row, ...outcomeOf(record) }
            // A publish that waits may still end while the call waits.
            if (record.state === "pending") return Effect.void
            open.delete(record.id)
            return tell(rows[place])
          },
          { discard: true }
        )
      yield* Effect.timeoutOption(
        publishing.outcomes([...requested.keys()], (_, records) => settle(records)),
        Duration.millis(waitMillis)
      )
    })
})

/** Publishes several masters to one channel, products first. A master that fails does not stop the others. */
const makePublishBatch = Effect.gen(function* () {
  const requestOrPreview = yield* makeRequestOrPreview
  const catalog = yield* Catalog
  const follow = yield* makeFollow
  const publishing = yield* Publishing
  const stores = yield* Stores
  const whyUnpublishable = yield* makeWhyUnpublishable

  /** The outcome for an entity that was not found: it does not exist, or it is not on the channel. */
  const whyAbsent = (id: EntityId): Effect.Effect<Outcome, never, CurrentActor> =>
    Effect.gen(function* () {
      const kind = yield* catalog.kindOf(id)
      const { stores } = yield* catalog.get(kind, id)
      const bounds = yield* CurrentBounds
      const domains = stores
        .filter(({ store_id }) => includes(bounds, store_id))
        .slice(0, maxListed)
        .map(({ store_domain }) => store_domain)
      return {
        outcome: "not_on_channel" as const,
        message: domains.length === 0 ? "it is on no channel" : `its channels are ${domains.join(", ")}`
      }
    }).pipe(
      Effect.orElseSucceed(
        (): Outcome => ({ outcome: "not_found", message: "no such master; list_masters_v1 has ids that exist" })
      )
    )

  const refusedRow = (
    entity_id: EntityId,
    error: RequestRefusal
  ): Effect.Effect<PublishedEntity, never, CurrentActor> => {
    switch (error._tag) {
      case "NotFound":
        return Effect.map(whyAbsent(entity_id), (outcome) => ({ entity_id, ...outcome }))
      case "RevisionConflict":
        return Effect.succeed({
          entity_id,
          draft_revision: error.currentRevision,
          outcome: "conflict",
          message: reasonOf(error)
        })
      default:
        return Effect.succeed({ entity_id, outcome: "refused", message: reasonOf(error) })
    }
  }

  return (masters: ReadonlyArray<OneVersion>, storeId: StoreId, isDryRun: boolean) =>
    Effect.gen(function* () {
      const publish = requestOrPreview(isDryRun)
      const store = yield* stores.find(storeId)
      const refusal = whyUnpublishable(store)
      if (refusal !== undefined) return yield* ValidationFailed.at("channel_ids", refusal)
      const products = yield* publishing.productsIn(masters.map(({ master_id }) => master_id))
      const [others, first] = Arr.partition([...masters.entries()], ([, { master_id }]) => products.has(master_id))
      const rows = new Array<PublishedEntity>(masters.length)
      const requested = new Map<PublicationId, number>()
      const waiting = new Set<EntityId>()
      for (const [place, { draft_revision, master_id }] of [...first, ...others]) {
        const result = yield* Effect.either(publish(master_id, storeId, draft_revision))
        if (Either.isLeft(result)) {
          // The account is locked, and no earlier master was requested: the whole call fails.
          if (result.left._tag === "PimLocked" && requested.size === 0) return yield* result.left
          rows[place] = yield* refusedRow(master_id, result.left)
          continue
        }
        const { draftRevision, outcome, publicationId, title } = result.right
        if (publicationId !== null) requested.set(publicationId, place)
        for (const id of result.right.waiting) waiting.add(id)
        rows[place] = { entity_id: master_id, title, draft_revision: draftRevision, ...outcome }
      }
      // A confirmed publish begins with a dry run, which must not report progress of its own.
      if (!isDryRun) yield* follow(rows, requested)
      // Masters of this batch are not reported as waiting, because the batch publishes them.
      for (const { master_id } of masters) waiting.delete(master_id)
      return {
        masters: rows,
        ...(waiting.size > 0 && { waiting: listSome([...waiting].sort()) })
      } satisfies PublishAnswer
    })
})

/** The program of publish_master_v1, also for dry runs. */
export const makePublishMasters = Effect.gen(function* () {
  const publishBatch = yield* makePublishBatch
  const publishOne = yield* makePublishOne

  return ({
    payload: { channel_ids, draft_revision, dry_run = false, master_id, masters }
  }: PublishRequest): Effect.Effect<PublishAnswer, RequestRefusal, CurrentActor> => {
    const [channel] = channel_ids ?? []
    if (masters !== undefined && channel !== undefined) return publishBatch(masters, channel, dry_run)
    // The schema of the request allows only these two forms.
    return master_id === undefined || draft_revision === undefined
      ? Effect.dieMessage("the arguments name neither one master nor several")
      : publishOne({ master_id, draft_revision }, channel_ids, dry_run)
  }
})
