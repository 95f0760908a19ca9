import { Cause, Duration, Effect, FiberSet, Option } from "effect"
import { Transaction } from "../database/Transaction.ts"
import type { AccountId, PublicationId } from "../model/Ids.ts"
import { isDelayed } from "../model/PublishState.ts"
import { callablePlatforms, PlatformRegistry } from "../platform/PlatformRegistry.ts"
import { WriteDeadline } from "../platform/WriteDeadline.ts"
import { monotonicMillis } from "../runtime/MonotonicClock.ts"
import { metrics, timed } from "../telemetry/Metrics.ts"
import { traceWork } from "../telemetry/Tracing.ts"
import { type FailedAttempt, makeNoteFailure } from "./FailedAttempts.ts"
import type { ClaimedPublication } from "./PublicationClaim.ts"
import { includedIds } from "./PublicationContent.ts"
import type { PublicationRecord } from "./PublicationRecord.ts"
import { PublicationsRepo } from "./PublicationsRepo.ts"
import { makeAttempt } from "./PublishAttempts.ts"
import { isExhausted, toExhaustedError, tooSlow } from "./PublishFailures.ts"
import type { PublishingOptions } from "./PublishingOptions.ts"
import { makeFinishPublication, makePostponePublication } from "./PublishOutcomes.ts"
import type { PublishSignal } from "./PublishSignal.ts"

const attemptSeconds = metrics.publishAttemptSeconds.of()

/** Pause after claiming failed, for example because the database could not be reached. */
const pauseAfterFailure = Duration.seconds(10)

/** Runs one attempt of a claimed publication and renews the lease meanwhile. Returns its failure, if it failed. */
const makeRunClaimed = (options: PublishingOptions) =>
  Effect.gen(function* () {
    const attempt = yield* makeAttempt(options)
    const finish = yield* makeFinishPublication
    const { postpone } = yield* makePostponePublication(options)
    const repo = yield* PublicationsRepo
    const transaction = yield* Transaction

    const failExhausted = (claimed: ClaimedPublication) =>
      finish(
        claimed,
        claimed.content,
        { outcome: "unknown", reason: null },
        {
          _tag: "Failed",
          entityIds: [claimed.entityId, ...includedIds(claimed.content)],
          error: toExhaustedError(claimed, options)
        }
      )

    const attemptInTime = (claimed: ClaimedPublication) =>
      Effect.timeoutOption(
        isExhausted(claimed, options) ? failExhausted(claimed) : attempt(claimed),
        options.attemptLimit
      ).pipe(
        Effect.flatMap((ended) =>
          Option.isSome(ended)
            ? Effect.succeed(ended.value)
            : postpone(claimed, { outcome: "unknown", reason: "timeout" }, tooSlow)
        )
      )

    const renew = (claimed: ClaimedPublication, deadline: { millis: number }) =>
      Effect.gen(function* () {
        const millis = (yield* monotonicMillis) + Duration.toMillis(options.lease)
        const isStillClaimed = yield* transaction.run(repo.renew(claimed, Duration.toSeconds(options.lease)))
        if (isStillClaimed) deadline.millis = millis
        return isStillClaimed
      })

    /** Renews the lease until another process has claimed the publication. */
    const keepLease = (claimed: ClaimedPublication, deadline: { millis: number }) =>
      renew(claimed, deadline).pipe(
        Effect.delay(options.betweenRenewals),
        Effect.repeat({ while: (isStillClaimed) => isStillClaimed }),
        Effect.as(undefined)
      )

    const attemptUntil = (claimed: ClaimedPublication, deadline: { millis: number }) =>
      Effect.provideService(timed(attemptSeconds, attemptInTime(claimed)), WriteDeadline, deadline)

    /** `claimedAt`: a time before the claim, in milliseconds of the monotonic clock. */
    return (claimed: ClaimedPublication, claimedAt: number): Effect.Effect<FailedAttempt | undefined> =>
      Effect.suspend(() => {
        const deadline = { millis: claimedAt + Duration.toMillis(options.lease) }
        return Effect.raceFirst(attemptUntil(claimed, deadline), keepLease(claimed, deadline))
      }).pipe(
        traceWork("publish", {
          "catalog.account_id": claimed.accountId,
          "catalog.publication_id": claimed.id,
          "catalog.store_id": claimed.storeId
        }),
        // A process that stops gives the publication back. Otherwise the next process would wait until the lease expires.
        Effect.onInterrupt(() =>
          Effect.catchAllCause(transaction.run(repo.giveBack(claimed)), (cause) =>
            Effect.logWarning(`Cannot give back publication ${claimed.id}; it waits until its lease expires`, cause)
          )
        ),
        // After a defect nothing is saved: the lease expires, and the publication is claimed again.
        Effect.catchAllCause((cause) =>
          Effect.as(
            Cause.isInterruptedOnly(cause)
              ? Effect.void
              : Effect.logWarning(`An attempt of publication ${claimed.id} failed unexpectedly`, cause),
            undefined
          )
        )
      )
  })

