import * as OtlpLogger from "@effect/opentelemetry/OtlpLogger"
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import { FetchHttpClient } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { Backlog } from "../../src/telemetry/Backlog.ts"
import { layerOtlp } from "../../src/telemetry/Otlp.ts"
import { anAccount } from "../../src/testing/index.ts"
import { portOf, send } from "../mcp/Connector.ts"
import { aCollector, type Exported, observedServer, otlpTo } from "./Server.ts"

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const parentId = "00f067aa0ba902b7"

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: ReadonlyArray<Attribute>
}

// biome-ignore lint/suspicious/noExplicitAny: a payload of OTLP, whose parts the tests look at.
const payloads = (exported: ReadonlyArray<Exported>, signal: string): ReadonlyArray<any> =>
  exported.filter(({ path }) => path === `/v1/${signal}`).map(({ text }) => JSON.parse(text))

const spansIn = (exported: ReadonlyArray<Exported>): ReadonlyArray<Span> =>
  payloads(exported, "traces").flatMap(({ resourceSpans }) => resourceSpans[0].scopeSpans[0].spans)

const attributesOf = ({ attributes }: { readonly attributes: ReadonlyArray<Attribute> }) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))

const path = "/api/v1/drops/00000000-0000-4000-8000-000000000000"

/** Runs `use` on a server with these settings and stops it. Returns what its collector received. */
const exportedBy = <E>(use: (port: number, token: string) => Effect.Effect<void, E>) =>
  Effect.gen(function* () {
    const { endpoint, exported } = yield* aCollector(() => true)
    const account = yield* Effect.gen(function* () {
      const made = yield* anAccount()
      yield* use(yield* portOf, made.token)
      yield* Effect.logWarning("something is said")
      return made
    }).pipe(Effect.provide(observedServer({ otlp: otlpTo(endpoint) }).pipe(Layer.fresh)))
    return { exported, ...account }
  })

describe("exports by OTLP", () => {
  it.scopedLive(
    "have the spans of a sampled request in its caller's trace, the metrics and the logs, and no secrets",
    () =>
      Effect.gen(function* () {
        const { accountId, exported, token } = yield* exportedBy((port, key) =>
          Effect.gen(function* () {
            const headers = { traceparent: `00-${traceId}-${parentId}-01`, cookie: "catalog_session=secretcookie" }
            yield* send(port, { method: "GET", path: `${path}?search=secretword`, token: key, headers })
            yield* send(port, { method: "GET", path, token: key })
            yield* send(port, {
              method: "GET",
              path,
              token: key,
              headers: { traceparent: `00-${"1".repeat(32)}-${parentId}-00` }
            })
          })
        )
        const spans = spansIn(exported)
        assert.deepStrictEqual([...new Set(spans.map((span) => span.traceId))], [traceId])
        const outer = spans.find(({ name }) => name === "GET /api/v1/drops/:id")
        assert(outer !== undefined)
        assert.strictEqual(outer.parentSpanId, parentId)
        assert.strictEqual(outer.kind, 2)
        const { "catalog.request_id": requestId, ...others } = attributesOf(outer)
        assert.match(String(requestId), /^req_/)
        assert.deepStrictEqual(others, {
          "http.request.method": "GET",
          "http.route": "/api/v1/drops/:id",
          "http.response.status_code": 404,
          "catalog.account_id": accountId,
          "catalog.caller": "key"
        })
        const resource = payloads(exported, "traces")[0].resourceSpans[0].resource
        assert.include(attributesOf(resource), { "service.name": "catalog-test" })

        const measured = payloads(exported, "metrics").at(-1).resourceMetrics[0].scopeMetrics[0].metrics
        const names = measured.map(({ name }: { readonly name: string }) => name)
        assert.includeMembers(names, ["catalog_requests_total", "catalog_request_duration_seconds"])
        const logged = payloads(exported, "logs").flatMap(({ resourceLogs }) => resourceLogs[0].scopeLogs[0].logRecords)
        assert.include(
          logged.map(({ body }) => body.stringValue),
          "something is said"
        )
        for (const { headers } of exported) assert.strictEqual(headers["x-tenant"], "a tenant")
        const all = exported.map(({ text }) => text).join()
        for (const secret of [token, "secretword", "secretcookie"]) assert.notInclude(all, secret)
      })
  )

  /**
   * Logs many records through an exporter to a collector that never answers. Returns the maximum number of exports
   * that waited at the same time.
   */
  const floodOf = (layerTo: (endpoint: string) => Layer.Layer<never>) =>
    Effect.gen(function* () {
      const { endpoint, state } = yield* aCollector(() => false)
      yield* Effect.gen(function* () {
        for (let batch = 0; batch < 40; batch++) {
          for (let count = 0; count < 600; count++) yield* Effect.logInfo(`record ${batch} ${count}`)
          yield* Effect.sleep("10 millis")
        }
      }).pipe(Effect.provide(Layer.provideMerge(layerTo(endpoint), Logger.remove(Logger.defaultLogger))))
      return state.maxWaiting
    })

  it.scopedLive("exports to a collector that does not answer keep two batches in memory, and drop the rest", () =>
    Effect.gen(function* () {
      const settings = (endpoint: string) => otlpTo(endpoint, { signals: ["logs"] })
      const bounded = yield* floodOf((endpoint) => layerOtlp(settings(endpoint)).pipe(Layer.provide(Backlog.layerNone)))
      assert.isAtLeast(bounded, 1)
      assert.isAtMost(bounded, 2)
      // Planted fault: OpenTelemetry's own exporter and client.
      const unbounded = yield* floodOf((endpoint) =>
        OtlpLogger.layer({
          url: `${endpoint}/v1/logs`,
          resource: { serviceName: "x" },
          maxBatchSize: 512,
          shutdownTimeout: 10
        }).pipe(Layer.provide([FetchHttpClient.layer, OtlpSerialization.layerJson]))
      )
      assert.isAbove(unbounded, 2)
    })
  )

  it.scopedLive("exports that nobody accepts do not fail or delay a request", () =>
    Effect.gen(function* () {
      const { endpoint, state } = yield* aCollector(() => false)
      const otlp = otlpTo(endpoint, { sampler: "always_on", metricIntervalMillis: 100 })
      yield* Effect.gen(function* () {
        const { token } = yield* anAccount()
        const port = yield* portOf
        for (let count = 0; count < 600; count++) {
          const answer = yield* send(port, { method: "GET", path, token })
          assert.strictEqual(answer.status, 404)
        }
        // The collector received exports and never answered; the requests above did not wait for it.
        assert.isAtLeast(state.waiting, 1)
      }).pipe(Effect.provide(observedServer({ otlp }).pipe(Layer.fresh)))
    })
  )
})
