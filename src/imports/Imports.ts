import { basename } from "node:path"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { terms } from "../catalog/SearchText.ts"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import { ValidationFailed } from "../model/Errors.ts"
import { type AccountId, EntityId, type ImportId } from "../model/Ids.ts"
import { monotonicMillis } from "../runtime/MonotonicClock.ts"
import type { Acceptance, BulkDecision, Choices, ConflictDecision, ImportConflict } from "./Import.ts"
import { makeImportApply } from "./ImportApply.ts"
import type { ConflictFilter } from "./ImportConflicts.sql.ts"
import { type ImportLeases, makeImportLeases } from "./ImportLeases.ts"
import { makeImportRecovery } from "./ImportRecovery.ts"
import { makeImportReview } from "./ImportReview.ts"
import { makeImportSources, writeTemporaryFile } from "./ImportSources.ts"
import type { ReportProgress } from "./ImportStaging.ts"
import { makeImportStart, refreshSource } from "./ImportStart.ts"
import { ImportsRepo } from "./ImportsRepo.ts"
import { makeReadList } from "./ReviewLists.ts"
import { makeStoreAnswers } from "./refresh/StoreAnswers.ts"
import type { ReviewList } from "./StagedImport.ts"

type ImportStart = Effect.Effect.Success<ReturnType<typeof makeImportStart>>
type ImportSources = Effect.Effect.Success<typeof makeImportSources>

/** An uploaded file. */
export interface SentFile {
  readonly name: string
  readonly content: Uint8Array
}

/** Maximum number of conflicts or removals in one list. */
const maxListed = 500

const limitList = (limit: number) => Math.min(Math.max(limit, 1), maxListed)

const ignoreProgress: ReportProgress = () => Effect.void

/** Minimum time between two saves of an import's progress: pages show it, and each save is a transaction. */
const millisBetweenSaves = 500

/** Reports progress, and saves it for the pages: each step at once, later progress only as often as pages need it. */
export const makeSaving =
  (repo: Pick<ImportsRepo["Type"], "saveProgress">) =>
  (accountId: AccountId, id: ImportId, report = ignoreProgress): ReportProgress => {
    let saved = { step: "", at: 0 }
    return (progress) =>
      Effect.flatMap(Effect.zipRight(report(progress), monotonicMillis), (now) => {
        const { done, step, total } = progress
        if (step === "applying" || (step === saved.step && now - saved.at < millisBetweenSaves)) return Effect.void
        saved = { step, at: now }
        const lease = { accountId, id, phase: "fetching", takeovers: 0 } as const
        return repo.saveProgress(lease, { step, done, total: total === 0 ? null : total })
      })
  }

const readIds = Schema.decodeUnknownOption(Schema.parseJson(Schema.Array(EntityId)))

/** The pictures in the lists of a conflict. */
const picturesOf = ({ accepted, draft_value, field, store_value }: ImportConflict): ReadonlyArray<EntityId> =>
  field !== "media_ids"
    ? []
    : [...new Set([accepted, draft_value, store_value].flatMap((list) => Option.getOrElse(readIds(list), () => [])))]

