import { type BenchCatalog, openCatalog } from "../harness/Catalog.ts"
import { type ContenderName, contenderNames, titles, withContenders } from "../harness/Contenders.ts"
import { measureCpu } from "../harness/Cpu.ts"
import { Load } from "../harness/Load.ts"
import type { ServerProcess } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import { type WalkedPage, walk } from "../harness/Walk.ts"
import type { Scenario } from "./Scenario.ts"

const products = 100_000
const limit = 50
const connections = 16
/** The first pages of the walks: with five of them a round asks for 10,000 pages, none of them twice. */
const leads = [50, 10, 20, 30, 40]

/** What the median of the ratios to a peer should be at least. */
const targets: ReadonlyArray<{ readonly peer: ContenderName; readonly atLeast: number }> = [
  { peer: "fair", atLeast: 0.9 },
  { peer: "bare", atLeast: 0.5 }
]

interface Round {
  readonly pagesPerSecond: number
  /** Processor time in microseconds a page. */
  readonly serverMicros: number
  readonly databaseMicros: number
}

type Servers = Readonly<Record<ContenderName, ServerProcess>>
type Pages = Readonly<Record<ContenderName, ReadonlyArray<WalkedPage>>>

const pagesOf = async ({ token }: BenchCatalog, { url }: ServerProcess) =>
  (await Promise.all(leads.map((lead) => walk(url, token, { limit, lead, products })))).flat()

const walkAll = async (catalog: BenchCatalog, servers: Servers): Promise<Pages> => {
  const pages = {
    ours: await pagesOf(catalog, servers.ours),
    fair: await pagesOf(catalog, servers.fair),
    bare: await pagesOf(catalog, servers.bare)
  }
  for (const peer of ["fair", "bare"] as const) {
    const differs = pages.ours.findIndex(({ rows }, index) => rows !== pages[peer][index]?.rows)
    if (differs !== -1 || pages[peer].length !== pages.ours.length)
      throw new Error(`Page ${differs} of ${titles[peer]} holds other rows than ours.`)
  }
  const distinct = new Set(pages.ours.map(({ target }) => target)).size
  const expected = leads.reduce((sum, lead) => sum + Math.floor((products - (lead % limit)) / limit), 0)
  if (distinct !== expected) throw new Error(`There are ${distinct} distinct pages instead of ${expected}.`)
  return pages
}

const measure = async (
  load: Load,
  catalog: BenchCatalog,
  name: ContenderName,
  server: ServerProcess,
  pages: ReadonlyArray<WalkedPage>
): Promise<Round> => {
  const order = {
    url: server.url,
    token: catalog.token,
    connections,
    targets: pages.map(({ target }) => target),
    status: 200,
    lengths: pages.map(({ length }) => length)
  }
  const [result, cpu] = await measureCpu(catalog, name, server, () => load.run(order))
  const { answers, bytes, elapsedMillis } = result
  if (answers !== pages.length || bytes !== pages.reduce((sum, { length }) => sum + length, 0))
    throw new Error(`${answers} answers of ${bytes} bytes came back to ${pages.length} requests.`)
  return {
    pagesPerSecond: (answers / elapsedMillis) * 1_000,
    serverMicros: (cpu.serverMillis / answers) * 1_000,
    databaseMicros: (cpu.databaseMillis / answers) * 1_000
  }
}

const reportOf = (rounds: Readonly<Record<ContenderName, ReadonlyArray<Round>>>, pages: number) => {
  const rates = (name: ContenderName) => rounds[name].map(({ pagesPerSecond }) => pagesPerSecond)
  const ratios = (peer: ContenderName) => rates("ours").map((rate, index) => rate / (rates(peer)[index] ?? Number.NaN))
  return [
    `${whole(products)} products on 3 stores, ${limit} rows a page, ${connections} connections; ${rounds.ours.length} rounds of ${whole(pages)} distinct pages each, contenders alternating.`,
    table(
      ["", "pages/s, median", "min", "max", "CPU, µs a page", "of PostgreSQL, µs a page"],
      contenderNames.map((name) => {
        const { max, median: middle, min } = spreadOf(rates(name))
        const cpu = median(rounds[name].map(({ serverMicros }) => serverMicros))
        const database = median(rounds[name].map(({ databaseMicros }) => databaseMicros))
        return [titles[name], whole(middle), whole(min), whole(max), whole(cpu), whole(database)]
      })
    ),
    table(
      ["ratio within a round", "median", "min", "max", "target", "met"],
      targets.map(({ atLeast, peer }) => {
        const { max, median: middle, min } = spreadOf(ratios(peer))
        const met = middle >= atLeast ? "yes" : "no"
        return [`${titles.ours} / ${titles[peer]}`, ratio(middle), ratio(min), ratio(max), `≥ ${ratio(atLeast)}`, met]
      })
    )
  ].join("\n\n")
}

/** A walk in which no page is asked for twice: what a mirror does that catches up. */
export const distinctPages: Scenario = {
  name: "distinct-pages",
  title: "Distinct pages",
  run: async ({ rounds: count }) => {
    const catalog = await openCatalog("catalog_bench", products)
    const load = new Load()
    const report = await withContenders(catalog, async (servers) => {
      progress("Walking: every contender must give the same rows")
      const pages = await walkAll(catalog, servers)
      const rounds: Record<ContenderName, Array<Round>> = { ours: [], fair: [], bare: [] }
      for (let round = 0; round <= count; round++) {
        for (const name of contenderNames) {
          const measured = await measure(load, catalog, name, servers[name], pages[name])
          progress(`round ${round}, ${titles[name]}: ${whole(measured.pagesPerSecond)} pages/s`)
          // The first one only warms up.
          if (round > 0) rounds[name].push(measured)
        }
      }
      return reportOf(rounds, pages.ours.length)
    }).finally(() => load.stop())
    return { report, postgresVersion: catalog.postgresVersion }
  }
}
