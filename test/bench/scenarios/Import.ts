import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type pg from "pg"
import { catalog, connected, postgresVersionOf, recreate, urlOf } from "../harness/Catalog.ts"
import { serviceParameters } from "../harness/Contenders.ts"
import { variantsOf, writeExport } from "../harness/Export.ts"
import { runMeasured } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { spreadOf } from "../harness/Statistics.ts"
import type { Scenario } from "./Scenario.ts"

/** A smaller number is for trying the benchmark only: the targets apply to this number. */
const products = Number(process.env.BENCH_IMPORT_PRODUCTS ?? 100_000)
/** The memory of the same command with so few products is the baseline. */
const fewProducts = 1_000
const maxRatio = 1.8
const maxGrowthMegabytes = 150
const domain = "store.example"

/** A fresh database with the schema, an account and a store. */
const prepare = async (database: string): Promise<string> => {
  const url = urlOf(database)
  await recreate(database)
  await catalog(url, "migrate")
  await catalog(url, "account", "create", "--name", "Import")
  await catalog(url, "store", "link", domain)
  return url
}

const countsOf = (client: pg.Client) =>
  client
    .query<{ readonly name: string; readonly rows: number }>(
      `SELECT relname AS name,
              (xpath('/row/c/text()', query_to_xml(format('SELECT count(*) AS c FROM %I', relname), false, true, '')))[1]::text::int AS rows
       FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname`
    )
    .then(({ rows }) => new Map(rows.map(({ name, rows }) => [name, rows])))

/** Imports a file. Returns the command's duration and the peak memory of its process. */
const importFile = async (url: string, path: string, count: number) => {
  const { code, megabytes, seconds, stderr, stdout } = await runMeasured(
    serviceParameters("import", "csv", path, "--store", domain, "--accept", "--json"),
    { DATABASE_URL: url }
  )
  const outcome = code === 0 ? (JSON.parse(stdout) as Record<string, unknown>) : {}
  if (outcome.phase !== "applied" || outcome.created !== count)
    throw new Error(`The import ended with ${code} in phase ${outcome.phase}, ${outcome.created} created:\n${stderr}`)
  return { seconds, megabytes }
}

type Measured = Awaited<ReturnType<typeof importFile>>

/** Tables in the order of their references; other tables that an import writes are appended. */
const inOrder = ["entity", "store_version", "entity_media", "import_run", "import_item"]

/**
 * Copies the rows that an import wrote into an empty database with the same schema, in one transaction. So that the
 * guards accept the rows, `stamped_by` has this transaction's id. Only the COPY FROM and the commit are measured; the
 * rows were exported to files on the database server before.
 */
const copyInto = async (source: string, target: string, written: ReadonlyArray<string>, folder: string) =>
  connected(source, (from) =>
    connected(target, async (into) => {
      await into.query("BEGIN")
      const one = await into.query<{ readonly id: string }>("SELECT pg_current_xact_id()::text AS id")
      const columnsOf = async (name: string) => {
        const { rows } = await from.query<{ readonly name: string }>(
          `SELECT attname AS name FROM pg_attribute
           WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`,
          [name]
        )
        return rows.map((row) => row.name)
      }
      const dump = async (name: string) => {
        const columns = await columnsOf(name)
        const values = columns.map((column) => (column === "stamped_by" ? `'${one.rows[0]?.id}'` : column))
        // Owners before their variants, as an import writes them.
        const order = name === "entity" ? "ORDER BY change_seq" : ""
        await from.query(`COPY (SELECT ${values.join()} FROM ${name} ${order}) TO '${join(folder, name)}'`)
        return `COPY ${name} (${columns.join()}) FROM '${join(folder, name)}'`
      }
      // Rows that existed before the import, with the same ids.
      for (const name of ["account", "import_lock", "store"]) {
        await into.query(`TRUNCATE ${name} CASCADE`)
        await into.query(await dump(name))
      }
      const copies: Array<string> = []
      for (const name of written) copies.push(await dump(name))
      const startedAt = performance.now()
      for (const copy of copies) await into.query(copy)
      await into.query("COMMIT")
      return (performance.now() - startedAt) / 1_000
    })
  )

const round = async (folder: string) => {
  const source = await prepare("catalog_bench_import")
  const target = await prepare("catalog_bench_copy")
  const before = await connected(source, countsOf)
  await connected(source, (client) => client.query("CHECKPOINT"))
  const few = await importFile(await prepare("catalog_bench_few"), join(folder, "few.csv"), fewProducts)
  const imported = await importFile(source, join(folder, "all.csv"), products)
  const after = await connected(source, countsOf)
  const written = [...after].flatMap(([name, rows]) => (rows === before.get(name) ? [] : [name]))
  const place = (name: string) => (inOrder.includes(name) ? inOrder.indexOf(name) : inOrder.length)
  written.sort((left, right) => place(left) - place(right))
  await connected(target, (client) => client.query("CHECKPOINT"))
  const copySeconds = await copyInto(source, target, written, folder)
  const copied = await connected(target, countsOf)
  for (const name of written)
    if (copied.get(name) !== after.get(name)) throw new Error(`${copied.get(name)} rows of ${name} were copied.`)
  // Each product has its variants and one image.
  if (after.get("entity") !== products * (1 + variantsOf + 1))
    throw new Error(`The import made ${after.get("entity")} entities.`)
  return {
    importSeconds: imported.seconds,
    copySeconds,
    grownMegabytes: imported.megabytes - few.megabytes,
    megabytes: imported.megabytes,
    rows: written.map((name) => `${whole(after.get(name) ?? 0)} of ${name}`).join(", ")
  }
}

