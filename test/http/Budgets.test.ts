import { assert, layer } from "@effect/vitest"
import { Array as Arr, Effect, TestClock } from "effect"
import { anAccount } from "../../src/testing/index.ts"
import { type Answer, ask, exhaust, MemoryServer, refusals, remaining } from "./Exchange.ts"
import { aKey } from "./Fixtures.ts"

const nowSeconds = Effect.map(TestClock.currentTimeMillis, (millis) => millis / 1000)

/** Waits for the start of a second, so that rounding up gives a known value. */
const aWholeSecond = Effect.tap(Effect.map(nowSeconds, Math.ceil), (second) => TestClock.setTime(second * 1000))

const rateStatus = ({ headers, status }: Answer) => ({
  status,
  remaining: Number(headers["x-ratelimit-remaining"]),
  reset: Number(headers["x-ratelimit-reset"]),
  scope: headers["x-ratelimit-scope"],
  retryAfter: headers["retry-after"]
})

layer(MemoryServer)("budgets over HTTP", (it) => {
  it.effect(
    "a window starts at its first request and counts down to zero; every response has the seconds until its end",
    () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const start = yield* aWholeSecond
        for (let left = 119; left >= 0; left--) {
          assert.deepStrictEqual(rateStatus(yield* ask("/api/v1/ping", { token })), {
            status: 200,
            remaining: left,
            reset: start + 60,
            scope: "key",
            retryAfter: undefined
          })
          if (left % 40 === 0) yield* TestClock.adjust("5 seconds")
        }
        const refused = rateStatus(yield* ask("/api/v1/ping", { token }))
        assert.deepStrictEqual(refused, {
          status: 429,
          remaining: 0,
          reset: start + 60,
          scope: "key",
          retryAfter: "45"
        })
        yield* TestClock.adjust("44 seconds")
        assert.deepInclude(rateStatus(yield* ask("/api/v1/ping", { token })), { status: 429, retryAfter: "1" })
        yield* TestClock.adjust("1 second")
        const next = rateStatus(yield* ask("/api/v1/ping", { token }))
        assert.deepInclude(next, { status: 200, remaining: 119, reset: start + 120 })
      })
  )

  it.effect("a client that waits for Retry-After, or until Reset, is served", () =>
    Effect.gen(function* () {
      for (const header of ["retry-after", "x-ratelimit-reset"]) {
        const { token } = yield* anAccount()
        yield* TestClock.adjust("337 millis")
        yield* exhaust(token)
        yield* TestClock.adjust("12345 millis")
        const refused = yield* ask("/api/v1/ping", { token })
        assert.strictEqual(refused.status, 429)
        const now = yield* TestClock.currentTimeMillis
        const given = Number(refused.headers[header])
        const wait = header === "retry-after" ? given * 1000 : given * 1000 - now
        assert.isAtLeast(wait, 1)
        assert.isAtMost(wait, 61_000)
        yield* TestClock.adjust(wait)
        assert.strictEqual((yield* ask("/api/v1/ping", { token })).status, 200)
      }
    })
  )

  it.effect("Reset and Retry-After are rounded up, and at least 1", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const start = Math.floor(yield* nowSeconds) + 10
      yield* TestClock.setTime(start * 1000 + 250)
      yield* exhaust(token)
      yield* TestClock.setTime(start * 1000 + 60_249)
      const refused = rateStatus(yield* ask("/api/v1/ping", { token }))
      assert.deepInclude(refused, { status: 429, reset: start + 61, retryAfter: "1" })
      yield* TestClock.setTime(start * 1000 + 60_250)
      assert.deepInclude(rateStatus(yield* ask("/api/v1/ping", { token })), { status: 200, reset: start + 121 })
    })
  )

  it.effect("exactly 120 of 200 simultaneous requests are served, each with its own count", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const answers = yield* Effect.forEach(Arr.range(1, 200), () => ask("/api/v1/ping", { token }), {
        concurrency: 40
      })
      const served = answers.filter(({ status }) => status === 200).map((answer) => rateStatus(answer).remaining)
      assert.deepStrictEqual(
        served.sort((left, right) => right - left),
        Arr.range(0, 119).reverse()
      )
      assert.strictEqual(answers.filter(({ status }) => status === 429).length, 80)
    })
  )

  it.effect(
    "the keys of an account share 240 requests a minute; a request that the account's budget refuses does not count for its key",
    () =>
      Effect.gen(function* () {
        const { accountId, token: first } = yield* anAccount()
        const { token: second } = yield* aKey(accountId, ["pim:read"])
        const { token: third } = yield* aKey(accountId, ["pim:read"])
        const start = yield* aWholeSecond
        yield* exhaust(first)
        yield* TestClock.adjust("20 seconds")
        for (let times = 0; times < 60; times++) yield* remaining(second)
        assert.deepInclude(rateStatus(yield* ask("/api/v1/ping", { token: third })), {
          remaining: 119,
          scope: "account"
        })
        for (let times = 0; times < 59; times++) yield* remaining(second)
        for (let times = 0; times < 5; times++) {
          const refused = rateStatus(yield* ask("/api/v1/ping", { token: third }))
          assert.deepStrictEqual(refused, {
            status: 429,
            remaining: 119,
            reset: start + 60,
            scope: "account",
            retryAfter: "40"
          })
          const { token: fresh } = yield* aKey(accountId, ["pim:read"])
          assert.deepInclude(rateStatus(yield* ask("/api/v1/ping", { token: fresh })), { status: 429, remaining: 120 })
        }
        yield* TestClock.adjust("40 seconds")
        assert.deepInclude(rateStatus(yield* ask("/api/v1/ping", { token: third })), {
          remaining: 118,
          reset: start + 80
        })
        assert.deepInclude(rateStatus(yield* ask("/api/v1/ping", { token: first })), {
          remaining: 119,
          reset: start + 120
        })
      })
  )

  it.effect("accounts do not share a budget, and a refused key does not use its account's budget", () =>
    Effect.gen(function* () {
      const { accountId, token: first } = yield* anAccount()
      const { token: second } = yield* aKey(accountId, ["pim:read"])
      yield* exhaust(first)
      for (let times = 0; times < 30; times++)
        assert.strictEqual((yield* ask("/api/v1/ping", { token: first })).status, 429)
      for (let left = 119; left >= 0; left--) assert.strictEqual(yield* remaining(second), left)
      const other = yield* anAccount()
      assert.strictEqual(yield* remaining(other.token), 119)
    })
  )

  it.effect("where no key is needed, the headers show a full window that starts now", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("7 seconds")
      const now = yield* nowSeconds
      for (const target of ["/healthz", "/nowhere", "/api/v1/ping"])
        assert.deepInclude(rateStatus(yield* ask(target)), { remaining: 120, reset: Math.ceil(now + 60), scope: "key" })
      assert.strictEqual((yield* ask("/api/v1/ping")).status, refusals.unauthorized.status)
    })
  )
})
