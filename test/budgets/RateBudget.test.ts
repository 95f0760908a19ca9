import { afterAll, assert, describe, it } from "@effect/vitest"
import { Clock, Effect, FastCheck as fc, Ref, TestClock } from "effect"
import { type BudgetSizes, type BudgetState, RateBudget, type Spender } from "../../src/budgets/RateBudget.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { amount } from "../support/Volume.ts"
import { forget, freshAccount, openRedis, redisAnswers, redisUrl } from "./BudgetRedis.ts"

const take = (spender: Spender, units?: number) => Effect.flatMap(RateBudget, (budget) => budget.take(spender, units))

/** A limiter that stores every request, and counts those in the window. */
const naive = ({ perAccount, perKey }: BudgetSizes) => {
  const taken: Array<{ readonly owner: string; readonly at: number }> = []
  const windowOf = (owner: string, now: number) => {
    let start = Number.NEGATIVE_INFINITY
    let count = 0
    for (const { at } of taken.filter((one) => one.owner === owner)) {
      if (at >= start + 60_000) {
        start = at
        count = 0
      }
      count += 1
    }
    return now < start + 60_000 ? { ends: start + 60_000, count } : { ends: now + 60_000, count: 0 }
  }
  return (now: number, { accountId, credentialId }: Spender, units: number): BudgetState => {
    const key = windowOf(credentialId, now)
    const shared = windowOf(accountId, now)
    const refusing = [
      ...(key.count + units <= perKey ? [] : [{ scope: "key" as const, ends: key.ends }]),
      ...(shared.count + units <= perAccount ? [] : [{ scope: "account" as const, ends: shared.ends }])
    ].sort((left, right) => right.ends - left.ends)
    const [refused] = refusing
    const spent = refused === undefined ? units : 0
    for (let unit = 0; unit < spent; unit++) taken.push({ owner: credentialId, at: now }, { owner: accountId, at: now })
    const remaining = perKey - key.count - spent
    const tighter = perAccount - shared.count - spent < remaining ? "account" : "key"
    return {
      rateStatus: {
        limit: perKey,
        remaining,
        resetAtSeconds: Math.ceil((refused ?? key).ends / 1000),
        scope: refused?.scope ?? tighter
      },
      refusal: (refused === undefined
        ? null
        : { scope: refused.scope, retryAfterSeconds: Math.ceil((refused.ends - now) / 1000) }) as BudgetState["refusal"]
    }
  }
}

const step = fc.record({
  pause: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    fc.nat(2_000),
    fc.nat(70_000),
    fc.constantFrom(1, 59_999, 60_000, 60_001)
  ),
  owner: fc.nat(1),
  key: fc.nat(2),
  units: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 4 }))
})

const engines = [
  { name: "in process", absent: false, layer: RateBudget.layerProcess },
  {
    name: "in Redis",
    absent: !redisAnswers,
    layer: (sizes: BudgetSizes) =>
      RateBudget.layerRedis({
        url: redisUrl,
        sizes,
        timeMillis: Clock.currentTimeMillis,
        // On a busy machine Redis may be late, and after the usual limit the process would count on its own.
        callMillis: 60_000
      })
  }
]

afterAll(() => (redisAnswers ? Effect.runPromise(forget()) : undefined))

