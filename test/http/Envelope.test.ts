import { HttpApiError } from "@effect/platform"
import { SqlError } from "@effect/sql/SqlError"
import { assert, describe, layer } from "@effect/vitest"
import { Cause, Effect, HashMap, Layer, Logger, LogLevel, TestClock } from "effect"
import { fromRandomBytes } from "../../src/access/ApiKeyToken.ts"
import { NodeDown } from "../../src/database/ClusterNodes.ts"
import { dieUnavailable } from "../../src/database/SqlErrors.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { NotFound, Unavailable, ValidationFailed } from "../../src/model/Errors.ts"
import { ApiKeys, anAccount, Catalog, StoreData, Stores, TestServices } from "../../src/testing/index.ts"
import { EchoServer, echoServer } from "./EchoServer.ts"
import {
  type Asked,
  ask,
  assertHeaders,
  assertRefusal,
  exhaust,
  MemoryServer,
  misfit,
  noRoute,
  type Refusal,
  refusals,
  serverWith,
  shortPatience,
  talk,
  tell
} from "./Exchange.ts"
import { aCatalog, aKey, anExpiredKey, aRevokedKey } from "./Fixtures.ts"

const deletions = "/api/v1/data-health/unused-deletions"
const neverMinted = fromRandomBytes((count) => new Uint8Array(count).fill(7))

