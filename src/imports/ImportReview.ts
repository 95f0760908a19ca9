import { Effect, Exit, Option } from "effect"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import type { Actor } from "../model/Actor.ts"
import { ValidationFailed } from "../model/Errors.ts"
import type { AccountId, ImportId } from "../model/Ids.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import {
  type Acceptance,
  type BulkDecision,
  type Choices,
  type ConflictDecision,
  type ImportRun,
  isRemovalToConfirm,
  ReviewIncomplete
} from "./Import.ts"
import { makeImportDecisions } from "./ImportDecisions.ts"
import { leaseExpired } from "./ImportFailures.ts"
import { makeImportJobs } from "./ImportJobs.ts"
import type { ImportLeases } from "./ImportLeases.ts"
import type { Compared } from "./ImportStaging.ts"
import { ImportsRepo } from "./ImportsRepo.ts"

/** Locks the account for an import, and begins its review. */
const makeReviewBegin = ({ getRun, refuseLocked, runTransaction }: ImportLeases) =>
  Effect.gen(function* () {
    const importLock = yield* ImportLockRepo
    const repo = yield* ImportsRepo

    /** Takes the lock for an import that is being compared. Returns whether the import locks the account already. */
    const takeLock = (accountId: AccountId, id: ImportId) =>
      Effect.gen(function* () {
        const holder = yield* importLock.takeDuringImport(accountId)
        const isLocking = Option.contains(holder, id)
        if (Option.isSome(holder) && !isLocking) return yield* refuseLocked(accountId, holder.value)
        const { phase, source } = yield* Effect.orDie(getRun(accountId, id))
        return phase === "fetching" ? isLocking : yield* leaseExpired(source)
      })

    /** Locks the account before the review begins, so that the catalog does not change during the comparison. */
    const lock = (accountId: AccountId, id: ImportId) =>
      runTransaction(Effect.zipRight(takeLock(accountId, id), importLock.keep(accountId, id)))

    /** Begins the review and locks the account. False: the catalog changed since the comparison began. */
    const enter = (accountId: AccountId, id: ImportId, compared: Compared) =>
      runTransaction(
        Effect.gen(function* () {
          const isLocking = yield* takeLock(accountId, id)
          // While the account is locked, only outcomes of publishes change the catalog, as during the review.
          if (!isLocking && (yield* repo.isChangedSince(accountId, compared.version))) return false
          yield* repo.move(accountId, id, { phase: "reviewing", leased: false, summary: compared.summary })
          yield* importLock.keep(accountId, id)
          return true
        })
      )

    return { lock, enter }
  })

/** The review of an import, which locks the account: it begins after the comparison and ends with acceptance, discard or expiry. */
export const makeImportReview = (leases: ImportLeases) =>
  Effect.gen(function* () {
    const { getRun, runTransaction } = leases
    const decisions = yield* makeImportDecisions
    const faults = yield* FaultInjector
    const history = yield* HistoryRepo
    const importLock = yield* ImportLockRepo
    const jobs = yield* makeImportJobs
    const repo = yield* ImportsRepo

    const requireReview = (accountId: AccountId, id: ImportId) =>
      Effect.flatMap(getRun(accountId, id), ({ phase }) =>
        phase === "reviewing"
          ? Effect.void
          : Effect.fail(ValidationFailed.at("import", `is ${phase}, not under review`))
      )

    /** Runs these decisions in a transaction that locks out every other review of the account. */
    const decide = <A, E>(actor: Actor, id: ImportId, decisions: Effect.Effect<A, E>) =>
      runTransaction(
        Effect.zipRight(
          Effect.zipRight(importLock.takeDuringImport(actor.accountId), requireReview(actor.accountId, id)),
          decisions
        )
      )

    /** Records the decisions of an acceptance. ReviewIncomplete: a conflict is undecided, or removals are not confirmed. */
    const complete = (actor: Actor, { id, storeDomain, summary }: ImportRun, acceptance: Acceptance) =>
      Effect.gen(function* () {
        const { confirmsRemovals = false, decisions: chosen = new Map(), rest, seen = new Map() } = acceptance
        yield* decisions.each(actor, id, { decisions: chosen, seen })
        if (rest !== undefined) yield* decisions.some(actor, id, "undecided", rest)
        const { first, undecided } = yield* repo.tally(actor.accountId, id)
        const removals = !confirmsRemovals && isRemovalToConfirm(summary) ? summary.unlinked : 0
        if (undecided > 0 || removals > 0)
          return yield* new ReviewIncomplete({ id, storeDomain, undecided, conflicts: first, removals })
      })

    /** Accepts an import under review, or takes over one whose process stopped. Returns the lease for applying it. */
    const accept = (actor: Actor, id: ImportId, acceptance: Acceptance) =>
      runTransaction(
        Effect.gen(function* () {
          const { accountId } = actor
          yield* importLock.takeDuringImport(accountId)
          const run = yield* getRun(accountId, id)
          if (run.phase === "reviewing") {
            yield* complete(actor, run, acceptance)
            const author = yield* history.nameOf(actor)
            yield* repo.move(accountId, id, { phase: "applying", leased: true, actor: author })
            yield* jobs.begin(accountId, { ...run, actor: author })
            return { accountId, id, phase: "applying", takeovers: 0, interruptions: 0 } as const
          }
          if (run.phase !== "applying") return yield* ValidationFailed.at("import", `is ${run.phase}, not under review`)
          if (run.isPaused) return yield* ValidationFailed.at("import", "is paused: resume or cancel its job")
          const lease = yield* repo.takeOver({ accountId, id })
          return Option.isSome(lease)
            ? lease.value
            : yield* ValidationFailed.at(
                "import",
                "is already being applied; if its process stopped, another process continues within 75 s"
              )
        })
      ).pipe(Effect.tap(faults.at("applying")))

    const discard = (accountId: AccountId, id: ImportId, error?: string) =>
      runTransaction(
        Effect.gen(function* () {
          yield* importLock.takeDuringImport(accountId)
          yield* requireReview(accountId, id)
          yield* repo.move(accountId, id, { phase: "discarded", leased: false, error })
          yield* importLock.keep(accountId, null)
        })
      ).pipe(Effect.zipLeft(repo.forgetUnneeded(accountId, id)))

    /** Discards expired reviews. Returns the number of discarded imports. */
    const discardAbandoned = Effect.gen(function* () {
      const exits = yield* Effect.forEach(yield* repo.abandonedReviews, ({ accountId, id }) =>
        // Fails if a person accepted or discarded the import meanwhile. Such an import is not counted.
        Effect.exit(discard(accountId, id, "Nobody accepted or discarded it within 7 days."))
      )
      return exits.filter(Exit.isSuccess).length
    })

    return {
      ...(yield* makeReviewBegin(leases)),
      decide: (actor: Actor, id: ImportId, which: ReadonlyArray<number> | "all", decision: ConflictDecision) =>
        decide(actor, id, decisions.some(actor, id, which, decision)),
      decideEach: (actor: Actor, id: ImportId, choices: Choices) =>
        decide(actor, id, decisions.each(actor, id, choices)),
      decideAll: (actor: Actor, id: ImportId, bulk: BulkDecision) => decide(actor, id, decisions.all(actor, id, bulk)),
      accept,
      discard,
      discardAbandoned
    }
  })

export type ImportReview = Effect.Effect.Success<ReturnType<typeof makeImportReview>>
