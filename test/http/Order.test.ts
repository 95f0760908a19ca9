import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { anAccount } from "../../src/testing/index.ts"
import { EchoServer } from "./EchoServer.ts"
import {
  type Asked,
  ask,
  assertRefusal,
  exhaust,
  MemoryServer,
  misfit,
  noRoute,
  type Refusal,
  refusals,
  spentBy,
  tell
} from "./Exchange.ts"
import { aKey } from "./Fixtures.ts"

const unused = "00000000-0000-4000-8000-000000000001"
const unknownKey = `pk_live_${"0".repeat(38)}`
const deletions = "/api/v1/data-health/unused-deletions"
const longTarget = `/api/v1/nowhere?${"x".repeat(13_000)}`
const longHead = { "x-long": "x".repeat(17_000) }
const mebibyte = 1_048_576

const wholeSecondWindow: Refusal = {
  status: 429,
  code: "rate_limited",
  message: "The request budget of this API key is used up; retry in 60 s."
}

interface Row {
  readonly breaks: string
  readonly target: string
  readonly asked?: Asked
  /** The key: one with read and write, one with write only, one whose budget is used up, none. */
  readonly as?: "reader" | "writer" | "spent" | "nobody"
  readonly wins: Refusal
  /** Number of requests that it costs of the key's budget. */
  readonly spends: 0 | 1
}

const rows: ReadonlyArray<Row> = [
  // The head comes first, before the key is read.
  {
    breaks: "long head, unknown route",
    target: "/nowhere",
    asked: { headers: longHead },
    wins: refusals.longHead,
    spends: 0
  },
  {
    breaks: "long head, budget",
    target: "/api/v1/ping",
    asked: { headers: longHead },
    as: "spent",
    wins: refusals.longHead,
    spends: 0
  },
  {
    breaks: "long target, long head",
    target: longTarget,
    asked: { headers: longHead },
    wins: refusals.longTarget,
    spends: 0
  },
  { breaks: "long target, unknown route", target: longTarget, wins: refusals.longTarget, spends: 0 },
  { breaks: "long target, no key", target: longTarget, as: "nobody", wins: refusals.longTarget, spends: 0 },
  {
    breaks: "not a path, no key",
    target: "ftp://a.example/api/v1/ping",
    as: "nobody",
    wins: refusals.notOriginForm,
    spends: 0
  },
  { breaks: "not a path, method", target: "*", asked: { method: "OPTIONS" }, wins: refusals.notOriginForm, spends: 0 },
  { breaks: "malformed query, unknown route", target: "/api/v1/nowhere?search=%", wins: refusals.badQuery, spends: 0 },
  {
    breaks: "malformed query, budget",
    target: "/api/v1/products?search=%",
    as: "spent",
    wins: refusals.badQuery,
    spends: 0
  },
  // Then the budget of the key.
  { breaks: "budget, unknown route", target: "/nowhere", as: "spent", wins: wholeSecondWindow, spends: 0 },
  {
    breaks: "budget, method",
    target: "/api/v1/products",
    asked: { method: "DELETE" },
    as: "spent",
    wins: wholeSecondWindow,
    spends: 0
  },
  {
    breaks: "budget, scope",
    target: deletions,
    asked: { method: "POST" },
    as: "spent",
    wins: wholeSecondWindow,
    spends: 0
  },
  { breaks: "budget, parameter", target: "/api/v1/products?status=x", as: "spent", wins: wholeSecondWindow, spends: 0 },
  {
    breaks: "budget, existence",
    target: `/api/v1/products/${unused}`,
    as: "spent",
    wins: wholeSecondWindow,
    spends: 0
  },
  // Then route and method, with a key or without.
  {
    breaks: "unknown route, no key",
    target: "/api/v1/nowhere",
    as: "nobody",
    wins: noRoute("GET /api/v1/nowhere"),
    spends: 0
  },
  {
    breaks: "unknown route, method",
    target: "/api/v1/nowhere",
    asked: { method: "DELETE" },
    wins: noRoute("DELETE /api/v1/nowhere"),
    spends: 1
  },
  {
    breaks: "unknown route, body",
    target: "/api/v1/nowhere",
    asked: { method: "POST", body: "{" },
    wins: noRoute("POST /api/v1/nowhere"),
    spends: 1
  },
  {
    breaks: "method, no key",
    target: "/api/v1/products",
    asked: { method: "POST" },
    as: "nobody",
    wins: refusals.onlyGet,
    spends: 0
  },
  {
    breaks: "method, scope",
    target: "/api/v1/products",
    asked: { method: "PUT" },
    as: "writer",
    wins: refusals.onlyGet,
    spends: 1
  },
  {
    breaks: "method, parameter",
    target: "/api/v1/products?status=x",
    asked: { method: "OPTIONS" },
    wins: refusals.onlyGet,
    spends: 1
  },
  { breaks: "method, scope that nobody has", target: deletions, wins: refusals.onlyPost, spends: 1 },
  // Then the key itself.
  {
    breaks: "no key, scope",
    target: deletions,
    asked: { method: "POST" },
    as: "nobody",
    wins: refusals.unauthorized,
    spends: 0
  },
  {
    breaks: "no key, parameter",
    target: "/api/v1/products?status=x",
    as: "nobody",
    wins: refusals.unauthorized,
    spends: 0
  },
  {
    breaks: "no key, existence",
    target: `/api/v1/products/${unused}`,
    as: "nobody",
    wins: refusals.unauthorized,
    spends: 0
  },
  // Then its scope.
  { breaks: "scope, parameter", target: "/api/v1/products?status=x", as: "writer", wins: refusals.noRead, spends: 1 },
  { breaks: "scope, existence", target: `/api/v1/products/${unused}`, as: "writer", wins: refusals.noRead, spends: 1 },
  {
    breaks: "scope, body",
    target: deletions,
    asked: { method: "POST", body: "{" },
    wins: refusals.noDelete,
    spends: 1
  },
  // Then parameters, then existence.
  {
    breaks: "parameter, existence",
    target: `/api/v1/products?collection_id=${unused}&search=${"x".repeat(201)}`,
    wins: misfit("search", "must have at most 200 characters"),
    spends: 1
  },
  {
    breaks: "existence, condition",
    target: `/api/v1/products/${unused}`,
    asked: { headers: { "if-none-match": "*" } },
    wins: refusals.notFound,
    spends: 1
  }
]

