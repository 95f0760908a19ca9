import { Config, Effect, FiberRef, Layer, Logger } from "effect"
import { layerServer } from "../../src/database/Database.ts"
import { defaultDeadlines } from "../../src/database/Deadlines.ts"

/** The step at which a fiber stops, and the number of times that it must reach this step first. */
export interface Death {
  readonly step: string
  readonly occurrence: number
}

const ownDeath = FiberRef.unsafeMake({ step: "", occurrence: 0 })

/** Number of fibers that have not stopped at their step yet. */
let left = 0

/** Stops this fiber if this is its step. The last fiber to stop kills the process by SIGKILL. */
export const dieAt = (step: string): Effect.Effect<void> =>
  Effect.flatMap(FiberRef.get(ownDeath), (death) => {
    if (step !== death.step || --death.occurrence > 0) return Effect.void
    if (death.occurrence === 0 && --left === 0) process.kill(process.pid, "SIGKILL")
    return Effect.never
  })

/** Runs one fiber for each death until all have stopped. A fiber that ends without stopping at its step is a defect. */
export const workUntilDeath = <D extends Death, E, R>(
  deaths: ReadonlyArray<D>,
  work: (death: D) => Effect.Effect<unknown, E, R>
): Effect.Effect<void, E, R> =>
  Effect.suspend(() => {
    left = deaths.length
    return Effect.forEach(
      deaths,
      (death) =>
        Effect.zipRight(work(death), Effect.dieMessage(`A fiber did not stop at ${death.step}`)).pipe(
          Effect.locally(ownDeath, { step: death.step, occurrence: death.occurrence })
        ),
      { concurrency: "unbounded", discard: true }
    )
  })

const patience = 600_000

/**
 * The server that a setting names. Its deadlines are long: a fiber that has stopped inside a transaction holds it until the slowest of the
 * other fibers has come to its step.
 */
export const layerPatientServer = (urlSetting: string, maxConnections: number) =>
  Layer.unwrapEffect(
    Effect.map(Config.redacted(urlSetting), (url) =>
      layerServer({
        url,
        maxConnections,
        deadlines: { ...defaultDeadlines, background: patience, connection: patience, idleInBackground: patience }
      })
    )
  )

/** Runs a program that should be killed. If it ends before, it logs why to the standard error, and the process ends with code 1. */
export const runUntilKilled = <E>(program: Effect.Effect<unknown, E>) =>
  Effect.runFork(
    program.pipe(
      Effect.tapErrorCause(Effect.logError),
      Effect.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))),
      Effect.onExit(() => Effect.sync((): void => process.exit(1)))
    )
  )