/** Claims and runs publications until it is interrupted. `only`: run only these publications; null: all. */
export const makeRunQueue = (options: PublishingOptions, signal: PublishSignal) =>
  Effect.gen(function* () {
    const repo = yield* PublicationsRepo
    const runClaimed = yield* makeRunClaimed(options)
    const noteFailure = yield* makeNoteFailure
    const platforms = callablePlatforms(yield* PlatformRegistry)

    // The service logs failed attempts, also of publications that a command runs in it. A command that runs them in a process of
    // its own logs nothing, because it prints their outcomes.
    let isService = false
    const runAndNote = (claimed: ClaimedPublication, claimedAt: number) =>
      Effect.flatMap(runClaimed(claimed, claimedAt), (failed) =>
        isService && failed !== undefined ? noteFailure(claimed, failed) : Effect.void
      )

    const leaseSeconds = Duration.toSeconds(options.lease)

    return (only: ReadonlyArray<PublicationId> | null): Effect.Effect<never> =>
      Effect.scoped(
        Effect.gen(function* () {
          if (only === null) isService = true
          const waitForSignal = yield* signal.subscribe
          const fork = yield* FiberSet.makeRuntime<never>()
          let running = 0
          const release = Effect.suspend(() => {
            running--
            return signal.notify
          })
          // Uninterruptible: what a process claims while it stops would otherwise wait until the lease expires.
          const claimAndRun = Effect.uninterruptible(
            Effect.gen(function* () {
              const free = options.maxAtOnce - running
              if (free === 0) return
              yield* repo.claim(
                { limit: free, maxPerStore: options.maxPerStore, leaseSeconds, only, platforms },
                (claimed, claimedAt) =>
                  Effect.sync(() => {
                    for (const each of claimed) {
                      running++
                      fork(Effect.ensuring(runAndNote(each, claimedAt), release))
                    }
                  })
              )
            })
          ).pipe(
            Effect.catchAllCause((cause) =>
              Effect.zipRight(Effect.logWarning("Failed to claim publications", cause), Effect.sleep(pauseAfterFailure))
            )
          )
          return yield* Effect.forever(Effect.zipRight(claimAndRun, waitForSignal))
        })
      )
  })

/** Waits until all these publications have ended. Calls `report` whenever one has ended, or another reason is why one waits. */
export const makeWaitForOutcomes = (signal: PublishSignal) =>
  Effect.map(
    PublicationsRepo,
    (repo) =>
      (
        accountId: AccountId,
        ids: ReadonlyArray<PublicationId>,
        report: (open: number, records: ReadonlyArray<PublicationRecord>) => Effect.Effect<void>
      ) =>
        Effect.scoped(
          Effect.gen(function* () {
            const waitForSignal = yield* signal.subscribe
            let last: string | undefined
            for (;;) {
              const records = yield* repo.find(accountId, ids)
              const pending = records.filter(({ state }) => state === "pending")
              const open = pending.length
              const reasons = JSON.stringify(
                pending.map(({ error, id }) => [id, isDelayed(error) ? error?.message : null])
              )
              if (reasons !== last) yield* report(open, records)
              if (open === 0) return records
              last = reasons
              yield* waitForSignal
            }
          })
        )
  )
