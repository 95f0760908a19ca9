import { Effect, Exit, Option } from "effect"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import type { Actor } from "../model/Actor.ts"
import { ValidationFailed } from "../model/Errors.ts"
import type { AccountId, ImportId } from "../model/Ids.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { type Acceptance, ConflictDecision, type ImportRun, isRemovalToConfirm, ReviewIncomplete } from "./Import.ts"
import { leaseExpired } from "./ImportFailures.ts"
import type { ImportLeases } from "./ImportLeases.ts"
import type { Compared } from "./ImportStaging.ts"
import { ImportsRepo } from "./ImportsRepo.ts"
import { PulledRecordsRepo } from "./PulledRecordsRepo.ts"

/** Conflicts and the decision on all of them. */
interface DecisionGroup {
  readonly which: ReadonlyArray<number> | "all"
  readonly decision: ConflictDecision
}

/** Groups conflicts by decision. */
export const groupDecisions = (decisions: ReadonlyMap<number, ConflictDecision>): ReadonlyArray<DecisionGroup> =>
  ConflictDecision.literals.map((decision) => ({
    decision,
    which: [...decisions].filter(([, each]) => each === decision).map(([conflict]) => conflict)
  }))

/** The review of an import: it begins with the lock of the account and ends with acceptance, discard or expiry. */
export const makeImportReview = ({ forget, getRun, refuseLocked, runTransaction }: ImportLeases) =>
  Effect.gen(function* () {
    const faults = yield* FaultInjector
    const history = yield* HistoryRepo
    const importLock = yield* ImportLockRepo
    const pulled = yield* PulledRecordsRepo
    const repo = yield* ImportsRepo

    /** Locks the account for the review. False: the catalog changed since the comparison began. */
    const enter = (accountId: AccountId, id: ImportId, compared: Compared) =>
      runTransaction(
        Effect.gen(function* () {
          const holder = yield* importLock.take(accountId)
          if (Option.isSome(holder)) return yield* refuseLocked(accountId, holder.value)
          const { phase, source } = yield* Effect.orDie(getRun(accountId, id))
          if (phase !== "fetching") return yield* leaseExpired(source)
          if ((yield* repo.accountVersion(accountId)) !== compared.version) return false
          yield* repo.move(accountId, id, { phase: "reviewing", leased: false, summary: compared.summary })
          yield* pulled.forget(accountId, id)
          yield* importLock.keep(accountId, id)
          return true
        })
      )

    const requireReview = (accountId: AccountId, id: ImportId) =>
      Effect.flatMap(getRun(accountId, id), ({ phase }) =>
        phase === "reviewing"
          ? Effect.void
          : Effect.fail(ValidationFailed.at("import", `is ${phase}, not under review`))
      )

    const recordDecisions = (actor: Actor, id: ImportId, groups: ReadonlyArray<DecisionGroup>) =>
      Effect.gen(function* () {
        const author = yield* history.nameOf(actor)
        let count = 0
        for (const { decision, which } of groups) {
          const decided = new Set(yield* repo.decide(actor.accountId, author, id, which, decision))
          const missing = which === "all" ? undefined : which.find((conflict) => !decided.has(conflict))
          if (missing !== undefined)
            return yield* ValidationFailed.at("conflict", `the import has no conflict ${missing}`)
          count += decided.size
        }
        return count
      })

    /** Records all of these decisions or none. Returns the number of conflicts. */
    const decide = (actor: Actor, id: ImportId, groups: ReadonlyArray<DecisionGroup>) =>
      runTransaction(
        Effect.gen(function* () {
          yield* importLock.take(actor.accountId)
          yield* requireReview(actor.accountId, id)
          return yield* recordDecisions(actor, id, groups)
        })
      )

    /** Records the decisions of an acceptance. ReviewIncomplete: something is still open. */
    const complete = (actor: Actor, { id, storeDomain, summary }: ImportRun, acceptance: Acceptance) =>
      Effect.gen(function* () {
        const { confirmsRemovals = false, decisions = new Map(), rest } = acceptance
        yield* recordDecisions(actor, id, groupDecisions(decisions))
        if (rest !== undefined) yield* repo.decide(actor.accountId, yield* history.nameOf(actor), id, "undecided", rest)
        const { count, first } = yield* repo.undecidedConflicts(actor.accountId, id)
        const removals = !confirmsRemovals && isRemovalToConfirm(summary) ? summary.unlinked : 0
        if (count > 0 || removals > 0)
          return yield* new ReviewIncomplete({ id, storeDomain, undecided: count, conflicts: first, removals })
      })

    /** Accepts an import under review, or takes over one whose process stopped. Returns the lease for applying it. */
    const accept = (actor: Actor, id: ImportId, acceptance: Acceptance) =>
      runTransaction(
        Effect.gen(function* () {
          const { accountId } = actor
          yield* importLock.take(accountId)
          const run = yield* getRun(accountId, id)
          if (run.phase === "reviewing") {
            yield* complete(actor, run, acceptance)
            yield* repo.move(accountId, id, { phase: "applying", leased: true, actor: yield* history.nameOf(actor) })
            return { accountId, id, phase: "applying", takeovers: 0 } as const
          }
          if (run.phase !== "applying") return yield* ValidationFailed.at("import", `is ${run.phase}, not under review`)
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
          yield* importLock.take(accountId)
          yield* requireReview(accountId, id)
          yield* forget(accountId, id)
          yield* repo.move(accountId, id, { phase: "discarded", leased: false, error })
          yield* importLock.keep(accountId, null)
        })
      )

    /** Discards expired reviews. Returns their number. */
    const discardAbandoned = Effect.gen(function* () {
      const exits = yield* Effect.forEach(yield* repo.abandonedReviews, ({ accountId, id }) =>
        // A person may accept or discard it at the same moment.
        Effect.exit(discard(accountId, id, "Nobody accepted or discarded it within 7 days."))
      )
      return exits.filter(Exit.isSuccess).length
    })

    return { enter, decide, accept, discard, discardAbandoned }
  })

export type ImportReview = Effect.Effect.Success<ReturnType<typeof makeImportReview>>
