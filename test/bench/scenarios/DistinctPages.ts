import { type BenchCatalog, openCatalog } from "../harness/Catalog.ts"
import { type ContenderName, type Servers, titles, withContenders } from "../harness/Contenders.ts"
import { variantsOf } from "../harness/Export.ts"
import { openImported } from "../harness/ImportedCatalog.ts"
import { Load } from "../harness/Load.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, whole } from "../harness/Report.ts"
import { type Asked, alternate, connections, type Target, tablesOf } from "../harness/Rounds.ts"
import { median } from "../harness/Statistics.ts"
import { type WalkedPage, type WalkOptions, walk } from "../harness/Walk.ts"
import type { Scenario } from "./Scenario.ts"

/** A scenario of walks that request no page twice, as a mirror does that catches up. */
interface Walks extends Pick<Scenario, "name" | "title"> {
  readonly open: () => Promise<BenchCatalog>
  readonly walks: ReadonlyArray<WalkOptions>
  readonly targets: ReadonlyArray<Target>
  /** A description of the catalog and its pages. */
  readonly what: string
  /** A remark about the pages in the report. */
  readonly remark: (pages: ReadonlyArray<WalkedPage>) => string
}

type Pages = ReadonlyMap<ContenderName, ReadonlyArray<WalkedPage>>

/** The pages of the catalog and of every peer, which must have the same rows. */
const walkAll = async (
  { token }: BenchCatalog,
  servers: Servers,
  { targets, walks }: Pick<Walks, "targets" | "walks">
): Promise<Pages> => {
  const pages = new Map<ContenderName, ReadonlyArray<WalkedPage>>()
  for (const name of ["ours", ...targets.map(({ peer }) => peer)] as const)
    pages.set(name, (await Promise.all(walks.map((each) => walk(servers[name].url, token, each)))).flat())
  const ours = pages.get("ours") ?? []
  for (const [name, theirs] of pages) {
    const differs = ours.findIndex(({ rows }, index) => rows !== theirs[index]?.rows)
    if (differs !== -1 || theirs.length !== ours.length)
      throw new Error(`Page ${differs} of ${titles[name]} holds other rows than ours.`)
  }
  const distinct = new Set(ours.map(({ target }) => target)).size
  const expected = walks.reduce((sum, { lead, limit, rows }) => sum + Math.floor((rows - (lead % limit)) / limit), 0)
  if (distinct !== expected) throw new Error(`There are ${distinct} distinct pages instead of ${expected}.`)
  return pages
}

const askedOf = (pages: ReadonlyArray<WalkedPage>): Asked => ({
  targets: pages.map(({ target }) => target),
  status: 200,
  lengths: pages.map(({ length }) => length)
})

const scenario = ({ name, open, remark, targets, title, walks, what }: Walks): Scenario => ({
  name,
  title,
  run: async ({ rounds: count }) => {
    const catalog = await open()
    const load = new Load()
    const report = await withContenders(catalog, async (servers) => {
      progress("Walking: every contender must give the same rows")
      const pages = await walkAll(catalog, servers, { walks, targets })
      const asked = new Map([...pages].map(([contender, all]) => [contender, askedOf(all)]))
      const rounds = await alternate(load, catalog, servers, asked, count)
      const ours = pages.get("ours") ?? []
      return [
        `${what}, ${connections} connections; ${count} rounds of ${whole(ours.length)} distinct pages each, contenders alternating.${remark(ours)}`,
        tablesOf(rounds, targets)
      ].join("\n\n")
    }).finally(() => load.stop())
    return { report, postgresVersion: catalog.postgresVersion }
  }
})

const products = 100_000

export const distinctPages = scenario({
  name: "distinct-pages",
  title: "Distinct pages",
  open: () => openCatalog("catalog_bench", products),
  // The first pages of the walks have different sizes. With five walks a round requests 10,000 pages, each once.
  walks: [50, 10, 20, 30, 40].map((lead) => ({ limit: 50, lead, rows: products })),
  targets: [
    { peer: "fair", atLeast: 1 },
    { peer: "bare", atLeast: 1.15 }
  ],
  what: `${whole(products)} products on 3 stores, 50 rows a page`,
  remark: () => ""
})

/** A smaller number is for trying the benchmark only: the targets apply to this number. */
const mirrored = Number(process.env.BENCH_EXPORT_PRODUCTS ?? 100_000)
const limit = 250
const minSaved = 50

/** The same with the values of all products and variants, as a new mirror reads them. */
export const includeWalk = scenario({
  name: "include-walk",
  title: "A mirror of all values",
  open: () => openImported("catalog_bench_shop", mirrored),
  walks: [
    { list: "/api/v1/products?include=attributes", limit, lead: limit, rows: mirrored },
    { list: "/api/v1/variants?include=attributes", limit, lead: limit, rows: mirrored * variantsOf }
  ],
  targets: [{ peer: "bare", atLeast: 0.7 }],
  what: `${whole(mirrored)} products with ${whole(mirrored * variantsOf)} variants, ${limit} rows a page with \`include=attributes\``,
  remark: (pages) => {
    const saved = (mirrored * (1 + variantsOf)) / pages.length
    return ` A page has ${whole(median(pages.map(({ length }) => length)) / 1_000)} kB. One read for each entity takes ${ratio(saved)} times as many requests (target ≥ ${minSaved}: ${saved >= minSaved ? "met" : "not met"}).`
  }
})
