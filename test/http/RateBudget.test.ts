import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, TestClock } from "effect"
import { AccountId } from "../../src/domain/Ids.ts"
import { type BudgetSizes, RateBudget, type Spender, type Taken } from "../../src/services/RateBudget.ts"

const account = (index: number) => AccountId.make(`00000000-0000-4000-8000-00000000000${index}`)
const take = (spender: Spender) => Effect.flatMap(RateBudget, (budget) => budget.take(spender))

describe("RateBudget", () => {
  it.effect("evicts ended windows only", () =>
    Effect.gen(function* () {
      const one = { credentialId: "a", accountId: account(1) }
      const two = { credentialId: "b", accountId: account(2) }
      yield* take(one)
      yield* TestClock.adjust("59999 millis")
      yield* take(two)
      assert.strictEqual((yield* take(one)).standing.remaining, 0)
      yield* TestClock.adjust("1 millis")
      assert.deepInclude((yield* take(one)).standing, { remaining: 1, resetAtSeconds: 120 })
      assert.deepInclude((yield* take(two)).standing, { remaining: 0, resetAtSeconds: 120 })
    }).pipe(Effect.provide(RateBudget.layerProcess({ perKey: 2, perAccount: 4 })))
  )

  it.effect("when both refuse, the later end is told", () =>
    Effect.gen(function* () {
      const accountId = account(1)
      yield* take({ credentialId: "a", accountId })
      yield* TestClock.adjust("10 seconds")
      yield* take({ credentialId: "b", accountId })
      const { refusal, standing } = yield* take({ credentialId: "b", accountId })
      assert.deepInclude(standing, { scope: "key", resetAtSeconds: 70 })
      assert.strictEqual(refusal?.retryAfterSeconds, 60)
    }).pipe(Effect.provide(RateBudget.layerProcess({ perKey: 1, perAccount: 2 })))
  )

  /** Every request ever taken is kept, and a window is found by looking through them. */
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
    return (now: number, { accountId, credentialId }: Spender): Taken => {
      const key = windowOf(credentialId, now)
      const shared = windowOf(accountId, now)
      const refusing = [
        ...(key.count < perKey ? [] : [{ scope: "key" as const, ends: key.ends }]),
        ...(shared.count < perAccount ? [] : [{ scope: "account" as const, ends: shared.ends }])
      ].sort((left, right) => right.ends - left.ends)
      const [refused] = refusing
      if (refused === undefined) taken.push({ owner: credentialId, at: now }, { owner: accountId, at: now })
      const spent = refused === undefined ? 1 : 0
      const remaining = perKey - key.count - spent
      const tighter = perAccount - shared.count - spent < remaining ? "account" : "key"
      return {
        standing: {
          limit: perKey,
          remaining,
          resetAtSeconds: Math.ceil((refused ?? key).ends / 1000),
          scope: refused?.scope ?? tighter
        },
        refusal: (refused === undefined
          ? null
          : { scope: refused.scope, retryAfterSeconds: Math.ceil((refused.ends - now) / 1000) }) as Taken["refusal"]
      }
    }
  }

  const step = fc.record({
    pause: fc.oneof(fc.constant(0), fc.nat(2_000), fc.nat(70_000), fc.constantFrom(1, 59_999, 60_000, 60_001)),
    owner: fc.nat(1),
    key: fc.nat(2)
  })

  it.effect.prop(
    "agrees with a limiter that keeps every request",
    [fc.array(step, { maxLength: 120 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 6 })],
    ([steps, perKey, perAccount]) =>
      Effect.gen(function* () {
        const model = naive({ perKey, perAccount })
        for (const { key, owner, pause } of steps) {
          yield* TestClock.adjust(pause)
          const now = yield* TestClock.currentTimeMillis
          const spender = { credentialId: `${owner}-${key}`, accountId: account(owner) }
          const { refusal, standing } = yield* take(spender)
          const expected = model(now, spender)
          assert.deepStrictEqual(standing, expected.standing)
          assert.strictEqual(refusal === null, expected.refusal === null)
          if (refusal !== null) assert.deepInclude(refusal, { ...expected.refusal })
        }
      }).pipe(Effect.provide(RateBudget.layerProcess({ perKey, perAccount }))),
    { fastCheck: { numRuns: 100 } }
  )
})
