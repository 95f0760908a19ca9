import * as OtlpLogger from "@effect/opentelemetry/OtlpLogger"
import * as OtlpMetrics from "@effect/opentelemetry/OtlpMetrics"
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import { FetchHttpClient, HttpClient, HttpClientError } from "@effect/platform"
import { Duration, Effect, Layer, Option, Redacted, Schedule } from "effect"
import { Backlog } from "./Backlog.ts"
import { measuring, metrics, readGauges } from "./Metrics.ts"
import type { OtlpSettings, OtlpSignal } from "./OtlpSettings.ts"
import { makeSampler } from "./Sampling.ts"
import { CurrentTracing } from "./Tracing.ts"

/** Maximum number of spans or log records in one export, and maximum number that wait for the next one. */
const maxBatch = 512
/**
 * Maximum concurrent exports of a signal. Further batches are dropped, so a slow collector uses a bounded amount of
 * memory.
 */
const maxInFlight = 2
/** How long the last export may delay the end of the process. */
const shutdownTimeout = Duration.seconds(1)

/**
 * The library's exporter keeps every batch until its request ends, with no limit on time or number. Here requests have
 * a timeout, and a batch fails immediately if too many are running. After a failure, the exporter drops further data
 * for a minute.
 */
const boundedClient = (signal: OtlpSignal, timeoutMillis: number) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.gen(function* () {
      const permits = yield* Effect.makeSemaphore(maxInFlight)
      const failures = metrics.exportFailures.of(signal)
      return HttpClient.transform(yield* HttpClient.HttpClient, (send, request) =>
        send.pipe(
          // Reads the response to its end, so that the connection can be reused.
          Effect.tap((response) => Effect.ignore(response.arrayBuffer)),
          Effect.timeoutFail({
            duration: Duration.millis(timeoutMillis),
            onTimeout: () =>
              new HttpClientError.RequestError({ request, reason: "Transport", description: "no answer in time" })
          }),
          permits.withPermitsIfAvailable(1),
          Effect.flatMap(
            Option.match({
              onNone: () =>
                new HttpClientError.RequestError({
                  request,
                  reason: "Encode",
                  description: "too many exports are under way"
                }),
              onSome: Effect.succeed
            })
          ),
          Effect.tapError(() => Effect.sync(() => failures.add(1))),
          Effect.tap(({ status }) => Effect.sync(() => status >= 400 && failures.add(1)))
        )
      )
    })
  ).pipe(Layer.provide(FetchHttpClient.layer))

/** Updates the gauges before each export of metrics. */
const readingGauges = (intervalMillis: number) =>
  Layer.scopedDiscard(
    Effect.flatMap(Backlog, ({ refresh }) =>
      Effect.zipRight(refresh, Effect.sync(readGauges)).pipe(
        Effect.repeat(Schedule.spaced(Duration.millis(intervalMillis / 2))),
        Effect.forkScoped
      )
    )
  )

/**
 * Exports traces of sampled requests, metrics and logs by OTLP over HTTP. Nothing waits for the collector: data that it
 * does not accept in time is dropped, and counted in catalog_otlp_failures_total.
 */
export const layerOtlp = (settings: OtlpSettings): Layer.Layer<never, never, Backlog> => {
  const optionsOf = (signal: OtlpSignal) => ({
    url: `${settings.endpoint.replace(/\/$/, "")}/v1/${signal}`,
    headers: Redacted.value(settings.headers),
    resource: { serviceName: settings.serviceName },
    maxBatchSize: maxBatch,
    shutdownTimeout
  })
  const tracer = Layer.scoped(
    CurrentTracing,
    Effect.map(OtlpTracer.make(optionsOf("traces")), (made) => ({
      tracer: made,
      sample: makeSampler(settings.sampler, settings.samplerRatio)
    }))
  )
  const layers: Readonly<Record<OtlpSignal, () => Layer.Layer<never, never, Backlog>>> = {
    traces: () => Layer.provide(tracer, exporting("traces")),
    logs: () => Layer.provide(OtlpLogger.layer(optionsOf("logs")), exporting("logs")),
    metrics: () =>
      Layer.mergeAll(
        readingGauges(settings.metricIntervalMillis),
        Layer.provide(
          OtlpMetrics.layer({
            ...optionsOf("metrics"),
            exportInterval: Duration.millis(settings.metricIntervalMillis)
          }),
          exporting("metrics")
        ),
        Layer.effectDiscard(
          Effect.sync(() => {
            measuring.isOn = true
          })
        )
      )
  }
  const serialization =
    settings.protocol === "http/json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf
  const exporting = (signal: OtlpSignal) => Layer.merge(boundedClient(signal, settings.timeoutMillis), serialization)
  const [first = Layer.empty, ...others] = settings.signals.map((signal) => layers[signal]())
  return Layer.mergeAll(first, ...others)
}
