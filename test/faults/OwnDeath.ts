import { Effect, FiberRef } from "effect"

/** The step at which a work stops, and how many times it comes there until then. */
export interface Death {
  readonly step: string
  readonly occurrence: number
}

const ownDeath = FiberRef.unsafeMake({ step: "", occurrence: 0 })

/** Works that have not come to their step. */
let left = 0

/** Stops the work of this fiber if this is its step. The process dies by SIGKILL when all its works have stopped. */
export const dieAt = (step: string): Effect.Effect<void> =>
  Effect.flatMap(FiberRef.get(ownDeath), (death) => {
    if (step !== death.step || --death.occurrence > 0) return Effect.void
    if (death.occurrence === 0 && --left === 0) process.kill(process.pid, "SIGKILL")
    return Effect.never
  })

/** Works side by side until each has come to its step. A work that comes past it is a defect. */
export const workUntilDeath = <D extends Death, E, R>(
  deaths: ReadonlyArray<D>,
  work: (death: D) => Effect.Effect<unknown, E, R>
): Effect.Effect<void, E, R> =>
  Effect.suspend(() => {
    left = deaths.length
    return Effect.forEach(
      deaths,
      (death) =>
        Effect.zipRight(work(death), Effect.dieMessage(`A work came past ${death.step}`)).pipe(
          Effect.locally(ownDeath, { step: death.step, occurrence: death.occurrence })
        ),
      { concurrency: "unbounded", discard: true }
    )
  })
