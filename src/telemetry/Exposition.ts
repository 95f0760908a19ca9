import { Metric, MetricState } from "effect"
import { metrics } from "./Metrics.ts"

/** The content type of the text format of Prometheus. */
export const expositionType = "text/plain; version=0.0.4; charset=utf-8"

type Pair = ReturnType<typeof Metric.unsafeSnapshot>[number]

const numberOf = (value: number | bigint): string =>
  value === Number.POSITIVE_INFINITY ? "+Inf" : value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)

const escapeValue = (text: string) => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
const escapeHelp = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

const lineOf = (name: string, labels: ReadonlyArray<readonly [string, string]>, value: number | bigint) => {
  const list = labels.map(([label, text]) => `${label}="${escapeValue(text)}"`).join(",")
  return `${name}${list === "" ? "" : `{${list}}`} ${numberOf(value)}`
}

/** The lines of one series in the text format. */
const linesOf = ({ metricKey: { name, tags }, metricState }: Pair): ReadonlyArray<string> => {
  const labels = tags.map(({ key, value }) => [key, value] as const)
  if (MetricState.isCounterState(metricState)) return [lineOf(name, labels, metricState.count)]
  if (MetricState.isGaugeState(metricState)) return [lineOf(name, labels, metricState.value)]
  if (!MetricState.isHistogramState(metricState)) return []
  return [
    ...[...metricState.buckets].map(([bound, count]) =>
      lineOf(`${name}_bucket`, [...labels, ["le", numberOf(bound)]], count)
    ),
    lineOf(`${name}_sum`, labels, metricState.sum),
    lineOf(`${name}_count`, labels, metricState.count)
  ]
}

/**
 * Writes the metrics of the process in the text format of Prometheus 0.0.4. This does not use prom-client, because
 * Effect already keeps the metrics (OTLP exports them too), and feeding a second registry would need more code than
 * this.
 */
export const writeMetrics = (): string => {
  const lines = new Map<string, Array<string>>(Object.values(metrics).map(({ name }) => [name, []]))
  for (const pair of Metric.unsafeSnapshot()) lines.get(pair.metricKey.name)?.push(...linesOf(pair))
  return Object.values(metrics)
    .map(({ description, name, type }) =>
      [`# HELP ${name} ${escapeHelp(description)}`, `# TYPE ${name} ${type}`, ...(lines.get(name) ?? []), ""].join("\n")
    )
    .join("")
}