layer(MemoryServer)("a request that breaks two rules gets the answer of the earlier rule", (it) => {
  for (const { as = "reader", asked, breaks, spends, target, wins } of rows) {
    it.effect(breaks, () =>
      Effect.gen(function* () {
        const { accountId, token } = yield* anAccount()
        if (as === "spent") yield* exhaust(token)
        const tokens = {
          reader: token,
          writer: (yield* aKey(accountId, ["pim:write"])).token,
          spent: token,
          nobody: undefined
        }
        const send = ask(target, { ...asked, token: tokens[as] })
        if (as === "nobody" || as === "spent") return assertRefusal(yield* send, wins)
        const { result, spent } = yield* spentBy(tokens[as] ?? token, send)
        assertRefusal(result, wins)
        assert.strictEqual(spent, spends)
      })
    )
  }

  // An invalid cursor (400) wins over an unknown collection (404).
  it.effect("an invalid cursor, on a path with an unknown record", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const answer = yield* ask(`/api/v1/products?collection_id=${unused}&cursor=garbage`, { token })
      assertRefusal(answer, refusals.foreignCursor)
    })
  )

  it.effect("a key is ignored for documents and health, whatever the method", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      for (const target of ["/api/v1/openapi.json", "/docs", "/healthz", "/readyz"]) {
        for (const key of [token, unknownKey, "malformed", undefined]) {
          const { result, spent } = yield* spentBy(token, ask(target, { token: key }))
          assert.strictEqual(result.status, 200, target)
          assert.strictEqual(result.headers["x-ratelimit-remaining"], "120")
          assert.strictEqual(spent, 0)
        }
        const { result, spent } = yield* spentBy(token, ask(target, { token, method: "POST" }))
        assertRefusal(result, refusals.onlyGet)
        assert.strictEqual(spent, 0)
      }
      yield* exhaust(token)
      assert.strictEqual((yield* ask("/healthz", { token })).status, 200)
    })
  )

  it.effect("successful answers cost one request too", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      for (const method of ["GET", "HEAD"]) {
        const first = yield* spentBy(token, ask("/api/v1/products", { token, method }))
        assert.deepStrictEqual([first.result.status, first.spent], [200, 1])
        const etag = String(first.result.headers.etag)
        const again = yield* spentBy(
          token,
          ask("/api/v1/products", { token, method, headers: { "if-none-match": etag } })
        )
        assert.deepStrictEqual([again.result.status, again.spent], [304, 1])
      }
    })
  )

  it.effect("an unknown key costs no budget, however often it is sent", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const { spent } = yield* spentBy(
        token,
        Effect.gen(function* () {
          for (let times = 0; times < 130; times++) {
            const answer = yield* ask("/api/v1/ping", { token: unknownKey })
            assertRefusal(answer, refusals.unauthorized)
            assert.strictEqual(answer.headers["x-ratelimit-remaining"], "120")
          }
        })
      )
      assert.strictEqual(spent, 0)
    })
  )

  it.effect("answers by Node's parser cost nothing", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const head = `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n`
      const bad = yield* spentBy(token, tell(`${head}X Y: z\r\n\r\n`))
      assertRefusal(bad.result, refusals.notHttp)
      const expecting = yield* spentBy(token, tell(`${head}Expect: the worst\r\n\r\n`))
      assertRefusal(expecting.result, refusals.expectation)
      assert.deepStrictEqual([bad.spent, expecting.spent], [0, 0])
    })
  )
})

