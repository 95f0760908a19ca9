import type { PublishError } from "../model/PublishState.ts"
import type { PlatformOutcomeUnknown, PlatformUnavailable } from "../platform/PlatformErrors.ts"
import type { ClaimedPublication } from "./PublicationClaim.ts"
import type { PublishingOptions } from "./PublishingOptions.ts"

/** Number of attempts that count against the limits, including the current one. */
export const countAttempts = ({ attempts, givenBack, lost }: ClaimedPublication): number => attempts - givenBack - lost

export const notOnStore: PublishError = {
  code: "NOT_ON_STORE",
  message: "The entity was removed from the store before it was published."
}

export const outcomeUnknown = "OUTCOME_UNKNOWN"
export const interrupted = "INTERRUPTED"

export const tooSlow: PublishError = { code: outcomeUnknown, message: "The store's platform took too long." }

export const toPublishError = (error: PlatformUnavailable | PlatformOutcomeUnknown): PublishError => ({
  code: error._tag === "PlatformUnavailable" ? "PLATFORM_UNAVAILABLE" : outcomeUnknown,
  message: error.message
})

/** The last error of a publication, with the number of attempts. */
export const toFinalError = ({ code, message }: PublishError, attempts: number): PublishError => ({
  code,
  message: `${message} Tried ${attempts} ${attempts === 1 ? "time" : "times"}.`
})

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
      toFinalError(claimed.error ?? tooSlow, countAttempts(claimed) - 1)
