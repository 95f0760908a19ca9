import { spawn } from "node:child_process"
import { once } from "node:events"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout } from "node:timers/promises"
import { type BenchCatalog, catalog as command, connected, openCatalog, productsOnStores } from "../harness/Catalog.ts"
import { root, script } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { table, whole } from "../harness/Report.ts"
import { addUnusedProducts, unusedVendor } from "../harness/UnusedProducts.ts"
import type { Scenario } from "./Scenario.ts"

const products = Number(process.env.BENCH_JOBS_PRODUCTS ?? 100_000)
const store = "store-2.example"
const deleted = Number(process.env.BENCH_JOBS_DELETED ?? 1_000)
const maxMillis = 1_000
const quietMillis = 3_000

interface Write {
  readonly start: number
  readonly millis: number
}

/** A writer of the account, in a process of its own. */
const startWriter = async ({ accountId, url }: Pick<BenchCatalog, "accountId" | "url">) => {
  const child = spawn(process.execPath, [...script("harness/writerProcess.ts")], {
    cwd: root,
    env: { ...process.env, WRITER_DATABASE_URL: url, WRITER_ACCOUNT: accountId },
    stdio: ["pipe", "pipe", "inherit"]
  })
  const writes: Array<Write> = []
  const lines = createInterface({ input: child.stdout })
  await once(lines, "line")
  lines.on("line", (line) => {
    const [start = 0, millis = 0] = line.split(" ").map(Number)
    writes.push({ start, millis })
  })
  const stop = async () => {
    const gone = once(child, "exit")
    child.stdin.end()
    await gone
  }
  return { writes, stop }
}

/** Median, p99 and maximum of the writes' durations, in ms. */
const waitsOf = (writes: ReadonlyArray<Write>) => {
  const sorted = writes.map(({ millis }) => millis).sort((left, right) => left - right)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { count: sorted.length, median: at(0.5), p99: at(0.99), max: at(1) }
}

const millis = (value: number) => `${value.toFixed(0)} ms`

const exported = (format: string) => join(tmpdir(), `catalog-bench-export.${format}`)

/** The commands that begin a job on all products, or on the unused ones, and wait for its end, in this order. */
const jobsOf = (round: number, { accountId }: BenchCatalog): Readonly<Record<string, ReadonlyArray<string>>> => {
  const account = ["--account", accountId]
  return {
    unlink: ["store", "unlink", store, ...account],
    link: ["store", "link", store, ...account],
    // Before the bulk change: 18 of 100 products wait for a publish then, and not all.
    "publish all": ["publish", "--all", "--store", store, ...account],
    "bulk change": ["bulk", "set", "product", "--all", `product_type=Round ${round}`, ...account],
    deletion: ["bulk", "delete", "product", "--vendor", unusedVendor, "--with-media", ...account],
    "health scan": ["health", "scan", ...account],
    "export as CSV": ["export", "csv", "--store", store, "--out", exported("csv"), ...account],
    "export as JSON lines": ["export", "jsonl", "--out", exported("jsonl"), ...account]
  }
}

/** Measures how long a writer of the account waits while jobs work on all its products. */
export const jobsBeside: Scenario = {
  name: "jobs",
  title: "A writer beside jobs",
  run: async ({ rounds }) => {
    // A database of its own, because the writer changes data that other scenarios expect.
    const catalog = await openCatalog("catalog_bench_jobs", products)
    // Its shops accept every publish.
    await connected(catalog.url, (client) => client.query("UPDATE store SET platform = 'demo'"))
    const rows: Array<ReadonlyArray<string>> = []
    let longest = 0
    /** Runs the jobs one after the other, while a writer of the account writes. `prepare` runs when the writer has chosen its products. */
    const measure = async (
      round: number,
      writerOf: string,
      jobs: Readonly<Record<string, ReadonlyArray<string>>>,
      prepare = () => Promise.resolve()
    ) => {
      const writer = await startWriter({ url: catalog.url, accountId: writerOf })
      await prepare()
      await setTimeout(quietMillis)
      const row = (name: string, seconds: string, writes: ReadonlyArray<Write>) => {
        const { count, max, median, p99 } = waitsOf(writes)
        rows.push([`${round}`, name, seconds, whole(count), millis(median), millis(p99), millis(max)])
        return max
      }
      row("quiet", "", writer.writes.slice(10))
      for (const [name, job] of Object.entries(jobs)) {
        const from = Date.now()
        await command(catalog.url, ...job)
        const until = Date.now()
        const during = writer.writes.filter(({ start }) => start >= from && start <= until)
        longest = Math.max(longest, row(name, `${((until - from) / 1_000).toFixed(1)} s`, during))
        progress(`round ${round}: ${name} in ${until - from} ms, ${during.length} writes beside it`)
      }
      await writer.stop()
    }
    for (let round = 1; round <= rounds; round++)
      await measure(round, catalog.accountId, jobsOf(round, catalog), () =>
        addUnusedProducts(catalog.url, catalog.accountId, deleted)
      )
    // Nobody can write to an account that is being deleted, so the writer is one of another account.
    const { account_id: other } = JSON.parse(await command(catalog.url, "demo", "--json"))
    const { account } = productsOnStores(products)
    await measure(rounds, other, {
      "deletion of the account": ["account", "delete", catalog.accountId, "--yes", account]
    })
    const report = [
      `${whole(products)} products on 3 stores; a job after the other is begun and awaited by the command line, while one process writes a product of the account after the other. The deletion is that of ${whole(deleted)} products on no store, each with 3 variants and 2 pictures that go along. The last two rows are of a writer of another account. Times of writes that began meanwhile, with the start of the command.`,
      table(["round", "", "took", "writes", "median", "p99", "longest"], rows),
      `The longest wait of a writer: ${millis(longest)}. Target: at most ${millis(maxMillis)}: ${longest <= maxMillis ? "met" : "not met"}.`
    ].join("\n\n")
    return { postgresVersion: catalog.postgresVersion, report }
  }
}
