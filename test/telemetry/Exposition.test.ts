import { assert, it } from "@effect/vitest"
import { Metric } from "effect"
import { writeMetrics } from "../../src/telemetry/Exposition.ts"
import { metrics } from "../../src/telemetry/Metrics.ts"
import { parseExposition, sumOf } from "./Exposition.ts"

it("every metric is exposed also before its first value, and the text is valid", () => {
  const families = parseExposition(writeMetrics())
  for (const { name, type } of Object.values(metrics)) assert.strictEqual(families.get(name)?.type, type, name)
  assert.strictEqual(families.size, Object.keys(metrics).length)
  assert.isDefined(families.get("catalog_refusals_total")?.samples.get('{reason="late"}'))
})

it("a series can be exported as 0 before its first value", () => {
  metrics.refusals.preset("of this test")
  const families = parseExposition(writeMetrics())
  assert.strictEqual(families.get("catalog_refusals_total")?.samples.get('{reason="of this test"}'), 0)
})

it("counters, gauges and histograms are written as Prometheus reads them", () => {
  metrics.requests.of("rest", '/a"\\\n', "GET", "200").add(2)
  metrics.requestSeconds.of("rest", "/x").add(0.003)
  metrics.requestSeconds.of("rest", "/x").add(0.003)
  metrics.requestSeconds.of("rest", "/x").add(100)
  metrics.poolOpen.of("requests").add(3)
  const text = writeMetrics()
  const families = parseExposition(text)
  assert.include(text, 'catalog_requests_total{surface="rest",route="/a\\"\\\\\\n",method="GET",status="200"} 2\n')
  assert.include(text, '_bucket{surface="rest",route="/x",le="0.0025"} 0\n')
  assert.include(text, '_bucket{surface="rest",route="/x",le="0.005"} 2\n')
  assert.include(text, '_bucket{surface="rest",route="/x",le="+Inf"} 3\n')
  assert.strictEqual(sumOf(families, "catalog_request_duration_seconds", { route: "/x" }, "_count"), 3)
  assert.strictEqual(families.get("catalog_database_pool_open")?.type, "gauge")
  assert.strictEqual(sumOf(families, "catalog_database_pool_open", { pool: "requests" }), 3)
})

it("metrics of libraries are left out", () => {
  Metric.counter("library_calls").unsafeUpdate(1, [])
  assert.notInclude(writeMetrics(), "library_calls")
})

// A metric of this file only: it stays full, and test files of a worker share metrics.
it("label values beyond a limit are counted together", () => {
  const name = "catalog_sign_in_refusals_total"
  const before = parseExposition(writeMetrics())
  const seriesBefore = before.get(name)?.samples.size ?? 0
  for (let count = 0; count < 3_000; count++) metrics.signInRefusals.of(`reason_${count}`).add(1)
  const families = parseExposition(writeMetrics())
  const gained = (labels: Readonly<Record<string, string>>) =>
    sumOf(families, name, labels) - sumOf(before, name, labels)
  assert.strictEqual(families.get(name)?.samples.size, 2_001)
  assert.strictEqual(gained({}), 3_000)
  assert.strictEqual(gained({ reason: "other" }), 1_000 + seriesBefore)
})
