import type { Redacted } from "effect"
import type { SamplerName } from "./Sampling.ts"

export const otlpSignals = ["traces", "metrics", "logs"] as const
export type OtlpSignal = (typeof otlpSignals)[number]

export const otlpProtocols = ["http/protobuf", "http/json"] as const
export type OtlpProtocol = (typeof otlpProtocols)[number]

/**
 * The signals that are exported by OTLP, and their collector. The settings have the names of OpenTelemetry's environment variables.
 */
export interface OtlpSettings {
  /** OTEL_EXPORTER_OTLP_ENDPOINT: address of the collector, to which /v1/traces, /v1/metrics and /v1/logs are appended. */
  readonly endpoint: string
  /** OTEL_EXPORTER_OTLP_HEADERS (secret): headers of every export. */
  readonly headers: Redacted.Redacted<Readonly<Record<string, string>>>
  /** OTEL_EXPORTER_OTLP_PROTOCOL. Default http/protobuf. */
  readonly protocol: OtlpProtocol
  /** OTEL_EXPORTER_OTLP_TIMEOUT: time limit of one export, in milliseconds. Default 10000. */
  readonly timeoutMillis: number
  /** OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER, OTEL_LOGS_EXPORTER: otlp or none. Default: all are exported. */
  readonly signals: ReadonlyArray<OtlpSignal>
  /** OTEL_SERVICE_NAME. Default catalog. */
  readonly serviceName: string
  /** OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG. Default: parentbased_traceidratio with 0.01. */
  readonly sampler: SamplerName
  readonly samplerRatio: number
  /** OTEL_METRIC_EXPORT_INTERVAL: milliseconds between two exports of metrics. Default 60000. */
  readonly metricIntervalMillis: number
}
