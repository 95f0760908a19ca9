import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { makeTimedCache } from "../../src/runtime/TimedCache.ts"
import { aSettableClock } from "../support/SettableClock.ts"

it.effect("a value is kept for its time, also if the clock is set back by two hours, and a failure is not kept", () =>
  Effect.gen(function* () {
    const { adjust, setBack, withClock } = yield* aSettableClock
    let runs = 0
    const get = yield* makeTimedCache({
      capacity: 10,
      lookup: (key: string) =>
        Effect.suspend(() => (++runs === 1 ? Effect.fail("first") : Effect.as(adjust("1 second"), `${key} ${runs}`))),
      keptFor: () => Duration.seconds(30)
    })
    yield* Effect.gen(function* () {
      assert.strictEqual(yield* Effect.flip(get("a")), "first")
      yield* adjust("1 millis")
      const shared = yield* Effect.all([get("a"), get("a")], { concurrency: 2 })
      assert.deepStrictEqual(shared, ["a 2", "a 2"])
      setBack()
      // The time begins when the look-up ends.
      yield* adjust("30 seconds")
      assert.strictEqual(yield* get("a"), "a 2")
      yield* adjust("1 millis")
      assert.strictEqual(yield* get("a"), "a 3")
      assert.strictEqual(yield* get("b"), "b 4")
    }).pipe(withClock)
  })
)
