import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream, TestClock } from "effect"
import { streamEvents } from "../../src/admin/EventStream.ts"

describe("streamed events", () => {
  it.effect("a delivered event is with the client before the work goes on", () =>
    Effect.gen(function* () {
      const isRead = yield* Deferred.make<void>()
      const order: Array<string> = []
      const events = streamEvents<string, never, never>((_, deliver) =>
        deliver("begins").pipe(Effect.zipRight(Effect.sync(() => order.push("works"))), Effect.as("done"))
      )
      const client = yield* Effect.fork(
        Stream.runForEach(events, (event) =>
          Effect.zipRight(
            Effect.sync(() => order.push(`reads ${event}`)),
            Deferred.await(isRead)
          )
        )
      )
      yield* Effect.yieldNow().pipe(Effect.repeatN(100))
      assert.deepStrictEqual(order, ["reads begins"])
      yield* Deferred.succeed(isRead, undefined)
      yield* Fiber.join(client)
      assert.deepStrictEqual(order, ["reads begins", "works", "reads done"])
    })
  )

  it.effect("a client that does not read delays the work by 5 s at most", () =>
    Effect.gen(function* () {
      const worked = yield* Deferred.make<void>()
      const events = streamEvents<string, never, never>((_, deliver) =>
        Effect.as(Effect.zipRight(deliver("begins"), Deferred.succeed(worked, undefined)), "done")
      )
      yield* Effect.fork(Stream.runForEach(events, () => Effect.never))
      yield* TestClock.adjust("4900 millis")
      assert.isFalse(yield* Deferred.isDone(worked))
      yield* TestClock.adjust("100 millis")
      yield* Deferred.await(worked)
    })
  )
})
