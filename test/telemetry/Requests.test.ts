import { once } from "node:events"
import { connect } from "node:net"
import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { vi } from "vitest"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { aKey } from "../http/Fixtures.ts"
import { aConnection, message, portOf, send } from "../mcp/Connector.ts"
import { aBrowser } from "../oauth/PagesServer.ts"
import { freePort } from "../support/FreePort.ts"
import { hangLimit } from "../support/HangLimit.ts"
import { sumOf } from "./Exposition.ts"
import { observedServer, scrape } from "./Server.ts"

const metricsPort = await freePort()

/** The service's output on stderr. */
const written: Array<string> = []
const capture = Layer.scopedDiscard(
  Effect.acquireRelease(
    Effect.sync(() =>
      vi.spyOn(process.stderr, "write").mockImplementation((text) => {
        written.push(String(text))
        return true
      })
    ),
    (spy) => Effect.sync(() => spy.mockRestore())
  )
)

const lines = () =>
  written
    .join("")
    .split("\n")
    .filter((line) => line.includes('"message":"request"'))
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)

/** Waits for the access log line of a request. */
const lineWhere = (fits: (line: Readonly<Record<string, unknown>>) => boolean) =>
  Effect.promise(() => vi.waitUntil(() => lines().find(fits), { timeout: Duration.toMillis(hangLimit), interval: 20 }))

const lineOf = (id: string | undefined) => lineWhere((line) => line.id === id)

const observed = observedServer({ metricsPort }, { ACCESS_LOG: "json", RATE_LIMIT_PER_KEY: "50" }).pipe(
  Layer.provideMerge(capture)
)

/** Sends a request whose body never ends, and disconnects after `later`. */
const goAway = <A, E>(port: number, head: string, later: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const socket = connect(port, "127.0.0.1")
    yield* Effect.promise(async () => {
      await once(socket, "connect")
      await new Promise((resolve) => socket.write(`${head}\r\n\r\n{`, resolve))
    })
    yield* later
    socket.destroy()
  })

/** Sends bytes on a connection of their own. Returns all that the server sends until it closes the connection. */
const rawAnswer = (port: number, text: string) =>
  Effect.promise(async () => {
    const socket = connect(port, "127.0.0.1").setEncoding("utf8")
    let received = ""
    socket.on("data", (data: string) => {
      received += data
    })
    socket.write(text)
    await once(socket, "close")
    return received
  })

