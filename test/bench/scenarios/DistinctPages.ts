import { type BenchCatalog, openCatalog } from "../harness/Catalog.ts"
import { type ContenderName, contenderNames, type Servers, titles, withContenders } from "../harness/Contenders.ts"
import { Load } from "../harness/Load.ts"
import type { ServerProcess } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { whole } from "../harness/Report.ts"
import { type Asked, alternate, connections, type Target, tablesOf } from "../harness/Rounds.ts"
import { type WalkedPage, walk } from "../harness/Walk.ts"
import type { Scenario } from "./Scenario.ts"

const products = 100_000
const limit = 50
/** The first pages of the walks: with five of them a round asks for 10,000 pages, none of them twice. */
const leads = [50, 10, 20, 30, 40]

const targets: ReadonlyArray<Target> = [
  { peer: "fair", atLeast: 1 },
  { peer: "bare", atLeast: 0.7 }
]

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

const askedOf = (pages: ReadonlyArray<WalkedPage>): Asked => ({
  targets: pages.map(({ target }) => target),
  status: 200,
  lengths: pages.map(({ length }) => length)
})

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
      const asked = new Map(contenderNames.map((name) => [name, askedOf(pages[name])]))
      const rounds = await alternate(load, catalog, servers, asked, count)
      return [
        `${whole(products)} products on 3 stores, ${limit} rows a page, ${connections} connections; ${count} rounds of ${whole(pages.ours.length)} distinct pages each, contenders alternating.`,
        tablesOf(rounds, targets)
      ].join("\n\n")
    }).finally(() => load.stop())
    return { report, postgresVersion: catalog.postgresVersion }
  }
}