for (const { absent, layer, name } of engines)
  describe.skipIf(absent)(`RateBudget ${name}`, () => {
    it.effect("ends each window separately", () =>
      Effect.gen(function* () {
        const one = { credentialId: "a", accountId: freshAccount() }
        const two = { credentialId: "b", accountId: freshAccount() }
        yield* take(one)
        yield* TestClock.adjust("59999 millis")
        yield* take(two)
        assert.strictEqual((yield* take(one)).rateStatus.remaining, 0)
        yield* TestClock.adjust("1 millis")
        assert.deepInclude((yield* take(one)).rateStatus, { remaining: 1, resetAtSeconds: 120 })
        assert.deepInclude((yield* take(two)).rateStatus, { remaining: 0, resetAtSeconds: 120 })
      }).pipe(Effect.provide(layer({ perKey: 2, perAccount: 4 })))
    )

    it.effect("when both windows refuse, the later end is reported", () =>
      Effect.gen(function* () {
        const accountId = freshAccount()
        yield* take({ credentialId: "a", accountId })
        yield* TestClock.adjust("10 seconds")
        yield* take({ credentialId: "b", accountId })
        const { refusal, rateStatus } = yield* take({ credentialId: "b", accountId })
        assert.deepInclude(rateStatus, { scope: "key", resetAtSeconds: 70 })
        assert.strictEqual(refusal?.retryAfterSeconds, 60)
      }).pipe(Effect.provide(layer({ perKey: 1, perAccount: 2 })))
    )

    it.effect("peek uses no budget, begins no window, and includes other requests", () =>
      Effect.gen(function* () {
        const peek = (spender: Spender) => Effect.flatMap(RateBudget, (budget) => budget.peek(spender))
        const accountId = freshAccount()
        const one = { credentialId: "a", accountId }
        for (let turn = 0; turn < 5; turn++)
          assert.deepStrictEqual(yield* peek(one), { limit: 2, remaining: 2, resetAtSeconds: 60, scope: "key" })
        yield* TestClock.adjust("10 seconds")
        yield* take(one)
        yield* take({ credentialId: "b", accountId })
        assert.deepStrictEqual(yield* peek(one), { limit: 2, remaining: 1, resetAtSeconds: 70, scope: "key" })
        yield* take(one)
        assert.deepStrictEqual(yield* peek(one), { limit: 2, remaining: 0, resetAtSeconds: 70, scope: "key" })
        const other = { credentialId: "c", accountId }
        assert.deepInclude(yield* peek(other), { remaining: 2, scope: "account" })
        assert.isNotNull((yield* take(other)).refusal)
        assert.deepInclude(yield* peek(other), { remaining: 2, scope: "account" })
      }).pipe(Effect.provide(layer({ perKey: 2, perAccount: 3 })))
    )

    it.effect("takes several requests at once or none, also for concurrent callers", () =>
      Effect.gen(function* () {
        const accountId = freshAccount()
        const one = { credentialId: "a", accountId }
        const answers = yield* Effect.replicateEffect(take(one, 3), 20, { concurrency: "unbounded" })
        assert.strictEqual(answers.filter(({ refusal }) => refusal === null).length, 3)
        const refused = yield* take(one, 2)
        assert.deepInclude(refused.rateStatus, { limit: 10, remaining: 1, scope: "key" })
        assert.deepInclude(refused.refusal, { scope: "key", retryAfterSeconds: 60 })
        // The last request of the budget is still available to a call that needs one.
        assert.strictEqual((yield* take(one)).rateStatus.remaining, 0)
        const other = { credentialId: "b", accountId }
        assert.deepInclude((yield* take(other, 5)).refusal, { scope: "account" })
        assert.deepInclude((yield* take(other, 4)).rateStatus, { remaining: 6, scope: "account" })
      }).pipe(Effect.provide(layer({ perKey: 10, perAccount: 14 })))
    )

    let taken = { admitted: 0, byKey: 0, byAccount: 0 }

    it.effect.prop(
      "agrees with a limiter that stores every request",
      // So many steps, and so small a budget of the account, that both reasons occur often in every run (see the next test).
      [
        fc.array(step, { minLength: 80, maxLength: 120 }),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 6 })
      ],
      ([steps, perKey, perAccount]) =>
        Effect.gen(function* () {
          const model = naive({ perKey, perAccount })
          const owners: ReadonlyArray<AccountId> = [freshAccount(), freshAccount()]
          for (const { key, owner, pause, units } of steps) {
            if (pause > 0) yield* TestClock.adjust(pause)
            const now = yield* TestClock.currentTimeMillis
            const spender = { credentialId: `${owner}-${key}`, accountId: owners[owner] ?? freshAccount() }
            const { refusal, rateStatus } = yield* take(spender, units)
            const expected = model(now, spender, units)
            assert.deepStrictEqual(rateStatus, expected.rateStatus)
            assert.strictEqual(refusal === null, expected.refusal === null)
            if (refusal !== null) assert.deepInclude(refusal, { ...expected.refusal })
            taken = {
              admitted: taken.admitted + Number(refusal === null),
              byKey: taken.byKey + Number(refusal?.scope === "key"),
              byAccount: taken.byAccount + Number(refusal?.scope === "account")
            }
          }
        }).pipe(Effect.provide(layer({ perKey, perAccount }))),
      { fastCheck: { numRuns: amount(25, 500) } }
    )

    it("has admitted requests, and refused them for both reasons", () => {
      console.info(`RateBudget ${name}: ${JSON.stringify(taken)}`)
      assert.isAbove(taken.admitted, 300)
      assert.isAbove(taken.byKey, 30)
      assert.isAbove(taken.byAccount, 30)
    })
  })