describe("requests", () => {
  layer(observed, { excludeTestServices: true })((it) => {
    it.scoped("have a log line each, with the credential and the outcome, and no secrets", () =>
      Effect.gen(function* () {
        const { accountId, actor, token } = yield* anAccount()
        yield* anEntity("product", { title: "Boots" }).pipe(actingAs(actor))
        const agent = yield* aConnection(accountId)
        const { cookie } = yield* aBrowser(accountId, "observed@example.com")
        const port = yield* portOf
        const common = { message: "request", account: accountId }

        const rest = yield* send(port, { method: "GET", path: "/api/v1/products?search=secretword&limit=1", token })
        const restLine = yield* lineOf(rest.headers["x-request-id"])
        assert.strictEqual(rest.status, 200)
        assert.include(restLine, { ...common, route: "/api/v1/products", method: "GET", status: 200 })
        assert.match(String(restLine.key), /^[0-9a-f-]{36}$/)
        assert.isAbove(Number(restLine.ms), 0)
        assert.isAbove(Number(restLine.bytes), Buffer.byteLength(rest.text))
        assert.match(String(restLine.time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

        const known = yield* send(port, {
          method: "GET",
          path: "/api/v1/products?search=secretword&limit=1",
          token,
          headers: { "if-none-match": rest.headers.etag }
        })
        assert.strictEqual(known.status, 304)
        assert.include(yield* lineOf(known.headers["x-request-id"]), { ...common, status: 304, key: restLine.key })

        // This request is answered from memory.
        const hits = sumOf((yield* scrape(metricsPort)).families, "catalog_answer_cache_total", { outcome: "hit" })
        const cached = yield* send(port, { method: "GET", path: "/api/v1/products?search=secretword&limit=1", token })
        const { families } = yield* scrape(metricsPort)
        assert.strictEqual(sumOf(families, "catalog_answer_cache_total", { outcome: "hit" }) - hits, 1)
        assert.include(yield* lineOf(cached.headers["x-request-id"]), { ...common, status: 200, key: restLine.key })

        // Refused after the look-up of the key.
        for (const [method, path, status] of [
          ["DELETE", "/api/v1/products", 405],
          ["GET", "/api/v1/nothing", 404]
        ] as const) {
          const turnedAway = yield* send(port, { method, path, token })
          assert.strictEqual(turnedAway.status, status)
          assert.include(yield* lineOf(turnedAway.headers["x-request-id"]), { ...common, status, key: restLine.key })
        }

        const writer = yield* aKey(accountId, ["pim:write"])
        const reading = send(port, { method: "GET", path: "/api/v1/products", token: writer.token })
        for (const status of [403, 429]) {
          const turnedAway = yield* Effect.repeat(reading, { until: (answer) => answer.status === status, times: 50 })
          assert.include(yield* lineOf(turnedAway.headers["x-request-id"]), { ...common, status, key: writer.id })
        }

        const plain = message("modern", "tools/call", { name: "list_products_v1", arguments: { limit: 1 } }, 7)
        const called = yield* send(port, { token: agent.token, ...plain })
        assert.strictEqual(called.status, 200)
        assert.include(yield* lineOf(called.headers["x-request-id"]), {
          ...common,
          route: "/mcp",
          method: "POST",
          status: 200,
          connection: agent.connectionId
        })

        const page = yield* send(port, { method: "GET", path: "/products", headers: { cookie, accept: "text/html" } })
        assert.strictEqual(page.status, 200)
        const pageLine = yield* lineOf(page.headers["x-request-id"])
        assert.include(pageLine, { ...common, route: "/products", status: 200 })
        assert.match(String(pageLine.user), /^[0-9a-f-]{36}$/)

        const refused = yield* send(port, { method: "GET", path: "/api/v1/products/nothing", token: `${token}x` })
        const refusedLine = yield* lineOf(refused.headers["x-request-id"])
        assert.include(refusedLine, { route: "/api/v1/products/:id", status: 401 })
        assert.notProperty(refusedLine, "account")

        const lost = yield* send(port, { method: "GET", path: "/set-passwort?token=secretlink" })
        assert.include(yield* lineOf(lost.headers["x-request-id"]), { route: "none", status: 404 })

        yield* goAway(
          port,
          `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 99\r\nAuthorization: Bearer ${agent.token}`,
          // After this answer, the server has also looked up the token of the request before it.
          send(port, { token: agent.token, ...plain })
        )
        const gone = yield* lineWhere(({ status }) => status === 499)
        assert.include(gone, { ...common, route: "/mcp", connection: agent.connectionId })

        for (const secret of [token, agent.token, cookie.split("=")[1] ?? "", "secretword", "secretlink"])
          assert.notInclude(written.join(""), secret)
      })
    )

    it.scoped("that no handler sees have a line with the id and the reason of their refusal", () =>
      Effect.gen(function* () {
        const port = yield* portOf
        const before = (yield* scrape(metricsPort)).families
        const cases = [
          ["nonsense\r\n\r\n", 400, "validation_failed"],
          [`GET /${"x".repeat(200_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414, "uri_too_long"],
          ["GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: something\r\n\r\n", 417, "expectation_failed"]
        ] as const
        for (const [text, status, reason] of cases) {
          const answer = yield* rawAnswer(port, text)
          const { code, request_id } = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))).error
          assert.strictEqual(code, reason)
          const { time, ...line } = yield* lineOf(request_id)
          assert.deepStrictEqual(line, { message: "request", id: request_id, route: "none", status, reason })
          assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        }
        const { families } = yield* scrape(metricsPort)
        for (const [, status] of cases) {
          const labels = { surface: "none", route: "none", method: "other", status: String(status) }
          const count = (all: typeof families) => sumOf(all, "catalog_requests_total", labels)
          assert.strictEqual(count(families) - count(before), 1)
        }
      })
    )

    it.scoped("are counted by the pattern of their route, also those that bypass the HTTP library", () =>
      Effect.gen(function* () {
        const { accountId, actor, token } = yield* anAccount()
        const id = yield* anEntity("product", { title: "Boots" }).pipe(actingAs(actor))
        const agent = yield* aConnection(accountId)
        const port = yield* portOf
        const before = (yield* scrape(metricsPort)).families
        const get = (path: string, headers = {}) => send(port, { method: "GET", path, token, headers })

        // The third request is answered from memory, the fourth by a 304.
        for (let count = 0; count < 3; count++) yield* get("/api/v1/products?limit=2")
        const { etag } = (yield* get("/api/v1/products?limit=2")).headers
        yield* get("/api/v1/products?limit=2", { "if-none-match": etag })
        yield* get(`/api/v1/products/${id}`)
        const plain = message("modern", "tools/call", { name: "list_products_v1", arguments: { limit: 1 } }, 7)
        yield* send(port, { token: agent.token, ...plain })
        const bad = message("modern", "tools/call", { name: "list_products_v1", arguments: { limit: "x" } }, 7)
        yield* send(port, { token: agent.token, ...bad })
        yield* send(port, { token: "pim_at_nothing", ...plain })
        yield* send(port, { method: "GET", path: `/nothing/${id}` })
        yield* send(port, { method: "PROPFIND", path: "/healthz" })

        const { families, headers, status, text } = yield* scrape(metricsPort)
        assert.strictEqual(status, 200)
        assert.strictEqual(headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
        const gained = (name: string, labels: Readonly<Record<string, string>>, suffix = "") =>
          sumOf(families, name, labels, suffix) - sumOf(before, name, labels, suffix)
        const requests = (surface: string, route: string, method: string, status: number) =>
          gained("catalog_requests_total", { surface, route, method, status: String(status) })
        assert.strictEqual(requests("rest", "/api/v1/products", "GET", 200), 4)
        assert.strictEqual(requests("rest", "/api/v1/products", "GET", 304), 1)
        assert.strictEqual(requests("rest", "/api/v1/products/:id", "GET", 200), 1)
        assert.strictEqual(requests("mcp", "/mcp", "POST", 200), 2)
        assert.strictEqual(requests("mcp", "/mcp", "POST", 401), 1)
        assert.strictEqual(requests("none", "none", "GET", 404), 1)
        assert.strictEqual(requests("health", "/healthz", "other", 405), 1)
        assert.strictEqual(gained("catalog_request_duration_seconds", { route: "/api/v1/products" }, "_count"), 5)
        assert.isAtLeast(gained("catalog_answer_cache_total", { outcome: "hit" }), 2)
        assert.strictEqual(gained("catalog_tool_calls_total", { tool: "list_products_v1", code: "ok" }), 1)
        assert.strictEqual(gained("catalog_tool_calls_total", { code: "validation_failed" }), 1)
        assert.strictEqual(gained("catalog_credential_refusals_total", { surface: "mcp" }), 1)
        assert.strictEqual(sumOf(families, "catalog_backlog_read"), 1)
        for (const secret of [accountId, id, token, agent.connectionId]) assert.notInclude(text, secret)
      })
    )

    it.scoped("their port serves nothing except metrics", () =>
      Effect.gen(function* () {
        const elsewhere = yield* send(metricsPort, { method: "GET", path: "/api/v1/products" })
        assert.deepStrictEqual([elsewhere.status, elsewhere.text], [404, "The metrics are at /metrics\n"])
        const posted = yield* send(metricsPort, { path: "/metrics", body: "x" })
        assert.strictEqual(posted.status, 405)
        const beside = yield* send(yield* portOf, { method: "GET", path: "/metrics" })
        assert.strictEqual(beside.status, 404)
      })
    )
  })
})