layer(MemoryServer)("refusals", (it) => {
  describe("400: an invalid parameter in", () => {
    const places: ReadonlyArray<readonly [string, Refusal]> = [
      ["/api/v1/products?search=%E9", refusals.badQuery],
      ["/api/v1/products?search=%ED%A0%80", refusals.badQuery],
      ["/api/v1/products?search=%", refusals.badQuery],
      ["/api/v1/products?search=%zz", refusals.badQuery],
      ["/api/v1/products?cursor=garbage", refusals.foreignCursor],
      ["/api/v1/products?collection_id=1", misfit("collection_id", "must be a UUID")],
      ["/api/v1/products?search=a%00b", misfit("search", "must not contain U+0000")],
      [
        "/api/v1/products?updated_since=2026-02-30T00:00:00Z",
        misfit("updated_since", "must be an RFC 3339 date-time with an offset: this date does not exist")
      ]
    ]
    for (const [target, refusal] of places)
      it.effect(target, () =>
        Effect.gen(function* () {
          const { token } = yield* anAccount()
          assertRefusal(yield* ask(target, { token }), refusal)
        })
      )
  })

  describe("401: authentication with", () => {
    const headers = (token: string): Readonly<Record<string, Asked["headers"]>> => ({
      "no header": {},
      "an empty one": { authorization: "" },
      "the scheme alone": { authorization: "Bearer" },
      "another scheme": { authorization: `Basic ${token}` },
      "no scheme": { authorization: token },
      "two tokens": { authorization: `Bearer ${token} ${token}` },
      "two tokens with a comma": { authorization: `Bearer ${token},${token}` },
      "two headers": { authorization: [`Bearer ${token}`, `Bearer ${token}`] },
      "something after the token": { authorization: `Bearer ${token};` },
      "a tab after the scheme": { authorization: `Bearer\t${token}` },
      "a changed token": { authorization: `Bearer ${token.slice(0, -1)}` },
      "an upper-case token": { authorization: `Bearer ${token.toUpperCase()}` },
      "a token never minted": { authorization: `Bearer ${neverMinted}` },
      "a token in quotes": { authorization: `Bearer "${token}"` },
      "another header": { "x-api-key": token },
      "a cookie": { cookie: `authorization=${token}` }
    })
    for (const name of Object.keys(headers("")))
      it.effect(name, () =>
        Effect.gen(function* () {
          const { token } = yield* anAccount()
          const answer = yield* ask("/api/v1/ping", { headers: headers(token)[name] ?? {} })
          assertRefusal(answer, refusals.unauthorized)
          assert.strictEqual(answer.headers["x-ratelimit-remaining"], "120")
        })
      )

    it.effect("an expired key and a revoked one", () =>
      Effect.gen(function* () {
        const { accountId } = yield* anAccount()
        assertRefusal(yield* ask("/api/v1/ping", { token: yield* anExpiredKey(accountId) }), refusals.unauthorized)
        assertRefusal(yield* ask("/api/v1/ping", { token: yield* aRevokedKey(accountId) }), refusals.unauthorized)
      })
    )

    it.effect("a token in the query is ignored", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        assertRefusal(yield* ask(`/api/v1/ping?access_token=${token}`), refusals.unauthorized)
      })
    )

    it.effect("the case of the scheme and the blanks after it are ignored", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        for (const scheme of ["bearer", "BEARER", "bEaReR", "Bearer  "])
          assert.strictEqual(
            (yield* ask("/api/v1/ping", { headers: { authorization: `${scheme} ${token}` } })).status,
            200
          )
      })
    )
  })

  describe("403: missing scopes", () => {
    it.effect("a key without pim:read", () =>
      Effect.gen(function* () {
        const { accountId, ids } = yield* aCatalog()
        const { token } = yield* aKey(accountId, ["pim:write"])
        for (const target of ["/api/v1/products", "/api/v1/stores", `/api/v1/products/${ids.product}`])
          assertRefusal(yield* ask(target, { token }), refusals.noRead)
        assert.strictEqual((yield* ask("/api/v1/ping", { token })).status, 200)
      })
    )

    const bodies: Readonly<Record<string, Asked>> = {
      "no body": {},
      "an empty body": { body: "" },
      "a JSON body": { body: "{}", headers: { "content-type": "application/json" } },
      "no JSON, no type": { body: "\u0000[{" },
      "a large body": { body: "x".repeat(3_000_000) },
      "a chunked body": { body: ["x", "y"] },
      "a body that never comes": { headers: { "content-length": "9000000000" } }
    }
    for (const [name, asked] of Object.entries(bodies))
      it.effect(`unused-deletions with ${name}, for every scope of the key`, () =>
        Effect.gen(function* () {
          const { accountId, token } = yield* anAccount()
          for (const key of [token, (yield* aKey(accountId, ["pim:write"])).token])
            assertRefusal(yield* ask(deletions, { method: "POST", ...asked, token: key }), refusals.noDelete)
        })
      )

    it.effect("an unread body does not break the next request on the connection", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const authorization = `Host: a\r\nAuthorization: Bearer ${token}\r\n`
        const { answers } = yield* talk(
          `POST ${deletions} HTTP/1.1\r\n${authorization}Content-Length: 200000\r\n\r\n${"x".repeat(200_000)}` +
            `GET /api/v1/ping HTTP/1.1\r\n${authorization}\r\n`,
          { answers: 2 }
        )
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [403, 200]
        )
      })
    )
  })

  describe("404: unknown paths and records", () => {
    const id = "00000000-0000-4000-8000-000000000001"
    /** Unknown paths, and the similar path that the message suggests, if any. */
    const routes: Readonly<Record<string, string | undefined>> = {
      "/": undefined,
      "/api": undefined,
      "/api/v1": undefined,
      "/api/v1/": undefined,
      "/api/v2/ping": "/api/v1/ping",
      "/api/v1/nowhere": undefined,
      "/api/v1/Products": "/api/v1/products",
      "/api/v1/product": "/api/v1/products",
      "/api/v1/prodcuts?limit=1": "/api/v1/products",
      "/api/v1/data-helth": "/api/v1/data-health",
      "/api/v1/metafield_definitions": "/api/v1/metafield-definitions",
      [`/api/v1/product/${id}`]: "/api/v1/products/{id}",
      [`/api/v1/metaobject-definitions/${id}/entry`]: "/api/v1/metaobject-definitions/{id}/entries",
      [`/api/v1/products/${id}/saleschannels`]: "/api/v1/products/{id}/sales-channels",
      "/products": undefined,
      "/api/v1/ping/": "/api/v1/ping",
      "/api/v1//ping": "/api/v1/ping",
      "//api/v1/ping": "/api/v1/ping",
      "//evil.example/api/v1/ping": undefined,
      "/api/v1/Ping": "/api/v1/ping",
      "/API/V1/PING": "/api/v1/ping",
      "/api/v1/ping;a=b": undefined,
      "/api/v1/ping;": "/api/v1/ping",
      "/api/v1/ping#there": undefined,
      "/api/v1/ping#?x": "/api/v1/ping",
      "/api/v1/p%69ng": undefined,
      "/api/v1/./ping": "/api/v1/ping",
      "/api/v1/products/": "/api/v1/products",
      [`/api/v1/products/${id}/`]: "/api/v1/products/{id}",
      [`/api/v1/products//${id}`]: "/api/v1/products/{id}",
      [`/api/v1/products/${id}/stores/`]: "/api/v1/products/{id}/stores",
      [`/api/v1/products/${id}/Stores`]: "/api/v1/products/{id}/stores",
      [`/api/v1/products/${id}/st%6Fres`]: "/api/v1/products/{id}/stores",
      "/api/v1/__proto__": undefined,
      "/api/v1/*": undefined,
      "/docs/": "/docs",
      "/healthz/": "/healthz",
      "/favicon.ico": undefined
    }
    for (const [target, nearest] of Object.entries(routes))
      it.effect(`no route ${target}`, () =>
        Effect.gen(function* () {
          const { token } = yield* anAccount()
          const refusal = noRoute(`GET ${target.split("?")[0]}`, nearest)
          assertRefusal(yield* ask(target, { token }), refusal)
          assertRefusal(yield* ask(target), refusal)
        })
      )

    it.effect("the message has the method, and suggests a path only if it supports the method", () =>
      Effect.gen(function* () {
        const misspelt = "/api/v1/data-health/scan"
        const scans = noRoute(`POST ${misspelt}`, "/api/v1/data-health/scans")
        assertRefusal(yield* ask(misspelt, { method: "POST" }), scans)
        assertRefusal(yield* ask("/api/v1/Products", { method: "DELETE" }), noRoute("DELETE /api/v1/Products"))
        assert.strictEqual((yield* ask("/api/v1/Products", { method: "HEAD" })).status, 404)
        const long = `/api/v1/${"x".repeat(5_000)}`
        assertRefusal(yield* ask(long), noRoute(`GET ${long.slice(0, 200)}…`))
      })
    )

    /** Unknown ids, malformed or not: all get the same response. */
    const ids = [
      "%FF",
      "%",
      "%zz",
      "%ED%A0%80",
      "%00",
      "a%2Fb",
      "%2F",
      id,
      `${id};x`,
      "a#b",
      "x".repeat(101),
      "x".repeat(5_000),
      ":id",
      "..",
      "__proto__"
    ]
    for (const each of ids)
      it.effect(`no record ${each.slice(0, 80)}`, () =>
        Effect.gen(function* () {
          const { token } = yield* anAccount()
          for (const target of [`/api/v1/products/${each}`, `/api/v1/products/${each}/stores`])
            assertRefusal(yield* ask(target, { token }), refusals.notFound)
        })
      )
  })

  describe("405: methods that a path does not support", () => {
    for (const method of ["OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"])
      it.effect(`${method} where only GET is allowed`, () =>
        Effect.gen(function* () {
          const { ids, token } = yield* aCatalog()
          for (const target of [
            "/api/v1/ping",
            "/api/v1/products",
            `/api/v1/products/${ids.product}`,
            "/docs",
            "/readyz"
          ]) {
            const origin = { origin: "https://a.example", "access-control-request-method": "GET" }
            const answer = yield* ask(target, { token, method, headers: origin })
            assertRefusal(answer, refusals.onlyGet)
            assert.strictEqual(answer.headers.allow, "GET, HEAD")
          }
        })
      )

    it.effect("methods other than POST where only POST is allowed", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        for (const method of ["GET", "OPTIONS", "PUT", "DELETE"]) {
          const answer = yield* ask(deletions, { token, method })
          assertRefusal(answer, refusals.onlyPost)
          assert.strictEqual(answer.headers.allow, "POST")
        }
        const head = yield* ask(deletions, { token, method: "HEAD" })
        assert.deepStrictEqual([head.status, head.text, head.headers.allow], [405, "", "POST"])
      })
    )
  })

  describe("414 and 431: the size of a request head", () => {
    it.effect("a target of 12,288 bytes is served, one more is not", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const start = "/api/v1/ping?x="
        const longest = start + "x".repeat(12_288 - start.length)
        assert.strictEqual((yield* ask(longest, { token })).status, 200)
        assertRefusal(yield* ask(`${longest}x`, { token }), refusals.longTarget)
      })
    )

    it.effect("a request head of 16 KiB is served, one more byte is not", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const head = (filling: number) =>
          `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nX: ${"x".repeat(filling)}\r\n\r\n`
        const longest = 16_384 - head(0).length
        assert.strictEqual((yield* tell(head(longest))).status, 200)
        assertRefusal(yield* tell(head(longest + 1)), refusals.longHead)
      })
    )

    it.effect("a head is also too long by many short headers, and by repeated ones", () =>
      Effect.gen(function* () {
        const head = (lines: string) => `GET /healthz HTTP/1.1\r\nHost: a\r\n${lines}\r\n`
        assertRefusal(yield* tell(head("x:\r\n".repeat(4_100))), refusals.longHead)
        assertRefusal(yield* tell(head(`Set-Cookie: ${"x".repeat(17_000)}\r\n`)), refusals.longHead)
        assertRefusal(yield* tell(head(`${"x".repeat(60)}:\r\n`.repeat(300))), refusals.longHead)
      })
    )

    it.effect("a header after 2,500 others is read", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const many = "x:\r\n".repeat(2_500)
        const answer = yield* tell(
          `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\n${many}Authorization: Bearer ${token}\r\n\r\n`
        )
        assert.strictEqual(answer.status, 200)
      })
    )
  })

  it.effect("417: an Expect header other than 100-continue", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      for (const expect of ["200-ok", "continue", "x"])
        assertRefusal(yield* ask("/api/v1/ping", { token, headers: { expect } }), refusals.expectation)
    })
  )

  describe("429: a request budget is used up", () => {
    it.effect("of the key", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const now = yield* TestClock.currentTimeMillis
        yield* exhaust(token)
        const answer = yield* ask("/api/v1/products", { token })
        const message = "The request budget of this API key is used up; retry in 60 s."
        assertRefusal(answer, { status: 429, code: "rate_limited", message })
        assert.deepInclude(answer.headers, {
          "retry-after": "60",
          "x-ratelimit-remaining": "0",
          "x-ratelimit-reset": String(now / 1000 + 60),
          "x-ratelimit-scope": "key"
        })
      })
    )

    it.effect("of the account", () =>
      Effect.gen(function* () {
        const { accountId, token } = yield* anAccount()
        const now = yield* TestClock.currentTimeMillis
        yield* exhaust(token)
        yield* TestClock.adjust("10 seconds")
        const second = yield* aKey(accountId, ["pim:read"])
        yield* exhaust(second.token)
        const third = yield* aKey(accountId, ["pim:read"])
        const answer = yield* ask("/api/v1/products", { token: third.token })
        const message = "The request budget of all API keys of the account together is used up; retry in 50 s."
        assertRefusal(answer, { status: 429, code: "rate_limited", message })
        assert.deepInclude(answer.headers, {
          "retry-after": "50",
          "x-ratelimit-remaining": "120",
          "x-ratelimit-reset": String(now / 1000 + 60),
          "x-ratelimit-scope": "account"
        })
      })
    )
  })

  it.effect("a client cannot choose the request id", () =>
    Effect.gen(function* () {
      const given = "req_00000000-0000-4000-8000-000000000000"
      const ids = yield* Effect.forEach([1, 2, 3], () => ask("/healthz", { headers: { "x-request-id": given } }))
      assert.strictEqual(new Set([given, ...ids.map(({ headers }) => headers["x-request-id"])]).size, 4)
    })
  )
})