const json = { "content-type": "application/json" }

const bodyRows: ReadonlyArray<Omit<Row, "spends">> = [
  {
    breaks: "unknown route, size",
    target: "/api/v1/nowhere",
    asked: { headers: { ...json, "content-length": "9000000" } },
    wins: noRoute("POST /api/v1/nowhere")
  },
  {
    breaks: "no key, size",
    target: "/api/v1/echo",
    asked: { headers: { ...json, "content-length": "9000000" } },
    as: "nobody",
    wins: refusals.unauthorized
  },
  {
    breaks: "scope, size",
    target: "/api/v1/echo",
    asked: { headers: { ...json, "content-length": "9000000" } },
    as: "reader",
    wins: refusals.noWrite
  },
  {
    breaks: "declared size, type",
    target: "/api/v1/echo",
    asked: { headers: { "content-type": "text/plain", "content-length": "9000000" } },
    as: "writer",
    wins: refusals.tooLarge
  },
  {
    breaks: "streamed size, type",
    target: "/api/v1/echo",
    asked: { headers: { "content-type": "text/plain" }, body: ["[", "x".repeat(mebibyte)] },
    as: "writer",
    wins: refusals.tooLarge
  },
  {
    breaks: "type, UTF-8",
    target: "/api/v1/echo",
    asked: { headers: { "content-type": "text/plain" }, body: Uint8Array.of(0xff) },
    as: "writer",
    wins: refusals.mediaType
  },
  {
    breaks: "type, JSON",
    target: "/api/v1/echo",
    asked: { headers: {}, body: "{" },
    as: "writer",
    wins: refusals.mediaType
  },
  {
    breaks: "JSON, member",
    target: "/api/v1/echo",
    asked: { headers: json, body: '{"text":1' },
    as: "writer",
    wins: misfit("body", "is not JSON")
  }
]

layer(EchoServer)("a request with a body that breaks two rules gets the answer of the earlier rule", (it) => {
  for (const { as = "writer", asked, breaks, target, wins } of bodyRows) {
    it.effect(breaks, () =>
      Effect.gen(function* () {
        const { accountId } = yield* anAccount()
        const tokens = {
          reader: (yield* aKey(accountId, ["pim:read"])).token,
          writer: (yield* aKey(accountId, ["pim:write"])).token,
          spent: undefined,
          nobody: undefined
        }
        assertRefusal(yield* ask(target, { method: "POST", ...asked, token: tokens[as] }), wins)
      })
    )
  }
})
