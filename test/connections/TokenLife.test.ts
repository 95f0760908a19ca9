import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import * as fc from "fast-check"
import { readEmail } from "../../src/access/Email.ts"
import { OAuthRefused } from "../../src/connections/OAuthErrors.ts"
import { covers, lower, scopeOf, Tier, tierOfScope, upTo } from "../../src/connections/Tier.ts"
import { decideRefresh, refreshedTier } from "../../src/connections/TokenLife.ts"

const tier = fc.constantFrom(...Tier.literals)

describe("tiers", () => {
  it("are cumulative, in this order", () => {
    assert.deepStrictEqual(upTo("pim:publish"), ["pim:read", "pim:write", "pim:publish"])
    assert.deepStrictEqual(upTo("pim:read"), ["pim:read"])
    assert.strictEqual(scopeOf("pim:write"), "pim:read pim:write")
    fc.assert(
      fc.property(tier, tier, (one, other) => {
        assert.strictEqual(covers(one, other), upTo(one).includes(other))
        assert.strictEqual(tierOfScope(scopeOf(one)), one)
        assert.isTrue(covers(one, lower(one, other)) && covers(other, lower(one, other)))
        assert.include([one, other], lower(one, other))
      })
    )
  })

  it("a scope means its highest tier; unknown scopes are ignored", () => {
    assert.deepStrictEqual(
      ["", "openid", "pim:write", "pim:publish pim:read", "PIM:READ", "pim:readx pim:read", "pim:delete"].map(
        tierOfScope
      ),
      [undefined, undefined, "pim:write", "pim:publish", undefined, "pim:read", undefined]
    )
  })
})

describe("a refresh token", () => {
  const fresh = { dead: false, usedAgoSeconds: null, successors: 0, successorUsed: false }

  it("works once, a few more times within 30 s, and later shows that it was copied", () => {
    assert.strictEqual(decideRefresh(fresh), "issue")
    assert.strictEqual(decideRefresh({ ...fresh, usedAgoSeconds: 29.9, successors: 1 }), "issue")
    assert.strictEqual(decideRefresh({ ...fresh, usedAgoSeconds: 0, successors: 3 }), "issue")
    assert.strictEqual(decideRefresh({ ...fresh, usedAgoSeconds: 0, successors: 4 }), "refuse")
    assert.strictEqual(decideRefresh({ ...fresh, usedAgoSeconds: 30, successors: 1 }), "replayed")
    assert.strictEqual(decideRefresh({ ...fresh, usedAgoSeconds: 1, successors: 1, successorUsed: true }), "replayed")
  })

  it("issues nothing after it expired, after its successor was used, or after the 30 s", () => {
    fc.assert(
      fc.property(
        fc.record({
          dead: fc.boolean(),
          usedAgoSeconds: fc.option(fc.double({ min: 0, max: 100, noNaN: true })),
          successors: fc.nat(6),
          successorUsed: fc.boolean()
        }),
        (facts) => {
          if (decideRefresh(facts) !== "issue") return
          assert.isFalse(facts.dead)
          if (facts.usedAgoSeconds === null) return
          assert.isBelow(facts.usedAgoSeconds, 30)
          assert.isFalse(facts.successorUsed)
          assert.isAtMost(facts.successors, 3)
        }
      )
    )
  })

  it("grants at most the tier of the connection", () => {
    fc.assert(
      fc.property(tier, tier, (granted, asked) => {
        const refreshed = refreshedTier(granted, scopeOf(asked))
        if (covers(granted, asked)) assert.strictEqual(refreshed, asked)
        else assert.instanceOf(refreshed, OAuthRefused)
        assert.strictEqual(refreshedTier(granted, undefined), granted)
      })
    )
    assert.instanceOf(refreshedTier("pim:publish", "admin"), OAuthRefused)
  })
})

describe("an e-mail address", () => {
  it("is stored in lower case, and other text is refused", () => {
    assert.deepStrictEqual(readEmail("  Ada@Example.COM "), Either.right("ada@example.com"))
    for (const text of ["o'brien+x@a-b.example", "é@exämple.com", "手机@例子.中国", "ada@localhost"])
      assert.deepStrictEqual(readEmail(text), Either.right(text))
    for (const text of [
      "",
      "ada",
      "@example.com",
      "ada@",
      "a da@example.com",
      "ada@x@y",
      "ada\u0000@x",
      // The mail library would send these to ada@example.com, who could not sign in with that address.
      ...["<ada@example.com>", "ada@example.com,", "ada@example.com;", "mailto:ada@example.com", "ada(x)@example.com"],
      ...["ada@example.com.", "ada@example..com", "ada@.com"],
      // Invisible characters, and control characters of terminals.
      ...["ada@example.com\u200b", "ada\u202e@example.com", "\u009b2Jada@example.com", "ada\ud800@example.com"],
      `ada@${"x".repeat(190)}`,
      `${"a".repeat(65)}@x`
    ])
      assert.isTrue(Either.isLeft(readEmail(text)), text)
  })
})