layer(serverWith(shortPatience).pipe(Layer.provideMerge(TestServices)))(
  "408: a request head that stays incomplete",
  (it) => {
    const slow: Readonly<Record<string, string>> = {
      "nothing comes": "",
      "half a request line": "GET /api/v1/pi",
      "a head without its end": "GET /api/v1/ping HTTP/1.1\r\nHost: a\r\n"
    }
    for (const [name, input] of Object.entries(slow))
      it.effect(name, () =>
        Effect.gen(function* () {
          const { answers, closed, rest } = yield* talk(input)
          assert.deepStrictEqual([answers.length, closed, rest], [1, true, ""])
          assert(answers[0] !== undefined)
          assertRefusal(answers[0], refusals.timeout)
          assert.strictEqual(answers[0].headers.connection, "close")
        })
      )

    it.effect("a request that was answered gets no second answer if the rest of its body does not arrive", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const { answers, closed, rest } = yield* talk(
          `POST ${deletions} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Length: 9\r\n\r\nx`
        )
        assert.deepStrictEqual([answers.map(({ status }) => status), closed, rest], [[403], true, ""])
      })
    )
  }
)

interface Logged {
  readonly level: LogLevel.LogLevel
  readonly text: string
  readonly requestId: unknown
}
const logged: Array<Logged> = []
const recording = Logger.replace(
  Logger.defaultLogger,
  Logger.make(({ annotations, cause, logLevel, message }) =>
    logged.push({
      level: logLevel,
      text: `${String(message)}\n${Cause.pretty(cause)}`,
      requestId: [...HashMap.toEntries(annotations)].find(([key]) => key === "requestId")?.[1]
    })
  )
)
const errorsOf = (requestId: unknown) => logged.filter((entry) => entry.requestId === requestId)

