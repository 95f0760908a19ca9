import { Effect, Either, Option } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { CatalogChanges } from "../drafts/CatalogChanges.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { CurrentActor } from "../model/Actor.ts"
import { valueOf } from "../model/Attribute.ts"
import type { AccountId, DropId, PublicationId, StoreId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { PublicationContent } from "../publishing/PublicationContent.ts"
import type { PublicationRecord } from "../publishing/PublicationRecord.ts"
import { PublicationsRepo } from "../publishing/PublicationsRepo.ts"
import { Publishing } from "../publishing/Publishing.ts"
import { makeLockTargets } from "../publishing/PublishLocks.ts"
import type { ValueLimits } from "../publishing/PublishRequests.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { traceWork } from "../telemetry/Tracing.ts"
import {
  type DropEffect,
  type DueStep,
  endDrop,
  isUnsettled,
  type LockedDrop,
  outcomesOf,
  type PlannedStep,
  refusalOf,
  startDrop,
  takePart,
  targetsToEnd,
  targetsToStart,
  unlinkedBeforePublished,
  unlinkedBeforeReverted,
  type ValuesToPublish,
  withdrawFailed
} from "./DropStep.ts"
import { DropsRepo } from "./DropsRepo.ts"

/** The ids of an account's linked stores. */
const makeLinkedIds = Effect.map(
  StoresRepo,
  ({ list }) =>
    (accountId: AccountId) =>
      Effect.map(list(accountId), (stores): ReadonlySet<StoreId> => new Set(stores.map(({ id }) => id)))
)

/** Settles effects of a start whose publishes have ended. */
const makeSettleStarts = Effect.gen(function* () {
  const publications = yield* PublicationsRepo

  return (
    accountId: AccountId,
    effects: ReadonlyArray<DropEffect>,
    records: ReadonlyArray<PublicationRecord>,
    linked: ReadonlySet<StoreId>
  ) =>
    Effect.map(
      publications.contents(
        accountId,
        records.map(({ id }) => id)
      ),
      (contents) =>
        effects.map((effect) => settleStart(effect, recordOf(effect, records), contents, linked.has(effect.storeId)))
    )
})

/** Starts and ends drops, a part of one at a time: writes their drafts and requests their publishes. */
const makeStartAndEnd = Effect.gen(function* () {
  const changes = yield* CatalogChanges
  const definitions = yield* MetafieldDefinitions
  const lockTargets = yield* makeLockTargets
  const publishing = yield* Publishing
  const repo = yield* DropsRepo
  const linkedIds = yield* makeLinkedIds
  const settleStarts = yield* makeSettleStarts
  const stores = yield* StoresRepo

  /** Requests a publish. Right: the publication, null if the store has these values already. */
  const requestPublish = (dropId: DropId, { entityId, storeId, values }: ValuesToPublish, limits: ValueLimits) =>
    Effect.map(
      Effect.either(publishing.requestValues(entityId, storeId, values, { dropId, ...limits })),
      Either.mapBoth({
        onLeft: (refusal): PublishError => ({
          code: "REFUSED",
          message: refusal._tag === "ValidationFailed" ? refusal.reasons : refusal.message
        }),
        onRight: (answer) => (answer.outcome === "nothing_to_publish" ? null : answer.publicationId)
      })
    )

  /**
   * Writes the drafts of a step and requests its publishes. Returns the effects with the ids of the publications. An effect whose publish
   * was refused has the error in place of one, and fails when it is settled.
   */
  const carryOut = (dropId: DropId, step: PlannedStep, limits: ValueLimits) =>
    Effect.gen(function* () {
      // The entities are locked and no import can begin. A refusal is therefore a defect.
      yield* Effect.orDie(changes.applyDropped(dropId, step.changes))
      const answers = new Map<string, Either.Either<PublicationId | null, PublishError>>()
      for (const values of step.publishes)
        answers.set(`${values.entityId} ${values.storeId}`, yield* requestPublish(dropId, values, limits))
      return step.effects.map((effect): DropEffect => {
        const answer = answers.get(`${effect.entityId} ${effect.storeId}`)
        if (effect.outcome !== null || answer === undefined) return effect
        return Either.match(answer, {
          onLeft: (error) => ({ ...effect, publicationId: null, error }),
          onRight: (publicationId) => ({ ...effect, publicationId })
        })
      })
    })

  const start = (due: DueStep, drop: LockedDrop, failedParts: number) =>
    Effect.gen(function* () {
      const targets = targetsToStart(drop, yield* stores.list(due.accountId))
      const part = takePart(targets, failedParts)
      const locked = yield* lockTargets(due.accountId, part)
      const { outcomes, ...step } = startDrop(drop.changes, part, locked, yield* definitions.rules(due.accountId))
      // A change that fails at the start is withdrawn, and its end does nothing.
      const { endsAt } = drop
      const effects = yield* carryOut(due.id, step, { isTakenBack: true, ...(endsAt !== null && { endsAt }) })
      const next = part.length < targets.length ? "start" : "settle_start"
      yield* repo.move(due, { status: "applying", next, effects, outcomes, failedParts: afterSuccess(failedParts) })
    })

  const end = (due: DueStep, drop: LockedDrop, failedParts: number) =>
    Effect.gen(function* () {
      const linked = yield* linkedIds(due.accountId)
      const targets = targetsToEnd(drop.effects, linked)
      const part = takePart(targets, failedParts)
      const locked = yield* lockTargets(due.accountId, part)
      const late = part.filter(isUnsettled)
      const settled = yield* settleStarts(due.accountId, late, yield* publishing.find(publicationsOf(late)), linked)
      const failed = settled.filter(({ outcome }) => outcome === "failed")
      const step = endDrop([...part.filter((effect) => !isUnsettled(effect)), ...settled], linked, locked)
      const changes = [...step.changes, ...withdrawFailed(failed, locked)]
      const effects = yield* carryOut(due.id, { ...step, changes }, {})
      const next = part.length < targets.length ? "end" : "settle_end"
      yield* repo.move(due, {
        status: drop.status,
        next,
        effects: [...effects, ...failed],
        outcomes: [],
        failedParts: afterSuccess(failedParts)
      })
    })

  return { start, end }
})

/**
 * Saves the outcomes of a start or an end after all its publishes have ended. It works in parts, because it withdraws the drafts of failed
 * changes, and reads the contents of publishes.
 */
const makeSettle = Effect.gen(function* () {
  const changes = yield* CatalogChanges
  const drafts = yield* DraftsRepo
  const publishing = yield* Publishing
  const repo = yield* DropsRepo
  const linkedIds = yield* makeLinkedIds
  const settleStarts = yield* makeSettleStarts

  /**
   * The publications of these effects. None: at least one is still pending. A publication to an unlinked store is not waited for,
   * because it would keep the drop from ending on the other stores until somebody links that store again.
   */
  const findEnded = (effects: ReadonlyArray<DropEffect>, linked: ReadonlySet<StoreId>) =>
    Effect.gen(function* () {
      const records = yield* publishing.find(publicationsOf(effects))
      const pending = new Set<string>(records.filter(({ state }) => state === "pending").map(({ id }) => id))
      const isWaiting = ({ publicationId, storeId }: DropEffect) =>
        publicationId !== null && pending.has(publicationId) && linked.has(storeId)
      return effects.some(isWaiting) ? Option.none() : Option.some(records)
    })

  const withdrawDrafts = (
    { accountId, id }: DueStep,
    written: ReadonlyArray<DropEffect>,
    linked: ReadonlySet<StoreId>
  ) =>
    Effect.gen(function* () {
      const toFailed = written.filter(({ outcome, storeId }) => outcome === "failed" && linked.has(storeId))
      const locked = yield* drafts.lock(accountId, [...new Set(toFailed.map(({ entityId }) => entityId))], [])
      yield* Effect.orDie(changes.applyDropped(id, withdrawFailed(toFailed, locked)))
    })

  /** Returns false if a publish has not ended yet. */
  return (due: DueStep, drop: LockedDrop) =>
    Effect.gen(function* () {
      const isStart = due.step === "settle_start"
      const open = drop.effects.filter(({ outcome }) => outcome === null)
      const linked = yield* linkedIds(due.accountId)
      const part = takePart(open, 0)
      const ended = yield* findEnded(part, linked)
      if (Option.isNone(ended)) return false
      const settled = isStart
        ? yield* settleStarts(due.accountId, part, ended.value, linked)
        : part.map((effect) => settleEnd(effect, recordOf(effect, ended.value)))
      // Changes that failed before their draft was written are not among these: an equal value of somebody else must stay.
      if (isStart) yield* withdrawDrafts(due, settled, linked)
      if (part.length < open.length) {
        yield* repo.move(due, { status: drop.status, next: due.step, effects: settled, outcomes: [] })
        return true
      }
      const effects = [...drop.effects.filter(({ outcome }) => outcome !== null), ...settled]
      const outcomes = outcomesOf(drop.changes.length, effects)
      const hasFailed = outcomes.some(({ outcome }) => outcome === "failed")
      yield* repo.move(due, {
        status: hasFailed ? "failed" : isStart ? "applied" : "reverted",
        next: isStart && drop.endsAt !== null ? "end" : null,
        effects: settled,
        outcomes
      })
      return true
    })
})

/** The next part after one that was saved is twice as large. */
const afterSuccess = (failedParts: number) => Math.max(0, failedParts - 1)

const publicationsOf = (effects: ReadonlyArray<DropEffect>) =>
  [...new Set(effects.flatMap(({ publicationId }) => publicationId ?? []))] as Array<PublicationId>

const recordOf = ({ publicationId }: DropEffect, records: ReadonlyArray<PublicationRecord>) =>
  records.find(({ id }) => id === publicationId)

const withFailure = (effect: DropEffect, error: DropEffect["error"]): DropEffect => ({
  ...effect,
  outcome: "failed",
  error
})

const noRecord: PublishError = { code: "OUTCOME_UNKNOWN", message: "The outcome of the publish is unknown." }

/** Why a publish was refused or failed. */
const errorOf = (refusal: PublishError | null, record: PublicationRecord | undefined) =>
  record?.error ?? refusal ?? noRecord

const settleEnd = (effect: DropEffect, record: PublicationRecord | undefined): DropEffect => {
  if (record?.state === "published") return { ...effect, outcome: "reverted" }
  return withFailure(effect, record?.state === "pending" ? unlinkedBeforeReverted : errorOf(effect.error, record))
}

/**
 * Takes the earlier accepted value from the publication: a publish that was pending at the start may have changed it since. On a store
 * that is not linked a failed publish fails as unlinked too: its draft can only be withdrawn when the store is linked again.
 */
const settleStart = (
  effect: DropEffect,
  record: PublicationRecord | undefined,
  contents: ReadonlyMap<PublicationId, PublicationContent>,
  isLinked: boolean
): DropEffect => {
  if (record?.state !== "published") {
    const refusal = refusalOf(effect)
    if (isLinked) return withFailure(effect, errorOf(refusal, record))
    return withFailure(effect, { ...unlinkedBeforePublished, ...(refusal && { refusal }) })
  }
  const content = contents.get(record.id)
  const before = content?._tag === "Fields" ? content.before : undefined
  const acceptedBefore = before === undefined ? effect.acceptedBefore : valueOf(before, effect.field)
  return { ...effect, outcome: "applied", acceptedBefore }
}

/**
 * Carries out one due step, or a part of it, in one transaction. After a part that failed, the next one is half as large. False: an import
 * locks the account, the step is not due any more, another process has it, a publish that it must settle has not ended, or it failed.
 */
export const makeDropExecution = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const faults = yield* FaultInjector
  const importLock = yield* ImportLockRepo
  const repo = yield* DropsRepo
  const { end, start } = yield* makeStartAndEnd
  const settle = yield* makeSettle
  const transaction = yield* Transaction

  const carryOut = (due: DueStep, drop: LockedDrop, failedParts: number) => {
    switch (due.step) {
      case "start":
        return Effect.as(start(due, drop, failedParts), true)
      case "end":
        return Effect.as(end(due, drop, failedParts), true)
      case "settle_start":
      case "settle_end":
        return settle(due, drop)
    }
  }

  return (due: DueStep) => {
    const isSettling = due.step === "settle_start" || due.step === "settle_end"
    const run = (failedParts: number) =>
      transaction.run(
        Effect.gen(function* () {
          // While an import locks the account, the account's drops wait.
          if (Option.isSome(yield* importLock.share(due.accountId))) return false
          const drop = yield* repo.lock(due)
          if (Option.isNone(drop)) return false
          const isDone = yield* Effect.provideService(
            carryOut(due, drop.value, failedParts),
            CurrentActor,
            drop.value.actor
          )
          if (!isDone) return false
          yield* faults.at(isSettling ? "dropSettling" : "dropMoving")
          yield* drafts.raise(due.accountId)
          return true
        })
      )
    return Effect.gen(function* () {
      if (isSettling) return yield* run(0)
      const failedParts = yield* repo.beginPart(due)
      return Option.isSome(failedParts) && (yield* run(failedParts.value))
    }).pipe(
      traceWork(`drop ${due.step}`, { "catalog.account_id": due.accountId, "catalog.drop_id": due.id }),
      Effect.tap((isDone) => (isDone ? faults.at(isSettling ? "dropSettled" : "dropMoved") : Effect.void)),
      Effect.catchAllCause((cause) =>
        Effect.as(Effect.logWarning(`Step ${due.step} of drop ${due.id} failed`, cause), false)
      )
    )
  }
})
