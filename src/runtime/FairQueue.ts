import { Effect } from "effect"

/** Whose work it is: each lane is served in turn. Preferred lanes go before all others. */
export interface Lane {
  readonly name: string
  readonly preferred: boolean
}

export interface QueueLimits {
  /** How much is done at once. */
  readonly running: number
  /** How many may wait in one lane. */
  readonly waitingInLane: number
  /** How many may wait in all preferred lanes together, and in all others together. */
  readonly waiting: number
  /** How long anybody waits at most: a caller whose request would end before its turn is told sooner. */
  readonly waitMillis: number
}

interface Waiter {
  readonly admit: () => void
  readonly refuse: () => void
}

/** Lanes in the order of their next turns. */
class Lanes {
  private readonly waiters = new Map<string, Array<Waiter>>()
  private readonly limits: QueueLimits
  private count = 0

  constructor(limits: QueueLimits) {
    this.limits = limits
  }

  /** Whether the waiter got a place. When all are taken, the lane that holds most gives one up to a lane that holds less. */
  add(name: string, waiter: Waiter): boolean {
    const lane = this.waiters.get(name) ?? []
    if (lane.length >= this.limits.waitingInLane) return false
    if (this.count >= this.limits.waiting && !this.dropFromLongest(lane.length)) return false
    lane.push(waiter)
    this.waiters.set(name, lane)
    this.count += 1
    return true
  }

  remove(name: string, waiter: Waiter): void {
    const lane = this.waiters.get(name)
    const index = lane?.indexOf(waiter) ?? -1
    if (lane === undefined || index < 0) return
    lane.splice(index, 1)
    this.count -= 1
    if (lane.length === 0) this.waiters.delete(name)
  }

  next(): Waiter | undefined {
    for (const [name, lane] of this.waiters) {
      const waiter = lane.shift()
      this.waiters.delete(name)
      if (waiter === undefined) continue
      this.count -= 1
      if (lane.length > 0) this.waiters.set(name, lane)
      return waiter
    }
    return undefined
  }

  /** Refuses the newest waiter of the longest lane, if a place more leaves the other lane no longer than that one. */
  private dropFromLongest(length: number): boolean {
    let longest: readonly [string, Array<Waiter>] | undefined
    for (const entry of this.waiters) if (entry[1].length > (longest?.[1].length ?? length + 1)) longest = entry
    const dropped = longest?.[1].at(-1)
    if (longest === undefined || dropped === undefined) return false
    this.remove(longest[0], dropped)
    dropped.refuse()
    return true
  }
}

/** A bounded queue whose lanes are served in turn: a lane with much work delays only itself. */
export interface FairQueue<Full> {
  /** Runs the effect when it is the lane's turn, or fails without running it because too many wait. */
  readonly run: (lane: Lane) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Full, R>
}

export const makeFairQueue = <Full>(limits: QueueLimits, full: () => Full): FairQueue<Full> => {
  const refused = Effect.suspend(() => Effect.fail(full()))
  const preferred = new Lanes(limits)
  const others = new Lanes(limits)
  let running = 0

  const release = () => {
    const next = preferred.next() ?? others.next()
    if (next === undefined) running -= 1
    else next.admit()
  }

  const acquire = (lane: Lane) =>
    Effect.async<void, Full>((resume) => {
      if (running < limits.running) {
        running += 1
        resume(Effect.void)
        return
      }
      const lanes = lane.preferred ? preferred : others
      let isAdmitted = false
      const waiter: Waiter = {
        admit: () => {
          clearTimeout(timer)
          isAdmitted = true
          resume(Effect.void)
        },
        refuse: () => {
          clearTimeout(timer)
          resume(refused)
        }
      }
      if (!lanes.add(lane.name, waiter)) {
        resume(refused)
        return
      }
      // Not `Effect.timeout`: it could end the wait at the moment of the turn, and the turn would be lost.
      const timer = setTimeout(() => {
        lanes.remove(lane.name, waiter)
        waiter.refuse()
      }, limits.waitMillis)
      return Effect.sync(() => {
        clearTimeout(timer)
        // A caller that is interrupted at its turn passes the turn on.
        if (isAdmitted) release()
        else lanes.remove(lane.name, waiter)
      })
    })

  return {
    run: (lane) => (effect) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.zipRight(restore(acquire(lane)), Effect.ensuring(restore(effect), Effect.sync(release)))
      )
  }
}