const broken = serverWith().pipe(
  Layer.provide(Layer.mock(Stores, { list: Effect.dieMessage("planted: password=hunter2") })),
  Layer.provide(
    Layer.mock(Catalog, {
      list: () => Effect.die(new Unavailable()),
      get: () => Effect.die(Object.assign(new Error("planted"), { _tag: "NotAnErrorOfOurs" })),
      versions: () => Effect.die("planted"),
      version: () => Effect.interrupt
    })
  ),
  Layer.provide(
    Layer.mock(StoreData, {
      markets: Effect.die(new NotFound()),
      market: () => Effect.die(ValidationFailed.at("id", "planted")),
      metafieldDefinitions: () => dieUnavailable(new SqlError({ cause: new NodeDown("10.0.0.7:5432") })),
      // A second failure while the first one is cleaned up.
      metaobjectDefinitions: Effect.ensuring(Effect.die(new Unavailable()), Effect.die("planted"))
    })
  ),
  Layer.provide(
    Layer.mock(Drops, { list: Effect.die(new HttpApiError.HttpApiDecodeError({ issues: [], message: "planted" })) })
  ),
  Layer.provide(recording),
  Layer.provideMerge(TestServices)
)

layer(broken)("500 and 503: failures of the service", (it) => {
  const id = "00000000-0000-4000-8000-000000000001"
  const targets = [
    "/api/v1/stores",
    `/api/v1/products/${id}`,
    `/api/v1/products/${id}/stores`,
    // Programs that die with an error of the API, or with one among others.
    "/api/v1/markets",
    `/api/v1/markets/${id}`,
    "/api/v1/metaobject-definitions",
    "/api/v1/drops"
  ]
  for (const target of targets)
    it.effect(`a defect gets a fixed message and is logged once: ${target}`, () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const answer = yield* ask(target, { token })
        assertRefusal(answer, refusals.defect)
        assert.strictEqual(answer.headers["x-ratelimit-remaining"], "119")
        const entries = errorsOf(answer.headers["x-request-id"])
        assert.strictEqual(entries.length, 1)
        assert.strictEqual(entries[0]?.level, LogLevel.Error)
        assert.match(String(entries[0]?.text), /planted|NotFound/)
        assert.notInclude(entries[0]?.text, token)
      })
    )

  it.effect("the database becomes unreachable while a list is read", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const answer = yield* ask("/api/v1/products", { token })
      assertRefusal(answer, refusals.unavailable)
      assert.notProperty(answer.headers, "retry-after")
      assert.strictEqual(answer.headers["x-ratelimit-remaining"], "119")
    })
  )

  it.effect("a node of a cluster does not answer: the 503 has no Retry-After, which only a 429 has", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      assertRefusal(yield* ask("/api/v1/metafield-definitions", { token }), refusals.unavailable)
    })
  )
})

