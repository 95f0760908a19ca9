import { Duration } from "effect"

/** Limits and intervals of publishing. */
export interface PublishingOptions {
  /** Concurrent publications in this process. Much more than `maxPerStore`, so that a hanging store leaves room for others. */
  readonly maxAtOnce: number
  /** Concurrent publications of one store, in all processes together. */
  readonly maxPerStore: number
  /** Number of attempts that may send the publication. */
  readonly maxPushes: number
  /** Number of further attempts that only read the store back, after an attempt with unknown outcome. */
  readonly maxReadings: number
  /**
   * How long after the request of a publication its attempts do not count while the store's whole platform does not answer. Later they
   * count as all others.
   */
  readonly outageLimit: Duration.Duration
  /**
   * How long the attempts of a publication do not count that fails alone, though the platform can be read: it may take no writes, or fail
   * for this record.
   */
  readonly aloneLimit: Duration.Duration
  /** Number of attempts whose process may die. They count neither as sending nor as reading back. */
  readonly maxLost: number
  /** Maximum delay before the second attempt. It doubles with each further attempt, up to `longestDelay`. */
  readonly firstDelay: Duration.Duration
  readonly longestDelay: Duration.Duration
  /** Timeout of one whole attempt. */
  readonly attemptLimit: Duration.Duration
  /** How long a claim lasts without renewal. After that, another process may claim the publication. */
  readonly lease: Duration.Duration
  readonly betweenRenewals: Duration.Duration
  /** How long a store's first due publication is not claimed before its publishes say that no process has an adapter for the platform. */
  readonly adapterLimit: Duration.Duration
  /** Interval between queries for requests and outcomes of other processes. */
  readonly pollEvery: Duration.Duration
}

export const defaultPublishingOptions: PublishingOptions = {
  maxAtOnce: 128,
  maxPerStore: 4,
  maxPushes: 6,
  maxReadings: 6,
  outageLimit: Duration.hours(24),
  aloneLimit: Duration.minutes(15),
  maxLost: 10,
  firstDelay: Duration.seconds(1),
  longestDelay: Duration.minutes(1),
  attemptLimit: Duration.minutes(5),
  lease: Duration.seconds(30),
  betweenRenewals: Duration.seconds(10),
  adapterLimit: Duration.minutes(5),
  pollEvery: Duration.seconds(2)
}
