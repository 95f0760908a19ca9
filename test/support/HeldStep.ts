import { Deferred, Effect, Fiber, Layer, Logger } from "effect"
import type { Database } from "../../src/database/Database.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { FaultInjector, type FaultStep } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"

interface Hold {
  readonly step: FaultStep
  readonly reached: Deferred.Deferred<void>
  readonly goOn: Deferred.Deferred<void>
}

/** Stops work at a named step, once, until the test lets it go on. `layerOn`: with imports; `layerHolding`: for other services. */
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
  /** The imports and all services on a database, without a log. `lock`: replaces the lock of imports. */
  const layerOn = (
    database: Layer.Layer<Database, unknown>,
    lock: Layer.Layer<ImportLockRepo, never, ImportLockRepo> = Layer.service(ImportLockRepo)
  ) =>
    Imports.layer.pipe(
      Layer.provide(layerHolding),
      Layer.provideMerge(Services),
      Layer.provideMerge(lock),
      Layer.provideMerge(RepositoriesOnDatabase),
      Layer.provideMerge(database),
      Layer.provideMerge(Logger.remove(Logger.defaultLogger)),
      Layer.orDie
    )
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
  return { heldAt, layerHolding, layerOn }
}
