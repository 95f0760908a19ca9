import { HttpClient, HttpClientRequest, HttpServer, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { commonHeaders, rateHeaders } from "../../src/http/CommonHeaders.ts"
import { knownAnswerOf, sendKnown, sendWhole } from "../../src/http/fast/KnownAnswer.ts"

const rateStatus = { limit: 120, remaining: 7, resetAtSeconds: 1_800_000_000, scope: "account" } as const
const id = "req_known"

/** The response as a handler makes it. */
const made = HttpServerResponse.raw(Buffer.from('{"data":["ä"]}'), {
  contentType: "application/json",
  contentLength: 15,
  headers: { "content-security-policy": "default-src 'none'" }
})

/** /known is sent by the faster code for known answers, /library by the HTTP library. */
const app = Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
  const known = knownAnswerOf(made, 1)
  if (known === undefined) throw new Error("the answer has a body")
  if (request.url === "/whole") {
    const whole = HttpServerResponse.setHeader(made, "x-request-id", id)
    return sendWhole(request, whole) ? HttpServerResponse.empty({ status: 200 }) : whole
  }
  if (request.url === "/cookie") {
    const withCookie = HttpServerResponse.unsafeSetCookie(made, "session", "1")
    return sendWhole(request, withCookie) ? HttpServerResponse.empty({ status: 500 }) : withCookie
  }
  if (request.url === "/library-whole") return HttpServerResponse.setHeader(made, "x-request-id", id)
  if (request.url === "/known") {
    sendKnown(request, id, known, undefined, rateStatus)
    return HttpServerResponse.empty({ status: 200 })
  }
  const headers = { ...commonHeaders, ...rateHeaders(rateStatus), "x-request-id": id, etag: known.etag }
  return request.headers["if-none-match"] === known.etag
    ? HttpServerResponse.empty({ status: 304, headers })
    : HttpServerResponse.setHeaders(made, headers)
})

const ask = (method: "GET" | "HEAD", path: string, tag?: string) =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const request = HttpClientRequest.make(method)(path).pipe(
      HttpClientRequest.setHeaders(tag === undefined ? {} : { "if-none-match": tag })
    )
    const response = yield* client.execute(request)
    const { date: _, ...headers } = response.headers
    return { status: response.status, headers, body: yield* response.text }
  })

layer(Layer.provideMerge(HttpServer.serve(app), NodeHttpServer.layerTest), { excludeTestServices: true })(
  "an answer sent past the library",
  (it) => {
    for (const method of ["GET", "HEAD"] as const)
      it.effect(`has the same status, headers and bytes as the library's response, for ${method} and its 304`, () =>
        Effect.gen(function* () {
          const known = yield* ask(method, "/known")
          assert.deepStrictEqual(known, yield* ask(method, "/library"))
          assert.strictEqual(known.headers["content-length"], "15")
          assert.strictEqual(known.body, method === "GET" ? '{"data":["ä"]}' : "")
          const unchanged = yield* ask(method, "/known", known.headers.etag)
          assert.deepStrictEqual(unchanged, yield* ask(method, "/library", known.headers.etag))
          assert.strictEqual(unchanged.status, 304)
        })
      )

    for (const method of ["GET", "HEAD"] as const)
      it.effect(
        `of another surface has the same status, headers and bytes as the library's response, for ${method}`,
        () =>
          Effect.gen(function* () {
            const whole = yield* ask(method, "/whole")
            assert.deepStrictEqual(whole, yield* ask(method, "/library-whole"))
            assert.strictEqual(whole.body, method === "GET" ? '{"data":["ä"]}' : "")
          })
      )

    it.effect("is left to the library if it sets a cookie", () =>
      Effect.gen(function* () {
        const { headers, status } = yield* ask("GET", "/cookie")
        assert.strictEqual(status, 200)
        assert.strictEqual(headers["set-cookie"], "session=1")
      })
    )
  }
)
