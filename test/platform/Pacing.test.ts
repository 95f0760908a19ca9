import { HttpClient, HttpClientResponse } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Option, Schema, TestClock } from "effect"
import { defaultOptions, makeShopifyClient } from "../../src/platform/shopify/Client.ts"
import * as Pacing from "../../src/platform/shopify/Pacing.ts"
import { aStore } from "./PlatformShops.ts"

const budget: Pacing.Budget = { maximum: 1000, available: 40, restorePerSecond: 50, atMillis: 0 }

describe("pacing by the throttle status", () => {
  it("waits until the points are restored, at most for the maximum", () => {
    assert.strictEqual(Pacing.waitMillis(budget, 40, 0), 0)
    assert.strictEqual(Pacing.waitMillis(budget, 140, 0), 2_000)
    assert.strictEqual(Pacing.waitMillis(budget, 140, 500), 1_500)
    assert.strictEqual(Pacing.waitMillis(budget, 9_999, 0), 19_200)
    assert.strictEqual(Pacing.waitMillis(budget, 9_999, 60_000), 0)
  })

  it("counts open calls", () => {
    const after = Pacing.spend(Pacing.spend(budget, 40, 0), 40, 0)
    assert.strictEqual(Pacing.waitMillis(after, 10, 0), 1_000)
  })
})

/** A store with scripted answers, and the times of the calls. */
const scripted = (answer: (call: number) => Response | "never") =>
  Effect.gen(function* () {
    const askedAt: Array<number> = []
    const http = HttpClient.make((request) =>
      Effect.gen(function* () {
        askedAt.push(yield* Clock.currentTimeMillis)
        const given = answer(askedAt.length)
        return given === "never" ? yield* Effect.never : HttpClientResponse.fromWeb(request, given)
      })
    )
    const client = yield* Effect.provideService(makeShopifyClient(defaultOptions), HttpClient.HttpClient, http)
    return { client, askedAt }
  })

/** Lets other fibers run until the condition is true; only then may the test move the clock. */
const until = (condition: () => boolean) => Effect.repeat(Effect.yieldNow(), { until: condition })

const json = (value: unknown) => new Response(JSON.stringify(value))
const good = (available = 2_000) =>
  json({
    data: {},
    extensions: {
      cost: {
        requestedQueryCost: 100,
        throttleStatus: { maximumAvailable: 2_000, currentlyAvailable: available, restoreRate: 100 }
      }
    }
  })

const Empty = Schema.Struct({})
const store = aStore("shopify", "secret")

describe("calls to a store", () => {
  it.scoped("are paced by the budget of the last answer", () =>
    Effect.gen(function* () {
      const { askedAt, client } = yield* scripted(() => good(0))
      yield* client.read(store, "query A { shop { id } }", Empty)
      const second = yield* Effect.fork(client.read(store, "query A { shop { id } }", Empty))
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(askedAt, [0])
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(second)
      assert.deepStrictEqual(askedAt, [0, 1_000])
    })
  )

  it.scoped("run four at a time, without delaying another store", () =>
    Effect.gen(function* () {
      const { askedAt, client } = yield* scripted((call) => (call <= 4 ? "never" : good()))
      const hanging = yield* Effect.forEach(Array.from({ length: 6 }), () =>
        Effect.fork(client.read(store, "query A { shop { id } }", Empty))
      )
      yield* until(() => askedAt.length === 4)
      yield* TestClock.adjust("1 second")
      assert.lengthOf(askedAt, 4)
      yield* client.read(aStore("shopify", "other"), "query A { shop { id } }", Empty)
      assert.deepStrictEqual(askedAt, [0, 0, 0, 0, 1_000])
      yield* Effect.forEach(hanging, Fiber.interrupt, { discard: true })
    })
  )

  it.scoped("end at the time limit: as unknown if sent, as unavailable while waiting", () =>
    Effect.gen(function* () {
      const { askedAt, client } = yield* scripted(() => "never")
      const write = () => Effect.fork(Effect.flip(client.write(store, "mutation M { x }", Empty, {})))
      const sent = yield* Effect.forEach([1, 2, 3, 4], write)
      const waiting = yield* write()
      const live = yield* Effect.fork(
        Effect.flip(client.read(aStore("shopify", "b"), "query L { x }", Empty, {}, defaultOptions.liveLimit))
      )
      yield* until(() => askedAt.length === 5)
      yield* TestClock.adjust(Duration.subtract(defaultOptions.liveLimit, "1 millis"))
      assert.isTrue(Option.isNone(yield* Fiber.poll(live)))
      yield* TestClock.adjust("1 millis")
      assert.deepInclude(yield* Fiber.join(live), { _tag: "PlatformUnavailable", reason: "timeout" })
      yield* TestClock.adjust("25 seconds")
      for (const fiber of sent)
        assert.deepInclude(yield* Fiber.join(fiber), { _tag: "PlatformOutcomeUnknown", reason: "timeout" })
      assert.deepInclude(yield* Fiber.join(waiting), { _tag: "PlatformUnavailable", reason: "timeout" })
      assert.lengthOf(askedAt, 5)
    })
  )

  it.scoped("pause after ten failures in a row, then continue with one call", () =>
    Effect.gen(function* () {
      const { askedAt, client } = yield* scripted((call) => (call <= 11 ? new Response("<html>") : good()))
      const ask = Effect.either(client.read(store, "query A { shop { id } }", Empty))
      const reasons = yield* Effect.forEach(Array.from({ length: 12 }), () =>
        Effect.map(ask, (outcome) =>
          outcome._tag === "Right" ? "well" : outcome.left._tag === "PlatformUnavailable" ? outcome.left.reason : "no"
        )
      )
      assert.deepStrictEqual(reasons, [...Array(10).fill("nonsense"), "suspended", "suspended"])
      assert.lengthOf(askedAt, 10)
      yield* TestClock.adjust("30 seconds")
      assert.deepInclude(yield* ask, { _tag: "Left" })
      assert.deepInclude(yield* ask, { _tag: "Left" })
      assert.lengthOf(askedAt, 11)
      yield* TestClock.adjust("30 seconds")
      assert.deepInclude(yield* ask, { _tag: "Right" })
      assert.deepInclude(yield* ask, { _tag: "Right" })
      assert.lengthOf(askedAt, 13)
    })
  )
})