const gone = serverWith(undefined, new Unavailable()).pipe(
  Layer.provide(Layer.mock(ApiKeys, { authenticate: () => Effect.die(new Unavailable()) })),
  Layer.provideMerge(TestServices)
)

layer(gone)("503 if keys cannot be checked", (it) => {
  it.effect("the answer does not count against the budget, and paths without a key are served", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const answer = yield* ask("/api/v1/products", { token })
      assertRefusal(answer, refusals.unavailable)
      assert.strictEqual(answer.headers["x-ratelimit-remaining"], "120")
      assertRefusal(yield* ask("/readyz"), refusals.unavailable)
      assertRefusal(yield* ask("/api/v1/products"), refusals.unauthorized)
      assert.strictEqual((yield* ask("/healthz")).status, 200)
    })
  )
})

const json = { "content-type": "application/json" }
const mebibyte = 1_048_576
const text = (characters: number) => JSON.stringify({ text: "x".repeat(characters) })
const largest = text(mebibyte - text(0).length)
const deep = (levels: number, [open, close]: readonly [string, string]) =>
  `{"text":"","more":${open.repeat(levels - 1)}${close.repeat(levels - 1)}}`
const members = (count: number) => Array.from({ length: count }, (_, place) => `"m${place}":0`).join()

const bad = (message: string) => misfit("body", message)

