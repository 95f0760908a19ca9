import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { Array as Arr, Cause, Context, Data, Effect, Exit, FiberSet, Layer, Option, type Scope } from "effect"
import { asBackground } from "../database/Deadlines.ts"
import { classify, codeOf, isSqlError } from "../database/SqlErrors.ts"
import { Transaction } from "../database/Transaction.ts"
import { CatalogChanges } from "../drafts/CatalogChanges.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { actorOf } from "../drafts/History.ts"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { type Actor, CurrentActor } from "../model/Actor.ts"
import { NotFound, PimLocked, Unavailable, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, ImportId } from "../model/Ids.ts"
import type { Store } from "../model/Store.ts"
import { type PlatformReadError, PlatformRefused, PlatformUnavailable, whyUnread } from "../platform/PlatformErrors.ts"
import type { PendingEntity } from "../publishing/PublicationRecord.ts"
import { makeBreath } from "../runtime/Breath.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { leanHeap } from "../runtime/LeanHeap.ts"
import { Mirror } from "../storedata/Mirror.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { inspectShopifyCsv } from "./csv/ShopifyCsvInspection.ts"
import {
  type Acceptance,
  ConflictDecision,
  type ImportConflict,
  type ImportOrigin,
  type ImportRun,
  type ImportSummary,
  isRemovalToConfirm,
  nothingPlanned,
  plannedOf,
  ReviewIncomplete,
  type StoreAnswer,
  whyLocked
} from "./Import.ts"
import { makeImportComparison } from "./ImportComparison.ts"
import { ImportFileRejected } from "./ImportedProduct.ts"
import { decided, notOvertaken } from "./ImportPlan.ts"
import type { Compared, ReportProgress } from "./ImportStaging.ts"
import { ImportsRepo, isPlanned, type LeasedRun } from "./ImportsRepo.ts"
import { PulledRecordsRepo } from "./PulledRecordsRepo.ts"
import { makeRefreshComparison } from "./RefreshComparison.ts"

/** Entities that one transaction writes at most: decisions on imports. */
const entitiesAtOnce = 1_000
/** A lease of 60 s is renewed so often, first so long after it was taken. */
const betweenRenewals = "15 seconds"
const mostTakeovers = 3
/** How often the catalog may change while a file is compared with it before we give up. */
const mostComparisons = 5

const appliedOf = ({ applied, source, summary }: ImportRun) =>
  `${applied} of ${plannedOf(summary)} ${source === "csv" ? "products" : "changes"} were applied`

/** What a person does to begin again, by where the import came from. */
const again: Readonly<Record<ImportOrigin, Readonly<Record<"whole" | "rest" | "ended", string>>>> = {
  csv: {
    whole: "import the file again",
    rest: "Import the file again to complete it.",
    ended: "The process that read the file ended; import it again."
  },
  refresh: {
    whole: "refresh the store again",
    rest: "Refresh the store again to complete it.",
    ended: "The process that read the store ended; refresh it again."
  }
}

/** A file that somebody sent. */
export interface SentFile {
  readonly name: string
  readonly content: Uint8Array
}

/** Most conflicts that are listed at once. */
const mostConflicts = 500

