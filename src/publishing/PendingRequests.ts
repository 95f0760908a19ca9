import { Effect, Either, Option, Schema } from "effect"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { EntityId, type JobId, nilUuid, type StoreId } from "../model/Ids.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import type { PendingEntity } from "./PublicationRecord.ts"
import { PublicationsRepo } from "./PublicationsRepo.ts"
import { type PublishRequests, whyNeverPublishable } from "./PublishRequests.ts"

/** A position in the list of a store's unpublished drafts. Products come first, then the kinds that refer to products. */
export const PendingPlace = Schema.Struct({ part: Schema.Literal("products", "others"), after: EntityId })
export type PendingPlace = typeof PendingPlace.Type

export const firstPlace: PendingPlace = { part: "products", after: EntityId.make(nilUuid) }

const firstOther: PendingPlace = { ...firstPlace, part: "others" }

export const kindsOfPart: Readonly<Record<PendingPlace["part"], ReadonlyArray<EntityKind>>> = {
  products: ["product"],
  others: ["collection", "variant", "media"]
}

/** The answer to a request that publishes one batch of drafts. `next`: the position of the next batch; null: no more. */
export interface RequestedBatch {
  readonly requested: number
  readonly refused: ReadonlyArray<PendingEntity & { readonly message: string }>
  readonly next: PendingPlace | null
}

/** Products first: the first publish of a product includes its variants and media. */
const adoptionOrder: ReadonlyArray<EntityKind> = ["product", "collection", "variant", "media"]

/** Requests publishes for all unpublished drafts of a store, in batches. */
export const makePendingRequests = ({ requestDraft }: PublishRequests) =>
  Effect.gen(function* () {
    const repo = yield* PublicationsRepo
    const stores = yield* StoresRepo

    const findStore = (storeId: StoreId) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        const store = yield* stores.find(accountId, storeId)
        return Option.isNone(store) ? yield* new NotFound() : store.value
      })

    const requestAll = (batch: ReadonlyArray<PendingEntity>, storeId: StoreId, jobId?: JobId) =>
      Effect.gen(function* () {
        const refused: Array<RequestedBatch["refused"][number]> = []
        let requested = 0
        for (const entity of batch) {
          const answer = yield* Effect.either(requestDraft(entity.id, storeId, { jobId, isInBackground: true }))
          if (Either.isRight(answer)) {
            if (answer.right.outcome !== "nothing_to_publish") requested++
          } else if (answer.left._tag === "ValidationFailed") refused.push({ ...entity, message: answer.left.reasons })
          else if (answer.left._tag === "PimLocked") return yield* answer.left
          // NotFound: the entity was removed from the store meanwhile, so it is no longer pending.
        }
        return { requested, refused }
      })

    const findPublishable = (storeId: StoreId) =>
      Effect.gen(function* () {
        const refusal = whyNeverPublishable(yield* findStore(storeId))
        if (refusal !== undefined) return yield* ValidationFailed.at("store_id", refusal)
      })

    const requestBatch = (storeId: StoreId, { after, part }: PendingPlace, limit: number, jobId?: JobId) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        yield* findPublishable(storeId)
        // One more than a batch, to see whether more follow.
        const pending = yield* repo.pendingAfter(accountId, storeId, kindsOfPart[part], after, limit + 1)
        const batch = pending.slice(0, limit)
        const answer = yield* requestAll(batch, storeId, jobId)
        const last = batch.at(-1)
        if (pending.length > batch.length && last !== undefined) return { ...answer, next: { part, after: last.id } }
        const hasOthers =
          part === "products" &&
          (yield* repo.pendingAfter(accountId, storeId, kindsOfPart.others, firstOther.after, 1)).length > 0
        return { ...answer, next: hasOthers ? firstOther : null }
      })

    const requestEach = (
      storeId: StoreId,
      ids: ReadonlyArray<EntityId>,
      jobId: JobId,
      kinds: ReadonlyArray<EntityKind>
    ) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        yield* findPublishable(storeId)
        const entities = (yield* repo.entities(accountId, ids)).filter(({ kind }) => kinds.includes(kind))
        const existing = new Set(entities.map(({ id }) => id))
        return {
          ...(yield* requestAll(entities, storeId, jobId)),
          gone: ids.filter((id) => !existing.has(id))
        }
      })

    const countPending = (storeId: StoreId) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        yield* findStore(storeId)
        return yield* repo.pendingCounts(accountId, storeId)
      })

    const listWaiting = (storeId: StoreId, limit: number) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        yield* findStore(storeId)
        const list = (part: PendingPlace["part"], count: number) =>
          repo.pendingAfter(accountId, storeId, kindsOfPart[part], firstPlace.after, count)
        const products = yield* list("products", limit)
        return [...products, ...(products.length < limit ? yield* list("others", limit - products.length) : [])]
      })

    const adopt = Effect.gen(function* () {
      let adopted = 0
      for (const kind of adoptionOrder)
        for (const { accountId, entityId, storeId } of yield* repo.orphans(kind))
          adopted += yield* requestDraft(entityId, storeId, { isInBackground: true }).pipe(
            Effect.provideService(CurrentActor, { _tag: "Cli", accountId }),
            Effect.as(1),
            Effect.catchAll((refusal) =>
              Effect.as(Effect.logWarning(`Cannot publish the pending entity ${entityId}: ${refusal.message}`), 0)
            )
          )
      return adopted
    })

    return { listWaiting, requestBatch, requestEach, countPending, adopt }
  })
