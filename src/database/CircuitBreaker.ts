/**
 * A circuit breaker. After a failed call, calls are refused for some time (open). Then one call is admitted as a test (half-open);
 * others are refused until that one has succeeded. Each admitted call must report its result. Times are milliseconds of one clock.
 */
export class CircuitBreaker {
  private readonly openMillis: number
  /** End of the time without calls. Undefined: the circuit is closed, so calls are admitted. */
  private openUntil: number | undefined
  private isHalfOpen = false

  constructor(openMillis: number) {
    this.openMillis = openMillis
  }

  /** Whether a call may be made now. */
  admits(now: number): boolean {
    if (this.openUntil === undefined) return true
    if (this.isHalfOpen || now < this.openUntil) return false
    this.isHalfOpen = true
    return true
  }

  /** The server answered. Returns true if the circuit was open before. */
  recordSuccess(): boolean {
    const wasOpen = this.openUntil !== undefined
    this.openUntil = undefined
    this.isHalfOpen = false
    return wasOpen
  }

  /** The server did not answer. Returns true if the circuit was closed before. */
  recordFailure(now: number): boolean {
    const wasClosed = this.openUntil === undefined
    this.openUntil = now + this.openMillis
    this.isHalfOpen = false
    return wasClosed
  }

  /** The call ended before it was known whether the server answers. */
  recordUnknown(now: number): void {
    if (this.openUntil !== undefined) this.recordFailure(now)
  }
}
