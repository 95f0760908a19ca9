import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { RestApi } from "../../src/api/RestApi.ts"
import { documentationPath, documentRoutes } from "../../src/http/Documents.ts"
import { healthRoutes } from "../../src/http/Health.ts"
import { routesOf } from "../../src/http/RouteTable.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { EchoServer } from "./EchoServer.ts"
import { type Answer, ask, assertHeaders, assertRefusal, MemoryServer, noRoute, refusals, spentBy } from "./Exchange.ts"
import { aCatalog, aKey, queryOf, targetOf } from "./Fixtures.ts"

const tag = /^"[A-Za-z0-9_-]{27}"$/

/** The headers that are the same in two answers to the same request. */
const lasting = ({ headers }: Answer) => {
  const { date: _date, "x-request-id": _id, "x-ratelimit-remaining": _remaining, ...rest } = headers
  return rest
}

const reads = [...routesOf(RestApi), ...documentRoutes, ...healthRoutes].filter(({ method }) => method === "GET")

layer(MemoryServer)("conditional reads", (it) => {
  describe("every read", () => {
    assert.isAtLeast(reads.length, 29)
    for (const { authenticated, path } of reads)
      it.effect(path, () =>
        Effect.gen(function* () {
          const { accountId, ids, stores, token } = yield* aCatalog()
          const target = `${targetOf(path, ids, stores[0]?.id ?? "")}${queryOf[path] ?? ""}`
          const got = yield* ask(target, { token })
          assert.strictEqual(got.status, 200, got.text)
          const policy = path === documentationPath ? ["content-security-policy"] : []
          assertHeaders(got, ["content-type", "etag", ...policy])
          const etag = String(got.headers.etag)
          assert.match(etag, tag)

          const head = yield* ask(target, { token, method: "HEAD" })
          assert.deepStrictEqual([head.status, head.text], [200, ""])
          assert.deepStrictEqual(lasting(head), lasting(got))
          assert.strictEqual(head.headers["content-length"], String(Buffer.byteLength(got.text)))

          for (const method of ["GET", "HEAD"]) {
            const { result, spent } = yield* spentBy(
              token,
              ask(target, { token, method, headers: { "if-none-match": etag } })
            )
            assert.deepStrictEqual([result.status, result.text], [304, ""])
            assertHeaders(result, ["etag"])
            assert.strictEqual(result.headers.etag, etag)
            assert.strictEqual(spent, authenticated ? 1 : 0)
          }

          const other = yield* aKey(accountId, ["pim:read"])
          assert.strictEqual((yield* ask(target, { token: other.token })).headers.etag, etag)
        })
      )
  })

  const matching = (etag: string) => ({
    itself: etag,
    weak: `W/${etag}`,
    "in a list": `"a", ${etag}, "b"`,
    "weak in a list": `W/"a",W/${etag}`,
    "without blanks": `"a",${etag}`,
    "behind a comma in a tag": `"a,b", ${etag}`,
    "behind an empty tag": `"", ${etag}`,
    "behind empty members": `, ,${etag}`,
    anything: "*",
    "anything, with blanks": "  *  ",
    "in two headers": ['"a"', etag]
  })
  for (const name of Object.keys(matching("")) as ReadonlyArray<keyof ReturnType<typeof matching>>)
    it.effect(`304: the tag ${name}`, () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const etag = String((yield* ask("/api/v1/stores", { token })).headers.etag)
        const headers = { "if-none-match": matching(etag)[name] }
        assert.strictEqual((yield* ask("/api/v1/stores", { token, headers })).status, 304)
      })
    )

  const otherwise = (etag: string) => ({
    nothing: "",
    "another tag": '"a"',
    "the tag without quotes": etag.replaceAll('"', ""),
    "the tag without its last quote": etag.slice(0, -1),
    "a part of the tag": `${etag.slice(0, -2)}"`,
    "the tag in another case": etag.toLowerCase() === etag ? etag.toUpperCase() : etag.toLowerCase(),
    "a star in quotes": '"*"',
    garbage: 'W/ ,"," \\ "" W',
    "many quotes": '"'.repeat(5_000),
    "many tags": '"a", '.repeat(2_000)
  })
  for (const name of Object.keys(otherwise("")) as ReadonlyArray<keyof ReturnType<typeof otherwise>>)
    it.effect(`200: ${name}`, () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const etag = String((yield* ask("/api/v1/stores", { token })).headers.etag)
        const answer = yield* ask("/api/v1/stores", { token, headers: { "if-none-match": otherwise(etag)[name] } })
        assert.deepStrictEqual([answer.status, answer.headers.etag], [200, etag])
      })
    )

  it.effect(
    "a change of the body changes the tag, a change elsewhere does not, and undoing it brings the tag back",
    () =>
      Effect.gen(function* () {
        const { actor, ids, token } = yield* aCatalog()
        const change = (entityId: typeof ids.product, title: string) =>
          Effect.flatMap(CatalogChanges, (changes) =>
            changes.apply([CatalogChange.SetAttributes({ entityId, values: { title } })])
          ).pipe(actingAs(actor), Effect.orDie)
        const product = `/api/v1/products/${ids.product}/stores`
        const tagOf = (target: string) => Effect.map(ask(target, { token }), ({ headers }) => String(headers.etag))
        const first = yield* tagOf(product)
        yield* change(ids.collection, "Summer")
        assert.strictEqual(yield* tagOf(product), first)
        yield* change(ids.product, "Shoes")
        assert.notStrictEqual(yield* tagOf(product), first)
        const stale = yield* ask(product, { token, headers: { "if-none-match": first } })
        assert.strictEqual(stale.status, 200)
        yield* change(ids.product, "Boots")
        assert.strictEqual(yield* tagOf(product), first)
      })
  )

  it.effect("the tag belongs to the target: other parameters have other tags", () =>
    Effect.gen(function* () {
      const { token } = yield* aCatalog()
      const targets = ["/api/v1/products", "/api/v1/products?search=nothing", "/api/v1/variants"]
      const tags = yield* Effect.forEach(targets, (target) =>
        Effect.map(ask(target, { token }), ({ headers }) => headers.etag)
      )
      assert.strictEqual(new Set(tags).size, 3)
    })
  )

  it.effect("refusals have no tag, and are never 304", () =>
    Effect.gen(function* () {
      const { accountId, token } = yield* anAccount()
      const { token: writer } = yield* aKey(accountId, ["pim:write"])
      const headers = { "if-none-match": "*" }
      assertRefusal(yield* ask("/api/v1/nowhere", { token, headers }), noRoute("GET /api/v1/nowhere"))
      assertRefusal(yield* ask("/api/v1/products", { headers }), refusals.unauthorized)
      assertRefusal(yield* ask("/api/v1/products", { token: writer, headers }), refusals.noRead)
      assertRefusal(yield* ask("/api/v1/products?cursor=x", { token, headers }), refusals.foreignCursor)
    })
  )
})

layer(EchoServer)("conditional writes", (it) => {
  it.effect("POST has a tag, and ignores If-None-Match", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const post = (headers: { readonly [name: string]: string }) =>
        ask("/api/v1/echo", {
          method: "POST",
          token,
          body: '{"text":"x"}',
          headers: { "content-type": "application/json", ...headers }
        })
      const etag = String((yield* post({})).headers.etag)
      assert.match(etag, tag)
      for (const asked of ["*", etag]) {
        const answer = yield* post({ "if-none-match": asked })
        assert.deepStrictEqual([answer.status, answer.text, answer.headers.etag], [200, '{"text":"x"}', etag])
      }
    })
  )
})
