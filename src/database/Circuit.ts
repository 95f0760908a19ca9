/**
 * Leaves a server that did not answer alone for some time. Then one call tries it; further calls wait until that one has ended
 * well. Each call that was admitted must report how it ended. Times are in milliseconds of one clock.
 */
export class Circuit {
  private readonly restMillis: number
  /** The end of the rest. Undefined: the server answers. */
  private restsUntil: number | undefined
  private isTried = false

  constructor(restMillis: number) {
    this.restMillis = restMillis
  }

  /** Whether a call may be made now. */
  admits(now: number): boolean {
    if (this.restsUntil === undefined) return true
    if (this.isTried || now < this.restsUntil) return false
    this.isTried = true
    return true
  }

  /** Returns true if the server had not answered before. */
  succeed(): boolean {
    const wasResting = this.restsUntil !== undefined
    this.restsUntil = undefined
    this.isTried = false
    return wasResting
  }

  /** Returns true if the server had answered before. */
  fail(now: number): boolean {
    const wasAnswering = this.restsUntil === undefined
    this.restsUntil = now + this.restMillis
    this.isTried = false
    return wasAnswering
  }

  /** The call ended without a sign of the server. */
  abstain(now: number): void {
    if (this.restsUntil !== undefined) this.fail(now)
  }
}
