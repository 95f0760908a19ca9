import { Array as Arr, Cause, Effect, Option } from "effect"
import { untilNone } from "../database/Forgetting.ts"
import type { LockedCatalog } from "../drafts/CatalogChange.ts"
import { CatalogChanges } from "../drafts/CatalogChanges.ts"
import { emptyNote } from "../drafts/ChangeNote.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { changesOfAll } from "../drafts/FeedChanges.ts"
import { actorOf } from "../drafts/History.ts"
import type { PlannedAhead } from "../drafts/ImportedPlans.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { makeScanAfter } from "../health/ScanJobs.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { AccountId, EntityId } from "../model/Ids.ts"
import { filesOnly } from "../model/Store.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { makePause } from "../runtime/Pause.ts"
import { Mirror } from "../storedata/Mirror.ts"
import { makeDescribeTaken } from "../storedata/MirrorChanges.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { type ImportRun, type ImportSummary, plannedOf, type StoreAnswer } from "./Import.ts"
import { describeUnanswered, describeUnapplied, findPermanentReason, LeaseLost } from "./ImportFailures.ts"
import { makeImportJobs } from "./ImportJobs.ts"
import type { ImportLeases } from "./ImportLeases.ts"
import type { ReportProgress } from "./ImportStaging.ts"
import { ImportsRepo } from "./ImportsRepo.ts"
import { traceImport } from "./ImportTraces.ts"
import { omitOvertaken, resolveConflicts } from "./plan/ImportPlan.ts"
import type { ReadAnswer } from "./refresh/StoreAnswers.ts"
import { isPlanned, type LeasedRun, type StagedItem, type TakenRun } from "./StagedImport.ts"

/** Maximum number of entities that one transaction writes, unless a single item has more. */
const entitiesPerBatch = 1_000

/** The size of the first batch in this process: half as large for each interruption since the last batch that was saved. */
const sizeAfter = (interruptions: number) => Math.floor(entitiesPerBatch / 2 ** interruptions)

/** When the reading of the store after an export began; null: the store was not read. */
const answerBegunAt = ({ answer }: ImportSummary) => (answer !== null && "begun_at" in answer ? answer.begun_at : null)

/** The items of one transaction. `ahead`: their plan, if it was made before the transaction. */
interface Batch {
  readonly items: ReadonlyArray<StagedItem>
  readonly ahead: PlannedAhead | undefined
}

