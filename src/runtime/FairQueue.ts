import { Effect } from "effect"

/** A caller's lane in a queue. Lanes are served in turn; preferred lanes come before all others, except for every fourth turn. */
interface Lane {
  readonly name: string
  readonly preferred: boolean
}

export interface QueueLimits {
  /** Maximum effects that run at the same time. */
  readonly running: number
  /** Maximum waiters in one lane. */
  readonly waitingInLane: number
  /** Maximum waiters in all preferred lanes together. The same maximum applies to all other lanes together. */
  readonly waiting: number
  /** Maximum wait in milliseconds, shorter than the time limit of requests. Infinity: no maximum. */
  readonly waitMillis: number
}

interface Waiter {
  readonly admit: () => void
  readonly refuse: () => void
}

/** Waiters by lane. The map's order is the order of the lanes' next turns. */
class Lanes {
  private readonly waiters = new Map<string, Array<Waiter>>()
  private readonly limits: QueueLimits
  private count = 0

  constructor(limits: QueueLimits) {
    this.limits = limits
  }

  /** Adds a waiter. If the queue is full, the longest lane loses its newest waiter to a shorter lane. False: no place. */
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

  /** Refuses the newest waiter of the longest lane, if that lane is longer than `length` by at least two. */
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

/** Maximum turns of preferred lanes in a row while others wait: without it, one busy preferred lane would stop all others. */
const maxPreferredTurns = 3

/** A bounded queue whose lanes are served in turn, so that a busy lane delays only its own callers. */
interface FairQueue<Full> {
  /** Runs the effect when it is the lane's turn. Fails without running it if the queue is full. */
  readonly run: (lane: Lane) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Full, R>
}

export const makeFairQueue = <Full>(limits: QueueLimits, full: () => Full): FairQueue<Full> => {
  const refused = Effect.suspend(() => Effect.fail(full()))
  const preferred = new Lanes(limits)
  const others = new Lanes(limits)
  let [running, preferredTurns] = [0, 0]

  const release = () => {
    const first = preferredTurns < maxPreferredTurns ? preferred.next() : undefined
    preferredTurns = first === undefined ? 0 : preferredTurns + 1
    const next = first ?? others.next() ?? preferred.next()
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
      // Not `Effect.timeout`: if it fired at the moment of the turn, the turn would be lost.
      const giveUp = () => {
        lanes.remove(lane.name, waiter)
        waiter.refuse()
      }
      // Without a limit there is no timer: Node.js would change an infinite delay to one millisecond.
      const timer = limits.waitMillis === Infinity ? undefined : setTimeout(giveUp, limits.waitMillis)
      return Effect.sync(() => {
        clearTimeout(timer)
        // A caller that is interrupted after it was admitted must give its turn back.
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
