import { chmodSync, createReadStream, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type BenchCatalog, connected } from "../harness/Catalog.ts"
import { serviceParameters } from "../harness/Contenders.ts"
import { variantsOf } from "../harness/Export.ts"
import { entitiesOf, openImported, storeDomain } from "../harness/ImportedCatalog.ts"
import { runMeasured } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import type { Scenario } from "./Scenario.ts"

/** A smaller number is for trying the benchmark only: the targets apply to this number. */
const products = Number(process.env.BENCH_EXPORT_PRODUCTS ?? 100_000)
/** The memory of the same command with so few products is the baseline. */
const fewProducts = 1_000
const maxRatio = 3
const maxGrowthMegabytes = 100

interface Format {
  readonly name: string
  readonly parameters: ReadonlyArray<string>
  /** The expected number of lines in the file. */
  readonly lines: (products: number) => number
  /** The columns that the export reads. */
  readonly tables: Readonly<Record<string, string>>
}

const gallery = "entity_id, media_id, position, store_ids"

const formats: ReadonlyArray<Format> = [
  {
    name: "jsonl",
    parameters: ["jsonl"],
    // Beside entities, the file has lines for the catalog, its store and the end.
    lines: (count) => count * entitiesOf + 3,
    tables: {
      entity:
        "kind, id, title, parent_id, position, attributes, draft_revision, pending_publish, last_publish_status, created_at, canonical_changed_at",
      store_version:
        "entity_id, store_id, platform_id, overrides, accepted, pending_publish, last_publish_status, published_at, last_publish_error",
      entity_media: gallery,
      collection_member: "collection_id, product_id, position"
    }
  },
  {
    name: "csv",
    parameters: ["csv", "--store", storeDomain],
    // A header, and a record for each variant.
    lines: (count) => count * variantsOf + 1,
    tables: {
      entity: "kind, id, parent_id, position, attributes, draft_revision",
      store_version: "entity_id, store_id, overrides",
      entity_media: gallery
    }
  }
]

const linesOf = async (path: string) => {
  let lines = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>)
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++
  return lines
}

/** Runs the command as a process of its own, which reads the database itself. */
const exportCatalog = async (catalog: BenchCatalog, { lines, name, parameters }: Format, folder: string) => {
  const path = join(folder, name)
  const { code, megabytes, seconds, stderr } = await runMeasured(
    serviceParameters("export", ...parameters, "--out", path),
    { DATABASE_URL: catalog.url }
  )
  const written = code === 0 ? await linesOf(path) : 0
  if (written !== lines(catalog.products))
    throw new Error(`The export ended with ${code} after ${written} lines:\n${stderr}`)
  return { seconds, megabytes, bytes: statSync(path).size }
}

/** Seconds that the server needs to copy the same columns of the account into files, one table after the other. */
const copyOut = ({ accountId, url }: BenchCatalog, { tables }: Format, folder: string) =>
  connected(url, async (client) => {
    const startedAt = performance.now()
    for (const [name, columns] of Object.entries(tables))
      await client.query(
        `COPY (SELECT ${columns} FROM ${name} WHERE account_id = '${accountId}') TO '${join(folder, `${name}.copy`)}'`
      )
    return (performance.now() - startedAt) / 1_000
  })

interface Round {
  readonly seconds: number
  readonly copySeconds: number
  readonly grownMegabytes: number
  readonly megabytes: number
  readonly bytes: number
}

/** Compares an export with a COPY of the columns that it reads. */
export const exporting: Scenario = {
  name: "export",
  title: "Export",
  run: async ({ rounds: count }) => {
    const few = await openImported("catalog_bench_shop_few", fewProducts)
    const catalog = await openImported("catalog_bench_shop", products)
    const folder = mkdtempSync(join(tmpdir(), "bench-export-"))
    // The database server, which runs as another user, writes here too.
    chmodSync(folder, 0o777)
    try {
      const rounds = new Map(formats.map(({ name }): [string, Array<Round>] => [name, []]))
      for (let number = 0; number <= count; number++)
        for (const format of formats) {
          const small = await exportCatalog(few, format, folder)
          const { bytes, megabytes, seconds } = await exportCatalog(catalog, format, folder)
          const copySeconds = await copyOut(catalog, format, folder)
          const grownMegabytes = megabytes - small.megabytes
          progress(
            `round ${number}, ${format.name}: ${seconds.toFixed(1)} s, COPY ${copySeconds.toFixed(1)} s, ${whole(grownMegabytes)} MB gained`
          )
          // The first round fills the caches of the server.
          if (number > 0) rounds.get(format.name)?.push({ seconds, copySeconds, grownMegabytes, megabytes, bytes })
        }
      const figures = (all: ReadonlyArray<number>, digits: number) => {
        const { max, median: middle, min } = spreadOf(all)
        return [middle, min, max].map((figure) => figure.toFixed(digits))
      }
      const rowsOf = ([name, all]: readonly [string, ReadonlyArray<Round>]) => {
        const of = (value: (round: Round) => number) => all.map(value)
        const ratios = of(({ copySeconds, seconds }) => seconds / copySeconds)
        const grown = of(({ grownMegabytes }) => grownMegabytes)
        return [
          [
            `${name}, s`,
            ...figures(
              of(({ seconds }) => seconds),
              1
            ),
            "",
            ""
          ],
          [
            "COPY, s",
            ...figures(
              of(({ copySeconds }) => copySeconds),
              1
            ),
            "",
            ""
          ],
          [`${name} / COPY`, ...figures(ratios, 2), `≤ ${ratio(maxRatio)}`, median(ratios) <= maxRatio ? "yes" : "no"],
          [
            "memory gained, MB",
            ...figures(grown, 0),
            `< ${maxGrowthMegabytes}`,
            Math.max(...grown) < maxGrowthMegabytes ? "yes" : "no"
          ],
          [
            "memory at most, MB",
            ...figures(
              of(({ megabytes }) => megabytes),
              0
            ),
            "",
            ""
          ]
        ]
      }
      const sizes = [...rounds].map(([name, all]) => `${whole((all[0]?.bytes ?? 0) / 1e6)} MB of ${name}`)
      return {
        report: [
          `${whole(products)} products with ${whole(products * variantsOf)} variants and an image each, on one store: ${sizes.join(", ")}; ${count} rounds after one that does not count. An export includes the start of its process. COPY writes the columns that the export reads into files of the server. Memory is the most that the process held, less what it held at most for ${whole(fewProducts)} products.`,
          table(["", "median", "min", "max", "target", "met"], [...rounds].flatMap(rowsOf))
        ].join("\n\n"),
        postgresVersion: catalog.postgresVersion
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
