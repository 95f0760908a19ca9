import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { openApiPath } from "../../src/api/openapi/OpenApiDocument.ts"
import { type Coding, preferredCoding } from "../../src/http/Compression.ts"
import { documentationPath } from "../../src/http/Documents.ts"
import { AnswerCache } from "../../src/http/fast/AnswerCache.ts"
import type { KnownAnswer } from "../../src/http/fast/KnownAnswer.ts"
import { AccountId } from "../../src/model/Ids.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { type Answer, ask, assertHeaders, MemoryServer } from "./Exchange.ts"

const codings = ["br", "gzip"] as const

describe("the content coding that Accept-Encoding prefers", () => {
  const preferred: Readonly<Record<string, Coding | undefined>> = {
    br: "br",
    gzip: "gzip",
    "gzip, deflate, br": "br",
    "gzip, deflate, br, zstd": "br",
    "GZIP , BR": "br",
    "br;q=0.5, gzip;q=0.8": "gzip",
    "br; q=0.5 , gzip ;q=0.5": "br",
    "*": "br",
    "br;q=0, *": "gzip",
    "*;q=0, gzip": "gzip",
    "gzip;q=0.001": "gzip",
    "identity;q=0.5, gzip": "gzip",
    "identity;q=0, gzip": "gzip",
    "": undefined,
    deflate: undefined,
    zstd: undefined,
    identity: undefined,
    "*;q=0": undefined,
    "br;q=0, gzip;q=0": undefined,
    "identity, gzip;q=0.5": undefined,
    "br;q=x": undefined,
    "br;q=": undefined,
    "br;level=1": undefined,
    brotli: undefined,
    __proto__: undefined,
    ",;=,;q=1": undefined
  }
  for (const [header, coding] of Object.entries(preferred))
    it(`${JSON.stringify(header)}: ${coding ?? "not compressed"}`, () =>
      assert.strictEqual(preferredCoding(header), coding))
})

describe("a cached answer", () => {
  const accountId = AccountId.make("9b2f7a52-6f0e-4a7c-9b35-2f1f6f3d7a10")
  const answer = (bytes: number): KnownAnswer => ({
    version: 1,
    body: Buffer.alloc(bytes),
    etag: '"x"',
    contentType: "application/json",
    contentSecurityPolicy: undefined,
    compressed: {}
  })
  const coded = (one: KnownAnswer, bytes: number): KnownAnswer => ({
    ...one,
    compressed: { br: Buffer.alloc(bytes), gzip: Buffer.alloc(bytes) }
  })
  const targets = Array.from({ length: 100 }, (_, index) => `/api/v1/products?limit=${index}`)
  const cachedOf = (cache: AnswerCache) =>
    targets.filter((target) => cache.find(accountId, target, 1) !== undefined).length

  it("counts with its compressed copies, which leave room for fewer answers", () => {
    const cache = new AnswerCache()
    for (const target of targets) {
      const one = answer(100_000)
      cache.remember(accountId, target, one)
      cache.remember(accountId, target, one)
      cache.replace(accountId, target, one, coded(one, 150_000))
    }
    const cached = cachedOf(cache)
    assert.isAtLeast(cached, 35)
    assert.isAtMost(cached, 40)
    const without = new AnswerCache()
    for (const target of targets)
      for (let times = 0; times < 2; times++) without.remember(accountId, target, answer(100_000))
    assert.strictEqual(cachedOf(without), targets.length)
  })

  it("a newer answer does not get the compressed copy of the answer that it replaced", () => {
    const cache = new AnswerCache()
    const [target = ""] = targets
    const [first, second] = [answer(10), answer(20)]
    for (const one of [first, first, second]) cache.remember(accountId, target, one)
    cache.replace(accountId, target, first, coded(first, 5))
    assert.strictEqual(cache.find(accountId, target, 1), second)
    cache.replace(accountId, targets[1] ?? "", first, coded(first, 5))
    assert.isUndefined(cache.find(accountId, targets[1] ?? "", 1))
  })
})

/** The headers that are the same in two answers to the same request. */
const lasting = ({ headers }: Answer) => {
  const { date: _date, "x-request-id": _id, "x-ratelimit-remaining": _remaining, ...rest } = headers
  return rest
}

const longTarget = "/api/v1/products?include=attributes"

/**
 * An account whose list of products is 5 KB, and 250 KB with attributes: the second one is compressed on another
 * thread.
 */
