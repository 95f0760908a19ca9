import { Effect } from "effect"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityId, PublicationId, StoreId } from "../model/Ids.ts"
import { PublicationsRepo } from "./PublicationsRepo.ts"

/** Maximum number of failures in one list. */
const maxFailures = 100

/** Reads of the publishes of the actor's account. */
export const makePublishReads = Effect.gen(function* () {
  const repo = yield* PublicationsRepo

  return {
    /** The products among these entities. They are requested before their variants, which show only pictures that the store has for the product. */
    productsIn: Effect.fn("Publishing.productsIn")(function* (ids: ReadonlyArray<EntityId>) {
      const { accountId } = yield* CurrentActor
      const entities = yield* repo.entities(accountId, ids)
      return new Set(entities.flatMap(({ id, kind }) => (kind === "product" ? [id] : [])))
    }),
    /** Why publishes to a store of the actor's account wait for its platform; null: none does. */
    delay: Effect.fn("Publishing.delay")(function* (storeId: StoreId) {
      const { accountId } = yield* CurrentActor
      return (yield* repo.pendingUntil(accountId, storeId, null)).delay
    }),
    /** For each store whose platform does not answer: why the publish of an entity waits. */
    delaysOf: Effect.fn("Publishing.delaysOf")(function* (entityId: EntityId) {
      const { accountId } = yield* CurrentActor
      return yield* repo.delaysOf(accountId, entityId)
    }),
    /** The publications of the actor's account with these ids, oldest first. */
    find: Effect.fn("Publishing.find")(function* (ids: ReadonlyArray<PublicationId>) {
      const { accountId } = yield* CurrentActor
      return yield* repo.find(accountId, ids)
    }),
    /**
     * Failed publishes without a newer request, most recent failure first. `limit` is 1 to 100; other limits are clamped. The
     * number of attempts and the end are known for 30 days.
     */
    failures: Effect.fn("Publishing.failures")(function* (limit: number) {
      const { accountId } = yield* CurrentActor
      return yield* repo.failures(accountId, Math.min(Math.max(limit, 1), maxFailures))
    }),
    /** The attempts of a publication, in order. */
    attempts: Effect.fn("Publishing.attempts")(function* (id: PublicationId) {
      const { accountId } = yield* CurrentActor
      return yield* repo.attempts(accountId, id)
    })
  }
})
