/** A store's budget for calls: points that are restored every second (Shopify's `throttleStatus`). */
export interface Budget {
  readonly maximum: number
  readonly available: number
  readonly restorePerSecond: number
  /** The time of `available`. All times here are milliseconds of the monotonic clock. */
  readonly atMillis: number
}

const availableAt = ({ atMillis, available, maximum, restorePerSecond }: Budget, nowMillis: number) =>
  Math.min(maximum, available + ((nowMillis - atMillis) / 1000) * restorePerSecond)

/** The wait until the budget allows a call of this cost. A call that costs more than the maximum waits for the maximum. */
export const waitMillis = (budget: Budget, cost: number, nowMillis: number): number =>
  Math.ceil(
    (Math.max(0, Math.min(cost, budget.maximum) - availableAt(budget, nowMillis)) / budget.restorePerSecond) * 1000
  )

/** The budget after a call was sent. Open calls count before their answers report the cost. */
export const spent = (budget: Budget, cost: number, nowMillis: number): Budget => ({
  ...budget,
  available: availableAt(budget, nowMillis) - cost,
  atMillis: nowMillis
})

/** A circuit breaker. After several failures in a row, calls are paused for a while, then made one at a time until one succeeds. */
export interface Breaker {
  readonly failuresInARow: number
  /** No calls before this time. */
  readonly pausedUntilMillis: number
}

export const noFailures: Breaker = { failuresInARow: 0, pausedUntilMillis: 0 }

const maxFailures = 10
const pauseMillis = 30_000

export const allowsCalls = ({ pausedUntilMillis }: Breaker, nowMillis: number): boolean =>
  nowMillis >= pausedUntilMillis

/** The breaker after a call has started. If the last calls failed, further calls wait for the result of this one. */
export const afterStart = (breaker: Breaker, nowMillis: number): Breaker =>
  breaker.failuresInARow >= maxFailures ? { ...breaker, pausedUntilMillis: nowMillis + pauseMillis } : breaker

export const afterFailure = ({ pausedUntilMillis, failuresInARow }: Breaker, nowMillis: number): Breaker => ({
  failuresInARow: failuresInARow + 1,
  pausedUntilMillis: failuresInARow + 1 >= maxFailures ? nowMillis + pauseMillis : pausedUntilMillis
})
