/**
 * Leaves a server that did not answer alone for some time. Then one call tries it; further calls wait until that one has ended
 * well. Each call that was admitted must report how it ended. Times are in milliseconds of one clock.
 */
export class CircuitBreaker {
  private readonly openMillis: number
  /** The end of the rest. Undefined: the server answers. */
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

  /** Returns true if the server had not answered before. */
  recordSuccess(): boolean {
    const wasOpen = this.openUntil !== undefined
    this.openUntil = undefined
    this.isHalfOpen = false
    return wasOpen
  }

  /** Returns true if the server had answered before. */
  recordFailure(now: number): boolean {
    const wasClosed = this.openUntil === undefined
    this.openUntil = now + this.openMillis
    this.isHalfOpen = false
    return wasClosed
  }

  /** The call ended without a sign of the server. */
  recordUnknown(now: number): void {
    if (this.openUntil !== undefined) this.recordFailure(now)
  }
}
