import { EventEmitter } from "node:events"
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs"
import type { Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { observeRequests } from "../../../src/http/RequestLog.ts"
import { attachState, type RequestState } from "../../../src/http/RequestState.ts"
import { measuring } from "../../../src/telemetry/Metrics.ts"
import { openCatalog } from "../harness/Catalog.ts"
import { ourSettings, serviceParameters } from "../harness/Contenders.ts"
import { Load } from "../harness/Load.ts"
import { cpuMicrosOf, ServerProcess } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { connections } from "../harness/Rounds.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import { readPage } from "../harness/Walk.ts"
import type { Scenario } from "./Scenario.ts"

const products = 10_000
const limit = 50
/** Many short turns, because the load of the machine changes within seconds. */
const answersATurn = 5_000
const turnsARound = 10
const target = `/api/v1/products?limit=${limit}`
const atMost = 1.03

/**
 * The settings of the services that take turns. The second one without observation shows by how much two processes differ that do
 * the same.
 */
const variants: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  off: {},
  "off, a second process": {},
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

interface Contender {
  readonly name: string
  readonly server: ServerProcess
  /** Processor time of an answer, in microseconds, in each turn. */
  readonly micros: Array<number>
}

/** Measures the cost of observation on the fastest page. All variants have as many turns, each time in another order. */
export const telemetry: Scenario = {
  name: "telemetry",
  title: "What observation costs",
  run: async ({ rounds }) => {
    const catalog = await openCatalog("catalog_bench_telemetry", products)
    const load = new Load()
    const folder = mkdtempSync(join(tmpdir(), "catalog-bench-"))
    const started: Array<ServerProcess> = []
    const open = async (settings: Readonly<Record<string, string>>) => {
      // The access log goes to a file, as under a supervisor.
      const file = openSync(join(folder, `${started.length}.log`), "w")
      const server = await ServerProcess.start(
        serviceParameters("serve"),
        { ...ourSettings(catalog), ...settings },
        file
      )
      closeSync(file)
      started.push(server)
      return server
    }
    try {
      const contenders: Array<Contender> = []
      for (const [name, settings] of Object.entries(variants))
        contenders.push({ name, server: await open(settings), micros: [] })
      const { length } = await readPage(started[0]?.url ?? "", catalog.token, target)
      const microsOf = async ({ pid, url }: ServerProcess) => {
        const before = cpuMicrosOf(pid)
        const { answers } = await load.run({
          url,
          token: catalog.token,
          connections,
          targets: Array.from({ length: answersATurn }, () => target),
          lengths: Array.from({ length: answersATurn }, () => length),
          headers: {},
          status: 200
        })
        return (cpuMicrosOf(pid) - before) / answers
      }
      for (const { server } of contenders) await microsOf(server)
      const turns = rounds * turnsARound
      for (let turn = 0; turn < turns; turn++) {
        const first = turn % contenders.length
        const order = [...contenders.slice(first), ...contenders.slice(0, first)]
        for (const { micros, server } of order) micros.push(await microsOf(server))
        progress(`turn ${turn}: ${contenders.map(({ micros }) => micros.at(-1)?.toFixed(1)).join(", ")} µs an answer`)
      }
      const off = contenders[0]?.micros ?? []
      const report = [
        `One page of ${limit} rows, ${connections} connections; ${turns} turns of ${whole(answersATurn)} answers each.`,
        table(
          ["", "CPU, µs an answer", "/ off within a turn, median", "min", "max", "target", "met"],
          contenders.map(({ micros, name }) => {
            const spread = spreadOf(micros.map((value, turn) => value / (off[turn] ?? 0)))
            const isMeasured = !name.startsWith("off")
            return [
              name,
              median(micros).toFixed(1),
              ...[spread.median, spread.min, spread.max].map(ratio),
              ...(isMeasured ? [`≤ ${ratio(atMost)}`, spread.median <= atMost ? "yes" : "no"] : ["", ""])
            ]
          })
        ),
        alone(folder)
      ].join("\n\n")
      return { report, postgresVersion: catalog.postgresVersion }
    } finally {
      await Promise.all(started.map((server) => server.stop()))
      load.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
