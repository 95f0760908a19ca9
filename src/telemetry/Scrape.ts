import { createServer, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Data, Effect, Layer, Runtime } from "effect"
import { Backlog } from "./Backlog.ts"
import { expositionType, writeMetrics } from "./Exposition.ts"
import { measuring, readGauges } from "./Metrics.ts"

const metricsPath = "/metrics"

/** The port of the metrics cannot be opened. `message` names the setting. */
class CannotServeMetrics extends Data.TaggedError("CannotServeMetrics")<{ readonly message: string }> {}

const answer = (response: ServerResponse, status: number, type: string, body: string) =>
  response
    .writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body), "cache-control": "no-store" })
    .end(body)

const listen = (server: Server, host: string, port: number) =>
  Effect.async<AddressInfo, CannotServeMetrics>((resume) => {
    const refuse = (error: NodeJS.ErrnoException) =>
      resume(
        new CannotServeMetrics({
          message: `${error.code === "EADDRINUSE" || error.code === "EACCES" ? "METRICS_PORT" : "METRICS_HOST"}: cannot listen on ${host}:${port}: ${error.message}`
        })
      )
    server.once("error", refuse)
    server.listen({ host, port }, () => {
      server.off("error", refuse)
      resume(Effect.succeed(server.address() as AddressInfo))
    })
  })

/**
 * Serves the metrics on a separate address, which clients of the service do not reach. A scrape reads memory and, at
 * most once in 10 s and for at most 2 s, the database (`Backlog`).
 */
export const layerScrape = ({ host, port }: { readonly host: string; readonly port: number }) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const { refresh } = yield* Backlog
      const runtime = yield* Effect.runtime()
      measuring.isOn = true
      const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000, keepAliveTimeout: 65_000 })
      server.maxConnections = 16
      server.on("request", ({ method, url }, response) => {
        const [path] = (url ?? "").split("?")
        if (path !== metricsPath) return answer(response, 404, "text/plain", `The metrics are at ${metricsPath}\n`)
        if (method !== "GET" && method !== "HEAD") return answer(response, 405, "text/plain", "GET only\n")
        return Runtime.runCallback(runtime)(refresh, {
          onExit: () => {
            readGauges()
            answer(response, 200, expositionType, writeMetrics())
          }
        })
      })
      const {
        address,
        family,
        port: bound
      } = yield* Effect.acquireRelease(listen(server, host, port), () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
      )
      const place = family === "IPv6" ? `[${address}]` : address
      yield* Effect.logInfo(`Metrics are served at http://${place}:${bound}${metricsPath}`)
    })
  )
