import { type BenchCatalog, openCatalog } from "../harness/Catalog.ts"
import { start } from "../harness/Contenders.ts"
import { Load } from "../harness/Load.ts"
import { cpuMillisOf, type ServerProcess } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { connections } from "../harness/Rounds.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import { type WalkedPage, walk } from "../harness/Walk.ts"
import type { Scenario } from "./Scenario.ts"

const products = 100_000
const limit = 50

interface Round {
  readonly perSecond: number
  readonly p99Millis: number
  /** Processor time of the service's processes per answer, in microseconds. */
  readonly serverMicros: number
}

/** Two processes of the load request every second page each; each uses one of the servers, or both use the only one. */
const measure = async (
  { token }: BenchCatalog,
  loads: ReadonlyArray<Load>,
  servers: ReadonlyArray<ServerProcess>,
  pages: ReadonlyArray<WalkedPage>
): Promise<Round> => {
  const cpuMillis = () => servers.reduce((sum, { pid }) => sum + cpuMillisOf(pid), 0)
  const before = cpuMillis()
  const results = await Promise.all(
    loads.map((load, place) => {
      const own = pages.filter((_, index) => index % loads.length === place)
      return load.run({
        url: servers[place % servers.length]?.url ?? "",
        token,
        connections: connections / loads.length,
        targets: own.map(({ target }) => target),
        headers: {},
        status: 200,
        lengths: own.map(({ length }) => length)
      })
    })
  )
  return {
    perSecond: (pages.length / Math.max(...results.map(({ elapsedMillis }) => elapsedMillis))) * 1_000,
    p99Millis: Math.max(...results.map(({ p99Millis }) => p99Millis)),
    serverMicros: ((cpuMillis() - before) / pages.length) * 1_000
  }
}

/** Compares two processes of the service on one database with one process, on the same machine. */
export const twoProcesses: Scenario = {
  name: "two-processes",
  title: "Two processes of the service",
  run: async ({ rounds: count }) => {
    const catalog = await openCatalog("catalog_bench", products)
    const loads = [new Load(), new Load()]
    const servers: Array<ServerProcess> = []
    try {
      for (const _ of loads) servers.push(await start("ours", catalog))
      const [first] = servers
      // The first pages of the walks have different sizes, so no page is requested twice in a round.
      const walks = [50, 10, 20, 30, 40].map((lead) =>
        walk(first?.url ?? "", catalog.token, { limit, lead, rows: products })
      )
      const pages = (await Promise.all(walks)).flat()
      const rounds = { one: [] as Array<Round>, two: [] as Array<Round> }
      for (let number = 0; number <= count; number++)
        for (const side of ["one", "two"] as const) {
          const round = await measure(catalog, loads, servers.slice(0, side === "one" ? 1 : 2), pages)
          progress(`round ${number}, ${side}: ${whole(round.perSecond)} answers/s`)
          // The first round warms up.
          if (number > 0) rounds[side].push(round)
        }
      const row = (title: string, of: ReadonlyArray<Round>) => [
        title,
        ...Object.values(spreadOf(of.map(({ perSecond }) => perSecond))).map(whole),
        ratio(median(of.map(({ p99Millis }) => p99Millis))),
        whole(median(of.map(({ serverMicros }) => serverMicros)))
      ]
      const ratios = spreadOf(rounds.two.map(({ perSecond }, index) => perSecond / (rounds.one[index]?.perSecond ?? 0)))
      const report = [
        `${whole(products)} products on 3 stores, ${limit} rows a page, ${connections} connections from two processes; ${count} rounds of ${whole(pages.length)} distinct pages, one and two processes of the service alternating. Two processes / one: ${ratio(ratios.median)} (${ratio(ratios.min)} to ${ratio(ratios.max)}).`,
        table(
          ["", "answers/s, median", "min", "max", "p99, ms", "CPU, µs an answer"],
          [row("one process", rounds.one), row("two processes", rounds.two)]
        )
      ].join("\n\n")
      return { report, postgresVersion: catalog.postgresVersion }
    } finally {
      await Promise.all(servers.map((server) => server.stop()))
      for (const load of loads) load.stop()
    }
  }
}
