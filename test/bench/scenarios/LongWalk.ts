import { type BenchCatalog, openCatalog } from "../harness/Catalog.ts"
import { start } from "../harness/Contenders.ts"
import { fillFeed } from "../harness/Feed.ts"
import { megabytesOf, type ServerProcess } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import { pagesFrom } from "../harness/Walk.ts"
import type { Scenario } from "./Scenario.ts"

/** A smaller number is for trying the benchmark only: the targets apply to this number. */
const count = Number(process.env.BENCH_WALK_PRODUCTS ?? 1_000_000)
const limit = 250
/** The number of pages at each end that are compared. */
const compared = Math.min(100, count / limit / 2)
const maxGrowthMegabytes = 100

/** The list that is read. */
interface Walked extends Pick<Scenario, "name" | "title"> {
  readonly list: string
  /** A description of the rows. */
  readonly rows: string
  readonly maxRatio: number
  readonly prepare: (catalog: BenchCatalog) => Promise<void>
}

/** The measurements of a walk: the duration of each page, and the maximum growth of the server's memory. */
const walkOnce = async (server: ServerProcess, token: string, list: string) => {
  const millis: Array<number> = []
  const seen = new Set<string | number | undefined>()
  const before = megabytesOf(server.pid, "VmRSS")
  let most = before
  let rows = 0
  let askedAt = performance.now()
  for await (const { body } of pagesFrom(server.url, token, limit, { list })) {
    millis.push(performance.now() - askedAt)
    for (const { id, seq } of body.data) seen.add(seq ?? id)
    rows += body.data.length
    most = Math.max(most, megabytesOf(server.pid, "VmRSS"))
    askedAt = performance.now()
  }
  if (rows !== count || seen.size !== count || millis.length !== count / limit)
    throw new Error(`A walk saw ${rows} rows, ${seen.size} of them different, on ${millis.length} pages.`)
  return {
    first: median(millis.slice(0, compared)),
    last: median(millis.slice(-compared)),
    seconds: millis.reduce((sum, one) => sum + one, 0) / 1_000,
    grownMegabytes: most - before,
    megabytes: most
  }
}

/** Whether pages at the end of a long walk are slower than at the beginning, and whether the server's memory grows. */
const scenario = ({ list, maxRatio, name, prepare, rows: what, title }: Walked): Scenario => ({
  name,
  title,
  run: async ({ rounds }) => {
    const catalog = await openCatalog("catalog_bench_million", count)
    await prepare(catalog)
    const server = await start("ours", catalog)
    try {
      const walks: Array<Awaited<ReturnType<typeof walkOnce>>> = []
      for (let number = 0; number <= rounds; number++) {
        const walk = await walkOnce(server, catalog.token, list)
        progress(
          `walk ${number}: ${whole(walk.seconds)} s, ${ratio(walk.last / walk.first)} last to first, ${whole(walk.grownMegabytes)} MB gained to ${whole(walk.megabytes)}`
        )
        // The first walk only warms up.
        if (number > 0) walks.push(walk)
      }
      const firsts = spreadOf(walks.map(({ first }) => first))
      const lasts = spreadOf(walks.map(({ last }) => last))
      const ratios = spreadOf(walks.map(({ first, last }) => last / first))
      const grown = spreadOf(walks.map(({ grownMegabytes }) => grownMegabytes))
      const row = (name: string, { max, median: middle, min }: typeof ratios, digits: number) =>
        [name, middle, min, max].map((cell) => (typeof cell === "number" ? cell.toFixed(digits) : cell))
      const met = (is: boolean) => (is ? "yes" : "no")
      const report = [
        `${whole(count)} ${what}, ${limit} rows a page, one page after the other; ${rounds} walks of ${whole(count / limit)} pages after one that does not count. Times are medians of ${compared} pages; memory is resident memory of the server, at most ${whole(Math.max(...walks.map(({ megabytes }) => megabytes)))} MB.`,
        table(
          ["", "median", "min", "max", "target", "met"],
          [
            [...row(`first ${compared} pages, ms a page`, firsts, 2), "", ""],
            [...row(`last ${compared} pages, ms a page`, lasts, 2), "", ""],
            [...row("last / first", ratios, 2), `≤ ${ratio(maxRatio)}`, met(ratios.median <= maxRatio)],
            [
              ...row("memory gained in a walk, MB", grown, 0),
              `< ${maxGrowthMegabytes}`,
              met(grown.max < maxGrowthMegabytes)
            ]
          ]
        )
      ].join("\n\n")
      return { report, postgresVersion: catalog.postgresVersion }
    } finally {
      await server.stop()
    }
  }
})

export const longWalk = scenario({
  name: "long-walk",
  title: "A long walk",
  list: "/api/v1/products",
  rows: "products on 3 stores",
  maxRatio: 1.2,
  prepare: async () => {}
})

/** The same for the feed of changes: compares reading after a long pause with reading when nearly up to date. */
export const feed = scenario({
  name: "feed",
  title: "The feed of changes",
  list: "/api/v1/changes",
  rows: "changes in as many rows",
  maxRatio: 1.1,
  prepare: fillFeed
})
