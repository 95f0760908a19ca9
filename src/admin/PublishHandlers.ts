import { Effect, Either, Option } from "effect"
import { Drafts } from "../drafts/Drafts.ts"
import type { Job, JobKindName } from "../jobs/Job.ts"
import { Jobs } from "../jobs/Jobs.ts"
import type { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { isDelayed, nothingToCount, type PublishCounts } from "../model/PublishState.ts"
import { filesOnly, type Store } from "../model/Store.ts"
import type { CancelOutcome } from "../publishing/PublishCancels.ts"
import { Publishing } from "../publishing/Publishing.ts"
import { PublishJobs } from "../publishing/PublishJobs.ts"
import { Stores } from "../stores/Stores.ts"
import { type CancelledStore, type PublishEvent, type PublishResult, PublishRpcs } from "./AdminRpcs.ts"
import { type Report, streamEvents } from "./EventStream.ts"
import { makeFindEntity, makeFindStore } from "./FindByName.ts"
import { Refusal } from "./Refusal.ts"

const resultOn = (store: Store, outcome: PublishResult["outcome"]): PublishResult => ({
  store_id: store.id,
  store_domain: store.domain,
  outcome,
  publication_id: null,
  draft_revision: null,
  attempts: 0,
  error: null
})

const cancelledOn = (store: Store, { hasDraft, isAlready, isOfDrop }: CancelOutcome): CancelledStore => ({
  store_id: store.id,
  store_domain: store.domain,
  is_already: isAlready,
  is_of_drop: isOfDrop,
  has_draft: hasDraft
})

/**
 * Makes the function that begins a job for each of these stores, or returns the open job of the same kind: its command was stopped, or
 * somebody else began it. An error of the first store: there is no job.
 */
const makeBeginEach = Effect.map(
  Jobs,
  (jobs) =>
    <R>(
      all: ReadonlyArray<Store>,
      kind: JobKindName,
      begin: (storeId: StoreId) => Effect.Effect<Job, NotFound | PimLocked | ValidationFailed, R>
    ) =>
      Effect.gen(function* () {
        const beginOrFind = (storeId: StoreId) =>
          begin(storeId).pipe(
            Effect.map((job) => ({ job, isEarlier: false })),
            Effect.catchTag("ValidationFailed", (refusal) =>
              Effect.flatMap(jobs.openOn(storeId), (open) =>
                Option.isSome(open) && open.value.kind === kind
                  ? Effect.succeed({ job: open.value, isEarlier: true })
                  : refusal
              )
            )
          )
        const [refusals, begun] = yield* Effect.partition(all, ({ domain, id }) =>
          Effect.mapError(beginOrFind(id), (error) => ({ domain, error }))
        )
        const [first] = refusals
        if (first !== undefined && begun.length === 0) return yield* first.error
        return {
          jobs: begun.map(({ job }) => job),
          earlier: begun.flatMap(({ isEarlier, job }) => (isEarlier ? [job.id] : [])),
          refused: refusals.map(({ domain, error }) => `${domain}: ${error.message}`)
        }
      })
)

export const PublishHandlers = PublishRpcs.toLayer(
  Effect.gen(function* () {
    const publishJobs = yield* PublishJobs
    const beginEach = yield* makeBeginEach
    const drafts = yield* Drafts
    const publishing = yield* Publishing
    const findEntity = yield* makeFindEntity
    const findStore = yield* makeFindStore
    const stores = yield* Stores

    /** The typed store or, without one, all stores that have the entity. */
    const targets = (id: EntityId, domain: Option.Option<string>) =>
      Effect.gen(function* () {
        if (domain._tag === "Some") return [yield* findStore(domain.value)]
        yield* drafts.get(id, null)
        const on = yield* Effect.filter(yield* stores.list, (store) => Effect.isSuccess(drafts.get(id, store.id)))
        if (on.length === 0)
          return yield* new Refusal({
            message: `${id} is on no store: \`catalog store-version add ${id} --store DOMAIN\` adds it to one.`
          })
        return on
      })

    /** The named store or, without a name, all stores with a platform whose counts are meant. */
    const storesWith = (domain: Option.Option<string>, isMeant: (counts: PublishCounts) => boolean) =>
      Effect.gen(function* () {
        if (domain._tag === "Some") return [yield* findStore(domain.value)]
        const counts = yield* stores.publishCounts
        return (yield* stores.list).filter(
          ({ id, platform }) => platform !== filesOnly && isMeant(counts.get(id) ?? nothingToCount)
        )
      })

    return {
      publishAll: ({ store }) =>
        Effect.flatMap(
          storesWith(store, ({ pendingPublish }) => pendingPublish > 0),
          (all) => beginEach(all, "publish_waiting", publishJobs.all)
        ),
      cancelPublishes: ({ store }) =>
        Effect.flatMap(
          storesWith(store, ({ pending }) => pending > 0),
          (all) => beginEach(all, "publish_cancel", publishJobs.cancelAll)
        ),
      cancelPublish: ({ entity, store: named }) =>
        Effect.gen(function* () {
          const id = yield* findEntity(entity)
          const all = yield* targets(id, named)
          const isPending = (store: Store) =>
            Effect.map(drafts.get(id, store.id), (draft) => draft.last_publish_status === "pending")
          const pending = named._tag === "Some" ? all : yield* Effect.filter(all, isPending)
          // Without a publish that waits, the first store says so.
          const cancelledStores = pending.length > 0 ? pending : all.slice(0, 1)
          const ended = yield* Effect.forEach(cancelledStores, (store) =>
            Effect.map(publishing.cancel(id, store.id), (outcome) => cancelledOn(store, outcome))
          )
          return { entity_id: id, stores: ended }
        }),
      publish: ({ again, entity, store: named }) =>
        streamEvents((report: Report<PublishEvent>) =>
          Effect.gen(function* () {
            const id = yield* findEntity(entity)
            const all = yield* targets(id, named)
            const isOnly = all.length === 1
            const requests = yield* Effect.forEach(all, (store) =>
              // A store without a platform is skipped, unless it is the only target: then the command fails.
              store.platform === filesOnly && !isOnly
                ? Effect.succeed(resultOn(store, "skipped"))
                : publishing.request(id, store.id, undefined, again).pipe(
                    Effect.catchTag("RevisionConflict", Effect.die),
                    Effect.map(
                      (answer): PublishResult => ({
                        ...resultOn(store, "nothing_to_publish"),
                        publication_id: answer.outcome === "nothing_to_publish" ? null : answer.publicationId,
                        draft_revision: answer.draftRevision
                      })
                    ),
                    Effect.either,
                    Effect.flatMap((answer) =>
                      Either.isLeft(answer) && !isOnly && answer.left._tag === "ValidationFailed"
                        ? Effect.succeed<PublishResult>({
                            ...resultOn(store, "refused"),
                            error: { code: "validation_failed", message: answer.left.message }
                          })
                        : answer
                    )
                  )
            )
            const ids = requests.flatMap(({ publication_id }) => publication_id ?? [])
            const records = yield* publishing.settle(ids, (open, records) =>
              report({
                _tag: "Progress",
                open,
                total: ids.length,
                waiting: records.flatMap(({ error, state, storeDomain }) =>
                  state === "pending" && error !== null && isDelayed(error)
                    ? [{ store_domain: storeDomain, message: error.message }]
                    : []
                )
              })
            )
            const results = requests.map((result): PublishResult => {
              const record = records.find((each) => each.id === result.publication_id)
              return record === undefined
                ? result
                : {
                    ...result,
                    outcome: record.state === "published" ? "published" : "failed",
                    attempts: record.attempts,
                    error: record.error
                  }
            })
            return { _tag: "Done" as const, entity_id: id, results }
          })
        )
    }
  })
)
