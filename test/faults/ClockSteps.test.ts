import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it, layer } from "@effect/vitest"
import { Clock, Deferred, Effect, Layer, Redacted } from "effect"
import { AccountEvents, defaultEventTimes } from "../../src/events/AccountEvents.ts"
import { AccountEventsRepo } from "../../src/events/AccountEventsRepo.ts"
import { Readiness } from "../../src/http/Health.ts"
import { HttpLive } from "../../src/http/Http.ts"
import { AccountId } from "../../src/model/Ids.ts"
import { ApiKeys, anAccount, RateBudget } from "../../src/testing/index.ts"
import { testServices } from "../../src/testing/Layers.ts"
import { ask } from "../oauth/PagesServer.ts"
import { aSettableClock } from "../support/SettableClock.ts"
import { runsPlanted } from "../support/Volume.ts"

const perKey = 3
const perAccount = 8
const hours = 3_600_000

const sound = RateBudget.layerProcess({ perKey, perAccount })

/** The planted fault: durations are measured by the time of day. */
const byTimeOfDay = Layer.effect(
  RateBudget,
  Effect.map(RateBudget, ({ peek, take, takeMessage, fullBudget }) => {
    const live = Clock.make()
    const nanos = () => BigInt(live.unsafeCurrentTimeMillis()) * 1_000_000n
    const clock: Clock.Clock = Object.assign(Object.create(live), {
      unsafeCurrentTimeNanos: nanos,
      currentTimeNanos: Effect.sync(nanos)
    })
    const wrongly = Effect.withClock(clock)
    return {
      peek: (spender) => wrongly(peek(spender)),
      take: (spender) => wrongly(take(spender)),
      takeMessage: (spender) => wrongly(takeMessage(spender)),
      fullBudget: wrongly(fullBudget)
    }
  })
).pipe(Layer.provide(sound))

const serving = (budget: Layer.Layer<RateBudget>) =>
  HttpLive.pipe(
    Layer.provide(Readiness.layer(Effect.void)),
    Layer.provide(budget),
    Layer.provideMerge(testServices({ perKey, perAccount })),
    Layer.provideMerge(NodeHttpServer.layerTest)
  )

/** Sets the system clock of this process while the effect runs. */
const atStep = (millis: number) => {
  const real = Date.now
  const setTo = (now: typeof Date.now) =>
    Effect.sync(() => {
      Date.now = now
    })
  return <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(
      setTo(() => real() + millis),
      () => effect,
      () => setTo(real)
    )
}

/**
 * The responses to two keys of an account, while the clock is set forward and back. The first key exceeds its budget.
 */
const answersAt = (steps: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const { accountId, token } = yield* anAccount()
    const other = yield* (yield* ApiKeys).create(accountId, { name: "Other", scopes: ["pim:read"], expiresAt: null })
    const request = (key: string) => ask("/api/v1/ping", { headers: { authorization: `Bearer ${key}` } })
    return yield* Effect.forEach(steps, (step) =>
      Effect.gen(function* () {
        const answers = [yield* request(token), yield* request(token), yield* request(Redacted.value(other.token))]
        const now = Date.now() / 1_000
        return answers.map(({ headers, status }) => ({
          status,
          retryAfter: Number(headers.get("retry-after") ?? 0),
          resetIn: Number(headers.get("x-ratelimit-reset")) - now
        }))
      }).pipe(atStep(step))
    )
  })

const statusesOf = (answers: ReadonlyArray<ReadonlyArray<{ readonly status: number }>>) =>
  answers.flatMap((atOnce) => atOnce.map(({ status }) => status))

const steps = [0, -2 * hours, 0, 2 * hours, 0]
// Two of three requests have the first key; the budget of a key is three.
const expected = [...[200, 200, 200], ...[200, 429, 200], ...[429, 429, 200], ...[429, 429, 429], ...[429, 429, 429]]

layer(serving(sound), { excludeTestServices: true })("a clock that is set forward and back by two hours", (it) => {
  it.effect("changes neither the number of admitted requests nor the waiting time", () =>
    Effect.gen(function* () {
      const answers = yield* answersAt(steps)
      assert.deepStrictEqual(statusesOf(answers), expected)
      for (const { resetIn, retryAfter, status } of answers.flat()) {
        if (status === 429) assert.isAtLeast(retryAfter, 1)
        assert.isAtMost(retryAfter, 60)
        // The end of a window is given in the process's current time of day.
        assert.isAtLeast(resetIn, 0)
        assert.isAtMost(resetIn, 61)
      }
    })
  )
})

layer(serving(byTimeOfDay), { excludeTestServices: true })(
  "budgets that are measured by the time of day (planted fault)",
  (it) => {
    it.effect.runIf(runsPlanted)("admit too many requests after such a step, or make clients wait for hours", () =>
      Effect.gen(function* () {
        const answers = yield* answersAt(steps)
        assert.notDeepEqual(statusesOf(answers), expected)
        assert.isAbove(Math.max(...answers.flat().map(({ retryAfter }) => retryAfter)), 7_000)
      })
    )
  }
)

describe("a clock that is set back by two hours", () => {
  it.scopedLive("does not end the announcements of changes to open pages", () =>
    Effect.gen(function* () {
      const { setBack, withClock } = yield* aSettableClock
      const hasPolled = yield* Deferred.make<void>()
      let [renewals, polls] = [0, 0]
      const repo: AccountEventsRepo["Type"] = {
        listen: (_channel, _onNotification, onListening) => Effect.zipRight(onListening, Effect.never),
        read: () => Effect.succeed({ publish: "", import: "", job: "", drop: "", scan: "" }),
        watch: () => Effect.sync(() => renewals++),
        // A transaction that never ends, so each poll reads this.
        transactions: Effect.suspend(() => {
          if (++polls === 20) {
            setBack()
            renewals = 0
          }
          return Effect.as(polls > 500 ? Deferred.succeed(hasPolled, undefined) : Effect.void, { oldest: 0n, next: 1n })
        })
      }
      yield* Effect.gen(function* () {
        const events = yield* AccountEvents
        yield* Effect.orDie(events.open(AccountId.make("0d0e0a0d-0000-4000-8000-000000000001"), "one", undefined))
        yield* Deferred.await(hasPolled)
      }).pipe(
        Effect.provide(
          AccountEvents.layer(undefined, { ...defaultEventTimes, pollInterval: "5 millis", renew: "50 millis" }).pipe(
            Layer.provide(Layer.succeed(AccountEventsRepo, repo))
          )
        ),
        withClock
      )
      assert.isAbove(polls, 20)
      assert.isAtLeast(renewals, 5)
    })
  )
})