/** Imports of a store's catalog: checked as a whole, compared with what is here, applied when accepted. */
export class Imports extends Context.Tag("catalog/Imports")<
  Imports,
  {
    /**
     * Reads a Shopify product export of one store (an absolute path) and compares it with the catalog. It then waits in
     * `reviewing`, the account locked, until it is accepted or discarded. Nothing of the catalog is written.
     *
     * ImportFileRejected: everything that is wrong with the file. ValidationFailed: an unknown store, or another
     * import that is under review.
     */
    readonly csv: (
      path: string,
      storeDomain: string,
      report: ReportProgress
    ) => Effect.Effect<ImportRun, ImportFileRejected | ValidationFailed, CurrentActor>
    /**
     * Begins what `csv` does with a file that was sent (at most some megabytes), and answers with the import as it is then; the
     * rest goes on as with `startRefresh`.
     *
     * PimLocked: another import is under review or being applied. ValidationFailed: an unknown store, or one of which a file is
     * being read already.
     */
    readonly startCsv: (
      file: SentFile,
      storeDomain: string
    ) => Effect.Effect<ImportRun, PimLocked | ValidationFailed, CurrentActor>
    /**
     * Reads a whole store through its platform and compares it with the catalog; then as `csv`. What the store does not hold
     * any more is proposed for unlinking from it.
     *
     * PlatformUnavailable, PlatformRefused: the platform could not be read to the end. ValidationFailed: an unknown store or
     * one without a platform, another import that is under review, or a record that cannot be imported.
     */
    readonly refresh: (
      storeDomain: string,
      report: ReportProgress
    ) => Effect.Effect<ImportRun, PlatformReadError | ValidationFailed, CurrentActor>
    /**
     * Begins what `refresh` does and answers with the import as it is then; the rest goes on in this process, which notes with
     * the import what it failed of. A refresh of the store that is being read already is answered in place of a second one.
     *
     * PimLocked: another import is under review or being applied. ValidationFailed: an unknown store or one without a platform.
     */
    readonly startRefresh: (storeDomain: string) => Effect.Effect<ImportRun, PimLocked | ValidationFailed, CurrentActor>
    /** Newest first. */
    readonly list: Effect.Effect<ReadonlyArray<ImportRun>, never, CurrentActor>
    /** NotFound: the account has no such import. */
    readonly get: (id: ImportId) => Effect.Effect<ImportRun, NotFound, CurrentActor>
    /**
     * Its conflicts by their numbers, after one of them (0: from the start), at least 1 and at most 500. NotFound: the account
     * has no such import.
     */
    readonly conflicts: (
      id: ImportId,
      after: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<ImportConflict>, NotFound, CurrentActor>
    /**
     * Decides conflicts of an import that is under review, all of them together or none; an earlier decision is replaced.
     * How many. NotFound: the account has no such import. ValidationFailed: it is not under review, or has no such conflict.
     */
    readonly decide: (
      id: ImportId,
      which: ReadonlyArray<number> | "all",
      decision: ConflictDecision
    ) => Effect.Effect<number, NotFound | ValidationFailed, CurrentActor>
    /** As `decide`, each conflict in its own way, by its number. */
    readonly decideEach: (
      id: ImportId,
      decisions: ReadonlyMap<number, ConflictDecision>
    ) => Effect.Effect<number, NotFound | ValidationFailed, CurrentActor>
    /**
     * The entities that it takes off the store, in order, behind the first `after` of them; at most 500, and none once they are
     * forgotten. NotFound: the account has no such import.
     */
    readonly removals: (
      id: ImportId,
      after: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<PendingEntity>, NotFound, CurrentActor>
    /** How many of its conflicts nobody has decided. NotFound: the account has no such import. */
    readonly undecided: (id: ImportId) => Effect.Effect<number, NotFound, CurrentActor>
    /**
     * Applies an import that is under review, or continues one whose process is gone. Its changes are the actor's.
     *
     * ReviewIncomplete: a conflict is undecided, or taking entities off the store is not confirmed; nothing is written, the
     * given decisions neither. ValidationFailed: it is neither under review nor left behind, it was taken over too often, or
     * applying it failed in a way that trying again does not cure; it then is failed.
     */
    readonly accept: (
      id: ImportId,
      report: ReportProgress,
      acceptance?: Acceptance
    ) => Effect.Effect<ImportRun, NotFound | ReviewIncomplete | ValidationFailed, CurrentActor>
    /** Begins what `accept` does and answers with the import as it is then; the rest goes on as with `startRefresh`. */
    readonly startAccepting: (
      id: ImportId,
      acceptance: Acceptance
    ) => Effect.Effect<ImportRun, NotFound | ReviewIncomplete | ValidationFailed, CurrentActor>
    /** Forgets an import that is under review. ValidationFailed: it is not. */
    readonly discard: (id: ImportId) => Effect.Effect<ImportRun, NotFound | ValidationFailed, CurrentActor>
    /**
     * Finishes what processes that are gone left behind, of one account or of all; answers how many imports it took over.
     * An import whose file was being read is failed, one that was being applied goes on; after three takeovers it is failed.
     */
    readonly resume: (accountId: Option.Option<AccountId>) => Effect.Effect<number>
    /** Discards the reviews that nobody decided within 7 days; how many. */
    readonly discardAbandoned: Effect.Effect<number>
    /** Forgets what imports staged that ended more than 7 days ago; how many products' changes. */
    readonly forgetStaged: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.scoped(
    Imports,
    Effect.gen(function* () {
      const changes = yield* CatalogChanges
      const faults = yield* FaultInjector
      const importLock = yield* ImportLockRepo
      const drafts = yield* DraftsRepo
      const history = yield* HistoryRepo
      const mirror = yield* Mirror
      const pulled = yield* PulledRecordsRepo
      const repo = yield* ImportsRepo
      const stores = yield* StoresRepo
      const stageFile = yield* makeImportComparison
      const { answer, compare, fetch } = yield* makeRefreshComparison
      const { run } = yield* Transaction
      // Also what a request does of an import takes locks of the whole account, and as long as imports may.
      const transaction = { run: <A, E, R>(effect: Effect.Effect<A, E, R>) => asBackground(run(effect)) }
      const background = yield* FiberSet.make<void>()

      type ReadError = ImportFileRejected | PlatformReadError | ValidationFailed

      /** Works on an import while nobody waits for it; the import says what became of it. */
      const inBackground = (id: ImportId, work: Effect.Effect<unknown, ReadError>) =>
        FiberSet.run(
          background,
          asBackground(work).pipe(
            Effect.catchAll(() => Effect.void),
            Effect.catchAllCause((cause) =>
              Cause.isInterruptedOnly(cause)
                ? Effect.void
                : Effect.logWarning(`Import ${id} could not be finished`, cause)
            ),
            Effect.asVoid
          )
        )

      const found = (accountId: AccountId, id: ImportId) =>
        Effect.flatMap(
          repo.find(accountId, id),
          Effect.mapError(() => new NotFound())
        )

      /** Keeps the lease while the work goes on; `lost` when it was taken over, or the import left the phase meanwhile. */
      const leased = <A, E, R, E2, R2>(
        lease: LeasedRun,
        work: Effect.Effect<A, E, R>,
        lost: Effect.Effect<A, E2, R2>
      ) =>
        Effect.raceFirst(
          leanHeap(work),
          repo
            .renew(lease)
            .pipe(Effect.delay(betweenRenewals), Effect.repeat({ while: (isHeld) => isHeld }), Effect.zipRight(lost))
        )

      /** Forgets all that an import, which ends here unapplied, had still to do. */
      const forget = (accountId: AccountId, id: ImportId) =>
        Effect.all([repo.clear(accountId, id), pulled.forget(accountId, id), mirror.forget(accountId, id)])

      /** Ends an import, unless somebody else works on it by now; what was applied stays. */
      const fail = (lease: LeasedRun, reason: (run: ImportRun) => string, summary?: ImportSummary) =>
        transaction.run(
          Effect.gen(function* () {
            const { accountId, id } = lease
            const holder = yield* importLock.take(accountId)
            if (!(yield* repo.holds(lease))) return
            const run = yield* Effect.orDie(found(accountId, id))
            yield* forget(accountId, id)
            yield* repo.move(accountId, id, { phase: "failed", leased: false, error: reason(run), summary })
            if (Option.contains(holder, id)) yield* importLock.keep(accountId, null)
          })
        )

      /** Why no other import of the account can begin. */
      const occupied = (accountId: AccountId, id: ImportId) =>
        Effect.flatMap(Effect.orDie(found(accountId, id)), (run) => ValidationFailed.at("import", whyLocked(run)))

      /** Locks the account for the review, unless it changed since the comparison began. */
      const enterReview = (accountId: AccountId, id: ImportId, compared: Compared) =>
        transaction.run(
          Effect.gen(function* () {
            const holder = yield* importLock.take(accountId)
            if (Option.isSome(holder)) return yield* occupied(accountId, holder.value)
            const { phase, source } = yield* Effect.orDie(found(accountId, id))
            if (phase !== "fetching") return yield* givenUp(source)
            if ((yield* repo.accountVersion(accountId)) !== compared.version) return false
            yield* repo.move(accountId, id, { phase: "reviewing", leased: false, summary: compared.summary })
            yield* pulled.forget(accountId, id)
            yield* importLock.keep(accountId, id)
            return true
          })
        )

      const underReview = (accountId: AccountId, id: ImportId) =>
        Effect.flatMap(found(accountId, id), ({ phase }) =>
          phase === "reviewing"
            ? Effect.void
            : Effect.fail(ValidationFailed.at("import", `is ${phase}, not under review`))
        )

      const endReview = (accountId: AccountId, id: ImportId, error?: string) =>
        transaction.run(
          Effect.gen(function* () {
            yield* importLock.take(accountId)
            yield* underReview(accountId, id)
            yield* forget(accountId, id)
            yield* repo.move(accountId, id, { phase: "discarded", leased: false, error })
            yield* importLock.keep(accountId, null)
          })
        )

      /** Whether the store of an export still has to be asked what it holds: what was staged of that before counts for nothing. */
      const isUnanswered = (accountId: AccountId, { source, storeId, summary }: ImportRun) =>
        source === "refresh" || summary.answer !== null
          ? Effect.succeed(false)
          : Effect.map(
              stores.find(accountId, storeId),
              Option.exists(({ platform }) => platform !== "none")
            )

      /** Asks the platform of an export's store what it holds. One that cannot be read ends nothing: nothing is accepted then. */
      const askStore = (lease: LeasedRun, report: ReportProgress) =>
        Effect.gen(function* () {
          const { accountId, id } = lease
          // A store may take its time: whoever took the import over meanwhile asks it anew.
          const write = <A>(part: Effect.Effect<A>) =>
            transaction.run(
              Effect.flatMap(
                repo.holds(lease),
                (isHeld): Effect.Effect<A, LeaseLost> => (isHeld ? part : new LeaseLost())
              )
            )
          yield* faults.at("askingStore")
          const { storeId } = yield* found(accountId, id)
          const { now: begunAt } = yield* drafts.lock(accountId, [], [])
          const said = yield* answer(lease, storeId, begunAt, report, write).pipe(
            Effect.map((entities): StoreAnswer => ({ entities, begun_at: begunAt })),
            Effect.catchIf(
              (error) => !(error instanceof LeaseLost),
              (error) => Effect.as(write(repo.clear(accountId, id)), { error: whyUnanswered(error) })
            )
          )
          yield* transaction.run(
            Effect.gen(function* () {
              yield* importLock.take(accountId)
              if (!(yield* repo.holds(lease))) return yield* new LeaseLost()
              const { summary } = yield* found(accountId, id)
              yield* repo.move(accountId, id, {
                phase: "applying",
                leased: true,
                summary: { ...summary, answer: said }
              })
            })
          )
          yield* faults.at("storeAnswered")
        })

      /** How many items were applied; "unanswered": the store has to be asked before the rest is. */
      const applyNext = (lease: LeasedRun) =>
        transaction.run(
          Effect.gen(function* () {
            const { accountId, id } = lease
            // A lease that ran out may have given the import to another process.
            yield* importLock.take(accountId)
            if (!(yield* repo.holds(lease))) return 0
            const items = yield* repo.nextItems(accountId, id, entitiesAtOnce)
            const run = yield* found(accountId, id)
            const { createdAt, source, storeId, summary } = run
            const isAsking = !items.some(isPlanned) && (yield* isUnanswered(accountId, run))
            if (isAsking) return "unanswered" as const
            if (!Arr.isNonEmptyReadonlyArray(items)) {
              if (source === "refresh") {
                // Translations go to the entities that have their platform ids by now.
                yield* mirror.apply(accountId, id, storeId)
                yield* mirror.forget(accountId, id)
              } else yield* mirror.define(accountId, storeId, summary.metafields)
              yield* repo.move(accountId, id, { phase: "applied", leased: false })
              yield* importLock.keep(accountId, null)
              // Answers show when a store was imported last: one that changed nothing is news too.
              yield* stores.recordImport(accountId, storeId)
              yield* drafts.raise(accountId)
              yield* faults.at("unlocked")
              return 0
            }
            const staged = items.flatMap((item) => item.changes)
            const kept = yield* repo.kept(
              accountId,
              id,
              staged.flatMap((change) => (change._tag === "Decided" ? [change.conflict] : []))
            )
            const chosen = decided(staged, (conflict) => kept.has(conflict))
            const begunAt = source === "refresh" ? createdAt : begunAtOf(summary)
            yield* changes.applyImported(id, chosen, (locked) =>
              begunAt === null ? chosen : notOvertaken(locked, chosen, begunAt)
            )
            yield* faults.at("written")
            yield* repo.markDone(accountId, id, items)
            yield* faults.at("marked")
            return items.length
          })
        )

      const applyAll = (lease: LeasedRun, { actor, applied, summary }: ImportRun, report: ReportProgress) => {
        const { accountId, id } = lease
        let done = applied
        const total = plannedOf(summary)
        const applyOne = Effect.flatMap(applyNext(lease), (count) => {
          if (count === "unanswered") return Effect.as(askStore(lease, report), 1)
          done = Math.min(done + count, total)
          return faults
            .at(count > 0 ? "committed" : "applied")
            .pipe(Effect.zipRight(report({ step: "applying", done, total })), Effect.as(count))
        })
        const applyRest = Effect.flatMap(makeBreath, (breathe) =>
          Effect.repeat(Effect.zipLeft(applyOne, breathe), { while: (count) => count > 0 })
        ).pipe(Effect.asVoid)
        return leased(lease, applyRest, Effect.void).pipe(
          Effect.catchTag("LeaseLost", () => Effect.void),
          // The state was locked since it was compared: what cannot be applied now is a defect of ours.
          Effect.catchTags({ NotFound: Effect.die, ValidationFailed: Effect.die }),
          Effect.catchSomeDefect((defect) =>
            Option.map(incurable(defect), (reason) =>
              Effect.zipRight(
                Effect.logError(`Import ${id} could not be applied`, Cause.die(defect)),
                fail(lease, (run) => `It could not be applied: ${reason}; ${appliedOf(run)}.`)
              )
            )
          ),
          // Whoever comes next need not wait for the lease of a process that was told to stop.
          Effect.onInterrupt(() => repo.release(lease)),
          Effect.provideService(CurrentActor, actorOf(accountId, actor))
        )
      }

      const goOn = (lease: LeasedRun, report: ReportProgress) =>
        Effect.gen(function* () {
          const { accountId, id, phase, takeovers } = lease
          if (phase === "fetching") return yield* fail(lease, ({ source }) => again[source].ended)
          const run = yield* Effect.orDie(found(accountId, id))
          if (takeovers <= mostTakeovers) return yield* applyAll(lease, run, report)
          yield* fail(
            lease,
            (last) => `Applying it was interrupted ${takeovers} times; ${appliedOf(last)}. ${again[last.source].rest}`
          )
        })

      const resume = (accountId: Option.Option<AccountId>) =>
        Effect.gen(function* () {
          const left: Array<LeasedRun> = []
          for (;;) {
            const next = yield* repo.takeOver({ accountId: Option.getOrNull(accountId), id: null })
            if (Option.isNone(next)) break
            left.push(next.value)
          }
          // All at once: a lease that was taken runs, and no account waits for another's import.
          yield* Effect.forEach(
            left,
            (run) =>
              goOn(run, () => Effect.void).pipe(
                Effect.catchAllCause((cause) => Effect.logWarning(`Import ${run.id} could not be finished`, cause))
              ),
            { concurrency: "unbounded", discard: true }
          )
          return left.length
        })

      const storeOf = (accountId: AccountId, storeDomain: string) =>
        Effect.gen(function* () {
          const store = (yield* stores.list(accountId)).find(({ domain }) => domain === storeDomain)
          return store === undefined
            ? yield* ValidationFailed.at("store", `no store ${storeDomain} is linked; see \`catalog store list\``)
            : store
        })

      /** The store of a refresh. */
      const askedStoreOf = (accountId: AccountId, storeDomain: string) =>
        Effect.filterOrFail(
          storeOf(accountId, storeDomain),
          ({ platform }) => platform !== "none",
          () =>
            ValidationFailed.at(
              "store",
              `${storeDomain} has no platform to ask: import its export with \`catalog import csv FILE --store ${storeDomain}\``
            )
        )

      interface Source {
        readonly origin: ImportOrigin
        readonly fileName: string | null
      }
      const aRefresh: Source = { origin: "refresh", fileName: null }

      const create = (store: Store, { fileName, origin }: Source) =>
        Effect.gen(function* () {
          const actor = yield* CurrentActor
          const id = yield* mintId(ImportId)
          const by = yield* history.nameOf(actor)
          yield* repo.create(actor.accountId, { id, storeId: store.id, source: origin, fileName, actor: by })
          return id
        })

      /** What reads the source of an import, which is there for as long as its scope is open, and then compares it. */
      type Read<E1, E2> = Effect.Effect<{ readonly compare: Effect.Effect<Compared, E2> }, E1, Scope.Scope>

      /** Reads the source of an import, and compares that with the catalog until this stood still meanwhile. */
      const compareSource = <E1, E2>(accountId: AccountId, id: ImportId, origin: ImportOrigin, read: Read<E1, E2>) =>
        Effect.gen(function* () {
          const work = Effect.gen(function* () {
            yield* faults.at("created")
            const source = yield* read
            for (let attempt = 0; attempt < mostComparisons; attempt++)
              if (yield* enterReview(accountId, id, yield* source.compare)) return
            return yield* ValidationFailed.at(
              "catalog",
              `keeps changing while the ${origin === "csv" ? "file" : "store"} is compared with it; try again in a quieter moment`
            )
          }).pipe(Effect.scoped)
          const lost = Effect.flatMap(Effect.orDie(found(accountId, id)), ({ phase }) =>
            phase === "reviewing" ? Effect.void : givenUp(origin)
          )
          const lease = { accountId, id, phase: "fetching", takeovers: 0 } as const
          yield* leased(lease, work, lost).pipe(
            Effect.onError((cause) => fail(lease, () => reasonOf(cause), summaryOfProblems(cause)))
          )
          yield* faults.at("reviewing")
          return yield* Effect.orDie(found(accountId, id))
        })

      /** Begins an import, unless another one locks the account, and compares its source with the catalog. */
      const review = <E1, E2>(
        accountId: AccountId,
        store: Store,
        source: Source,
        read: (id: ImportId) => Read<E1, E2>
      ) =>
        Effect.gen(function* () {
          yield* resume(Option.some(accountId))
          const holder = yield* transaction.run(importLock.share(accountId))
          if (Option.isSome(holder)) return yield* occupied(accountId, holder.value)
          const id = yield* create(store, source)
          return yield* compareSource(accountId, id, source.origin, read(id))
        })

      /** The same, begun: who asks is answered at once. `isNew`: whether none of that kind was under way in the store. */
      const startReview = (
        accountId: AccountId,
        store: Store,
        source: Source,
        read: (id: ImportId) => Read<ReadError, ReadError>
      ) =>
        Effect.gen(function* () {
          // Whoever begins at the same moment waits, and finds this one.
          const { id, isNew } = yield* transaction.run(
            Effect.gen(function* () {
              if (Option.isSome(yield* importLock.take(accountId))) return yield* new PimLocked()
              const before = (yield* repo.list(accountId)).find(
                (run) => run.phase === "fetching" && run.source === source.origin && run.storeId === store.id
              )
              return before === undefined
                ? { id: yield* create(store, source), isNew: true }
                : { id: before.id, isNew: false }
            })
          )
          if (isNew) yield* inBackground(id, compareSource(accountId, id, source.origin, read(id)))
          return { run: yield* Effect.orDie(found(accountId, id)), isNew }
        })

      /** Reads an export that is at this path. */
      const readFile = (accountId: AccountId, store: Store, id: ImportId, path: string, report: ReportProgress) =>
        Effect.gen(function* () {
          const inspected = yield* inspectShopifyCsv(path, ({ bytesRead, totalBytes }) =>
            report({ step: "checking", done: bytesRead, total: totalBytes })
          )
          yield* faults.at("checked")
          return { compare: stageFile(accountId, store, id, { ...inspected, path }, report) }
        })

      /** Reads a whole store through its platform. */
      const readStore = (accountId: AccountId, store: Store, id: ImportId, report: ReportProgress) =>
        Effect.gen(function* () {
          const fetched = yield* fetch(accountId, store, id, report)
          yield* faults.at("fetched")
          return { compare: compare(accountId, store, id, fetched, report) }
        }).pipe(
          Effect.catchTag("NotFound", () =>
            ValidationFailed.at("store", `${store.domain} was unlinked while it was read`)
          )
        )

      /** Records decisions of an import that is under review: how many. ValidationFailed: it has no such conflict. */
      const recordDecisions = (
        actor: Actor,
        id: ImportId,
        parts: ReadonlyArray<{ readonly which: ReadonlyArray<number> | "all"; readonly decision: ConflictDecision }>
      ) =>
        Effect.gen(function* () {
          const counts = yield* Effect.forEach(parts, ({ decision, which }) =>
            Effect.gen(function* () {
              const done = new Set(yield* repo.decide(actor, id, which, decision))
              const unknown = which === "all" ? undefined : which.find((conflict) => !done.has(conflict))
              return unknown === undefined
                ? done.size
                : yield* ValidationFailed.at(
                    "conflict",
                    `the import has no conflict ${unknown}; see \`catalog import show ${id}\``
                  )
            })
          )
          return counts.reduce((sum, count) => sum + count, 0)
        })

      /** All of these decisions or none: how many. */
      const decideAll = (actor: Actor, id: ImportId, parts: Parameters<typeof recordDecisions>[2]) =>
        transaction.run(
          Effect.gen(function* () {
            yield* importLock.take(actor.accountId)
            yield* underReview(actor.accountId, id)
            return yield* recordDecisions(actor, id, parts)
          })
        )

      /** Records the decisions of an acceptance; ReviewIncomplete when it leaves something open. */
      const completeReview = (actor: Actor, { id, storeDomain, summary }: ImportRun, acceptance: Acceptance) =>
        Effect.gen(function* () {
          const { confirmsRemovals = false, decisions = new Map(), rest } = acceptance
          yield* recordDecisions(actor, id, partsOf(decisions))
          if (rest !== undefined) yield* repo.decide(actor, id, "undecided", rest)
          const { count, first } = yield* repo.undecided(actor.accountId, id)
          const removals = !confirmsRemovals && isRemovalToConfirm(summary) ? summary.unlinked : 0
          if (count > 0 || removals > 0)
            return yield* new ReviewIncomplete({ id, storeDomain, undecided: count, conflicts: first, removals })
        })

      /** Begins to apply an import that is under review, or takes over one whose process is gone: the lease on it. */
      const enterApplying = (actor: Actor, id: ImportId, acceptance: Acceptance) =>
        transaction
          .run(
            Effect.gen(function* () {
              const { accountId } = actor
              yield* importLock.take(accountId)
              const run = yield* found(accountId, id)
              if (run.phase === "reviewing") {
                yield* completeReview(actor, run, acceptance)
                yield* repo.move(accountId, id, {
                  phase: "applying",
                  leased: true,
                  actor: yield* history.nameOf(actor)
                })
                return { accountId, id, phase: "applying", takeovers: 0 } as const
              }
              if (run.phase !== "applying")
                return yield* ValidationFailed.at("import", `is ${run.phase}, not under review`)
              const taken = yield* repo.takeOver({ accountId, id })
              return Option.isSome(taken)
                ? taken.value
                : yield* ValidationFailed.at(
                    "import",
                    "is being applied; if its process is gone, another goes on within 75 s"
                  )
            })
          )
          .pipe(Effect.tap(faults.at("applying")))

      return {
        csv: Effect.fn("Imports.csv")(function* (path, storeDomain, report) {
          const { accountId } = yield* CurrentActor
          const store = yield* storeOf(accountId, storeDomain)
          return yield* review(accountId, store, { origin: "csv", fileName: basename(path) }, (id) =>
            readFile(accountId, store, id, path, report)
          )
        }),
        startCsv: Effect.fn("Imports.startCsv")(function* ({ content, name }, storeDomain) {
          const { accountId } = yield* CurrentActor
          const store = yield* storeOf(accountId, storeDomain)
          const { isNew, run } = yield* startReview(accountId, store, { origin: "csv", fileName: name }, (id) =>
            Effect.flatMap(temporaryFile(content), (path) => readFile(accountId, store, id, path, () => Effect.void))
          )
          return isNew
            ? run
            : yield* ValidationFailed.at("file", `another file of ${store.domain}, ${run.fileName}, is being read`)
        }),
        refresh: Effect.fn("Imports.refresh")(function* (storeDomain, report) {
          const { accountId } = yield* CurrentActor
          const store = yield* askedStoreOf(accountId, storeDomain)
          return yield* review(accountId, store, aRefresh, (id) => readStore(accountId, store, id, report))
        }),
        startRefresh: Effect.fn("Imports.startRefresh")(function* (storeDomain) {
          const { accountId } = yield* CurrentActor
          const store = yield* askedStoreOf(accountId, storeDomain)
          const { run } = yield* startReview(accountId, store, aRefresh, (id) =>
            readStore(accountId, store, id, () => Effect.void)
          )
          return run
        }),
        conflicts: Effect.fn("Imports.conflicts")(function* (id, after, limit) {
          const { accountId } = yield* CurrentActor
          yield* found(accountId, id)
          return yield* repo.conflicts(accountId, id, after, Math.min(Math.max(limit, 1), mostConflicts))
        }),
        decide: Effect.fn("Imports.decide")(function* (id, which, decision) {
          return yield* decideAll(yield* CurrentActor, id, [{ which, decision }])
        }),
        decideEach: Effect.fn("Imports.decideEach")(function* (id, decisions) {
          return yield* decideAll(yield* CurrentActor, id, partsOf(decisions))
        }),
        removals: Effect.fn("Imports.removals")(function* (id, after, limit) {
          const { accountId } = yield* CurrentActor
          const { summary } = yield* found(accountId, id)
          if (summary.unlinked === 0) return []
          return yield* repo.removals(accountId, id, after, Math.min(Math.max(limit, 1), mostConflicts))
        }),
        undecided: Effect.fn("Imports.undecided")(function* (id) {
          const { accountId } = yield* CurrentActor
          yield* found(accountId, id)
          return (yield* repo.undecided(accountId, id)).count
        }),
        list: Effect.flatMap(CurrentActor, ({ accountId }) => repo.list(accountId)),
        get: Effect.fn("Imports.get")(function* (id) {
          const { accountId } = yield* CurrentActor
          return yield* found(accountId, id)
        }),
        accept: Effect.fn("Imports.accept")(function* (id, report, acceptance = {}) {
          const actor = yield* CurrentActor
          const { accountId } = actor
          const lease = yield* enterApplying(actor, id, acceptance)
          yield* goOn(lease, report)
          const run = yield* found(accountId, id)
          return run.phase === "failed" ? yield* ValidationFailed.at("import", run.error ?? "failed") : run
        }),
        startAccepting: Effect.fn("Imports.startAccepting")(function* (id, acceptance) {
          const actor = yield* CurrentActor
          const { accountId } = actor
          const lease = yield* enterApplying(actor, id, acceptance)
          yield* inBackground(
            id,
            goOn(lease, () => Effect.void)
          )
          return yield* found(accountId, id)
        }),
        discard: Effect.fn("Imports.discard")(function* (id) {
          const { accountId } = yield* CurrentActor
          yield* endReview(accountId, id)
          return yield* found(accountId, id)
        }),
        resume,
        discardAbandoned: Effect.gen(function* () {
          const ended = yield* Effect.forEach(yield* repo.abandoned, ({ accountId, id }) =>
            // Somebody may decide in this moment.
            Effect.exit(endReview(accountId, id, "Nobody accepted or discarded it within 7 days."))
          )
          return ended.filter(Exit.isSuccess).length
        }),
        forgetStaged: repo.forgetStaged
      }
    })
  )
}

/** Another process works on the import by now. */
class LeaseLost extends Data.TaggedError("LeaseLost") {}

/** When the reading of the store began whose answer is applied. */
const begunAtOf = ({ answer }: ImportSummary) => (answer !== null && "begun_at" in answer ? answer.begun_at : null)

const whyUnanswered = (error: NotFound | PlatformReadError | ValidationFailed): string =>
  error._tag === "PlatformRefused" || error._tag === "PlatformUnavailable" ? whyUnread(error) : error.message

/** Decisions by conflict as one part for each decision. */
const partsOf = (decisions: ReadonlyMap<number, ConflictDecision>) =>
  ConflictDecision.literals.map((decision) => ({
    decision,
    which: [...decisions].filter(([, each]) => each === decision).map(([conflict]) => conflict)
  }))

/** Keeps what was sent as long as the scope is open: an export is read twice, from a file. */
const temporaryFile = (content: Uint8Array) =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "catalog-import-"))),
      (folder) => Effect.promise(() => rm(folder, { recursive: true }))
    )
    const path = join(folder, "export.csv")
    yield* Effect.promise(() => writeFile(path, content))
    return path
  })

const givenUp = (source: ImportOrigin) =>
  ValidationFailed.at("import", `was given up, its lease ran out: ${again[source].whole}`)

/** Why an import cannot be applied, in short; none when it may be another time. */
const incurable = (defect: unknown): Option.Option<string> => {
  if (defect instanceof Unavailable) return Option.none()
  if (defect instanceof NotFound || defect instanceof ValidationFailed) return Option.some(defect.message)
  if (!isSqlError(defect)) return Option.some("an error of the service")
  const kind = classify(defect)
  return kind === "unavailable" || kind === "retry"
    ? Option.none()
    : Option.some(`the database refused a value (${codeOf(defect) ?? "no code"})`)
}

/** What is kept of a file that was refused. */
const summaryOfProblems = (cause: Cause.Cause<unknown>): ImportSummary | undefined => {
  const error = Cause.squash(cause)
  return error instanceof ImportFileRejected
    ? { ...nothingPlanned, problems: error.problems, problem_count: error.count }
    : undefined
}

const reasonOf = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  if (error instanceof PlatformUnavailable || error instanceof PlatformRefused) return whyUnread(error)
  return error instanceof ImportFileRejected || error instanceof ValidationFailed
    ? error.message
    : "The import was interrupted."
}
