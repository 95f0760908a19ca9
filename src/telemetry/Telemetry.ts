import { Effect, Layer, Option } from "effect"
import type { OtlpSettings } from "./OtlpSettings.ts"
import { layerProcessMetrics } from "./ProcessMetrics.ts"
import { layerScrape } from "./Scrape.ts"
import { layerSpanLog } from "./SpanLog.ts"

export interface TelemetrySettings {
  /** METRICS_PORT: the port on which Prometheus reads the metrics. None: they are not served. */
  readonly metricsPort: Option.Option<number>
  /** METRICS_HOST. Default 127.0.0.1. */
  readonly metricsHost: string
  /** None: nothing is exported. */
  readonly otlp: Option.Option<OtlpSettings>
  /** TRACE_PERCENT: the share of requests and of background work whose spans are logged, unless traces are exported. Default 0. */
  readonly tracePercent: number
}

/** Starts only the exports that are configured. The code of OTLP is loaded only if it is used. */
export const layerTelemetry = ({ metricsHost, metricsPort, otlp, tracePercent }: TelemetrySettings) =>
  Layer.mergeAll(
    Option.isNone(metricsPort) && Option.isNone(otlp) ? Layer.empty : layerProcessMetrics,
    Option.exists(otlp, ({ signals }) => signals.includes("traces")) ? Layer.empty : layerSpanLog(tracePercent),
    Option.match(metricsPort, {
      onNone: () => Layer.empty,
      onSome: (port) => layerScrape({ host: metricsHost, port })
    }),
    Option.match(otlp, {
      onNone: () => Layer.empty,
      onSome: (settings) =>
        Layer.unwrapEffect(
          Effect.map(
            Effect.promise(() => import("./Otlp.ts")),
            ({ layerOtlp }) => layerOtlp(settings)
          )
        )
    })
  )
