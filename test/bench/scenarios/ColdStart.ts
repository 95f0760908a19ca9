import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openCatalog } from "../harness/Catalog.ts"
import { mustRun, ServerProcess } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { table, whole } from "../harness/Report.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import type { Scenario } from "./Scenario.ts"

/** The built program, and optionally another build that is measured in turns with it. */
const beside = process.env.BENCH_BESIDE
const programs = ["dist/main.js", ...(beside === undefined ? [] : [beside])]

const millisOf = async (action: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now()
  await action()
  return performance.now() - startedAt
}

/** Starts the service and stops it when it is ready. Returns the time until then, in milliseconds. */
const startOnce = async (program: string, env: Readonly<Record<string, string>>): Promise<number> => {
  const startedAt = performance.now()
  const server = await ServerProcess.start([program, "serve"], env)
  try {
    const { status } = await fetch(`${server.url}/readyz`)
    const millis = performance.now() - startedAt
    if (status !== 200) throw new Error(`/readyz answered ${status}.`)
    return millis
  } finally {
    await server.stop()
  }
}

/** Measures a command while another process holds the embedded database. */
const commandBeside = async (program: string, DATA_DIR: string): Promise<number> => {
  const server = await ServerProcess.start([program, "serve"], { DATA_DIR })
  try {
    await fetch(`${server.url}/readyz`)
    return await millisOf(() => mustRun(process.execPath, [program, "key", "list"], { DATA_DIR }))
  } finally {
    await server.stop()
  }
}

const cases = [
  "embedded, first start: makes database and demo",
  "embedded, later starts",
  "server",
  "`catalog --version`",
  "`catalog --help`",
  "`catalog key list`, answered by a running service"
] as const

const measure = async (program: string, DATA_DIR: string, DATABASE_URL: string) => [
  await startOnce(program, { DATA_DIR }),
  await startOnce(program, { DATA_DIR }),
  await startOnce(program, { DATABASE_URL, DRAIN_DELAY: "0" }),
  await millisOf(() => mustRun(process.execPath, [program, "--version"])),
  await millisOf(() => mustRun(process.execPath, [program, "--help"])),
  await commandBeside(program, DATA_DIR)
]

/** Measures the time from the start of the process to the first 200 of /readyz, and the time of commands. */
export const coldStart: Scenario = {
  name: "cold-start",
  title: "Cold start and commands",
  run: async ({ rounds: count }) => {
    const { postgresVersion, url } = await openCatalog("catalog_bench", 100_000)
    const folder = mkdtempSync(join(tmpdir(), "bench-start-"))
    const millis = programs.map(() => cases.map((): Array<number> => []))
    try {
      for (let number = 0; number <= count; number++) {
        for (const [place, program] of programs.entries()) {
          const DATA_DIR = join(folder, `${number}-${place}`)
          const taken = await measure(program, DATA_DIR, url)
          rmSync(DATA_DIR, { recursive: true, force: true })
          progress(`round ${number}, ${program}: ${taken.map(whole).join(", ")} ms`)
          // The first run only warms up.
          if (number > 0) for (const [index, one] of taken.entries()) millis[place]?.[index]?.push(one)
        }
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
    const report = [
      `${count} rounds${beside === undefined ? "" : `, in turns with ${beside}`}. The server holds 100,000 products.`,
      table(
        ["", "ms, median", "min", "max", ...programs.slice(1)],
        cases.map((name, index) => {
          const [own = [], ...others] = millis.map((program) => program[index] ?? [])
          const { max, median: middle, min } = spreadOf(own)
          return [name, whole(middle), whole(min), whole(max), ...others.map((other) => whole(median(other)))]
        })
      )
    ].join("\n\n")
    return { report, postgresVersion }
  }
}
