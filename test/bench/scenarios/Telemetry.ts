import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openCatalog } from "../harness/Catalog.ts"
import { ourSettings, serviceParameters } from "../harness/Contenders.ts"
import { Load } from "../harness/Load.ts"
import { ServerProcess } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { connections } from "../harness/Rounds.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import { readPage } from "../harness/Walk.ts"
import type { Scenario } from "./Scenario.ts"

const products = 10_000
const limit = 50
/** Short rounds, many of them: what else the machine does changes within seconds. */
const answersARound = 5_000
const roundsPerRound = 5
const target = `/api/v1/products?limit=${limit}`
const atMost = 1.03

/** The service with nothing observed, and with each kind of observation. */
const variants: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  off: {},
  metrics: { METRICS_PORT: "0" },
  "access log": { ACCESS_LOG: "json" },
  "metrics and access log": { METRICS_PORT: "0", ACCESS_LOG: "json" },
  "OTLP to nobody, 1 % traced": {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
    OTEL_METRIC_EXPORT_INTERVAL: "1000"
  }
}

/** Processor time of all threads of a process in microseconds, finer than the ticks of 10 ms that `stat` counts. Linux only. */
const cpuMicrosOf = (pid: number | undefined): number =>
  readdirSync(`/proc/${pid}/task`)
    .map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]) / 1_000)
    .reduce((sum, micros) => sum + micros, 0)

interface Round {
  readonly answersPerSecond: number
  readonly micros: number
}

/**
 * What observation costs: the service beside itself, on the page that takes least time. Processor time an answer is compared within
 * a round, in which the order changes from round to round.
 */
export const telemetry: Scenario = {
  name: "telemetry",
  title: "What observation costs",
  run: async ({ rounds: asked }) => {
    const count = asked * roundsPerRound
    const catalog = await openCatalog("catalog_bench_telemetry", products)
    const load = new Load()
    const folder = mkdtempSync(join(tmpdir(), "catalog-bench-"))
    const started: Array<readonly [name: string, server: ServerProcess]> = []
    const rounds = new Map(Object.keys(variants).map((name): [string, Array<Round>] => [name, []]))
    try {
      for (const [name, settings] of Object.entries(variants)) {
        // The access log goes to a file, as under a supervisor.
        const file = openSync(join(folder, `${started.length}.log`), "w")
        const server = await ServerProcess.start(
          serviceParameters("serve"),
          { ...ourSettings(catalog), ...settings },
          file
        )
        closeSync(file)
        started.push([name, server])
      }
      const { length } = await readPage(started[0]?.[1].url ?? "", catalog.token, target)
      for (let number = 0; number <= count; number++) {
        const order = number % 2 === 0 ? started : [...started].reverse()
        for (const [name, server] of order) {
          const before = cpuMicrosOf(server.pid)
          const { answers, elapsedMillis } = await load.run({
            url: server.url,
            token: catalog.token,
            connections,
            targets: Array.from({ length: answersARound }, () => target),
            lengths: Array.from({ length: answersARound }, () => length),
            headers: {},
            status: 200
          })
          const micros = (cpuMicrosOf(server.pid) - before) / answers
          progress(`round ${number}, ${name}: ${micros.toFixed(1)} µs an answer`)
          if (number > 0) rounds.get(name)?.push({ answersPerSecond: (answers / elapsedMillis) * 1_000, micros })
        }
      }
    } finally {
      await Promise.all(started.map(([, server]) => server.stop()))
      load.stop()
      rmSync(folder, { recursive: true, force: true })
    }
    const off = rounds.get("off") ?? []
    const report = [
      `One page of ${limit} rows, ${connections} connections; ${count} rounds of ${whole(answersARound)} answers each, variants alternating.`,
      table(
        [
          "",
          "answers/s, median",
          "CPU, µs an answer",
          "CPU / off within a round, median",
          "min",
          "max",
          "target",
          "met"
        ],
        [...rounds].map(([name, all]) => {
          const spread = spreadOf(all.map(({ micros }, index) => micros / (off[index]?.micros ?? Number.NaN)))
          return [
            name,
            whole(median(all.map(({ answersPerSecond }) => answersPerSecond))),
            median(all.map(({ micros }) => micros)).toFixed(1),
            ...[spread.median, spread.min, spread.max].map(ratio),
            ...(name === "off" ? ["", ""] : [`≤ ${ratio(atMost)}`, spread.median <= atMost ? "yes" : "no"])
          ]
        })
      )
    ].join("\n\n")
    return { report, postgresVersion: catalog.postgresVersion }
  }
}
