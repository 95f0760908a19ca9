import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
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

  it.scopedLive("planted fault: without repeated look-ups, such a run delays all callers", () =>
    Effect.gen(function* () {
      const find = yield* makeCoalesced(lookUps([0], []), { patienceMillis: 99_999_999 })
      const found = yield* Effect.all([find("a"), find("b")], { concurrency: "unbounded" }).pipe(
        Effect.timeoutOption("1 second")
      )
      assert.deepStrictEqual(found, Option.none())
    })
  )

  it.scopedLive("a caller gets the failure of the last run that it waited for, not of the first", () =>
    Effect.gen(function* () {
      let runs = 0
      const find = yield* makeCoalesced((keys: ReadonlyArray<string>) => {
        runs++
        return runs === 1
          ? Effect.zipRight(Effect.sleep("250 millis"), Effect.die(new Unavailable()))
          : Effect.as(Effect.sleep("300 millis"), new Map(keys.map((key) => [key, runs])))
      })
      assert.isTrue(Option.isSome(yield* find("a")))
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
