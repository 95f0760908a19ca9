import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { digestPassword, isPassword } from "../../src/access/Passwords.ts"

const cost = 1_024

describe("passwords", () => {
  it.effect("of up to 200 characters are accepted in any Unicode normal form, and longer texts are refused", () =>
    Effect.gen(function* () {
      const longest = "\u{1F426}".repeat(199)
      const digest = yield* digestPassword(`${longest}\u00e9`, cost)
      assert.isTrue(yield* isPassword(`${longest}\u00e9`, digest, cost))
      assert.isFalse(yield* isPassword(`${longest}\u00e9x`, digest, cost))
      const composed = yield* digestPassword("caf\u00e9 by the tarn", cost)
      assert.isTrue(yield* isPassword("cafe\u0301 by the tarn", composed, cost))
      const cut = yield* digestPassword("x".repeat(400), cost)
      assert.isFalse(yield* isPassword("x".repeat(401), cut, cost))
    })
  )

  it.effect("are not normalized if they are too long: a megabyte of accents takes minutes", () =>
    Effect.gen(function* () {
      const lengths: Array<number> = []
      const normalize = String.prototype.normalize
      const spy = vi.spyOn(String.prototype, "normalize").mockImplementation(function (this: string, form?: string) {
        lengths.push(this.length)
        return this.length > 1_000 ? this.toString() : normalize.call(this, form)
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => spy.mockRestore()))
      const accents = `a${"\u0315".repeat(15_000)}${"\u0316".repeat(15_000)}`
      const digest = yield* digestPassword("tern over tarn 1", cost)
      for (const stored of [digest, null]) assert.isFalse(yield* isPassword(accents, stored, cost))
      assert.isAtMost(Math.max(...lengths), 400)
    }).pipe(Effect.scoped)
  )
})
