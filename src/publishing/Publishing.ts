import { Context, Effect, Layer, Schedule } from "effect"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityId, PublicationId, StoreId } from "../model/Ids.ts"
import { makePendingRequests } from "./PendingRequests.ts"
import type { PublicationRecord } from "./PublicationRecord.ts"
import { PublicationsRepo } from "./PublicationsRepo.ts"
import { makePublishCancels } from "./PublishCancels.ts"
import { defaultPublishingOptions, type PublishingOptions } from "./PublishingOptions.ts"
import { makeRunQueue, makeWaitForOutcomes } from "./PublishQueue.ts"
import { makePublishReads } from "./PublishReads.ts"
import { makePublishRequests } from "./PublishRequests.ts"
import { makePublishSignal } from "./PublishSignal.ts"
import { makeNoteUnclaimed } from "./UnclaimedPublishes.ts"

export { firstPlace } from "./PendingRequests.ts"
export { defaultPublishingOptions, type PublishingOptions } from "./PublishingOptions.ts"
export type { PublishPreview } from "./PublishRequests.ts"

const make = (options: PublishingOptions) =>
  Effect.gen(function* () {
    const repo = yield* PublicationsRepo
    const signal = yield* makePublishSignal(options)
    const requests = yield* makePublishRequests(signal)
    const { adopt, countPending, listWaiting, requestBatch, requestEach } = yield* makePendingRequests(requests)
    const cancels = yield* makePublishCancels(signal)
    const reads = yield* makePublishReads
    const runQueue = yield* makeRunQueue(options, signal)
    const waitForOutcomes = yield* makeWaitForOutcomes(signal)
    const { look: noteUnclaimed } = yield* makeNoteUnclaimed(options)

    return {
      /**
       * Requests a publish of an entity's draft to one store. The request fixes the draft; later edits stay drafts. The first
       * publish of a product includes its variants. Media that the store has never accepted are included with the entity
       * that shows them. `isAgain`: publish even if the store has accepted the draft already.
       *
       * NotFound: the entity or the store does not exist, or the entity is not on the store. ValidationFailed: the store has
       * no platform, or the entity refers to a product that is not live on the store. PimLocked: an import locks the
       * account. RevisionConflict: the draft is not at `draftRevision`.
       */
      request: Effect.fn("Publishing.request")(
        (entityId: EntityId, storeId: StoreId, draftRevision?: number, isAgain?: boolean) =>
          requests.requestDraft(entityId, storeId, { draftRevision, isAgain })
      ),
      /** The effect that `request` would have now, with the same errors. Changes nothing. */
      preview: Effect.fn("Publishing.preview")(requests.previewDraft),
      /**
       * Requests a publish of the values that the store accepted last, except that `values` are replaced (null or `""` empties a
       * field). Drafts stay unpublished. Can be part of a transaction whose first lock is the import lock.
       *
       * Errors: as for `request`, and ValidationFailed if the store has never accepted the entity. `dropId`: the drop that requests
       * the publish on behalf of the actor. `isTakenBack`: if the publish fails, but the store may have taken a part of the values, the
       * values before are published again. `endsAt`: if an outage lasts until then, the publish fails.
       */
      requestValues: Effect.fn("Publishing.requestValues")(requests.requestValues),
      ...cancels,
      ...reads,
      /** Counts entities whose draft is unpublished on this store, by kind. NotFound: no such store. */
      pending: Effect.fn("Publishing.pending")(countPending),
      /** The first of them that are not requested yet, products first. NotFound: no such store. */
      waiting: Effect.fn("Publishing.waiting")(listWaiting),
      /**
       * Requests a publish of a batch of a store's unpublished drafts, beginning at a place, for a job. Products come first; they
       * include their variants and media. The kinds that need live products follow in later batches. Refused entities are
       * listed in the answer and stay unpublished.
       *
       * NotFound: no such store. ValidationFailed: the store has no platform. PimLocked: as for `request`; requests that were made
       * earlier in the batch stay valid.
       */
      requestPending: Effect.fn("Publishing.requestPending")(requestBatch),
      /**
       * Requests a publish of these entities, for a job. Those that are not on the store are left out. `gone`: those that do not exist,
       * or have none of these kinds. Refusals as for `requestPending`.
       */
      requestEach: Effect.fn("Publishing.requestEach")(requestEach),
      /**
       * Runs these publications in this process, in addition to other workers, and waits for their outcomes. Calls `report` as
       * `outcomes` does.
       */
      settle: Effect.fn("Publishing.settle")(function* (
        ids: ReadonlyArray<PublicationId>,
        report: (open: number, records: ReadonlyArray<PublicationRecord>) => Effect.Effect<void>
      ) {
        const { accountId } = yield* CurrentActor
        // Also runs publications that must run before these, because there may be no other worker.
        const all = yield* repo.ahead(accountId, ids)
        return yield* Effect.raceFirst(waitForOutcomes(accountId, ids, report), runQueue(all))
      }),
      /**
       * Waits for the outcomes of publications that other workers run. Calls `report` with the number of open publications, and with
       * all publications, whenever one has ended, or another reason is why one waits for its platform.
       */
      outcomes: Effect.fn("Publishing.outcomes")(function* (
        ids: ReadonlyArray<PublicationId>,
        report: (open: number, records: ReadonlyArray<PublicationRecord>) => Effect.Effect<void>
      ) {
        const { accountId } = yield* CurrentActor
        return yield* waitForOutcomes(accountId, ids, report)
      }),
      /** Runs requested publications of all accounts, to the platforms of this process, until it is interrupted. */
      work: runQueue(null),
      /**
       * Looks for publishes to platforms that this process has no adapter for. If no process claims those of a store for some minutes, their
       * versions say so. Returns the number of such stores.
       */
      noteUnclaimed,
      /**
       * Requests publishes of versions with the status `pending` that have no publication (data from before the queue existed).
       * Returns the number of requests.
       */
      adopt,
      /** Deletes publications that ended more than 30 days ago, with their attempts. Returns the number of publications. */
      forget: repo.forget
    }
  })

/** Publishes drafts to stores. Each request is published once. Requests for the same entity and store run in order. */
export class Publishing extends Context.Tag("catalog/Publishing")<
  Publishing,
  Effect.Effect.Success<ReturnType<typeof make>>
>() {
  static readonly layerWith = (options: PublishingOptions) => Layer.scoped(Publishing, make(options))

  static readonly layer = Publishing.layerWith(defaultPublishingOptions)
}

const watch = (noteUnclaimed: Effect.Effect<number>) =>
  Effect.repeat(
    Effect.catchAllCause(noteUnclaimed, (cause) =>
      Effect.logWarning("Failed to look for publishes that no process claims", cause)
    ),
    Schedule.spaced("1 minute")
  )

/** Starts the workers of a server in the background. */
export const layerWorkers: Layer.Layer<never, never, Publishing> = Layer.scopedDiscard(
  Effect.flatMap(Publishing, ({ adopt, noteUnclaimed, work }) =>
    Effect.forkScoped(
      adopt.pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("Failed to request publishes of pending versions", cause)),
        Effect.zipRight(work)
      )
    ).pipe(Effect.zipRight(Effect.forkScoped(watch(noteUnclaimed))))
  )
)
