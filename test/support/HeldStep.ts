import { Deferred, Effect, Fiber, Layer } from "effect"
import { FaultInjector, type FaultStep } from "../../src/runtime/FaultInjector.ts"

interface Hold {
  readonly step: FaultStep
  readonly reached: Deferred.Deferred<void>
  readonly goOn: Deferred.Deferred<void>
}

/** Stops work at a named step, once, until the test lets it go on. */
export const makeHolding = () => {
  let hold: Hold | null = null
  const layerHolding = Layer.succeed(FaultInjector, {
    at: (step) =>
      Effect.suspend(() => {
        if (hold?.step !== step) return Effect.void
        const { goOn, reached } = hold
        hold = null
        return Effect.zipRight(Deferred.succeed(reached, undefined), Deferred.await(goOn))
      })
  })
  /** Starts the work and returns when it waits at the step. `goOn` continues it. */
  const heldAt = <A, E, R>(step: FaultStep, work: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const goOn = yield* Deferred.make<void>()
      hold = { step, reached, goOn }
      const fiber = yield* Effect.fork(work)
      const missed = Effect.dieMessage(`The work ended without the step ${step}.`)
      yield* Effect.raceFirst(Deferred.await(reached), Effect.zipRight(Fiber.join(fiber), missed))
      return { fiber, goOn: Deferred.succeed(goOn, undefined) }
    })
  return { heldAt, layerHolding }
}