/** Compares an import with a COPY of the rows that it writes. */
export const importing: Scenario = {
  name: "import",
  title: "Import",
  run: async ({ rounds: count }) => {
    const folder = mkdtempSync(join(tmpdir(), "bench-import-"))
    // The database server, which runs as another user, writes here too.
    chmodSync(folder, 0o777)
    try {
      await writeExport(join(folder, "few.csv"), fewProducts)
      await writeExport(join(folder, "all.csv"), products)
      const rounds: Array<Awaited<ReturnType<typeof round>>> = []
      for (let number = 1; number <= count; number++) {
        const done = await round(folder)
        progress(`round ${number}: import ${whole(done.importSeconds)} s, COPY ${whole(done.copySeconds)} s`)
        rounds.push(done)
      }
      const figures = (value: (one: (typeof rounds)[number]) => number, digits: number) => {
        const { max, median, min } = spreadOf(rounds.map(value))
        return [median, min, max].map((figure) => figure.toFixed(digits))
      }
      const ratios = spreadOf(rounds.map(({ copySeconds, importSeconds }) => importSeconds / copySeconds))
      const grown = spreadOf(rounds.map(({ grownMegabytes }) => grownMegabytes))
      const report = [
        `${whole(products)} products with ${whole(products * variantsOf)} variants and an image each, a file of ${whole(statSync(join(folder, "all.csv")).size / 1e6)} MB, into an empty catalog; ${count} rounds. It writes, and COPY too: ${rounds[0]?.rows}. Memory is the most that the process held, less what it held at most for ${whole(fewProducts)} products.`,
        table(
          ["", "median", "min", "max", "target", "met"],
          [
            ["import, s", ...figures(({ importSeconds }) => importSeconds, 1), "", ""],
            ["COPY, s", ...figures(({ copySeconds }) => copySeconds, 1), "", ""],
            [
              "import / COPY",
              ...figures(({ copySeconds, importSeconds }) => importSeconds / copySeconds, 2),
              `≤ ${ratio(maxRatio)}`,
              ratios.median <= maxRatio ? "yes" : "no"
            ],
            [
              "memory gained, MB",
              ...figures(({ grownMegabytes }) => grownMegabytes, 0),
              `< ${maxGrowthMegabytes}`,
              grown.max < maxGrowthMegabytes ? "yes" : "no"
            ],
            ["memory at most, MB", ...figures(({ megabytes }) => megabytes, 0), "", ""]
          ]
        )
      ].join("\n\n")
      return { report, postgresVersion: await postgresVersionOf(urlOf("catalog_bench_import")) }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** Ten times as many products may take at most so many times as long. */
const maxGrowthOfTime = 11

/** Compares an import of ten times as many products, a million, with an import. */
export const importingMillion: Scenario = {
  name: "import-million",
  title: "Import of a million",
  run: async ({ rounds: count }) => {
    const folder = mkdtempSync(join(tmpdir(), "bench-import-"))
    const database = "catalog_bench_import"
    try {
      const sizes = [products, 10 * products]
      for (const size of sizes) await writeExport(join(folder, `${size}.csv`), size)
      const rounds: Array<ReadonlyArray<Measured>> = []
      for (let number = 1; number <= count; number++) {
        const measured: Array<Measured> = []
        for (const size of sizes) {
          const one = await importFile(await prepare(database), join(folder, `${size}.csv`), size)
          progress(`round ${number}: ${whole(size)} products in ${whole(one.seconds)} s, ${whole(one.megabytes)} MB`)
          measured.push(one)
        }
        rounds.push(measured)
      }
      const figures = (value: (less: Measured, more: Measured) => number, digits: number) => {
        const { max, median, min } = spreadOf(rounds.map(([less, more]) => value(less as Measured, more as Measured)))
        return { cells: [median, min, max].map((figure) => figure.toFixed(digits)), max }
      }
      const times = figures((less, more) => more.seconds / less.seconds, 2)
      const grown = figures((less, more) => more.megabytes - less.megabytes, 0)
      const report = [
        `${sizes.map(whole).join(" and ")} products with ${variantsOf} variants and an image each, into an empty catalog; ${count} rounds. Memory is the most that the process held.`,
        table(
          ["", "median", "min", "max", "target", "met"],
          [
            ...sizes.map((size, place) => [
              `${whole(size)}, s`,
              ...figures((...both) => both[place]?.seconds ?? 0, 1).cells,
              "",
              ""
            ]),
            ["time", ...times.cells, `≤ ${ratio(maxGrowthOfTime)}`, times.max <= maxGrowthOfTime ? "yes" : "no"],
            [
              "memory gained, MB",
              ...grown.cells,
              `< ${maxGrowthMegabytes}`,
              grown.max < maxGrowthMegabytes ? "yes" : "no"
            ]
          ]
        )
      ].join("\n\n")
      return { report, postgresVersion: await postgresVersionOf(urlOf(database)) }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
