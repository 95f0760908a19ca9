import { Duration } from "effect"

/** Limits and intervals of publishing. */
export interface PublishingOptions {
  /** Concurrent publications in this process. Well above `mostPerStore`, so that one hanging store leaves room for others. */
  readonly mostAtOnce: number
  /** Concurrent publications of one store, in all processes together. */
  readonly mostPerStore: number
  /** Attempts that may send the publication. */
  readonly mostPushes: number
  /** Further attempts that only read the store back, after a push with unknown outcome. */
  readonly mostReadings: number
  /** Attempts that may end because their process died. They count neither as pushes nor as readings. */
  readonly mostLost: number
  /** Maximum delay before the second attempt; the maximum doubles with each further attempt. */
  readonly firstDelay: Duration.Duration
  readonly longestDelay: Duration.Duration
  /** Timeout of one whole attempt. */
  readonly attemptLimit: Duration.Duration
  /** Lifetime of a claim: after it, another process may take the publication over. */
  readonly lease: Duration.Duration
  readonly betweenRenewals: Duration.Duration
  /** Interval between looks at the database for requests and outcomes of other processes. */
  readonly pollEvery: Duration.Duration
}

export const defaultPublishingOptions: PublishingOptions = {
  mostAtOnce: 128,
  mostPerStore: 4,
  mostPushes: 6,
  mostReadings: 6,
  mostLost: 10,
  firstDelay: Duration.seconds(1),
  longestDelay: Duration.minutes(1),
  attemptLimit: Duration.minutes(5),
  lease: Duration.seconds(30),
  betweenRenewals: Duration.seconds(10),
  pollEvery: Duration.seconds(2)
}
