import { Effect } from "effect"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import type { Actor } from "../model/Actor.ts"
import { ValidationFailed } from "../model/Errors.ts"
import type { AccountId, ImportId } from "../model/Ids.ts"
import { type BulkDecision, type Choices, ConflictDecision, DecidedMeanwhile } from "./Import.ts"
import { ImportsRepo } from "./ImportsRepo.ts"

const otherThan = (decision: ConflictDecision): ConflictDecision =>
  decision === "keep_draft" ? "take_store" : "keep_draft"

/**
 * Records decisions on the conflicts of an import. It compares what the person saw with what is stored, so the transaction must hold
 * the import lock.
 */
export const makeImportDecisions = Effect.gen(function* () {
  const history = yield* HistoryRepo
  const repo = yield* ImportsRepo

  /** One decision for these conflicts. Returns the number of written conflicts. */
  const some = (
    actor: Actor,
    id: ImportId,
    which: Parameters<typeof repo.decide>[3],
    decision: ConflictDecision
  ): Effect.Effect<number, ValidationFailed> =>
    Effect.gen(function* () {
      const decided = new Set(yield* repo.decide(actor.accountId, yield* history.nameOf(actor), id, which, decision))
      const missing = typeof which === "string" ? undefined : which.find((conflict) => !decided.has(conflict))
      return missing === undefined
        ? decided.size
        : yield* ValidationFailed.at("conflict", `the import has no conflict ${missing}`)
    })

  /** Refuses if a conflict that the person saw has another decision by now, except the one that they chose themselves. */
  const requireSeen = (accountId: AccountId, id: ImportId, { decisions, seen }: Choices) =>
    Effect.gen(function* () {
      const current = yield* repo.decisions(accountId, id, [...seen.keys()])
      const conflicts = [...seen].flatMap(([conflict, decision]) => {
        const now = current.get(conflict)
        return now === undefined || now === decision || now === decisions.get(conflict) ? [] : [conflict]
      })
      if (conflicts.length > 0) return yield* new DecidedMeanwhile({ conflicts })
    })

  const writeEach = (actor: Actor, id: ImportId, decisions: Choices["decisions"]) =>
    Effect.gen(function* () {
      let count = 0
      for (const decision of ConflictDecision.literals) {
        const which = [...decisions].flatMap(([conflict, chosen]) => (chosen === decision ? [conflict] : []))
        if (which.length > 0) count += yield* some(actor, id, which, decision)
      }
      return count
    })

  /** Each conflict by itself. Returns the number of written conflicts. */
  const each = (actor: Actor, id: ImportId, choices: Choices) =>
    Effect.zipRight(requireSeen(actor.accountId, id, choices), writeEach(actor, id, choices.decisions))

  /** One decision for all conflicts except those in `choices`. Returns whether a decision was written. */
  const all = (actor: Actor, id: ImportId, { choices, decision, replaces }: BulkDecision) =>
    Effect.gen(function* () {
      const { accountId } = actor
      const other = otherThan(decision)
      yield* requireSeen(accountId, id, choices)
      const tally = yield* repo.tally(accountId, id)
      const chosen = [...(yield* repo.decisions(accountId, id, [...choices.decisions.keys()])).values()]
      const replaced = tally[other] - chosen.filter((each) => each === other).length
      // A form that is sent twice replaces nothing the second time, so it is not refused.
      if (replaces !== undefined && replaced > 0 && replaces !== tally.digest)
        return yield* new DecidedMeanwhile({ conflicts: [] })
      const count = yield* some(actor, id, replaces === undefined ? "undecided" : "others", decision)
      return count + (yield* writeEach(actor, id, choices.decisions)) > 0
    })

  return { some, each, all }
})