describe.skipIf(!redisAnswers)("Windows in Redis", () => {
  const live = RateBudget.layerRedis({ url: redisUrl, sizes: { perKey: 2, perAccount: 3 } })

  it.scopedLive("are shared by processes, follow Redis' clock, and expire", () =>
    Effect.gen(function* () {
      const redis = yield* openRedis
      const spender = { credentialId: "a", accountId: freshAccount() }
      // Two processes, each with its own connection.
      const takeElsewhere = Effect.provide(take(spender), live)
      const [first, second] = [yield* takeElsewhere, yield* takeElsewhere]
      const refused = yield* takeElsewhere
      assert.deepInclude(first.rateStatus, { limit: 2, remaining: 1, scope: "key" })
      assert.deepInclude(second.rateStatus, { remaining: 0, resetAtSeconds: first.rateStatus.resetAtSeconds })
      assert.strictEqual(refused.refusal?.scope, "key")
      const kept = (yield* Effect.promise(() => redis.keys(`*${spender.accountId}*`))).sort()
      assert.deepStrictEqual(kept, [
        `catalog:budget:{${spender.accountId}}:account`,
        `catalog:budget:{${spender.accountId}}:key:a`
      ])
      const [nowSeconds] = yield* Effect.promise(() => redis.time())
      for (const key of kept) {
        const window = yield* Effect.promise(() => redis.hGetAll(key))
        assert.strictEqual(window.spent, "2")
        assert.closeTo(Number(window.endsAt) / 1000, Number(nowSeconds) + 60, 5)
        assert.closeTo((yield* Effect.promise(() => redis.pExpireTime(key))) - Number(window.endsAt), 1_000, 5)
      }
    })
  )

  it.scopedLive("do not begin with a refused request", () =>
    Effect.gen(function* () {
      const redis = yield* openRedis
      const accountId = freshAccount()
      const answers = yield* Effect.forEach(["a", "b", "c", "d"], (credentialId) => take({ credentialId, accountId }))
      assert.deepStrictEqual(
        answers.map(({ refusal, rateStatus }) => [refusal?.scope, rateStatus.remaining, rateStatus.scope]),
        [
          [undefined, 1, "key"],
          [undefined, 1, "key"],
          [undefined, 1, "account"],
          ["account", 2, "account"]
        ]
      )
      assert.strictEqual(yield* Effect.promise(() => redis.exists(`catalog:budget:{${accountId}}:key:d`)), 0)
      assert.strictEqual(yield* Effect.promise(() => redis.hGet(`catalog:budget:{${accountId}}:account`, "spent")), "3")
    }).pipe(Effect.provide(live))
  )

  it.scopedLive("end at most one window length from now if Redis' clock was set back, and stay used up", () =>
    Effect.gen(function* () {
      const time = yield* Ref.make(1_800_000_000_000)
      const spender = { credentialId: "a", accountId: freshAccount() }
      yield* Effect.gen(function* () {
        yield* Effect.replicateEffect(take(spender), 2)
        yield* Ref.update(time, (now) => now - 7_200_000)
        const refused = yield* take(spender)
        assert.deepInclude(refused.refusal, { scope: "key", retryAfterSeconds: 60 })
        yield* Ref.update(time, (now) => now + 59_000)
        assert.deepInclude((yield* take(spender)).refusal, { retryAfterSeconds: 1 })
        yield* Ref.update(time, (now) => now + 1_000)
        assert.isNull((yield* take(spender)).refusal)
      }).pipe(
        Effect.provide(
          RateBudget.layerRedis({ url: redisUrl, sizes: { perKey: 2, perAccount: 3 }, timeMillis: Ref.get(time) })
        )
      )
    })
  )

  it.scopedLive("are kept if the server forgets its scripts", () =>
    Effect.gen(function* () {
      const redis = yield* openRedis
      const spender = { credentialId: "a", accountId: freshAccount() }
      yield* take(spender)
      yield* Effect.promise(() => redis.scriptFlush())
      assert.strictEqual((yield* take(spender)).rateStatus.remaining, 0)
      assert.isNotNull((yield* take(spender)).refusal)
    }).pipe(Effect.provide(live))
  )

  it.scopedLive("of larger budgets leave zero requests, not fewer", () =>
    Effect.gen(function* () {
      const spender = { credentialId: "a", accountId: freshAccount() }
      yield* Effect.replicateEffect(take(spender), 3)
      const { refusal, rateStatus } = yield* take(spender).pipe(Effect.provide(live))
      assert.deepInclude(rateStatus, { limit: 2, remaining: 0 })
      assert.isNotNull(refusal)
    }).pipe(Effect.provide(RateBudget.layerRedis({ url: redisUrl, sizes: { perKey: 5, perAccount: 5 } })))
  )
})
