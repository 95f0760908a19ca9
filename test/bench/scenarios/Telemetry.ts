import { EventEmitter } from "node:events"
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs"
import type { Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { observeRequests } from "../../../src/http/RequestLog.ts"
import { attachState, type RequestState } from "../../../src/http/RequestState.ts"
import { measuring } from "../../../src/telemetry/Metrics.ts"
import { freePort } from "../../support/FreePort.ts"
import { type BenchCatalog, openCatalog } from "../harness/Catalog.ts"
import { ourSettings } from "../harness/Contenders.ts"
import { Load } from "../harness/Load.ts"
import { cpuMicrosOf, ServerProcess, script } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { connections } from "../harness/Rounds.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import { readPage } from "../harness/Walk.ts"
import type { Scenario } from "./Scenario.ts"

const products = 10_000
const limit = 50
const answersATurn = 20_000
const turnsARound = 5
/** Longer than the interval at which the exporter of traces sends, 5 s. */
const exportMillis = 5_500
const target = `/api/v1/products?limit=${limit}`
const atMost = 1.03

/** The settings of the services that take turns. The second one without observation shows by how much two services differ that do the same. */
const variants: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  off: {},
  "off, a second service": {},
  "metrics and access log": { METRICS_PORT: "0", ACCESS_LOG: "json" },
  "OTLP to nobody, 1 % traced": {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
    OTEL_METRIC_EXPORT_INTERVAL: "1000"
  }
}

const uuid = "700b692f-1809-47d7-8789-2a216d58bf0d"

/** Processor time in microseconds of the server's listeners for one request, without a server. */
const observingMicros = (isMeasured: boolean, file: number | undefined): number => {
  measuring.isOn = isMeasured
  const server = new EventEmitter()
  observeRequests(server as unknown as Server, file === undefined ? undefined : (text) => writeSync(file, text))
  const socket = { bytesWritten: 0 }
  const one = () => {
    const request = { method: "GET", socket }
    const response = Object.assign(new EventEmitter(), { req: request, statusCode: 200, writableFinished: true })
    server.emit("request", request, response)
    // Only the members that the observer reads.
    attachState({
      request: { source: request },
      id: `req_${uuid}`,
      route: { path: "/api/v1/products" },
      actor: { _tag: "Key", accountId: uuid, keyId: uuid }
    } as unknown as RequestState)
    socket.bytesWritten += 20_000
    response.emit("close")
  }
  const requests = 200_000
  for (let count = 0; count < requests; count++) one()
  const before = process.cpuUsage()
  for (let count = 0; count < requests; count++) one()
  const { system, user } = process.cpuUsage(before)
  server.emit("close")
  return (system + user) / requests
}

const alone = (folder: string): string => {
  const file = openSync(join(folder, "alone.log"), "w")
  const rows: ReadonlyArray<readonly [name: string, isMeasured: boolean, file: number | undefined]> = [
    ["off", false, undefined],
    ["metrics", true, undefined],
    ["access log", false, file],
    ["metrics and access log", true, file]
  ]
  const micros = rows.map(([, isMeasured, to]) => spreadOf([1, 2, 3, 4, 5].map(() => observingMicros(isMeasured, to))))
  closeSync(file)
  return table(
    ["observing alone, CPU, µs a request", "median", "min", "max"],
    rows.map(([name], index) => {
      const { max, median: middle, min } = micros[index] ?? spreadOf([])
      return [name, ...[middle, min, max].map(ratio)]
    })
  )
}

interface Service {
  readonly name: string
  readonly url: string
  /** Processor time of an answer in each turn, in microseconds. */
  readonly micros: Array<number>
  /** The same, divided by that of the first service in the same turn. */
  readonly ratios: Array<number>
}

const isOff = ({ name }: Pick<Service, "name">) => name.startsWith("off")

/** Starts all variants in one process. The access log goes to a file, as under a supervisor. */
const startServices = async (catalog: BenchCatalog, folder: string) => {
  const names = Object.keys(variants)
  const ports = await Promise.all(names.map(freePort))
  const settings = names.map((name, index) => ({
    ...ourSettings(catalog),
    ...variants[name],
    PORT: String(ports[index])
  }))
  const log = openSync(join(folder, "services.log"), "w")
  const process = await ServerProcess.start(
    [...script("harness/servicesProcess.ts"), JSON.stringify(settings)],
    {},
    log,
    names.length
  )
  closeSync(log)
  return {
    process,
    services: names.map(
      (name, index): Service => ({ name, url: `http://127.0.0.1:${ports[index]}`, micros: [], ratios: [] })
    )
  }
}

/**
 * Measures the cost of observation on the fastest page. The services run in one process: two processes that do the same differ by up to
 * 20 %, because V8 optimizes them differently, and here they share the optimized code. Each turn ends with a pause in which the process
 * exports what the turn left, so that its cost counts for the turn.
 */
export const telemetry: Scenario = {
  name: "telemetry",
  title: "What observation costs",
  run: async ({ rounds }) => {
    const catalog = await openCatalog("catalog_bench_telemetry", products)
    const load = new Load()
    const folder = mkdtempSync(join(tmpdir(), "catalog-bench-"))
    const { process, services } = await startServices(catalog, folder)
    const microsOf = async (service: Service, length: number) => {
      await process.tell(!isOff(service))
      const before = cpuMicrosOf(process.pid)
      const { answers } = await load.run({
        url: service.url,
        token: catalog.token,
        connections,
        targets: Array.from({ length: answersATurn }, () => target),
        lengths: Array.from({ length: answersATurn }, () => length),
        headers: {},
        status: 200
      })
      // The exporters send by a timer: what the turn left is sent in this pause, and costs this turn.
      await setTimeout(exportMillis)
      return (cpuMicrosOf(process.pid) - before) / answers
    }
    try {
      const { length } = await readPage(services[0]?.url ?? "", catalog.token, target)
      for (const service of services) await microsOf(service, length)
      for (let turn = 0; turn < rounds * turnsARound; turn++) {
        const first = turn % services.length
        for (const service of [...services.slice(first), ...services.slice(0, first)])
          service.micros.push(await microsOf(service, length))
        const off = services[0]?.micros.at(-1) ?? 0
        for (const { micros, ratios } of services) ratios.push((micros.at(-1) ?? 0) / off)
        progress(`turn ${turn}: ${services.map(({ micros }) => micros.at(-1)?.toFixed(1)).join(", ")} µs an answer`)
      }
      const report = [
        `One page of ${limit} rows, ${connections} connections; ${rounds * turnsARound} turns of ${whole(answersATurn)} answers to each of ${services.length} services in one process.`,
        table(
          ["", "CPU, µs an answer", "/ off within a turn, median", "min", "max", "target", "met"],
          services.map((service) => {
            const spread = spreadOf(service.ratios)
            return [
              service.name,
              median(service.micros).toFixed(1),
              ...[spread.median, spread.min, spread.max].map((value) => value.toFixed(3)),
              ...(isOff(service) ? ["", ""] : [`≤ ${ratio(atMost)}`, spread.median <= atMost ? "yes" : "no"])
            ]
          })
        ),
        alone(folder)
      ].join("\n\n")
      return { report, postgresVersion: catalog.postgresVersion }
    } finally {
      await process.stop()
      load.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
