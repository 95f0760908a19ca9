import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { limitsOf, RateLimitSemaphores, withinShare } from "../../src/database/RateLimitSemaphores.ts"

const begunBy = (semaphores: RateLimitSemaphores) => {
  const begun: Array<string> = []
  const take = (accountId: string, credentialId: string | undefined, name: string) =>
    semaphores.take({ accountId, credentialId }, () => begun.push(name))
  return { begun, take }
}

describe("rate-limit semaphores", () => {
  it("let an account use its share, serve waiting requests in order, and drop the account's state afterwards", () => {
    const semaphores = new RateLimitSemaphores({ perAccount: 2, perCredential: 2, queue: 3 })
    const { begun, take } = begunBy(semaphores)
    const names = ["a", "b", "c", "d", "e"]
    assert.isTrue(names.map((name) => take("one", "key", name)).every((withdraw) => withdraw !== undefined))
    assert.deepStrictEqual(begun, ["a", "b"])
    assert.isUndefined(take("one", "key", "f"))
    // Another account has a share of its own.
    take("other", "key of other", "g")
    assert.deepStrictEqual(begun, ["a", "b", "g"])
    for (let left = names.length; left > 0; left--) semaphores.release({ accountId: "one", credentialId: "key" })
    assert.deepStrictEqual(begun, ["a", "b", "g", "c", "d", "e"])
    semaphores.release({ accountId: "other", credentialId: "key of other" })
    assert.strictEqual(semaphores.size, 0)
  })

  it("let other credentials of an account continue when one has used up its share", () => {
    const semaphores = new RateLimitSemaphores({ perAccount: 3, perCredential: 1, queue: 9 })
    const { begun, take } = begunBy(semaphores)
    take("one", "key", "a")
    take("one", "key", "b")
    take("one", "agent", "c")
    take("one", undefined, "d")
    assert.deepStrictEqual(begun, ["a", "c", "d"])
    semaphores.release({ accountId: "one", credentialId: undefined })
    assert.deepStrictEqual(begun, ["a", "c", "d"])
    semaphores.release({ accountId: "one", credentialId: "key" })
    assert.deepStrictEqual(begun, ["a", "c", "d", "b"])
  })

  it("do not serve a request that stopped waiting", () => {
    const semaphores = new RateLimitSemaphores({ perAccount: 1, perCredential: 1, queue: 9 })
    const { begun, take } = begunBy(semaphores)
    take("one", "key", "a")
    take("one", "key", "b")?.()
    take("one", "key", "c")
    semaphores.release({ accountId: "one", credentialId: "key" })
    assert.deepStrictEqual(begun, ["a", "c"])
  })

  it.effect("refuse an effect when the queue is full, and take back the turns of interrupted ones", () =>
    Effect.gen(function* () {
      const semaphores = new RateLimitSemaphores({ perAccount: 1, perCredential: 1, queue: 1 })
      const share = withinShare(semaphores, { accountId: "one", credentialId: undefined }, () => "full" as const)
      const running = yield* Effect.fork(share(Effect.never))
      yield* Effect.yieldNow()
      const waiting = yield* Effect.fork(share(Effect.never))
      yield* Effect.yieldNow()
      assert.strictEqual(yield* Effect.flip(share(Effect.void)), "full")
      yield* Fiber.interrupt(waiting)
      const next = yield* Effect.fork(share(Effect.succeed("its turn")))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(running)
      assert.strictEqual(yield* Fiber.join(next), "its turn")
      assert.strictEqual(yield* Effect.flip(share(Effect.fail("failed" as const))), "failed")
      assert.strictEqual(semaphores.size, 0)
    })
  )

  it("are half of a pool by default, and at least one", () => {
    const half = { perAccount: 50, perCredential: 50, queue: 7 }
    assert.deepStrictEqual(limitsOf(half, 10), { perAccount: 5, perCredential: 5, queue: 7 })
    assert.deepStrictEqual(limitsOf(half, 1), { perAccount: 1, perCredential: 1, queue: 7 })
  })
})