const aLongCatalog = Effect.gen(function* () {
  const account = yield* anAccount({ domains: ["a.example"] })
  const products = yield* Effect.forEach(Array.from({ length: 12 }), (_, index) =>
    anEntity(
      "product",
      { title: `Boots ${index}`, body_html: `<p>${"Warm. ".repeat(3_500)}</p>` },
      { on: account.stores }
    )
  ).pipe(actingAs(account.actor))
  const rename = (title: string) =>
    Effect.flatMap(CatalogChanges, (changes) =>
      changes.apply(
        products.slice(0, 1).map((entityId) => CatalogChange.SetAttributes({ entityId, values: { title } }))
      )
    ).pipe(actingAs(account.actor), Effect.orDie)
  const read = (target: string, coding?: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
    ask(target, {
      token: account.token,
      method,
      headers: { ...(coding !== undefined && { "accept-encoding": coding }), ...headers }
    })
  return { read, rename }
})

layer(MemoryServer)("compression", (it) => {
  for (const coding of codings)
    for (const target of ["/api/v1/products", longTarget, openApiPath, documentationPath])
      it.effect(
        `${coding} of ${target}: the same text, a weak tag, 304 for either tag, HEAD with the same headers`,
        () =>
          Effect.gen(function* () {
            const { read } = yield* aLongCatalog
            const plain = yield* read(target)
            assert.strictEqual(plain.headers["content-encoding"], undefined)
            assert.isAbove(plain.bytes, target === longTarget ? 65_536 : 1_024)
            const etag = String(plain.headers.etag)
            // The first read renders the answer, the second caches it, the third uses the compressed copy.
            for (let times = 0; times < 3; times++) {
              const answer = yield* read(target, coding)
              assert.strictEqual(answer.status, 200)
              assert.strictEqual(answer.text, plain.text)
              const policy = target === documentationPath ? ["content-security-policy"] : []
              assertHeaders(answer, ["content-encoding", "content-type", "etag", ...policy])
              assert.strictEqual(answer.headers["content-encoding"], coding)
              assert.strictEqual(answer.headers["content-length"], String(answer.bytes))
              assert.isBelow(answer.bytes, 0.5 * plain.bytes)
              assert.strictEqual(answer.headers.etag, `W/${etag}`)
              const head = yield* read(target, coding, {}, "HEAD")
              assert.deepStrictEqual([head.status, head.bytes], [200, 0])
              assert.deepStrictEqual(lasting(head), lasting(answer))
            }
            for (const known of [etag, `W/${etag}`])
              for (const accepted of [undefined, ...codings])
                for (const method of ["GET", "HEAD"]) {
                  const unchanged = yield* read(target, accepted, { "if-none-match": known }, method)
                  assert.deepStrictEqual([unchanged.status, unchanged.bytes], [304, 0])
                  assertHeaders(unchanged, ["etag"])
                  assert.strictEqual(unchanged.headers.etag, accepted === undefined ? etag : `W/${etag}`)
                }
            const again = yield* read(target)
            assert.deepStrictEqual(lasting(again), lasting(plain))
            assert.strictEqual(again.text, plain.text)
          })
      )

  it.effect("after a change the next answer in every coding is new, and its tag differs", () =>
    Effect.gen(function* () {
      const { read, rename } = yield* aLongCatalog
      const tags = new Set<string>()
      for (const title of ["Sandals", "Clogs", "Slippers"]) {
        yield* rename(title)
        for (let times = 0; times < 3; times++)
          for (const coding of [...codings, undefined]) {
            const answer = yield* read("/api/v1/products", coding)
            assert.include(answer.text, `"${title}"`)
            assert.strictEqual(answer.headers["content-encoding"], coding)
            tags.add(String(answer.headers.etag))
          }
      }
      assert.strictEqual(tags.size, 3 * 2)
    })
  )

  it.effect("answers up to 1 KiB, refusals and answers to other codings are not compressed", () =>
    Effect.gen(function* () {
      const { read } = yield* aLongCatalog
      for (const [target, coding] of [
        ["/api/v1/stores", "br"],
        ["/healthz", "gzip"],
        ["/api/v1/products", "deflate"],
        ["/api/v1/products", "identity"],
        ["/api/v1/products", "br;q=0, gzip;q=0"]
      ] as const) {
        const answer = yield* read(target, coding)
        assert.strictEqual(answer.status, 200)
        assertHeaders(answer, ["content-type", "etag"])
        assert.match(String(answer.headers.etag), /^"/)
      }
      const refused = yield* read(`/api/v1/${"x".repeat(2_000)}`, "br")
      assert.strictEqual(refused.status, 404)
      assertHeaders(refused, ["content-type"])
    })
  )
})
