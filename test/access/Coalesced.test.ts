import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Option } from "effect"
import { makeCoalesced } from "../../src/access/Coalesced.ts"
import { Unavailable } from "../../src/model/Errors.ts"

/** Look-ups in the order in which they begin; those in the list never end. */
const lookUps = (stuck: ReadonlyArray<number>, begun: Array<ReadonlyArray<string>>) => (keys: ReadonlyArray<string>) =>
  Effect.suspend(() => {
    begun.push(keys)
    return stuck.includes(begun.length - 1)
      ? Effect.never
      : Effect.as(Effect.sleep("5 millis"), new Map(keys.map((key) => [key, key.toUpperCase()])))
  })

describe("look-ups that share a run", () => {
  it.scopedLive("callers that arrive during a run share the next run", () =>
    Effect.gen(function* () {
      const begun: Array<ReadonlyArray<string>> = []
      const find = yield* makeCoalesced(lookUps([], begun))
      const found = yield* Effect.all([find("a"), find("b"), find("c"), find("b")], { concurrency: "unbounded" })
      assert.deepStrictEqual(found, ["A", "B", "C", "B"].map(Option.some))
      assert.deepStrictEqual(begun, [["a"], ["b", "c"]])
    })
  )

  it.scopedLive("a run that never ends delays only its own callers, and only briefly", () =>
    Effect.gen(function* () {
      const begun: Array<ReadonlyArray<string>> = []
      const find = yield* makeCoalesced(lookUps([0, 1], begun))
      const found = yield* Effect.all([find("a"), find("b"), find("c")], { concurrency: "unbounded" })
      assert.deepStrictEqual(found, ["A", "B", "C"].map(Option.some))
      assert.deepStrictEqual(begun[0], ["a"])
      assert.deepStrictEqual(new Set(begun[1]), new Set(["a", "b", "c"]))
      assert.deepStrictEqual(new Set(begun[2]), new Set(["a", "b", "c"]))
      assert.deepStrictEqual(yield* find("d"), Option.some("D"))
    })
  )

  it.scopedLive("planted fault: without repeated look-ups, a run that never ends delays all callers", () =>
    Effect.gen(function* () {
      const patient = yield* makeCoalesced(lookUps([0], []), { patienceMillis: 99_999_999 })
      const waiting = yield* Effect.forEach(["a", "b"], (key) => Effect.fork(patient(key)))
      const find = yield* makeCoalesced(lookUps([0], []))
      yield* Effect.all([find("a"), find("b")], { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* Effect.forEach(waiting, Fiber.poll), [Option.none(), Option.none()])
    })
  )

  it.scopedLive("a caller gets the failure of the last run that it waited for, not of the first", () =>
    Effect.gen(function* () {
      const isRepeated = yield* Deferred.make<void>()
      let first: Fiber.Fiber<unknown> | undefined
      // The first run fails after the second one has begun, which ends after it.
      const find = yield* makeCoalesced((keys: ReadonlyArray<string>) =>
        Effect.withFiberRuntime<ReadonlyMap<string, string>>((self) => {
          const failing = first
          first ??= self
          return failing === undefined
            ? Effect.zipRight(Deferred.await(isRepeated), Effect.die(new Unavailable()))
            : Deferred.succeed(isRepeated, undefined).pipe(
                Effect.zipRight(Fiber.await(failing)),
                Effect.as(new Map(keys.map((key) => [key, "found"])))
              )
        })
      )
      assert.deepStrictEqual(yield* find("a"), Option.some("found"))
    })
  )

  it.scopedLive("a key that fails does not affect the other keys of its run", () =>
    Effect.gen(function* () {
      const begun: Array<ReadonlyArray<string>> = []
      const find = yield* makeCoalesced((keys: ReadonlyArray<string>) => {
        begun.push(keys)
        const found = Effect.as(Effect.sleep("5 millis"), new Map(keys.map((key) => [key, key.toUpperCase()])))
        return keys.includes("down") ? Effect.zipRight(found, Effect.die(new Unavailable())) : found
      })
      const exits = yield* Effect.forEach(["a", "down", "b", "b"], (key) => Effect.exit(find(key)), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, true, true])
      assert.deepStrictEqual(begun, [["a"], ["down", "b"], ["down"], ["b"]])
    })
  )
})
