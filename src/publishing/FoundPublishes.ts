import { Effect, Schema } from "effect"
import { FoundEntities, lookedPerItem } from "../jobs/FoundEntities.ts"
import { FoundEntitiesRepo } from "../jobs/FoundEntitiesRepo.ts"
import type { JobError } from "../jobs/Job.ts"
import type { StepInput, StepResult } from "../jobs/JobKind.ts"
import type { CurrentActor } from "../model/Actor.ts"
import type { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { EntityId, nilUuid, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { makeAwaitFilterStore } from "../stores/FilterStore.ts"
import type { RequestedBatch } from "./PendingRequests.ts"
import type { PendingEntity } from "./PublicationRecord.ts"
import { PublicationsRepo } from "./PublicationsRepo.ts"
import { Publishing } from "./Publishing.ts"
import { makeLockTargets } from "./PublishLocks.ts"

/** The input of a job that publishes everything that filters find. It has no `ids`, so that a process of an older version cannot read it. */
export const FoundInput = Schema.Struct({ storeId: StoreId, found: FoundEntities })
export type FoundInput = typeof FoundInput.Type

/**
 * `Found`: the next step requests publishes of entities after an id: of products, or of the others. `FoundOutcomes`: it waits for the
 * publishes of products that were requested until a time, then continues with the others. `done`: number of entities until now.
 */
const FoundPlace = Schema.TaggedStruct("Found", { isOfProducts: Schema.Boolean, after: EntityId, done: Schema.Int })
export const FoundCursor = Schema.Union(
  FoundPlace,
  Schema.TaggedStruct("FoundOutcomes", { until: Timestamp, done: Schema.Int })
)
export type FoundCursor = typeof FoundCursor.Type

/** How a refusal names an entity: by its title, or by its id. */
export const itemOf = ({ id, kind, title }: PendingEntity) => `${kind} ${title === "" ? id : title}`

/** The counts and refusals of a step. `gone`: entities that were selected and no longer exist. */
export const countsOf = (
  { refused, requested }: Pick<RequestedBatch, "requested" | "refused">,
  gone: ReadonlyArray<JobError> = []
) => ({
  counts: { requested, refused: refused.length + gone.length },
  errors: [...refused.map(({ message, ...entity }) => ({ item: itemOf(entity), message })), ...gone]
})

const firstOf = (isOfProducts: boolean, done: number): typeof FoundPlace.Type => ({
  _tag: "Found",
  isOfProducts,
  after: EntityId.make(nilUuid),
  done
})

/**
 * Makes the function that requests publishes of the next entities that filters find. The walk is by id, so a publish that fails again is
 * not requested twice. No list of the entities is needed: a publish sends the draft of its time, so no revision has to be kept.
 */
export const makeFoundStep = Effect.gen(function* () {
  const awaitFilterStore = yield* makeAwaitFilterStore
  const foundEntities = yield* FoundEntitiesRepo
  const lockTargets = yield* makeLockTargets
  const publishing = yield* Publishing
  const repo = yield* PublicationsRepo

  return ({
    accountId,
    cursor,
    id,
    input: { found, storeId },
    size
  }: StepInput<FoundInput, typeof FoundPlace.Type>): Effect.Effect<
    StepResult<FoundCursor>,
    NotFound | ValidationFailed | PimLocked,
    CurrentActor
  > =>
    Effect.gen(function* () {
      const wait = yield* awaitFilterStore(accountId, found.filters.storeId)
      if (wait !== undefined) return wait
      const hasProducts = found.kinds.includes("product")
      const others = found.kinds.filter((kind) => kind !== "product")
      const place = cursor ?? firstOf(hasProducts, 0)
      const { ids, next } = yield* foundEntities.next(
        accountId,
        id,
        { kinds: place.isOfProducts ? ["product"] : others, filters: found.filters },
        { after: place.after, looked: lookedPerItem * size, limit: size }
      )
      yield* lockTargets(
        accountId,
        ids.map((entityId) => ({ entityId, storeId }))
      )
      const answer = yield* publishing.requestEach(storeId, ids, id, found.kinds)
      const done = place.done + ids.length
      const counts = countsOf(answer)
      if (next !== null)
        return { _tag: "Progress", cursor: { ...place, after: next, done }, done: ids.length, ...counts }
      // Collections and media that refer to products are requested when the products are live.
      if (place.isOfProducts && others.length > 0) {
        const { now } = yield* repo.pendingUntil(accountId, storeId, null)
        return { _tag: "Progress", cursor: { _tag: "FoundOutcomes", until: now, done }, done: ids.length, ...counts }
      }
      return { _tag: "Progress", cursor: null, total: done, done, ...counts }
    })
})

/** The place after the outcomes of the products. */
export const othersAfter = ({ done }: { readonly done: number }): FoundCursor => firstOf(false, done)
