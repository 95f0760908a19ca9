import { Duration } from "effect"

/** Limits and intervals of publishing. */
export interface PublishingOptions {
  /** Concurrent publications in this process. Much more than `mostPerStore`, so that a hanging store leaves room for others. */
  readonly mostAtOnce: number
  /** Concurrent publications of one store, in all processes together. */
  readonly mostPerStore: number
  /** Number of attempts that may send the publication. */
  readonly mostPushes: number
  /** Number of further attempts that only read the store back, after an attempt with unknown outcome. */
  readonly mostReadings: number
  /** Number of attempts whose process may die. They count neither as sending nor as reading back. */
  readonly mostLost: number
  /** Maximum delay before the second attempt. It doubles with each further attempt, up to `longestDelay`. */
  readonly firstDelay: Duration.Duration
  readonly longestDelay: Duration.Duration
  /** Timeout of one whole attempt. */
  readonly attemptLimit: Duration.Duration
  /** How long a claim lasts without renewal. After that, another process may claim the publication. */
  readonly lease: Duration.Duration
  readonly betweenRenewals: Duration.Duration
  /** Interval between queries for requests and outcomes of other processes. */
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