/** Applies the batches of an accepted import, one transaction for each. */
const makeBatches = ({ getRun, runTransaction }: ImportLeases) =>
  Effect.gen(function* () {
    const changes = yield* CatalogChanges
    const drafts = yield* DraftsRepo
    const scanAfter = yield* makeScanAfter
    const faults = yield* FaultInjector
    const importLock = yield* ImportLockRepo
    const jobs = yield* makeImportJobs
    const mirror = yield* Mirror
    const repo = yield* ImportsRepo
    const stores = yield* StoresRepo
    const describeTaken = yield* makeDescribeTaken

    /** Whether the import of a product export must still read the store. An interrupted read saves no answer, so it is repeated. */
    const isUnanswered = (accountId: AccountId, { source, storeId, summary }: ImportRun) =>
      source === "refresh" || summary.answer !== null
        ? Effect.succeed(false)
        : Effect.map(
            stores.find(accountId, storeId),
            Option.exists(({ platform }) => platform !== filesOnly)
          )

    const finish = (accountId: AccountId, run: ImportRun) =>
      Effect.gen(function* () {
        const { id, source, storeId, summary } = run
        const changes = [...changesOfAll("store.updated", "store", [storeId], storeId, ["last_imported_at"])]
        let entities: ReadonlyArray<EntityId> = []
        if (source === "refresh") {
          // All entities have their platform ids now, so translations find their entities.
          const applied = yield* mirror.apply(accountId, id, storeId)
          entities = applied.translated
          changes.push(...(yield* describeTaken(accountId, storeId, applied)))
        } else {
          const isDefined = yield* mirror.define(accountId, storeId, summary.metafields)
          changes.push(...changesOfAll("definitions.updated", "store", isDefined ? [storeId] : [], storeId))
        }
        yield* repo.move(accountId, id, { phase: "applied", leased: false })
        yield* jobs.finish(accountId, run)
        yield* importLock.keep(accountId, null)
        // The time of the last import is visible, so an import without changes counts as a change too.
        yield* stores.recordImport(accountId, storeId)
        yield* scanAfter(accountId, "import")
        yield* drafts.raise(accountId, undefined, { ...emptyNote, changes, entities })
        yield* faults.at("unlocked")
      })

    const writeBatch = (
      accountId: AccountId,
      { createdAt, id, source, summary }: ImportRun,
      items: Arr.NonEmptyReadonlyArray<StagedItem>,
      ahead: PlannedAhead | undefined
    ) =>
      Effect.gen(function* () {
        const staged = items.flatMap((item) => item.changes)
        const conflicts = staged.flatMap((change) => (change._tag === "Decided" ? [change.conflict] : []))
        const decisions = yield* repo.decisions(accountId, id, conflicts)
        const resolved = resolveConflicts(staged, (conflict) => decisions.get(conflict) === "keep_draft")
        const begunAt = source === "refresh" ? createdAt : answerBegunAt(summary)
        const select = (locked: LockedCatalog) =>
          begunAt === null ? resolved : omitOvertaken(locked, resolved, begunAt)
        yield* changes.applyImported(id, resolved, select, ahead)
        yield* faults.at("written")
        yield* repo.markDone(accountId, id, items)
        yield* jobs.save({ accountId, id }, items.filter(isPlanned).length)
        yield* faults.at("marked")
      })

    /**
     * Applies these items, or the next ones if there are no items. Returns the applied items, or "unanswered" if the store must be read
     * before the import can finish.
     */
    return (lease: LeasedRun, batch: Batch) =>
      runTransaction(
        Effect.gen(function* () {
          const { accountId, id } = lease
          yield* importLock.takeDuringImport(accountId)
          // The lease may have expired, and another process may have taken over the import.
          if (!(yield* repo.holds(lease))) return []
          const items =
            batch.items.length > 0 ? batch.items : yield* repo.nextItems(accountId, id, null, entitiesPerBatch)
          const run = yield* getRun(accountId, id)
          if (!items.some(isPlanned) && (yield* isUnanswered(accountId, run))) return "unanswered" as const
          if (Arr.isNonEmptyReadonlyArray(items)) yield* writeBatch(accountId, run, items, batch.ahead)
          else yield* finish(accountId, run)
          return items
        })
      )
  })

