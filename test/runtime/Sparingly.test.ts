import { assert, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { sparingly } from "../../src/runtime/Sparingly.ts"

it.effect("an effect that takes 100 ms runs again after two seconds if its share is a twentieth", () =>
  Effect.gen(function* () {
    let runs = 0
    const run = sparingly(0.05, Effect.as(TestClock.adjust(100), "result").pipe(Effect.tap(() => ++runs)))
    assert.strictEqual(yield* run, "result")
    yield* TestClock.adjust(1_899)
    assert.strictEqual(yield* run, "result")
    assert.strictEqual(runs, 1)
    yield* TestClock.adjust(1)
    yield* run
    assert.strictEqual(runs, 2)
  })
)

it.effect("an effect that takes no time runs each time, and a failure is not kept", () =>
  Effect.gen(function* () {
    let runs = 0
    const run = sparingly(
      0.05,
      Effect.suspend(() => (++runs === 1 ? Effect.fail("down") : Effect.succeed(runs)))
    )
    assert.strictEqual(yield* Effect.flip(run), "down")
    assert.strictEqual(yield* run, 2)
    assert.strictEqual(yield* run, 3)
  })
)
