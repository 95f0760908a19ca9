import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Ref, TestClock } from "effect"
import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { lookUpAnswers, watchLookUps } from "../../src/access/LookUpWatch.ts"
import { Unavailable } from "../../src/model/Errors.ts"

const watched = (options: { readonly fails: boolean; readonly connects: boolean }) =>
  Effect.gen(function* () {
    const fails = yield* Ref.make(options.fails)
    const connects = yield* Ref.make(options.connects)
    const keys = Layer.mock(ApiKeys, {
      probe: Effect.flatMap(Ref.get(fails), (failing) => (failing ? Effect.die(new Unavailable()) : Effect.void))
    })
    const fiber = yield* Effect.fork(
      watchLookUps({ patience: Duration.seconds(60), connects: Ref.get(connects) }).pipe(Effect.provide(keys))
    )
    const isOver = Effect.map(fiber.poll, (exit) => exit._tag === "Some")
    return { fails, connects, fiber, isOver }
  })

describe("look-ups that fail", () => {
  it.effect("end the process after 60 s in which a new connection works", () =>
    Effect.gen(function* () {
      const { fiber, isOver } = yield* watched({ fails: true, connects: true })
      yield* TestClock.adjust("60 seconds")
      assert.isFalse(yield* isOver)
      yield* TestClock.adjust("10 seconds")
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert.match(error.message, /^Look-ups of API keys have failed for 6\d s while a new connection/)
    })
  )

  it.effect("do not end the process while the database is unavailable, or if some succeed", () =>
    Effect.gen(function* () {
      const { connects, fails, isOver } = yield* watched({ fails: true, connects: false })
      yield* TestClock.adjust("10 minutes")
      assert.isFalse(yield* isOver)
      yield* Ref.set(fails, false)
      yield* Ref.set(connects, true)
      yield* TestClock.adjust("10 seconds")
      yield* Ref.set(fails, true)
      yield* TestClock.adjust("50 seconds")
      assert.isFalse(yield* isOver)
      yield* TestClock.adjust("30 seconds")
      assert.isTrue(yield* isOver)
    })
  )

  it.effect("are Unavailable after 2.5 s without an answer", () =>
    Effect.gen(function* () {
      const stuck = Layer.mock(ApiKeys, { probe: Effect.never })
      const asked = yield* Effect.fork(Effect.flip(lookUpAnswers).pipe(Effect.provide(stuck)))
      yield* TestClock.adjust("2500 millis")
      assert.strictEqual((yield* Fiber.join(asked))._tag, "Unavailable")
    })
  )
})
