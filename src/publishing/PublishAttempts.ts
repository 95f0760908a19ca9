import { Duration, Effect, Either, Option } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { samePublishable } from "../drafts/Aggregate.ts"
import type { NotFound } from "../model/Errors.ts"
import type { EntityId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import { toMillis } from "../model/Timestamp.ts"
import { PlatformAnswers } from "../platform/PlatformAnswers.ts"
import { PlatformClient, type PlatformStore } from "../platform/PlatformClient.ts"
import type { PlatformOutcomeUnknown, PlatformRefused, PlatformUnavailable } from "../platform/PlatformErrors.ts"
import type { Publication, Published } from "../platform/Publication.ts"
import { RecordsOfOthers } from "../platform/RecordsOfOthers.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { StoreAccess } from "../stores/StoreAccess.ts"
import type { FailedAttempt } from "./FailedAttempts.ts"
import type { AttemptEnd, ClaimedPublication } from "./PublicationClaim.ts"
import {
  fillFields,
  includedIds,
  type PublicationContent,
  type Push,
  relatedIds,
  toPush
} from "./PublicationContent.ts"
import { PublicationsRepo } from "./PublicationsRepo.ts"
import {
  countAttempts,
  countedErrorOf,
  dropEnded,
  endedInOutage,
  isOutage,
  mayBeOutage,
  notOnStore,
  secondsWaited,
  toFinalError,
  tooSlow,
  toPublishError
} from "./PublishFailures.ts"
import type { PublishingOptions } from "./PublishingOptions.ts"
import { makeFinishPublication, makePostponePublication } from "./PublishOutcomes.ts"

/** The decision about a publication after calls to the platform. */
type Decision =
  | { readonly _tag: "Accept"; readonly published: Published }
  | {
      readonly _tag: "Refuse"
      readonly error: PublishError
      readonly isPartlyWritten: boolean
      /** Refused without a call that sends it. */
      readonly isUnsent?: boolean
    }
  | { readonly _tag: "RetryLater"; readonly error: PlatformUnavailable | PlatformOutcomeUnknown }
  /**
   * The store's whole platform does not answer, so the attempt does not count. `isAlone`: no other publish to the store has failed too, so
   * only this one waits.
   */
  | {
      readonly _tag: "Delay"
      readonly error: PlatformUnavailable | PlatformOutcomeUnknown
      readonly isAlone?: boolean
    }
  /** No attempts are left. */
  | { readonly _tag: "GiveUp"; readonly reason: string | null; readonly error: PublishError }
  /** The failure belongs to the whole platform if another publish failed last too. Otherwise the platform may fail for the record. */
  | {
      readonly _tag: "Suspect"
      readonly error: PlatformUnavailable | PlatformOutcomeUnknown
      readonly counted: Extract<Decision, { readonly _tag: "RetryLater" | "GiveUp" }>
    }
  /** The store was unlinked. */
  | { readonly _tag: "GiveBack" }

const accept = (published: Published): Decision => ({ _tag: "Accept", published })
const refuse = ({
  code,
  isPartlyWritten = false,
  message
}: PublishError & Partial<Pick<PlatformRefused, "isPartlyWritten">>): Extract<
  Decision,
  { readonly _tag: "Refuse" }
> => ({
  _tag: "Refuse",
  error: { code, message },
  isPartlyWritten
})
const refuseUnsent = (error: PublishError): Decision => ({ ...refuse(error), isUnsent: true })
const retryLater = (error: PlatformUnavailable | PlatformOutcomeUnknown) => ({ _tag: "RetryLater", error }) as const

/** The publication that an attempt sends, or why it cannot be sent. */
interface PreparedAttempt {
  readonly content: PublicationContent
  readonly push: Either.Either<Push, { readonly error: PublishError; readonly entityIds: ReadonlyArray<EntityId> }>
}

/** Whether the platform has answered a call of the attempt, and a call that writes. */
interface Answers {
  any: boolean
  write: boolean
}

/** The content that an attempt sends. */
interface Ready {
  readonly content: PublicationContent
  readonly push: Push
}

const makePrepareAttempt = Effect.gen(function* () {
  const repo = yield* PublicationsRepo
  const transaction = yield* Transaction

  /**
   * Fixes the values of field content before the first push, so that a read-back compares what was sent. `isAgain`: the store does not have
   * these values, so they are filled again: a refresh may have taken other values from the store since.
   */
  const fixContent = (claimed: ClaimedPublication, isAgain: boolean) =>
    Effect.gen(function* () {
      const { accountId, content, entityId, storeId } = claimed
      if (content._tag === "Draft" || (content.values !== null && !isAgain)) return content
      const accepted = (yield* repo.storeVersions(accountId, storeId, [entityId])).get(entityId)?.accepted ?? null
      if (accepted === null) return content
      const filled = fillFields(content, accepted)
      if (content.values !== null && samePublishable(content.values, filled.values)) return content
      yield* transaction.run(repo.pin(claimed, filled))
      return filled
    })

  return (claimed: ClaimedPublication, isAgain: boolean): Effect.Effect<PreparedAttempt> =>
    Effect.gen(function* () {
      const { accountId, entityId, id, storeId } = claimed
      const content = yield* fixContent(claimed, isAgain)
      const versions = yield* repo.storeVersions(accountId, storeId, relatedIds(entityId, content))
      const { values } = content
      const members = yield* repo.memberVersions(accountId, storeId, values?.members ?? [])
      const push =
        values === null || !versions.has(entityId)
          ? Either.left(notOnStore)
          : toPush({ content, entityId, id, values }, versions, members)
      // Included entities that the store has accepted meanwhile do not share the failure.
      const unaccepted = includedIds(content).filter((each) => (versions.get(each)?.accepted ?? null) === null)
      return { content, push: Either.mapLeft(push, (error) => ({ error, entityIds: [entityId, ...unaccepted] })) }
    })
})

type Prepare = Effect.Effect.Success<typeof makePrepareAttempt>

/** Sends a publication to its store. Every attempt but the first reads the store back before it sends. */
const makeSendPublication = ({ maxPushes, maxReadings, outageLimit }: PublishingOptions, prepare: Prepare) =>
  Effect.gen(function* () {
    const access = yield* StoreAccess
    const faults = yield* FaultInjector
    const platform = yield* PlatformClient

    const noteAnswer = Effect.flatMap(PlatformAnswers, ({ note }) => note)
    const readBack = (store: PlatformStore, publication: Publication) =>
      Effect.zipLeft(
        Effect.either(Effect.zipLeft(platform.readBack(store, publication), noteAnswer)),
        faults.at("readBack")
      )

    const isInTime = (claimed: ClaimedPublication) => secondsWaited(claimed) < Duration.toSeconds(outageLimit)

    /** Decides after a failure of an attempt that counts, unless the whole platform fails. */
    const orSuspect = (
      claimed: ClaimedPublication,
      error: PlatformUnavailable | PlatformOutcomeUnknown,
      answers: Answers,
      counted: Extract<Decision, { readonly _tag: "RetryLater" | "GiveUp" }>
    ): Decision =>
      mayBeOutage(error, answers.write) && isInTime(claimed) ? { _tag: "Suspect", error, counted } : counted

    /** Decides after a failure that changed nothing. The attempts that count end after `most` of them. */
    const decideUnavailable = (
      claimed: ClaimedPublication,
      failure: PlatformUnavailable,
      answers: Answers,
      most: number,
      last: PublishError | null
    ): Decision => {
      if (isOutage(failure, answers.any) && isInTime(claimed)) return { _tag: "Delay", error: failure }
      const attempts = countAttempts(claimed)
      const error = toFinalError(last ?? toPublishError(failure), attempts, claimed)
      const giveUp = { _tag: "GiveUp", reason: failure.reason, error } as const
      return orSuspect(claimed, failure, answers, attempts < most ? retryLater(failure) : giveUp)
    }

    /** Reads back the outcome of earlier attempts. None: the store does not have the publication, so it may be sent again. */
    const checkEarlierAttempts = (
      claimed: ClaimedPublication,
      store: PlatformStore,
      publication: Publication,
      answers: Answers
    ) =>
      Effect.map(readBack(store, publication), (read): Option.Option<Decision> => {
        const attempts = countAttempts(claimed)
        const last = countedErrorOf(claimed)
        if (Either.isRight(read)) {
          if (Option.isSome(read.right)) return Option.some(accept(read.right.value))
          if (attempts <= maxPushes) return Option.none()
          const error = toFinalError(last ?? tooSlow, attempts, claimed)
          return Option.some({ _tag: "GiveUp", reason: null, error })
        }
        const failure = read.left
        if (failure._tag === "PlatformRefused") return Option.some(refuse(failure))
        return Option.some(decideUnavailable(claimed, failure, answers, maxPushes + maxReadings, last))
      })

    const push = (claimed: ClaimedPublication, store: PlatformStore, publication: Publication, answers: Answers) =>
      Effect.gen(function* () {
        if (endedInOutage(claimed)) return refuseUnsent(dropEnded)
        yield* faults.at("pushing")
        const answer = yield* Effect.either(platform.publish(store, publication))
        yield* faults.at("pushed")
        if (Either.isRight(answer)) return accept(answer.right)
        const failure = answer.left
        switch (failure._tag) {
          case "PlatformRefused":
            return refuse(failure)
          case "PlatformUnavailable":
            return decideUnavailable(claimed, failure, answers, maxPushes, null)
          case "PlatformOutcomeUnknown": {
            const read = yield* readBack(store, publication)
            // None may mean that the store has not finished. The next attempt begins with another read.
            return Either.isRight(read) && Option.isSome(read.right)
              ? accept(read.right.value)
              : orSuspect(claimed, failure, answers, retryLater(failure))
          }
        }
      })

    /** Returns the decision, and the content that was sent last. */
    const decide = (
      claimed: ClaimedPublication,
      ready: Ready,
      open: Effect.Effect<PlatformStore, NotFound | PlatformRefused>,
      answers: Answers
    ): Effect.Effect<readonly [Decision, Ready]> =>
      Effect.gen(function* () {
        const opened = yield* Effect.either(open)
        if (Either.isLeft(opened))
          return [opened.left._tag === "NotFound" ? { _tag: "GiveBack" } : refuseUnsent(opened.left), ready]
        const store = opened.right
        if (claimed.attempts === 1) return [yield* push(claimed, store, ready.push.publication, answers), ready]
        const earlier = yield* checkEarlierAttempts(claimed, store, ready.push.publication, answers)
        if (Option.isSome(earlier)) return [earlier.value, ready]
        const { content, push: next } = yield* prepare(claimed, true)
        if (Either.isLeft(next)) return [refuseUnsent(next.left.error), ready]
        return [yield* push(claimed, store, next.right.publication, answers), { content, push: next.right }]
      })

    return (claimed: ClaimedPublication, ready: Ready) =>
      Effect.flatMap(access.read(claimed.accountId, claimed.storeId), ({ open, recordRefusal }) => {
        const answers: Answers = { any: false, write: false }
        const note = Effect.sync(() => {
          answers.any = true
        })
        const noteWrite = Effect.sync(() => {
          answers.any = true
          answers.write = true
        })
        return decide(claimed, ready, open, answers).pipe(
          Effect.tap(([decision]) => (decision._tag === "Refuse" ? recordRefusal(decision.error) : Effect.void)),
          Effect.provideService(PlatformAnswers, { note, noteWrite })
        )
      })
  })

/** Runs one attempt of a claimed publication: prepares it, sends it and saves the result. Returns its failure, if it failed. */
export const makeAttempt = (options: PublishingOptions) =>
  Effect.gen(function* () {
    const faults = yield* FaultInjector
    const finish = yield* makeFinishPublication
    const { delay, postpone } = yield* makePostponePublication(options)
    const prepare = yield* makePrepareAttempt
    const repo = yield* PublicationsRepo
    const send = yield* makeSendPublication(options, prepare)
    const transaction = yield* Transaction

    const outcomeOf = ({ _tag, reason }: PlatformUnavailable | PlatformOutcomeUnknown): AttemptEnd => ({
      outcome: _tag === "PlatformUnavailable" ? "unavailable" : "unknown",
      reason
    })

    const saveDecision = (
      claimed: ClaimedPublication,
      { content, push }: Ready,
      decision: Exclude<Decision, { readonly _tag: "Suspect" }>
    ) => {
      const entityIds = push.accepted.map(({ entityId }) => entityId)
      switch (decision._tag) {
        case "Accept":
          return finish(
            claimed,
            content,
            { outcome: "published", reason: null },
            { _tag: "Published", push, published: decision.published }
          )
        case "Refuse":
          return finish(
            claimed,
            content,
            { outcome: "refused", reason: decision.error.code, isUnsent: decision.isUnsent ?? false },
            { _tag: "Failed", entityIds, error: decision.error, isPartlyWritten: decision.isPartlyWritten }
          )
        case "GiveUp":
          return finish(
            claimed,
            content,
            { outcome: "unavailable", reason: decision.reason },
            { _tag: "Failed", entityIds, error: decision.error }
          )
        case "RetryLater":
          return postpone(claimed, outcomeOf(decision.error), toPublishError(decision.error))
        case "Delay":
          return delay(claimed, outcomeOf(decision.error), decision.error, decision.isAlone === true, entityIds)
        case "GiveBack":
          return Effect.as(transaction.run(repo.giveBack(claimed)), undefined)
      }
    }

    /**
     * Decides whose failure it is, if one publish alone cannot tell. The first failure alone counts, and so do those after `aloneLimit`. So a
     * record for which the platform always fails uses up its attempts while the platform takes others, because each of these ends the wait.
     */
    const resolve = (claimed: ClaimedPublication, decision: Decision) => {
      if (decision._tag !== "Suspect") return Effect.succeed(decision)
      const { counted, error } = decision
      return Effect.map(
        transaction.run(repo.failsAlone(claimed)),
        Option.match({
          onNone: () => ({ _tag: "Delay", error }) as const,
          onSome: (since) => {
            const millis = toMillis(claimed.claimedAt) - toMillis(since)
            const isWaiting = millis > 0 && millis < Duration.toMillis(options.aloneLimit)
            return isWaiting ? ({ _tag: "Delay", error, isAlone: true } as const) : counted
          }
        })
      )
    }

    return (claimed: ClaimedPublication): Effect.Effect<FailedAttempt | undefined> =>
      Effect.gen(function* () {
        yield* faults.at("claimed")
        const { content, push } = yield* prepare(claimed, false)
        if (Either.isLeft(push)) {
          const { entityIds, error } = push.left
          return yield* finish(
            claimed,
            content,
            { outcome: "refused", reason: error.code, isUnsent: true },
            { _tag: "Failed", entityIds, error }
          )
        }
        const { accountId, entityId, storeId } = claimed
        const [decision, sent] = yield* Effect.provideService(
          send(claimed, { content, push: push.right }),
          RecordsOfOthers,
          { among: (platformIds) => repo.recordsOfOthers(accountId, storeId, entityId, platformIds) }
        )
        return yield* saveDecision(claimed, sent, yield* resolve(claimed, decision))
      })
  })
