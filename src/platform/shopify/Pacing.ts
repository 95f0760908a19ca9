/** A store's budget for calls, in points. Shopify restores points every second (`throttleStatus`). */
export interface Budget {
  readonly maximum: number
  readonly available: number
  readonly restorePerSecond: number
  /** When `available` was measured. All times in this file are milliseconds of the monotonic clock. */
  readonly atMillis: number
}

const availableAt = ({ atMillis, available, maximum, restorePerSecond }: Budget, nowMillis: number) =>
  Math.min(maximum, available + ((nowMillis - atMillis) / 1000) * restorePerSecond)

/** Milliseconds until the budget allows a call of this cost. A cost above the maximum waits for the full budget. */
export const waitMillis = (budget: Budget, cost: number, nowMillis: number): number =>
  Math.ceil(
    (Math.max(0, Math.min(cost, budget.maximum) - availableAt(budget, nowMillis)) / budget.restorePerSecond) * 1000
  )

/** The budget after a call was sent. The cost is subtracted before the answer reports it, so concurrent calls count. */
export const spend = (budget: Budget, cost: number, nowMillis: number): Budget => ({
  ...budget,
  available: availableAt(budget, nowMillis) - cost,
  atMillis: nowMillis
})

/** A circuit breaker. After several failures in a row it pauses calls, then allows one call per pause until one succeeds. */
export interface Breaker {
  readonly failuresInARow: number
  /** No call may start before this time. */
  readonly pausedUntilMillis: number
}

export const noFailures: Breaker = { failuresInARow: 0, pausedUntilMillis: 0 }

const maxFailures = 10
const pauseMillis = 30_000

export const allowsCalls = ({ pausedUntilMillis }: Breaker, nowMillis: number): boolean =>
  nowMillis >= pausedUntilMillis

/** The breaker after a call has started. After too many failures it blocks further calls until this call has a result. */
export const afterStart = (breaker: Breaker, nowMillis: number): Breaker =>
  breaker.failuresInARow >= maxFailures ? { ...breaker, pausedUntilMillis: nowMillis + pauseMillis } : breaker

export const afterFailure = ({ pausedUntilMillis, failuresInARow }: Breaker, nowMillis: number): Breaker => ({
  failuresInARow: failuresInARow + 1,
  pausedUntilMillis: failuresInARow + 1 >= maxFailures ? nowMillis + pauseMillis : pausedUntilMillis
})
