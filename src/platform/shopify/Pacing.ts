/** What a store still lets through: points that come back by the second (Shopify's `throttleStatus`). */
export interface Budget {
  readonly maximum: number
  readonly available: number
  readonly restorePerSecond: number
  /** When that was `available`, in milliseconds of the monotonic clock, as are all times here. */
  readonly atMillis: number
}

const availableAt = ({ atMillis, available, maximum, restorePerSecond }: Budget, nowMillis: number) =>
  Math.min(maximum, available + ((nowMillis - atMillis) / 1000) * restorePerSecond)

/** How long to wait before a call of this cost fits. One that costs more than there can ever be waits for all of it. */
export const waitMillis = (budget: Budget, cost: number, nowMillis: number): number =>
  Math.ceil(
    (Math.max(0, Math.min(cost, budget.maximum) - availableAt(budget, nowMillis)) / budget.restorePerSecond) * 1000
  )

/** The budget after a call was sent: calls that are under way count before their answers say so. */
export const spent = (budget: Budget, cost: number, nowMillis: number): Budget => ({
  ...budget,
  available: availableAt(budget, nowMillis) - cost,
  atMillis: nowMillis
})

/** A store that failed so often in a row is not asked for a while, then by one call until that succeeds. */
export interface Breaker {
  readonly failuresInARow: number
  /** No call before it. */
  readonly closedUntilMillis: number
}

export const untroubled: Breaker = { failuresInARow: 0, closedUntilMillis: 0 }

const mostFailures = 10
const restMillis = 30_000

/** Whether a call may be made now. */
export const isOpen = ({ closedUntilMillis }: Breaker, nowMillis: number): boolean => nowMillis >= closedUntilMillis

/** After a call was let through: while the store is in doubt, the next waits until it is known how this one ended. */
export const afterStart = (breaker: Breaker, nowMillis: number): Breaker =>
  breaker.failuresInARow >= mostFailures ? { ...breaker, closedUntilMillis: nowMillis + restMillis } : breaker

export const afterFailure = ({ closedUntilMillis, failuresInARow }: Breaker, nowMillis: number): Breaker => ({
  failuresInARow: failuresInARow + 1,
  closedUntilMillis: failuresInARow + 1 >= mostFailures ? nowMillis + restMillis : closedUntilMillis
})
