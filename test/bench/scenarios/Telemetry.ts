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
  /** Processor time of an answer in each round, in microseconds: the median of the round's turns. */
  readonly micros: Array<number>
  /** The same, divided by that of the first contender: the median of the quotients within the turns. */
  readonly ratios: Array<number>
}

/**
 * Measures the cost of observation on the fastest page. All variants have as many turns, each time in another order. Each round has new
 * processes, because two processes that do the same may differ by 5 % as long as they live.
 */
export const telemetry: Scenario = {
  name: "telemetry",
  title: "What observation costs",
  run: async ({ rounds }) => {
    const catalog = await openCatalog("catalog_bench_telemetry", products)
    const load = new Load()
    const folder = mkdtempSync(join(tmpdir(), "catalog-bench-"))
    let started: Array<ServerProcess> = []
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
    const stopAll = async () => {
      await Promise.all(started.map((server) => server.stop()))
      started = []
    }
    const microsOf = async ({ pid, url }: ServerProcess, length: number) => {
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
    /** Processor time of an answer by turn, for each variant. */
    const aRound = async (round: number) => {
      const measured: Array<{ readonly server: ServerProcess; readonly micros: Array<number> }> = []
      for (const settings of Object.values(variants)) measured.push({ server: await open(settings), micros: [] })
      const { length } = await readPage(started[0]?.url ?? "", catalog.token, target)
      for (const { server } of measured) await microsOf(server, length)
      for (let turn = 0; turn < turnsARound; turn++) {
        const first = (round + turn) % measured.length
        for (const { micros, server } of [...measured.slice(first), ...measured.slice(0, first)])
          micros.push(await microsOf(server, length))
      }
      await stopAll()
      return measured.map(({ micros }) => micros)
    }
    try {
      const contenders = Object.keys(variants).map((name): Contender => ({ name, micros: [], ratios: [] }))
      for (let round = 0; round < rounds; round++) {
        const found = await aRound(round)
        const off = found[0] ?? []
        for (const [index, { micros, ratios }] of contenders.entries()) {
          const turns = found[index] ?? []
          micros.push(median(turns))
          ratios.push(median(turns.map((value, turn) => value / (off[turn] ?? 0))))
        }
        progress(`round ${round}: ${contenders.map(({ micros }) => micros.at(-1)?.toFixed(1)).join(", ")} µs an answer`)
      }
      const report = [
        `One page of ${limit} rows, ${connections} connections; ${rounds} rounds with new processes, each with ${turnsARound} turns of ${whole(answersATurn)} answers.`,
        table(
          ["", "CPU, µs an answer", "/ off within a round, median", "min", "max", "target", "met"],
          contenders.map(({ micros, name, ratios }) => {
            const spread = spreadOf(ratios)
            const isMeasured = !name.startsWith("off")
            return [
              name,
              median(micros).toFixed(1),
              ...[spread.median, spread.min, spread.max].map((value) => value.toFixed(3)),
              ...(isMeasured ? [`≤ ${ratio(atMost)}`, spread.median <= atMost ? "yes" : "no"] : ["", ""])
            ]
          })
        ),
        alone(folder)
      ].join("\n\n")
      return { report, postgresVersion: catalog.postgresVersion }
    } finally {
      await stopAll()
      load.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
