import { Effect, Layer, Option } from "effect"
import type { OtlpSettings } from "./OtlpSettings.ts"
import { layerProcessMetrics } from "./ProcessMetrics.ts"
import { layerScrape } from "./Scrape.ts"

export interface TelemetrySettings {
  /** METRICS_PORT: where Prometheus reads the metrics. None: nowhere. */
  readonly metricsPort: Option.Option<number>
  /** METRICS_HOST. Default 127.0.0.1. */
  readonly metricsHost: string
  /** None: nothing is exported. */
  readonly otlp: Option.Option<OtlpSettings>
}

/** Exports nothing that the settings do not name. The code of OTLP is loaded only where it is used. */
export const layerTelemetry = ({ metricsHost, metricsPort, otlp }: TelemetrySettings) =>
  Layer.mergeAll(
    Option.isNone(metricsPort) && Option.isNone(otlp) ? Layer.empty : layerProcessMetrics,
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
