import { basename } from "node:path"
import { Array as Arr, Cause, Context, Effect, Exit, Layer, Option } from "effect"
import { classify, codeOf, isSqlError } from "../database/SqlErrors.ts"
import { Transaction } from "../database/Transaction.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { NotFound, Unavailable, ValidationFailed } from "../domain/Errors.ts"
import { type AccountId, ImportId } from "../domain/Ids.ts"
import { type ImportPhase, type ImportRun, whyLocked } from "../domain/Import.ts"
import { ImportFileRejected } from "../domain/ImportedProduct.ts"
import { DraftsRepo } from "../repos/DraftsRepo.ts"
import { ImportLockRepo } from "../repos/ImportLockRepo.ts"
import { ImportsRepo, type LeasedRun } from "../repos/ImportsRepo.ts"
import { StoresRepo } from "../repos/StoresRepo.ts"
import { makeBreath } from "./Breath.ts"
import { CatalogChanges } from "./CatalogChanges.ts"
import { FaultInjector } from "./FaultInjector.ts"
import { mintId } from "./Identifiers.ts"
import { type Compared, makeImportComparison, type ReportProgress } from "./ImportComparison.ts"
import { leanHeap } from "./LeanHeap.ts"
import { inspectShopifyCsv } from "./ShopifyCsvInspection.ts"

/** Entities that one transaction writes at most: decisions on imports. */
const entitiesAtOnce = 1_000
/** A lease of 60 s is renewed so often, first so long after it was taken. */
const betweenRenewals = "15 seconds"
const mostTakeovers = 3
/** How often the catalog may change while a file is compared with it before we give up. */
const mostComparisons = 5

const appliedOf = ({ applied, summary: { created, updated } }: ImportRun) =>
  `${applied} of ${created + updated} products were applied`

