import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Either, Fiber } from "effect"
import { makeFairQueue } from "../../src/runtime/FairQueue.ts"

const limits = { running: 1, waitingInLane: 10, waiting: 40 }

/** A queue with one place, which is occupied, and work that records the order in which it runs. */
const busyQueueWith = (waitMillis: number) =>
  Effect.gen(function* () {
    const queue = makeFairQueue({ ...limits, waitMillis }, () => "full" as const)
    const done: Array<string> = []
    const gate = yield* Deferred.make<void>()
    const first = yield* Effect.fork(queue.run({ name: "first", preferred: false })(Deferred.await(gate)))
    yield* Effect.yieldNow()
    const enter = (name: string, preferred = false) =>
      Effect.gen(function* () {
        const work = Effect.sync(() => void done.push(name))
        const fiber = yield* Effect.fork(Effect.either(queue.run({ name, preferred })(work)))
        yield* Effect.yieldNow()
        return fiber
      })
    const open = Effect.zipRight(Deferred.succeed(gate, undefined), Fiber.join(first))
    return { done, enter, open, queue }
  })

const busyQueue = busyQueueWith(60_000)

describe("a fair queue", () => {
  it.effect("serves lanes by turns, preferred ones first", () =>
    Effect.gen(function* () {
      const { done, enter, open } = yield* busyQueue
      const fibers = []
      for (const name of ["a", "a", "a", "b", "a", "c", "b"]) fibers.push(yield* enter(name))
      for (const name of ["y", "y", "x"]) fibers.push(yield* enter(name, true))
      yield* open
      yield* Effect.forEach(fibers, Fiber.join)
      assert.strictEqual(done.join(""), "yxyabcabaa")
    })
  )

  it.effect("gives every fourth turn to the other lanes while preferred ones are busy", () =>
    Effect.gen(function* () {
      const { done, enter, open } = yield* busyQueue
      const fibers = []
      for (const name of ["a", "b"]) fibers.push(yield* enter(name))
      for (const name of ["x", "x", "x", "x", "x", "x", "x"]) fibers.push(yield* enter(name, true))
      yield* open
      yield* Effect.forEach(fibers, Fiber.join)
      assert.strictEqual(done.join(""), "xxxaxxxbx")
    })
  )

  it.effect(
    "refuses more than ten waiters of a lane; if it is full, a waiter of the longest lane is refused for one of a shorter lane",
    () =>
      Effect.gen(function* () {
        const { done, enter, open } = yield* busyQueue
        const fibers: Array<{ readonly name: string; readonly fiber: Fiber.Fiber<Either.Either<void, "full">> }> = []
        const add = (name: string) => Effect.map(enter(name), (fiber) => void fibers.push({ name, fiber }))
        for (const name of ["a", "b", "c", "d"]) for (let time = 0; time < 12; time++) yield* add(name)
        yield* add("late")
        yield* open
        const outcomes = yield* Effect.forEach(fibers, ({ fiber, name }) =>
          Effect.map(Fiber.join(fiber), (outcome) => ({ name, refused: Either.isLeft(outcome) }))
        )
        const refusals = (name: string) => outcomes.filter((one) => one.name === name && one.refused).length
        assert.deepStrictEqual(["a", "b", "c", "d", "late"].map(refusals), [3, 2, 2, 2, 0])
        assert.lengthOf(done, 40)
        // Each other lane has one turn before the new waiter.
        assert.strictEqual(done.indexOf("late"), 4)
      })
  )

  it.effect("frees its places when work fails or is interrupted, running or waiting", () =>
    Effect.gen(function* () {
      const { done, enter, open, queue } = yield* busyQueue
      const failing = yield* Effect.fork(Effect.either(queue.run({ name: "f", preferred: false })(Effect.fail("no"))))
      yield* Effect.yieldNow()
      const waiting = yield* enter("w")
      yield* Fiber.interrupt(waiting)
      yield* open
      assert.deepStrictEqual(yield* Fiber.join(failing), Either.left("no"))
      const running = yield* Effect.fork(queue.run({ name: "r", preferred: false })(Effect.never))
      yield* Effect.yieldNow()
      const after = yield* enter("after")
      yield* Fiber.interrupt(running)
      yield* Fiber.join(after)
      assert.deepStrictEqual(done, ["after"])
    })
  )

  it.live("refuses a caller that waits too long, and frees its place", () =>
    Effect.gen(function* () {
      const { done, enter, open } = yield* busyQueueWith(20)
      const late = [yield* enter("a"), yield* enter("b", true)]
      for (const fiber of late) assert.strictEqual(Either.merge(yield* Fiber.join(fiber)), "full")
      yield* open
      yield* Fiber.join(yield* enter("c"))
      assert.deepStrictEqual(done, ["c"])
    })
  )
})
