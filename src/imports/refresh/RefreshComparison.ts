import { Chunk, Effect, Option, Sink, Stream } from "effect"
import { CatalogChange } from "../../drafts/CatalogChange.ts"
import { ValidationFailed } from "../../model/Errors.ts"
import { type AccountId, type ImportId, nilUuid } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import { FaultInjector } from "../../runtime/FaultInjector.ts"
import { makePause } from "../../runtime/Pause.ts"
import { StoresRepo } from "../../stores/StoresRepo.ts"
import { type Compared, ImportStaging, partsAtOnce, type ReportProgress } from "../ImportStaging.ts"
import { ImportsRepo } from "../ImportsRepo.ts"
import { PulledRecordsRepo, type Walked } from "../PulledRecordsRepo.ts"
import type { ImportSource } from "../StoreProduct.ts"
import { type RecordGroup, readGroups } from "./RecordGroups.ts"
import { makeRecordMatching } from "./RecordMatching.ts"
import { makeRefreshPlanning } from "./RefreshPlanning.ts"
import { type FetchedStore, writeAlways } from "./StoreReading.ts"

/** Compares a whole store with the catalog and stages the changes. */
export const makeRefreshComparison = Effect.gen(function* () {
  const faults = yield* FaultInjector
  const pulled = yield* PulledRecordsRepo
  const repo = yield* ImportsRepo
  const stores = yield* StoresRepo
  const match = yield* makeRecordMatching
  const planBatch = yield* makeRefreshPlanning

  /** Stages the changes of all records. */
  const stageRecords = (
    accountId: AccountId,
    id: ImportId,
    source: ImportSource,
    staging: ImportStaging,
    count: number,
    report: ReportProgress
  ) =>
    Effect.gen(function* () {
      const pause = yield* makePause
      let done = 0
      const stageBatch = (batch: ReadonlyArray<RecordGroup>) =>
        Effect.gen(function* () {
          yield* staging.stage(yield* planBatch(accountId, source, id, batch))
          const { images, variants } = staging.summary
          staging.summary = {
            ...staging.summary,
            variants: variants + batch.reduce((sum, group) => sum + group.length - 1, 0),
            images: images + batch.filter(([root]) => root.kind === "media").length
          }
          done += batch.reduce((sum, group) => sum + group.length, 0)
          yield* faults.at("staged")
          yield* pause
          yield* report({ step: "comparing", done, total: count })
        })
      yield* readGroups(pulled, accountId, id).pipe(
        Stream.transduce(
          Sink.foldWeighted({
            initial: Chunk.empty<RecordGroup>(),
            maxCost: partsAtOnce,
            cost: (_, group) => group.length,
            body: (batch, group) => Chunk.append(batch, group)
          })
        ),
        Stream.runForEach((batch) => stageBatch(Chunk.toReadonlyArray(batch)))
      )
    })

  /** Stages the removal of entities that the store does not have any more. */
  const stageRemovals = (read: Parameters<typeof pulled.missing>[0], staging: ImportStaging) =>
    Effect.gen(function* () {
      let after: string | null = nilUuid
      while (after !== null) {
        const walked: Walked = yield* pulled.missing(read, after, partsAtOnce)
        yield* staging.unlink(
          walked.missing.map((entityId) => CatalogChange.RemoveFromStore({ entityId, storeId: read.storeId }))
        )
        after = walked.last
      }
    })

  /**
   * Compares all records with the catalog and stages the changes. They replace the changes that were staged before.
   * ValidationFailed: the store was unlinked, or a record matches several entities.
   */
  return (
    accountId: AccountId,
    store: Store,
    id: ImportId,
    { begunAt, beside, count }: FetchedStore,
    report: ReportProgress
  ) =>
    Effect.gen(function* () {
      const version = yield* repo.accountVersion(accountId)
      // Read after the version: unlinking the store later changes the version.
      if (Option.isNone(yield* stores.find(accountId, store.id)))
        return yield* ValidationFailed.at("store", `${store.domain} was unlinked while it was read`)
      yield* repo.clear(accountId, id)
      yield* pulled.unmatch(accountId, id)
      yield* match(accountId, store.id, id, count, writeAlways)
      const staging = new ImportStaging(repo, accountId, id, store.id)
      const source: ImportSource = { storeId: store.id, storeName: store.name, isComplete: true, begunAt }
      yield* stageRecords(accountId, id, source, staging, count, report)
      yield* stageRemovals({ accountId, id, storeId: store.id, begunAt }, staging)
      return { version, summary: { ...staging.summary, beside } } satisfies Compared
    })
})
