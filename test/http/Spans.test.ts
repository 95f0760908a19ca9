import { HttpClient, HttpClientRequest } from "@effect/platform"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { layerSpanLog } from "../../src/telemetry/SpanLog.ts"
import { anAccount, testServer } from "../../src/testing/index.ts"
import { type LoggedSpan, spanRecorder } from "../support/SpanRecorder.ts"

const requests = 200

/**
 * Requests an unknown drop many times and returns the logged spans: for each sampled request, one of HTTP and one of
 * its program.
 */
const spansAt = (percent: number) =>
  Effect.gen(function* () {
    const { logger, spans } = spanRecorder()
    const server = testServer({ perKey: 100_000, perAccount: 100_000 }).pipe(
      Layer.provide(layerSpanLog(percent)),
      Layer.provide(Logger.replace(Logger.defaultLogger, logger)),
      Layer.fresh
    )
    return yield* Effect.gen(function* () {
      const { token } = yield* anAccount()
      const client = yield* HttpClient.HttpClient
      const ask = HttpClientRequest.get("/api/v1/drops/00000000-0000-4000-8000-000000000000").pipe(
        HttpClientRequest.bearerToken(token)
      )
      for (let count = 0; count < requests; count++) assert.strictEqual((yield* client.execute(ask)).status, 404)
      return spans
    }).pipe(Effect.provide(server))
  })

const named = (spans: ReadonlyArray<LoggedSpan>, wanted: string) => spans.filter(({ name }) => name === wanted)

it.effect("no request has a span by default", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* spansAt(0), [])
  })
)

it.effect("at 100 percent every request has the spans of its programs, inside its own span", () =>
  Effect.gen(function* () {
    const spans = yield* spansAt(100)
    const outer = new Set(named(spans, "GET /api/v1/drops/:id").map(({ id }) => id))
    const inner = named(spans, "Drops.get")
    assert.strictEqual(outer.size, requests)
    assert.strictEqual(inner.length, requests)
    assert.isTrue(inner.every(({ parentId }) => outer.has(parentId)))
  })
)

it.effect("a request that is not sampled has no span at all", () =>
  Effect.gen(function* () {
    const spans = yield* spansAt(50)
    const outer = named(spans, "GET /api/v1/drops/:id").length
    // The probability that all or none of 200 are sampled is 1 in 2^199.
    assert.isTrue(outer > 0 && outer < requests, `${outer} of ${requests} requests have a span`)
    assert.strictEqual(named(spans, "Drops.get").length, outer)
    assert.strictEqual(spans.length, outer * 2, JSON.stringify([...new Set(spans.map(({ name }) => name))]))
  })
)