/** Applies an accepted import to the end. */
export const makeImportApply = (leases: ImportLeases, readAnswer: ReadAnswer) =>
  Effect.gen(function* () {
    const { fail, getRun, keepLease, release, runTransaction } = leases
    const changes = yield* CatalogChanges
    const drafts = yield* DraftsRepo
    const faults = yield* FaultInjector
    const importLock = yield* ImportLockRepo
    const jobs = yield* makeImportJobs
    const repo = yield* ImportsRepo
    const applyBatch = yield* makeBatches(leases)

    /** Reads which values the store has after an export. A platform that cannot be read does not fail the import. */
    const readStore = (lease: LeasedRun, report: ReportProgress) =>
      Effect.gen(function* () {
        const { accountId, id } = lease
        // Reading takes long. If another process took over the import meanwhile, that process reads the store again.
        const write = <A>(part: Effect.Effect<A>) =>
          runTransaction(
            Effect.flatMap(
              repo.holds(lease),
              (isHeld): Effect.Effect<A, LeaseLost> => (isHeld ? part : new LeaseLost())
            )
          )
        yield* faults.at("askingStore")
        const { storeId } = yield* getRun(accountId, id)
        const { now: begunAt } = yield* drafts.read(accountId, [], [])
        const answer = yield* readAnswer(lease, storeId, begunAt, report, write).pipe(
          Effect.map((entities): StoreAnswer => ({ entities, begun_at: begunAt })),
          Effect.catchIf(
            (error) => !(error instanceof LeaseLost),
            (error) => Effect.as(untilNone(write(repo.clearSome(accountId, id))), { error: describeUnanswered(error) })
          )
        )
        yield* runTransaction(
          Effect.gen(function* () {
            yield* importLock.takeDuringImport(accountId)
            if (!(yield* repo.holds(lease))) return yield* new LeaseLost()
            const { summary } = yield* getRun(accountId, id)
            yield* repo.move(accountId, id, { phase: "applying", leased: true, summary: { ...summary, answer } })
          })
        )
        yield* faults.at("storeAnswered")
      })

    /** Claims the import's job, unless the import was paused or cancelled meanwhile. */
    const claimJob = (lease: LeasedRun, run: ImportRun) =>
      runTransaction(
        Effect.flatMap(repo.holds(lease), (isHeld) => (isHeld ? jobs.claim(lease.accountId, run) : Effect.void))
      )

    return (lease: TakenRun, run: ImportRun, report: ReportProgress) => {
      const { accountId, id, interruptions } = lease
      const { actor, applied, summary } = run
      const total = plannedOf(summary)
      let done = applied
      let size = sizeAfter(interruptions)
      const applyNext = (batch: Batch) =>
        Effect.flatMap(traceImport("batch", accountId, id)(applyBatch(lease, batch)), (items) => {
          if (items === "unanswered")
            return Effect.as(traceImport("answer", accountId, id)(readStore(lease, report)), "answered" as const)
          done = Math.min(done + items.length, total)
          return faults
            .at(items.length > 0 ? "committed" : "applied")
            .pipe(
              Effect.zipRight(report({ step: "applying", done, total })),
              Effect.as(items.length > 0 ? "applied" : "ended")
            )
        })
      /** Only this process applies items while it has the lease, so those after the last item of a batch are the next ones. */
      const readAfter = (ordinal: number | null): Effect.Effect<Batch, never, CurrentActor> =>
        Effect.gen(function* () {
          const items = yield* repo.nextItems(accountId, id, ordinal, size)
          const isUndecided = items.some((item) => item.changes.some(({ _tag }) => _tag === "Decided"))
          if (items.length === 0 || isUndecided) return { items, ahead: undefined }
          const groups = items.map((item) => resolveConflicts(item.changes, () => false))
          const ahead = yield* changes.planAhead(id, groups)
          return { items, ahead: Option.getOrUndefined(ahead) }
        })
      const readBehind = ({ items }: Batch): Effect.Effect<Batch, never, CurrentActor> =>
        Option.match(Arr.last(items), {
          onNone: () => Effect.succeed({ items: [], ahead: undefined }),
          onSome: ({ ordinal }) => readAfter(ordinal)
        })
      /** Applies a batch while the next one is read and planned. */
      const applyRest = Effect.gen(function* () {
        const pause = yield* makePause
        let batch = yield* readAfter(null)
        let isOpen = true
        while (isOpen) {
          const [outcome, next] = yield* Effect.all([applyNext(batch), readBehind(batch)], { concurrency: 2 })
          isOpen = outcome !== "ended"
          size = Math.min(entitiesPerBatch, 2 * size)
          // The reading of the store replaced its answers. `next` may have answers of an earlier reading that was interrupted.
          batch = outcome === "answered" ? yield* readAfter(null) : next
          yield* pause
        }
      })
      return keepLease(lease, Effect.zipRight(claimJob(lease, run), applyRest), Effect.void).pipe(
        Effect.zipLeft(repo.forgetUnneeded(accountId, id)),
        Effect.catchTag("LeaseLost", () => Effect.void),
        // The catalog was locked since the comparison, so a change that cannot be applied is a defect.
        Effect.catchTags({ NotFound: Effect.die, ValidationFailed: Effect.die }),
        Effect.catchSomeDefect((defect) =>
          Option.map(findPermanentReason(defect), (reason) =>
            Effect.zipRight(
              Effect.logError(`Import ${id} could not be applied`, Cause.die(defect)),
              fail(lease, (run) => describeUnapplied(run, reason))
            )
          )
        ),
        // A process that shuts down releases the lease. Otherwise the next process would wait until the lease expires.
        Effect.onInterrupt(() => release(lease)),
        Effect.provideService(CurrentActor, actorOf(accountId, actor))
      )
    }
  })

export type ApplyImport = Effect.Effect.Success<ReturnType<typeof makeImportApply>>