/** Imports of a store's catalog: checked as a whole, compared with what is here, applied when accepted. */
export class Imports extends Context.Tag("catalog/Imports")<
  Imports,
  {
    /**
     * Reads a Shopify product export of one store (an absolute path) and compares it with the catalog. It then waits in
     * `reviewing`, the account locked, until it is accepted or discarded. Nothing of the catalog is written.
     *
     * ImportFileRejected: the first thing that is wrong with the file. ValidationFailed: an unknown store, or another
     * import that is under review.
     */
    readonly csv: (
      path: string,
      storeDomain: string,
      report: ReportProgress
    ) => Effect.Effect<ImportRun, ImportFileRejected | ValidationFailed, CurrentActor>
    /** Newest first. */
    readonly list: Effect.Effect<ReadonlyArray<ImportRun>, never, CurrentActor>
    /** NotFound: the account has no such import. */
    readonly get: (id: ImportId) => Effect.Effect<ImportRun, NotFound, CurrentActor>
    /**
     * Applies an import that is under review, or goes on with one whose process is gone. ValidationFailed: it is neither, it
     * was taken over too often, or applying it failed in a way that trying again does not cure; it then is failed.
     */
    readonly accept: (
      id: ImportId,
      report: ReportProgress
    ) => Effect.Effect<ImportRun, NotFound | ValidationFailed, CurrentActor>
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
  static readonly layer = Layer.effect(
    Imports,
    Effect.gen(function* () {
      const changes = yield* CatalogChanges
      const faults = yield* FaultInjector
      const importLock = yield* ImportLockRepo
      const drafts = yield* DraftsRepo
      const repo = yield* ImportsRepo
      const stores = yield* StoresRepo
      const stageFile = yield* makeImportComparison
      const transaction = yield* Transaction

      const found = (accountId: AccountId, id: ImportId) =>
        Effect.flatMap(
          repo.find(accountId, id),
          Effect.mapError(() => new NotFound())
        )

      /** Keeps the lease while the work goes on; `lost` when the import left the phase meanwhile. */
      const leased = <A, E, R, E2, R2>(
        accountId: AccountId,
        id: ImportId,
        phase: "fetching" | "applying",
        work: Effect.Effect<A, E, R>,
        lost: Effect.Effect<A, E2, R2>
      ) =>
        Effect.raceFirst(
          leanHeap(work),
          repo
            .renew(accountId, id, phase)
            .pipe(Effect.delay(betweenRenewals), Effect.repeat({ while: (isHeld) => isHeld }), Effect.zipRight(lost))
        )

      /** Ends an import that is still in this phase; what was applied stays. */
      const fail = (accountId: AccountId, id: ImportId, from: ImportPhase, reason: (run: ImportRun) => string) =>
        transaction.run(
          Effect.gen(function* () {
            const holder = yield* importLock.take(accountId)
            const run = yield* Effect.orDie(found(accountId, id))
            if (run.phase !== from) return
            yield* repo.clear(accountId, id)
            yield* repo.move(accountId, id, { phase: "failed", leased: false, error: reason(run) })
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
            const { phase } = yield* Effect.orDie(found(accountId, id))
            if (phase !== "fetching") return yield* givenUp
            if ((yield* repo.accountVersion(accountId)) !== compared.version) return false
            yield* repo.move(accountId, id, { phase: "reviewing", leased: false, summary: compared.summary })
            yield* importLock.keep(accountId, id)
            return true
          })
        )

      const endReview = (accountId: AccountId, id: ImportId, error?: string) =>
        transaction.run(
          Effect.gen(function* () {
            yield* importLock.take(accountId)
            const { phase } = yield* found(accountId, id)
            if (phase !== "reviewing") return yield* ValidationFailed.at("import", `is ${phase}, not under review`)
            yield* repo.clear(accountId, id)
            yield* repo.move(accountId, id, { phase: "discarded", leased: false, error })
            yield* importLock.keep(accountId, null)
          })
        )

      const applyNext = (accountId: AccountId, id: ImportId) =>
        transaction.run(
          Effect.gen(function* () {
            // A lease that ran out may have given the import to another process.
            const holder = yield* importLock.take(accountId)
            if (!Option.contains(holder, id)) return 0
            const items = yield* repo.nextItems(accountId, id, entitiesAtOnce)
            if (!Arr.isNonEmptyReadonlyArray(items)) {
              const { storeId } = yield* found(accountId, id)
              yield* repo.move(accountId, id, { phase: "applied", leased: false })
              yield* importLock.keep(accountId, null)
              // Answers show when a store was imported last: one that changed nothing is news too.
              yield* stores.recordImport(accountId, storeId)
              yield* drafts.raise(accountId, { stamped: [], drafted: [] })
              yield* faults.at("unlocked")
              return 0
            }
            yield* changes.applyImported(
              id,
              items.flatMap((item) => item.changes)
            )
            yield* faults.at("written")
            yield* repo.markDone(accountId, id, items)
            yield* faults.at("marked")
            return items.length
          })
        )

      const applyAll = (accountId: AccountId, { applied, id, summary }: ImportRun, report: ReportProgress) => {
        let done = applied
        const applyOne = applyNext(accountId, id).pipe(
          Effect.tap((count) => {
            done += count
            return Effect.zipRight(
              faults.at(count > 0 ? "committed" : "applied"),
              report({ step: "applying", done, total: summary.created + summary.updated })
            )
          })
        )
        const applyRest = Effect.flatMap(makeBreath, (breathe) =>
          Effect.repeat(Effect.zipLeft(applyOne, breathe), { while: (count) => count > 0 })
        ).pipe(Effect.asVoid)
        return leased(accountId, id, "applying", applyRest, Effect.void).pipe(
          // The state was locked since it was compared: what cannot be applied now is a defect of ours.
          Effect.catchTags({ NotFound: Effect.die, ValidationFailed: Effect.die }),
          Effect.catchSomeDefect((defect) =>
            Option.map(incurable(defect), (reason) =>
              Effect.zipRight(
                Effect.logError(`Import ${id} could not be applied`, Cause.die(defect)),
                fail(accountId, id, "applying", (run) => `It could not be applied: ${reason}; ${appliedOf(run)}.`)
              )
            )
          ),
          // Whoever comes next need not wait for the lease of a process that was told to stop.
          Effect.onInterrupt(() => repo.release(accountId, id)),
          Effect.provideService(CurrentActor, { _tag: "Cli", accountId })
        )
      }

      const goOn = ({ accountId, id, phase, takeovers }: LeasedRun, report: ReportProgress) =>
        Effect.gen(function* () {
          if (phase === "fetching")
            return yield* fail(accountId, id, phase, () => "The process that read the file ended; import it again.")
          const run = yield* Effect.orDie(found(accountId, id))
          if (takeovers <= mostTakeovers) return yield* applyAll(accountId, run, report)
          yield* fail(
            accountId,
            id,
            phase,
            (last) =>
              `Applying it was interrupted ${takeovers} times; ${appliedOf(last)}. Import the file again to complete it.`
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

      return {
        csv: Effect.fn("Imports.csv")(function* (path, storeDomain, report) {
          const { accountId } = yield* CurrentActor
          const store = (yield* stores.list(accountId)).find(({ domain }) => domain === storeDomain)
          if (store === undefined)
            return yield* ValidationFailed.at("store", `no store ${storeDomain} is linked; see \`catalog store list\``)
          yield* resume(Option.some(accountId))
          const holder = yield* transaction.run(importLock.share(accountId))
          if (Option.isSome(holder)) return yield* occupied(accountId, holder.value)
          const id = yield* mintId(ImportId)
          yield* repo.create(accountId, { id, storeId: store.id, fileName: basename(path) })
          const work = Effect.gen(function* () {
            yield* faults.at("created")
            const { sharedSkus } = yield* inspectShopifyCsv(path, ({ bytesRead, totalBytes }) =>
              report({ step: "checking", done: bytesRead, total: totalBytes })
            )
            yield* faults.at("checked")
            for (let attempt = 0; attempt < mostComparisons; attempt++)
              if (
                yield* enterReview(accountId, id, yield* stageFile(accountId, store, id, { path, sharedSkus }, report))
              )
                return
            return yield* ValidationFailed.at(
              "catalog",
              "keeps changing while the file is compared with it; try again in a quieter moment"
            )
          })
          const lost = Effect.flatMap(Effect.orDie(found(accountId, id)), ({ phase }) =>
            phase === "reviewing" ? Effect.void : givenUp
          )
          yield* leased(accountId, id, "fetching", work, lost).pipe(
            Effect.onError((cause) => fail(accountId, id, "fetching", () => reasonOf(cause)))
          )
          yield* faults.at("reviewing")
          return yield* Effect.orDie(found(accountId, id))
        }),
        list: Effect.flatMap(CurrentActor, ({ accountId }) => repo.list(accountId)),
        get: Effect.fn("Imports.get")(function* (id) {
          const { accountId } = yield* CurrentActor
          return yield* found(accountId, id)
        }),
        accept: Effect.fn("Imports.accept")(function* (id, report) {
          const { accountId } = yield* CurrentActor
          const left = yield* transaction.run(
            Effect.gen(function* () {
              yield* importLock.take(accountId)
              const { phase } = yield* found(accountId, id)
              if (phase === "reviewing") {
                yield* repo.move(accountId, id, { phase: "applying", leased: true })
                return Option.none()
              }
              if (phase !== "applying") return yield* ValidationFailed.at("import", `is ${phase}, not under review`)
              const taken = yield* repo.takeOver({ accountId, id })
              return Option.isSome(taken)
                ? taken
                : yield* ValidationFailed.at(
                    "import",
                    "is being applied; if its process is gone, another goes on within 75 s"
                  )
            })
          )
          yield* faults.at("applying")
          yield* Option.match(left, {
            onNone: () => Effect.flatMap(Effect.orDie(found(accountId, id)), (run) => applyAll(accountId, run, report)),
            onSome: (run) => goOn(run, report)
          })
          const run = yield* found(accountId, id)
          return run.phase === "failed" ? yield* ValidationFailed.at("import", run.error ?? "failed") : run
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

const givenUp = ValidationFailed.at("import", "was given up, its lease ran out: import the file again")

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

const reasonOf = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return error instanceof ImportFileRejected || error instanceof ValidationFailed
    ? error.message
    : "The import was interrupted."
}
