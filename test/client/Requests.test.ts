import { inspect } from "node:util"
import { HttpClient, HttpClientError, HttpClientResponse } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { type CatalogError, type ClientSettings, makeClient } from "catalog/client"
import { Effect, Fiber, Ref, Stream, TestClock } from "effect"

const key = "pk_live_secret"
const url = "http://catalog.example/at/"

type Step = Response | "nothing"

const refusal = (status: number, code: string, headers: Readonly<Record<string, string>> = {}) =>
  new Response(JSON.stringify({ error: { code, message: `It is ${code}.`, request_id: "req_1" } }), { status, headers })
const pong = () => new Response(JSON.stringify({ status: "ok", account_id_present: true }))
const late = (seconds: number) => refusal(429, "rate_limited", { "retry-after": String(seconds) })

/** A client of a service that answers with these steps, one for each request. */
const serving = (steps: ReadonlyArray<Step>, settings: Partial<ClientSettings> = {}) =>
  Effect.gen(function* () {
    const requests = yield* Ref.make<ReadonlyArray<string>>([])
    const http = HttpClient.make((request, address) =>
      Effect.flatMap(
        Ref.getAndUpdate(requests, (before) => [...before, `${request.method} ${address}`]),
        ({ length }) => {
          const step = steps[length] ?? assert.fail("one request too many")
          assert.strictEqual(request.headers.authorization, `Bearer ${key}`)
          return step === "nothing"
            ? new HttpClientError.RequestError({ request, reason: "Transport", cause: new Error("reset") })
            : Effect.succeed(HttpClientResponse.fromWeb(request, step))
        }
      )
    )
    const client = yield* Effect.provideService(makeClient({ url, key, ...settings }), HttpClient.HttpClient, http)
    return { client, sent: Effect.map(Ref.get(requests), ({ length }) => length), requests }
  })

const failing = <A>(call: Effect.Effect<A, CatalogError>) => Effect.flip(Effect.asVoid(call))