/** Reads of imports and of their lists. */
const makeReads = (repo: ImportsRepo["Type"], { getRun }: ImportLeases) => {
  const readList = makeReadList(repo)

  return {
    /** The newest 100, newest first. */
    list: withAccountId((accountId) => repo.list(accountId, 0, 100)),
    /** At most `limit` imports, newest first, without the newest `from`. */
    page: (from: number, limit: number) => withAccountId((accountId) => repo.list(accountId, from, limit)),
    /** The imports whose source is being read or compared, newest first. */
    fetching: withAccountId(repo.fetching),
    /** The import that locks the account. */
    holder: withAccountId(repo.findHolder),
    /** NotFound: the account has no such import. */
    get: Effect.fn("Imports.get")(function* (id: ImportId) {
      const { accountId } = yield* CurrentActor
      return yield* getRun(accountId, id)
    }),
    /**
     * Conflicts in the order of their numbers, starting after number `after` (0: from the start). `search`: words of their entities.
     * `limit` is 1 to 500; other limits are clamped. NotFound: the account has no such import.
     */
    conflicts: Effect.fn("Imports.conflicts")(function* (
      id: ImportId,
      after: number,
      limit: number,
      { search = "", ...filter }: Omit<ConflictFilter, "needles"> & { readonly search?: string } = {}
    ) {
      const { accountId } = yield* CurrentActor
      yield* getRun(accountId, id)
      const found = yield* repo.conflicts(accountId, id, after, limitList(limit), { ...filter, needles: terms(search) })
      const media = yield* repo.entities(accountId, [...new Set(found.flatMap(picturesOf))])
      const titles = new Map(media.map(({ id, title }) => [id, title]))
      return found.map((conflict) => {
        const ids = picturesOf(conflict)
        const named = ids.flatMap((each) => (titles.has(each) ? [[each, titles.get(each) ?? ""] as const] : []))
        return ids.length === 0 ? conflict : { ...conflict, pictures: Object.fromEntries(named) }
      })
    }),
    /**
     * The entities that the import removes from the store. Skips the first `after` entities and returns at most 500. Empty after
     * the staged items were deleted. NotFound: the account has no such import.
     */
    removals: Effect.fn("Imports.removals")(function* (id: ImportId, after: number, limit: number) {
      const { accountId } = yield* CurrentActor
      const { summary } = yield* getRun(accountId, id)
      if (summary.unlinked === 0) return []
      return yield* repo.removals(accountId, id, after, limitList(limit))
    }),
    /**
     * A page of a list of the review, starting after the item `after` (-1: from the start). `search`: words of the new values, or of
     * the entities when the import was compared. `limit` is 1 to 500. The rows of an import that is not under review have no values
     * from before it. Empty after the staged items were deleted. NotFound: the account has no such import.
     */
    reviewList: Effect.fn("Imports.reviewList")(function* (
      id: ImportId,
      list: ReviewList,
      after: number,
      limit: number,
      search = ""
    ) {
      const { accountId } = yield* CurrentActor
      const { phase } = yield* getRun(accountId, id)
      const isOpen = phase === "reviewing"
      return yield* readList(accountId, id, list, {
        needles: terms(search),
        after,
        limit: limitList(limit),
        isOpen
      })
    }),
    /**
     * The progress of reading the source. None: unknown, or the reading has ended. NotFound: the account has no such
     * import.
     */
    progress: Effect.fn("Imports.progress")(function* (id: ImportId) {
      const { accountId } = yield* CurrentActor
      const { phase } = yield* getRun(accountId, id)
      return phase === "fetching" ? yield* repo.progress(accountId, id) : Option.none()
    }),
    /** The number of conflicts with each decision. NotFound: the account has no such import. */
    tally: Effect.fn("Imports.tally")(function* (id: ImportId) {
      const { accountId } = yield* CurrentActor
      yield* getRun(accountId, id)
      return yield* repo.tally(accountId, id)
    })
  }
}

/** Begins imports: from a file, or from a store's platform. */
const makeBegin = (repo: ImportsRepo["Type"], imports: ImportStart, sources: ImportSources) => {
  const saving = makeSaving(repo)

  return {
    /**
     * Reads a Shopify product export of a store (an absolute path) and compares it with the catalog. The import then waits in
     * `reviewing` with the account locked until it is accepted or discarded. The catalog does not change.
     *
     * ImportFileRejected: all problems of the file. ValidationFailed: an unknown store, or another import locks the account.
     */
    csv: Effect.fn("Imports.csv")(function* (path: string, storeDomain: string, report: ReportProgress) {
      const { accountId } = yield* CurrentActor
      const store = yield* sources.findStore(accountId, storeDomain)
      return yield* imports.run(accountId, store, { origin: "csv", fileName: basename(path) }, (id) =>
        sources.readFile(accountId, store, id, path, saving(accountId, id, report))
      )
    }),
    /**
     * Starts `csv` with an uploaded file (at most a few megabytes), and returns at once. The work continues in this process,
     * as with `startRefresh`.
     *
     * PimLocked: another import locks the account. ValidationFailed: an unknown store, or another file of the
     * store is being read.
     */
    startCsv: Effect.fn("Imports.startCsv")(function* ({ content, name }: SentFile, storeDomain: string) {
      const { accountId } = yield* CurrentActor
      const store = yield* sources.findStore(accountId, storeDomain)
      const { isNew, run } = yield* imports.start(accountId, store, { origin: "csv", fileName: name }, (id) =>
        Effect.flatMap(writeTemporaryFile(content), (path) =>
          sources.readFile(accountId, store, id, path, saving(accountId, id))
        )
      )
      return isNew
        ? run
        : yield* ValidationFailed.at("file", `another file of ${store.domain}, ${run.fileName}, is being read`)
    }),
    /**
     * Reads a whole store through its platform and compares it with the catalog, then waits in `reviewing` as `csv` does. The
     * review lists entities that the store does not have any more; accepting the import unlinks them from the store.
     *
     * PlatformUnavailable, PlatformRefused: the platform could not be read to the end. ValidationFailed: an unknown store or
     * one without a platform, another import locks the account, or a record cannot be imported.
     */
    refresh: Effect.fn("Imports.refresh")(function* (storeDomain: string, report: ReportProgress) {
      const { accountId } = yield* CurrentActor
      const store = yield* sources.findPlatformStore(accountId, storeDomain)
      return yield* imports.run(accountId, store, refreshSource, (id) =>
        sources.readStore(accountId, store, id, saving(accountId, id, report))
      )
    }),
    /**
     * Starts `refresh` and returns at once. The work continues in this process; a failure is recorded with the import. If a
     * refresh of the store is already being read, returns that import.
     *
     * PimLocked: another import locks the account. ValidationFailed: an unknown store or one without a platform.
     */
    startRefresh: Effect.fn("Imports.startRefresh")(function* (storeDomain: string) {
      const { accountId } = yield* CurrentActor
      const store = yield* sources.findPlatformStore(accountId, storeDomain)
      const { run } = yield* imports.start(accountId, store, refreshSource, (id) =>
        sources.readStore(accountId, store, id, saving(accountId, id))
      )
      return run
    })
  }
}