const post = (token: string, lines: string) =>
  `POST /api/v1/echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${lines}`

layer(EchoServer)("bodies", (it) => {
  const refused: Readonly<Record<string, readonly [Asked, Refusal]>> = {
    "declared too large": [{ headers: { ...json, "content-length": "1048577" } }, refusals.tooLarge],
    "sent too large": [{ headers: json, body: `${largest} ` }, refusals.tooLarge],
    "chunked too large": [{ headers: json, body: [largest, " "] }, refusals.tooLarge],
    "chunked, far too large": [
      { headers: json, body: new Array<string>(64).fill("x".repeat(65_536)) },
      refusals.tooLarge
    ],
    "no type": [{ body: "{}" }, refusals.mediaType],
    "no type, no body": [{}, refusals.mediaType],
    "text/plain": [{ headers: { "content-type": "text/plain" }, body: "{}" }, refusals.mediaType],
    form: [{ headers: { "content-type": "application/x-www-form-urlencoded" }, body: "text=x" }, refusals.mediaType],
    multipart: [
      {
        headers: { "content-type": "multipart/form-data; boundary=b" },
        body: '--b\r\nContent-Disposition: form-data; name="text"\r\n\r\nx\r\n--b--\r\n'
      },
      refusals.mediaType
    ],
    "a type that begins with application/json": [
      { headers: { "content-type": "application/jsonp" }, body: "{}" },
      refusals.mediaType
    ],
    "two types": [{ headers: { "content-type": ["application/json", "text/plain"] }, body: "{}" }, refusals.mediaType],
    "another character set": [
      { headers: { "content-type": "application/json; charset=iso-8859-1" }, body: "{}" },
      refusals.mediaType
    ],
    "a compressed body": [{ headers: { ...json, "content-encoding": "gzip" }, body: "{}" }, refusals.mediaType],
    "an empty body": [{ headers: json, body: "" }, bad("is not JSON")],
    "no body": [{ headers: json }, bad("is not JSON")],
    blanks: [{ headers: json, body: " \n" }, bad("is not JSON")],
    "trailing garbage": [{ headers: json, body: '{"text":"x"} x' }, bad("is not JSON")],
    "two values": [{ headers: json, body: '{"text":"x"}{"text":"x"}' }, bad("is not JSON")],
    "a trailing comma": [{ headers: json, body: '{"text":"x",}' }, bad("is not JSON")],
    NaN: [{ headers: json, body: '{"text":"x","more":NaN}' }, bad("is not JSON")],
    "cut short": [{ headers: json, body: '{"text":"x' }, bad("is not JSON")],
    "UTF-16": [{ headers: json, body: Buffer.from('\ufeff{"text":"x"}', "utf16le") }, bad("is not UTF-8")],
    "invalid UTF-8": [{ headers: json, body: Buffer.from('{"text":"\xff"}', "latin1") }, bad("is not UTF-8")],
    "a surrogate in UTF-8": [
      { headers: json, body: Buffer.from('{"text":"\xed\xa0\x80"}', "latin1") },
      bad("is not UTF-8")
    ],
    "overlong UTF-8": [{ headers: json, body: Buffer.from('{"text":"\xc0\x80"}', "latin1") }, bad("is not UTF-8")],
    "a raw U+0000": [{ headers: json, body: '{"text":"\u0000"}' }, bad("is not JSON")],
    "an escaped U+0000": [{ headers: json, body: '{"text":"a\\u0000b"}' }, bad("text must not contain U+0000")],
    "U+0000 in a name": [{ headers: json, body: '{"text":"","\\u0000":1}' }, bad("text must not contain U+0000")],
    "an escaped lone surrogate": [
      { headers: json, body: '{"text":"\\ud800"}' },
      bad("text must not contain lone surrogates")
    ],
    "surrogates the wrong way round": [
      { headers: json, body: '{"text":"","more":["\\udc00\\ud800"]}' },
      bad("text must not contain lone surrogates")
    ],
    __proto__: [
      { headers: json, body: '{"text":"","__proto__":{"polluted":true}}' },
      bad("an object must not have a member named __proto__")
    ],
    "__proto__ within": [
      { headers: json, body: '{"text":"","more":[{"\\u005f_proto__":1}]}' },
      bad("an object must not have a member named __proto__")
    ],
    "33 levels of arrays": [{ headers: json, body: deep(33, ["[", "]"]) }, bad("is nested deeper than 32 levels")],
    "33 levels of objects": [
      { headers: json, body: `{"text":"","more":${'{"a":'.repeat(32)}1${"}".repeat(32)}}` },
      bad("is nested deeper than 32 levels")
    ],
    "20,000 levels": [{ headers: json, body: deep(20_000, ["[", "]"]) }, bad("is nested deeper than 32 levels")],
    "20,000 levels that never close": [
      { headers: json, body: "[".repeat(20_000) },
      bad("is nested deeper than 32 levels")
    ],
    "501 members": [
      { headers: json, body: `{"text":"",${members(500)}}` },
      bad("has an object of more than 500 members")
    ],
    "70,000 members": [
      { headers: json, body: `{"text":"","more":[{${members(70_000)}}]}` },
      bad("has an object of more than 500 members")
    ],
    "300,000 objects": [
      { headers: json, body: `{"text":"","more":[${"{},".repeat(300_000)}{}]}` },
      bad("has more than 10000 arrays, objects and members")
    ],
    "9,000 closing brackets before 9,000 opening ones": [
      { headers: json, body: `${"]".repeat(9_000)}${"[".repeat(9_000)}` },
      bad("is not JSON")
    ]
  }
  for (const [name, [asked, refusal]] of Object.entries(refused))
    it.effect(`${refusal.status}: ${name}`, () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const answer = yield* ask("/api/v1/echo", { method: "POST", ...asked, token })
        assertRefusal(answer, refusal)
        assert.strictEqual(answer.headers["x-ratelimit-remaining"], "119")
        if (refusal.status === 413) assert.strictEqual(answer.headers.connection, "close")
        assert.notProperty({}, "polluted")
      })
    )

  const misfits: Readonly<Record<string, string>> = {
    "a member of another type": '{"text":123456789}',
    "a missing member": "{}",
    "an array": "[123456789]",
    "a number": "123456789",
    null: "null"
  }
  for (const [name, body] of Object.entries(misfits))
    it.effect(`400: ${name}, not repeated`, () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const answer = yield* ask("/api/v1/echo", { method: "POST", headers: json, body, token })
        assert.strictEqual(answer.status, 400)
        assertHeaders(answer, ["content-type"])
        assert.notInclude(answer.text, "123456789")
        const { error } = JSON.parse(answer.text)
        assert.hasAllKeys(error, ["code", "message", "request_id", "details"])
        assert.strictEqual(error.code, "validation_failed")
        assert.isAtLeast(error.details.length, 1)
      })
    )

  const served: Readonly<Record<string, readonly [Asked, unknown]>> = {
    "the largest body": [{ headers: json, body: largest }, JSON.parse(largest)],
    "the largest body in chunks": [
      { headers: json, body: [largest.slice(0, 500_000), largest.slice(500_000)] },
      JSON.parse(largest)
    ],
    "a byte order mark": [{ headers: json, body: '\ufeff{"text":"x"}' }, { text: "x" }],
    "members that nobody knows": [{ headers: json, body: '{"text":"x","constructor":1,"y":{}}' }, { text: "x" }],
    "a character set, in any case": [
      { headers: { "content-type": 'APPLICATION/JSON ; Charset="UTF-8"' }, body: '{"text":"x"}' },
      { text: "x" }
    ],
    "a character in two chunks": [
      { headers: json, body: [Buffer.from('{"text":"\xc3', "latin1"), Buffer.from('\xa9"}', "latin1")] },
      { text: "é" }
    ],
    "a pair of surrogates": [{ headers: json, body: '{"text":"\\ud83d\\ude00"}' }, { text: "😀" }],
    "brackets in text": [
      { headers: json, body: JSON.stringify({ text: `${"[".repeat(99)}\\"` }) },
      { text: `${"[".repeat(99)}\\"` }
    ],
    "32 levels": [{ headers: json, body: deep(32, ["[", "]"]) }, JSON.parse(deep(32, ["[", "]"]))]
  }
  for (const [name, [asked, value]] of Object.entries(served))
    it.effect(`200: ${name}`, () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const answer = yield* ask("/api/v1/echo", { method: "POST", ...asked, token })
        assert.strictEqual(answer.status, 200, answer.text)
        assert.deepStrictEqual(JSON.parse(answer.text), value)
        assertHeaders(answer, ["content-type", "etag"])
      })
    )

  it.effect("400: an invalid chunk", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const { answers, closed } = yield* talk(post(token, "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}"))
      assert.deepStrictEqual([answers.length, closed], [1, true])
      assert(answers[0] !== undefined)
      assertRefusal(answers[0], refusals.notHttp)
    })
  )

  it.effect("413: the connection is closed although the client sends more", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const { answers, closed } = yield* talk(post(token, `Content-Length: 3000000\r\n\r\n${"x".repeat(3_000_000)}`))
      assert.deepStrictEqual([answers.map(({ status }) => status), closed], [[413], true])
    })
  )

  it.effect("Expect: 100-continue gets its answer, then the body is read", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const { answers } = yield* talk(post(token, 'Expect: 100-continue\r\nContent-Length: 12\r\n\r\n{"text":"x"}'), {
        answers: 2
      })
      assert.deepStrictEqual(
        answers.map(({ status, text }) => [status, text]),
        [
          [100, ""],
          [200, '{"text":"x"}']
        ]
      )
    })
  )
})

layer(echoServer(shortPatience))("bodies that are late", (it) => {
  it.effect("408: a body that is not sent completely, with a declared length or chunked", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      for (const lines of ['Content-Length: 99\r\n\r\n{"text":', 'Transfer-Encoding: chunked\r\n\r\n3\r\n{"t\r\n']) {
        const { answers, closed, rest } = yield* talk(post(token, lines))
        assert.deepStrictEqual([answers.length, closed, rest], [1, true, ""])
        assert(answers[0] !== undefined)
        assertRefusal(answers[0], refusals.timeout)
      }
    })
  )
})