describe("a request", () => {
  it.effect("after a 429 waits as long as Retry-After says, and not longer", () =>
    Effect.gen(function* () {
      const { client, requests, sent } = yield* serving([late(7), late(60), pong()])
      const call = yield* Effect.fork(client.endpoints.ping.ping({}))
      for (const [seconds, expected] of [
        [0, 1],
        [6, 1],
        [1, 2],
        [59, 2],
        [1, 3]
      ] as const) {
        yield* TestClock.adjust(`${seconds} seconds`)
        assert.strictEqual(yield* sent, expected)
      }
      assert.deepStrictEqual(yield* Fiber.join(call), { status: "ok", account_id_present: true })
      assert.deepStrictEqual(new Set(yield* Ref.get(requests)), new Set([`GET ${url}api/v1/ping`]))
    })
  )

  it.effect("understands Retry-After as a date", () =>
    Effect.gen(function* () {
      const date = new Date(Date.now() + 30_000).toUTCString()
      const { client } = yield* serving([refusal(429, "rate_limited", { "retry-after": date })], { retries: 0 })
      const { retry_after } = yield* failing(client.endpoints.ping.ping({}))
      assert.isAbove(retry_after ?? 0, 20)
      assert.isAtMost(retry_after ?? 0, 30)
    })
  )

  it.effect("is repeated a limited number of times, then fails with the envelope", () =>
    Effect.gen(function* () {
      const { client, sent } = yield* serving([late(1), late(1), late(1)], { retries: 2 })
      const call = yield* Effect.fork(failing(client.endpoints.ping.ping({})))
      yield* TestClock.adjust("1 minute")
      const error = yield* Fiber.join(call)
      assert.strictEqual(yield* sent, 3)
      assert.deepInclude(error, {
        _tag: "CatalogError",
        code: "rate_limited",
        message: "It is rate_limited.",
        request_id: "req_1",
        status: 429,
        retry_after: 1
      })
    })
  )

  it.effect("fails at once if Retry-After is longer than the client's maximum wait", () =>
    Effect.gen(function* () {
      const { client, sent } = yield* serving([late(91)])
      const { code, retry_after } = yield* failing(client.endpoints.ping.ping({}))
      assert.deepStrictEqual([code, retry_after, yield* sent], ["rate_limited", 91, 1])
    })
  )

  it.effect("a read is repeated with growing pauses after a 503 or no answer", () =>
    Effect.gen(function* () {
      const broken = new Response(
        new ReadableStream({ pull: (controller) => controller.error(new Error("the connection broke")) })
      )
      const steps = [refusal(503, "unavailable"), "nothing" as const, broken, refusal(503, "unavailable"), pong()]
      const { client, sent } = yield* serving(steps)
      const call = yield* Effect.fork(client.endpoints.ping.ping({}))
      // The pauses are at least 0.25, 0.5, 1 and 2 seconds, and at most half as long again.
      for (const [millis, most] of [
        [240, 1],
        [480, 2],
        [960, 3],
        [1_920, 4]
      ] as const) {
        yield* TestClock.adjust(millis)
        assert.isAtMost(yield* sent, most)
      }
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(call)).status, "ok")
      assert.strictEqual(yield* sent, 5)
    })
  )

  const scan = { payload: { dimension: "sync" } } as const
  it.effect("a write is repeated after a 429, but not if its effect is unknown", () =>
    Effect.gen(function* () {
      for (const [step, code] of [
        [refusal(503, "unavailable"), "unavailable"],
        ["nothing", "unreachable"]
      ] as const) {
        const { client, sent } = yield* serving([late(0), step])
        const call = yield* Effect.fork(failing(client.endpoints.dataHealth.runDataHealthScan(scan)))
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* Fiber.join(call)).code, code)
        assert.strictEqual(yield* sent, 2)
      }
    })
  )

  it.effect("never names the key in its error, however it is printed", () =>
    Effect.gen(function* () {
      for (const [steps, code] of [
        [["nothing"], "unreachable"],
        [[new Response("<html>")], "unexpected_answer"],
        [[new Response('{"status":1}')], "unexpected_answer"],
        [[new Response("<html>Bad gateway", { status: 502 })], "unexpected_answer"],
        [[new Response(null, { status: 304 })], "unexpected_answer"],
        [[refusal(401, "unauthorized")], "unauthorized"],
        [[refusal(418, "teapot")], "teapot"]
      ] as const) {
        const { client } = yield* serving(steps, { retries: 0 })
        const error = yield* failing(client.endpoints.ping.ping({}))
        assert.strictEqual(error.code, code)
        assert.instanceOf(error, Error)
        const printed = `${inspect(error, { depth: null, showHidden: true })}${JSON.stringify(error)}${error.stack}`
        assert.include(printed, code)
        assert.notInclude(printed, key)
      }
    })
  )

  it.effect("with invalid settings is not sent or repeated, and the error does not name the key", () =>
    Effect.gen(function* () {
      const address = "url: must be the address of the service, such as https://catalog.example"
      const word = "key: must be an API key (pk_live_...), which is one word"
      for (const [settings, message] of [
        [{ url: "catalog.example" }, address],
        [{ url: "" }, address],
        [{ url: "ftp://catalog.example" }, address],
        [{ url: "https://catalog.example/?key=x" }, address],
        [{ url: "https://me:secret@catalog.example" }, address],
        [{ key: `${key}\nx-other: 1` }, word],
        [{ key: `${key}ä` }, word],
        [{ key: "" }, word],
        // As from a variable of the environment that is not set.
        [{ key: undefined as unknown as string }, word],
        [{ retries: Number.NaN }, "retries: must be a number of 0 or more"],
        [{ maxWait: -1 }, "maxWait: must be a number of seconds"]
      ] as const) {
        const { client, sent } = yield* serving([], settings)
        const error = yield* failing(client.endpoints.ping.ping({}))
        assert.deepInclude(error, { code: "invalid_request", message })
        assert.strictEqual(error.details?.[0]?.path, message.split(":")[0])
        assert.notInclude(inspect(error, { depth: null, showHidden: true }), key)
        assert.strictEqual(yield* sent, 0)
      }
    })
  )

  it.effect("with invalid arguments is not sent", () =>
    Effect.gen(function* () {
      const { client, sent } = yield* serving([])
      const error = yield* failing(client.endpoints.catalog.getProduct({ path: { id: "x" as never } }))
      assert.deepInclude(error, {
        code: "invalid_request",
        message: "id: must be a UUID",
        details: [{ path: "id", message: "must be a UUID" }]
      })
      for (const [walk, message] of [
        [client.walk("stores" as "products"), "kind: must be one of products, variants, collections, media"],
        [client.walk("products", { ids: "x" as never }), "ids: must be an array"],
        [client.changePages({ poll: Number.NaN }), "poll: must be a number of seconds, or false"],
        ...[0, -1, 1.5, Number.NaN].map(
          (limit) => [client.changePages({ limit, poll: false }), "limit: must be a whole number of 1 or more"] as const
        )
      ] as const)
        assert.deepInclude(yield* failing(Stream.runDrain<unknown, CatalogError, never>(walk)), {
          code: "invalid_request",
          message
        })
      assert.strictEqual(yield* sent, 0)
    })
  )
})
