import { assert, layer } from "@effect/vitest"
import { Effect, FastCheck as fc, Layer, Runtime, TestClock } from "effect"
import { anAccount, TestServices } from "../../src/testing/index.ts"
import { amount } from "../support/Volume.ts"
import { assertHeaders, headerNames, serverWith, shortPatience, talk } from "./Exchange.ts"
import { codeOfStatus } from "./Fixtures.ts"

const id = "00000000-0000-4000-8000-000000000001"

const words = [
  "/",
  "/",
  "/",
  "//",
  "api",
  "v1",
  "api/v1",
  "products",
  "variants",
  "stores",
  "ping",
  "openapi.json",
  "docs",
  "data-health/unused-deletions",
  id,
  id.toUpperCase(),
  "?",
  "&",
  "=",
  "limit",
  "cursor",
  "search",
  "updated_since",
  "status",
  "collection_id",
  "%",
  "%0",
  "%00",
  "%0d%0a",
  "%FF",
  "%C3%A9",
  "%2F",
  "%ED%A0%80",
  "%u0041",
  "..",
  ".",
  ";",
  "#",
  "\\",
  "\xe9",
  "\t",
  "*",
  ":",
  ":id",
  "__proto__",
  "constructor",
  "+",
  "-1",
  "1e9",
  "'",
  '"',
  "<",
  "{",
  "}",
  "|",
  "^",
  "`",
  "~",
  "x".repeat(101),
  "y".repeat(3_000),
  "http://",
  "@",
  "0",
  "9".repeat(30),
  "failed",
  "2026-01-31T09:30:00Z",
  "\x7f"
]

const target = fc.oneof(
  fc.array(fc.constantFrom(...words), { maxLength: 12 }).map((parts) => `/${parts.join("")}`),
  fc.array(fc.constantFrom(...words), { maxLength: 8 }).map((parts) => `/api/v1/products?${parts.join("")}`),
  fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 8 }).map((parts) => parts.join(""))
)

const method = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom("GET", "HEAD", "POST") },
  {
    weight: 2,
    arbitrary: fc.constantFrom("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "QUERY")
  },
  { weight: 1, arbitrary: fc.constantFrom("get", "PRI", "G(T", "X".repeat(50)) }
)

const header = fc.tuple(
  fc.constantFrom(
    "Accept",
    "If-None-Match",
    "Content-Type",
    "Accept-Encoding",
    "Content-Encoding",
    "Cookie",
    "Origin",
    "Range",
    "Upgrade",
    "Connection",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-HTTP-Method-Override",
    "Host",
    "Transfer-Encoding",
    "Content-Length",
    "Authorization",
    "Expect",
    "TE",
    "Trailer",
    "__proto__",
    "constructor",
    "b3",
    "traceparent",
    "x y",
    ""
  ),
  fc.constantFrom(
    "*",
    '"',
    "W/",
    "application/json",
    "chunked",
    "gzip, chunked",
    "0",
    "5",
    "-1",
    "close",
    "upgrade",
    "h2c",
    "websocket",
    "Bearer",
    "Bearer x",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "__proto__",
    "\xff",
    "\x00",
    "a\tb",
    "{}",
    "=;=",
    "x".repeat(5_000),
    ""
  )
)

const request = fc.record({
  method,
  target,
  version: fc.constantFrom("1.1", "1.1", "1.1", "1.1", "1.0", "2.0", "0.9"),
  headers: fc.array(header, { maxLength: 5 }),
  withKey: fc.boolean(),
  withHost: fc.integer({ min: 0, max: 9 }).map((number) => number > 0),
  body: fc.constantFrom("", "", "{}", "\x00", "[".repeat(500), "0\r\n\r\n")
})

/** Few generated requests are answered 200. */
const accepted = {
  method: "GET",
  target: "/api/v1/products?limit=1",
  version: "1.1",
  headers: [],
  withKey: true,
  withHost: true,
  body: ""
}

layer(serverWith(shortPatience).pipe(Layer.provideMerge(TestServices)))("whatever comes in", (it) => {
  it.effect("does not cause a defect, and gets a complete answer", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const runtime = yield* Effect.runtime<Effect.Effect.Context<ReturnType<typeof talk>>>()
      const statuses = new Map<number, number>()
      const judge = (sent: typeof request extends fc.Arbitrary<infer A> ? A : never) =>
        Effect.gen(function* () {
          yield* TestClock.adjust("1 minute")
          const lines = [
            `${sent.method} ${sent.target} HTTP/${sent.version}`,
            ...(sent.withHost ? ["Host: a.example"] : []),
            ...(sent.withKey ? [`Authorization: Bearer ${token}`] : []),
            ...sent.headers.map(([name, value]) => `${name}: ${value}`)
          ]
          const bodyless = sent.method === "HEAD"
          const { answers } = yield* talk(`${lines.join("\r\n")}\r\n\r\n${sent.body}`, { answers: 1, bodyless })
          const [answer] = answers
          assert(answer !== undefined, "no answer")
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
          assert.isBelow(answer.status, 500)
          const names = headerNames(answer)
          if (answer.status === 200) {
            const ofThePage = sent.target.startsWith("/docs") ? ["content-security-policy"] : []
            return assertHeaders(answer, ["content-type", "etag", ...ofThePage])
          }
          if (answer.status === 304) return assertHeaders(answer, ["etag"])
          const own = ["allow", "content-type", "retry-after", "www-authenticate"]
          assertHeaders(
            answer,
            own.filter((name) => names.includes(name))
          )
          if (bodyless) return
          const { error } = JSON.parse(answer.text)
          assert.strictEqual(error.code, codeOfStatus(answer.status))
          assert.strictEqual(error.request_id, answer.headers["x-request-id"])
          assert.isString(error.message)
          assert.notInclude(answer.text, token)
        })
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(request, (sent) => Runtime.runPromise(runtime)(judge(sent))),
          { numRuns: amount(150, 5_000), examples: [[accepted]] }
        )
      )
      // The generated requests cover these statuses, and the example 200.
      for (const status of [200, 400, 404, 405]) assert.isAtLeast(statuses.get(status) ?? 0, 1, String(status))
    })
  )
})
