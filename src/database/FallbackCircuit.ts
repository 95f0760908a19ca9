import type { Series } from "../telemetry/Metrics.ts"
import { replicaPauseMillis } from "./Deadlines.ts"
import { NoConnectionFree } from "./ServerPools.ts"

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

/**
 * How a read ends at a server for which another one can answer. `answered`: this server answered. Otherwise the other one does.
 * `refused`: this server answered with an error.
 */
export type ReadOutcome = "answered" | "busy" | "refused" | "resting" | "unanswered" | "unreachable"

/** Outcomes after which the server is not asked for some time. */
const restsAfter: ReadonlySet<string> = new Set(["not_standby", "unanswered", "unreachable"])

/** The SQLSTATEs of a server's answer after which the connection is open. */
const answers = /^(?!08|57P)[0-9A-Z]{5}$/

/** The outcome of a read that failed. */
export const outcomeOf = (error: Error & { readonly code?: string }): "busy" | "refused" | "unanswered" =>
  error instanceof NoConnectionFree ? "busy" : answers.test(error.code ?? "") ? "refused" : "unanswered"

/**
 * Decides whether a read is sent to a server or to the other one that can answer it, and counts the outcomes. `Outcome`: possible outcomes
 * in addition to those of `ReadOutcome`.
 */
export class FallbackCircuit<Outcome extends string = never> {
  private readonly circuit = new CircuitBreaker(replicaPauseMillis)
  private readonly count: (outcome: Outcome | ReadOutcome) => Series
  private readonly now: () => number
  private readonly onChange: (reason: string | undefined) => void

  /** `onChange` is called when the server ceases to answer, with the reason, and when it answers again (undefined). */
  constructor(options: {
    readonly count: (outcome: Outcome | ReadOutcome) => Series
    readonly now: () => number
    readonly onChange: (reason: string | undefined) => void
  }) {
    this.count = options.count
    this.now = options.now
    this.onChange = options.onChange
  }

  /** Whether to ask the server now. Then `note` must be called once; otherwise the read is counted as `resting`. */
  admits(): boolean {
    const admitted = this.circuit.admits(this.now())
    if (!admitted) this.count("resting").add(1)
    return admitted
  }

  note(outcome: Outcome | Exclude<ReadOutcome, "resting">, message: string = outcome): void {
    this.count(outcome).add(1)
    if (restsAfter.has(outcome)) {
      if (this.circuit.recordFailure(this.now())) this.onChange(message)
    } else if (outcome === "busy") this.circuit.recordUnknown(this.now())
    else if (this.circuit.recordSuccess()) this.onChange(undefined)
  }
}