const make = Effect.gen(function* () {
  const repo = yield* ImportsRepo
  const leases = yield* makeImportLeases
  const { getRun, runInBackground } = leases
  const review = yield* makeImportReview(leases)
  const apply = yield* makeImportApply(leases, yield* makeStoreAnswers)
  const recovery = yield* makeImportRecovery(leases, apply)
  const imports = yield* makeImportStart(leases, review, recovery)

  return {
    ...makeReads(repo, leases),
    ...makeBegin(repo, imports, yield* makeImportSources),
    /**
     * Decides conflicts of an import under review: all of them or none. A new decision replaces an earlier one. Returns the number
     * of decided conflicts. NotFound: the account has no such import. ValidationFailed: not under review, or no such conflict.
     */
    decide: Effect.fn("Imports.decide")(function* (
      id: ImportId,
      which: ReadonlyArray<number> | "all",
      decision: ConflictDecision
    ) {
      return yield* review.decide(yield* CurrentActor, id, which, decision)
    }),
    /**
     * As `decide`, with a decision for each conflict. DecidedMeanwhile: a conflict has another decision than the person saw; nothing is
     * decided.
     */
    decideEach: Effect.fn("Imports.decideEach")(function* (id: ImportId, choices: Choices) {
      return yield* review.decideEach(yield* CurrentActor, id, choices)
    }),
    /**
     * Makes one decision for all conflicts: the undecided ones and, if the person confirms it, those with another
     * decision. Returns whether a decision was written. Refuses as `decideEach` does.
     */
    decideAll: Effect.fn("Imports.decideAll")(function* (id: ImportId, bulk: BulkDecision) {
      return yield* review.decideAll(yield* CurrentActor, id, bulk)
    }),
    /**
     * Applies an import under review, or continues one whose process stopped. The current actor becomes the author of the changes.
     *
     * ReviewIncomplete: a conflict is undecided, or removals are not confirmed; nothing is written, not even the given
     * decisions. ValidationFailed: the import is neither under review nor interrupted, or applying it failed permanently.
     */
    accept: Effect.fn("Imports.accept")(function* (
      id: ImportId,
      report: ReportProgress,
      acceptance: Omit<Acceptance, "seen"> = {}
    ) {
      const actor = yield* CurrentActor
      // The acceptance is saved even if the command is interrupted: the person may know already that the import is applied.
      yield* Effect.uninterruptible(
        Effect.flatMap(Effect.catchTag(review.accept(actor, id, acceptance), "DecidedMeanwhile", Effect.die), (lease) =>
          Effect.onInterrupt(Effect.interruptible(recovery.continueImport(lease, report)), () =>
            Effect.ignoreLogged(Effect.sandbox(leases.release(lease)))
          )
        )
      )
      const run = yield* getRun(actor.accountId, id)
      return run.phase === "failed" ? yield* ValidationFailed.at("import", run.error ?? "failed") : run
    }),
    /**
     * Starts `accept` and returns at once. The work continues in this process, as with `startRefresh`. DecidedMeanwhile: a conflict has
     * another decision than the person saw; nothing is written.
     */
    startAccepting: Effect.fn("Imports.startAccepting")(function* (id: ImportId, acceptance: Acceptance) {
      const actor = yield* CurrentActor
      const lease = yield* review.accept(actor, id, acceptance)
      yield* runInBackground(id, recovery.continueImport(lease, ignoreProgress))
      return yield* getRun(actor.accountId, id)
    }),
    /** Discards an import under review. ValidationFailed: it is not under review. */
    discard: Effect.fn("Imports.discard")(function* (id: ImportId) {
      const { accountId } = yield* CurrentActor
      yield* review.discard(accountId, id)
      return yield* getRun(accountId, id)
    }),
    /**
     * Takes over the imports of stopped processes, of one account or of all. An import that was being read fails. One that was
     * being applied continues, and fails after three takeovers. Returns the number of imports.
     */
    resume: recovery.resume,
    /** Discards imports that have been under review for more than 7 days. Returns the number of imports. */
    discardAbandoned: review.discardAbandoned,
    /** Deletes the staged data of imports that ended more than 7 days ago. Returns the number of deleted items. */
    forgetStaged: repo.forgetStaged
  }
})

/** Imports of stores' catalogs. An import is read, compared and reviewed as a whole, and applied after acceptance. */
export class Imports extends Context.Tag("catalog/Imports")<Imports, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.scoped(Imports, make)
}
