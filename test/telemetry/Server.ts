import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Layer, Logger, Option, Redacted } from "effect"
import * as BacklogMetrics from "../../src/programs/BacklogMetrics.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import type { OtlpSettings } from "../../src/telemetry/OtlpSettings.ts"
import { layerTelemetry } from "../../src/telemetry/Telemetry.ts"
import { ample, send, serverWith } from "../mcp/Connector.ts"
import { anyDatabase, layerServer } from "../support/TestDatabase.ts"
import { parseExposition } from "./Exposition.ts"

interface Exports {
  /** The address of the metrics. */
  readonly metricsPort?: number
  readonly otlp?: OtlpSettings
}

const observed = (exports: Exports, settings: Readonly<Record<string, string>>) =>
  serverWith({ ...ample, ...settings }).pipe(
    Layer.provideMerge(
      layerTelemetry({
        metricsHost: "127.0.0.1",
        metricsPort: Option.fromNullable(exports.metricsPort),
        otlp: Option.fromNullable(exports.otlp),
        tracePercent: 0
      })
    ),
    Layer.provideMerge(BacklogMetrics.layer),
    Layer.provideMerge(ServicesOnDatabase)
  )

const quiet = Logger.remove(Logger.defaultLogger)

/** The complete server with its exports, on a database of its own. */
export const observedServer = (exports: Exports, settings: Readonly<Record<string, string>> = {}) =>
  observed(exports, settings).pipe(Layer.provideMerge(anyDatabase), Layer.provideMerge(quiet), Layer.orDie)

/** The complete server on a PostgreSQL database, with its URL. */
export const observedOnServer = (exports: Exports, settings: Readonly<Record<string, string>> = {}) =>
  observed(exports, settings).pipe(Layer.provideMerge(layerServer), Layer.provideMerge(quiet), Layer.orDie)

/** The metrics, parsed. */
export const scrape = (port: number) =>
  Effect.map(send(port, { method: "GET", path: "/metrics" }), ({ headers, status, text }) => ({
    status,
    headers,
    text,
    families: parseExposition(text)
  }))

/** One export that a collector received. */
export interface Exported {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** An OTLP collector. `answer`: whether it answers, or lets every export wait. */
export const aCollector = (answer: () => boolean) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const exported: Array<Exported> = []
      const state = { waiting: 0, maxWaiting: 0 }
      const server = createServer((request, response) => {
        state.waiting++
        state.maxWaiting = Math.max(state.maxWaiting, state.waiting)
        response.on("close", () => state.waiting--)
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("error", () => {})
        request.on("end", () => {
          exported.push({ path: request.url ?? "", headers: request.headers, text: Buffer.concat(chunks).toString() })
          if (answer()) response.writeHead(200, { "content-type": "application/json" }).end("{}")
        })
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const { port } = server.address() as AddressInfo
      return { exported, state, server, endpoint: `http://127.0.0.1:${port}` }
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )

export const otlpTo = (endpoint: string, more: Partial<OtlpSettings> = {}): OtlpSettings => ({
  endpoint,
  headers: Redacted.make({ "x-tenant": "a tenant" }),
  protocol: "http/json",
  timeoutMillis: 10_000,
  signals: ["traces", "metrics", "logs"],
  serviceName: "catalog-test",
  sampler: "parentbased_always_off",
  samplerRatio: 0,
  metricIntervalMillis: 60_000,
  ...more
})
