import { Duration } from "effect"
import { delayedCode, isDelayed, type PublishError } from "../model/PublishState.ts"
import { toMillis } from "../model/Timestamp.ts"
import type { PlatformFailure, PlatformOutcomeUnknown, PlatformUnavailable } from "../platform/PlatformErrors.ts"
import type { ClaimedPublication } from "./PublicationClaim.ts"
import type { AttemptError } from "./PublicationRecord.ts"
import type { PublishingOptions } from "./PublishingOptions.ts"

/** Number of attempts that count against the limits, including the current one. */
export const countAttempts = ({ attempts, givenBack, lost }: ClaimedPublication): number => attempts - givenBack - lost

export const notOnStore: PublishError = {
  code: "NOT_ON_STORE",
  message: "The entity was removed from the store before it was published."
}

export const dropEnded: PublishError = {
  code: "DROP_ENDED",
  message: "The drop ended before the store could take its values."
}

/** Whether the drop that requests the values has ended, and the store's platform failed at some time since the request. */
export const endedInOutage = ({ claimedAt, content, error, outageUntil, requestedAt }: ClaimedPublication): boolean =>
  content._tag === "Fields" &&
  content.endsAt !== undefined &&
  content.endsAt <= claimedAt &&
  (error !== null || (outageUntil !== null && outageUntil > requestedAt))

/** Seconds from the request of a publication to the begin of this attempt. */
export const secondsWaited = ({ claimedAt, requestedAt }: ClaimedPublication): number =>
  (toMillis(claimedAt) - toMillis(requestedAt)) / 1_000

export const outcomeUnknown = "OUTCOME_UNKNOWN"
export const interrupted = "INTERRUPTED"

export const tooSlow: PublishError = { code: outcomeUnknown, message: "The store's platform took too long." }

export const toPublishError = (error: PlatformUnavailable | PlatformOutcomeUnknown): PublishError => ({
  code: error._tag === "PlatformUnavailable" ? "PLATFORM_UNAVAILABLE" : outcomeUnknown,
  message: error.message
})

/** The sentence that says how long a publish is tried again. */
const toPromise = (limit: Duration.Duration) => {
  const hours = Math.floor(Duration.toHours(limit))
  return `The publish is tried again for up to ${hours > 1 ? `${hours} hours` : `${Math.ceil(Duration.toMinutes(limit))} minutes`}.`
}

/** `isAlone`: only this publish waits. */
export const toDelayedError = (
  { message }: PlatformUnavailable | PlatformOutcomeUnknown,
  isAlone: boolean,
  { aloneLimit, outageLimit }: PublishingOptions
): AttemptError => ({
  code: delayedCode,
  message: `${message} ${toPromise(isAlone ? aloneLimit : outageLimit)}`,
  isAlone
})

/** Whether the last attempt of a publication was delayed for the same reason, so that its versions have the same limit. */
export const wasDelayed = ({ error }: ClaimedPublication, isAlone: boolean): boolean =>
  isDelayed(error) && error?.isAlone === isAlone

/** Failures that do not depend on what is published. */
const ofPlatform: ReadonlySet<PlatformFailure> = new Set(["suspended", "throttled", "transport"])
/** Failures that may depend on it, because a platform may fail for one record. */
const ofPlatformOrRecord: ReadonlySet<PlatformFailure> = new Set(["server", "timeout"])

/** Whether a store's whole platform does not answer. `hasAnswered`: it has answered another call of the same attempt. */
export const isOutage = ({ reason }: PlatformUnavailable, hasAnswered: boolean): boolean =>
  ofPlatform.has(reason) || (!hasAnswered && ofPlatformOrRecord.has(reason))

/**
 * Whether a failure may belong to the whole platform, which one publish alone cannot tell: a platform that can be read may take no writes.
 * `hasWritten`: it has answered a write of the same attempt.
 */
export const mayBeOutage = ({ reason }: PlatformUnavailable | PlatformOutcomeUnknown, hasWritten: boolean): boolean =>
  !hasWritten && (ofPlatform.has(reason) || ofPlatformOrRecord.has(reason))

/** The error of the last attempt that counts as one; null: it is not known. */
export const countedErrorOf = ({ error }: ClaimedPublication): PublishError | null => (isDelayed(error) ? null : error)

/** The last error of a publication, with the number of attempts that count. If others did not count: with the time since the request. */
export const toFinalError = (
  { code, message }: PublishError,
  attempts: number,
  claimed: ClaimedPublication
): PublishError => {
  const minutes = claimed.givenBack === 0 ? 0 : Math.floor(secondsWaited(claimed) / 60)
  const waited = minutes >= 120 ? `${Math.floor(minutes / 60)} hours` : `${minutes} minutes`
  const tried = minutes > 1 ? `for ${waited}` : `${attempts} ${attempts === 1 ? "time" : "times"}`
  return { code, message: `${message} Tried ${tried}.` }
}

/** Whether a publication has used up its attempts without an outcome: processes died, or attempts timed out. */
export const isExhausted = (claimed: ClaimedPublication, options: PublishingOptions): boolean =>
  claimed.lost > options.maxLost || countAttempts(claimed) > options.maxPushes + options.maxReadings

export const toExhaustedError = (claimed: ClaimedPublication, options: PublishingOptions): PublishError =>
  claimed.lost > options.maxLost
    ? {
        code: interrupted,
        message: `The publishing process stopped ${claimed.lost} times before it finished.`
      }
    : // The current attempt sends nothing, so it is not counted.
      toFinalError(countedErrorOf(claimed) ?? tooSlow, countAttempts(claimed) - 1, claimed)
