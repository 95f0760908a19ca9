import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { aConnection, ample, message, portOf, send, serverWith } from "../mcp/Connector.ts"
import { aBrowser } from "../oauth/PagesServer.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { layerPool } from "./ServerServices.ts"
import { openClient } from "./Stalls.ts"

/** A server that answers requests within two seconds, while statements may take longer. */
const server = serverWith({ ...ample, REQUEST_TIMEOUT_MS: "2000" }).pipe(
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(layerPool(8)),
  Layer.provideMerge(layerServerUrl),
  Layer.orDie
)

const unavailable = /^The request was not answered within 2 s; retry with exponential backoff\.$/

describe.skipIf(!serverAnswers)("a request that exceeds its time limit", () => {
  layer(server, { excludeTestServices: true })((it) => {
    it.scoped("gets 503 in the form of its surface, and its statement is cancelled", () =>
      Effect.gen(function* () {
        const { accountId, actor, token } = yield* anAccount()
        yield* anEntity("product", { title: "Boots" }).pipe(actingAs(actor))
        const agent = yield* aConnection(accountId)
        const { cookie } = yield* aBrowser(accountId, "late@example.com")
        const port = yield* portOf
        // Spent from the account only, so that the agent's answer names the account's budget, whichever request arrives first.
        assert.strictEqual((yield* send(port, { method: "GET", path: "/api/v1/products", token })).status, 200)
        const locker = yield* openClient(Redacted.value(yield* TestDatabaseUrl))
        yield* Effect.promise(() => locker.query("BEGIN; LOCK TABLE entity IN ACCESS EXCLUSIVE MODE"))

        const { body, headers } = message("modern", "tools/call", { name: "list_products_v1", arguments: {} }, "call-7")
        const [rest, mcp, page] = yield* Effect.all(
          [
            send(port, { method: "GET", path: "/api/v1/products", token }),
            send(port, { token: agent.token, body, headers }),
            send(port, { method: "GET", path: "/products", headers: { cookie, accept: "text/html" } })
          ],
          { concurrency: "unbounded" }
        )
        assert.strictEqual(rest.status, 503)
        const { error } = JSON.parse(rest.text)
        assert.strictEqual(error.code, "unavailable")
        assert.match(error.message, unavailable)
        assert.strictEqual(error.request_id, rest.headers["x-request-id"])
        assert.isDefined(rest.headers["x-ratelimit-remaining"])

        assert.strictEqual(mcp.status, 503)
        const answered = JSON.parse(mcp.text)
        assert.strictEqual(answered.jsonrpc, "2.0")
        assert.strictEqual(answered.id, "call-7")
        assert.match(answered.error.message, unavailable)
        assert.deepStrictEqual(answered.error.data, {
          code: "unavailable",
          request_id: mcp.headers["x-request-id"]
        })
        assert.strictEqual(mcp.headers["x-ratelimit-limit"], ample.RATE_LIMIT_PER_KEY)
        assert.isBelow(Number(mcp.headers["x-ratelimit-remaining"]), Number(ample.RATE_LIMIT_PER_KEY))
        assert.match(mcp.headers["x-ratelimit-reset"] ?? "", /^\d+$/)
        assert.strictEqual(mcp.headers["x-ratelimit-scope"], "account")

        assert.strictEqual(page.status, 503)
        assert.match(page.headers["content-type"] ?? "", /^text\/html/)
        assert.match(page.text, /<h1/)
        assert.include(page.text, "The service cannot answer at the moment. Try again in a minute.")

        // The requests have ended, so nothing waits for the lock.
        yield* Effect.promise(async () => {
          for (let waiting = 1; waiting > 0; ) {
            const { rows } = await locker.query(
              "SELECT count(*)::int AS waiting FROM pg_locks WHERE NOT granted AND relation = 'entity'::regclass"
            )
            waiting = rows[0].waiting
          }
        })
        yield* Effect.promise(() => locker.query("ROLLBACK"))
        assert.strictEqual((yield* send(port, { method: "GET", path: "/api/v1/products", token })).status, 200)
      })
    )
  })
})
