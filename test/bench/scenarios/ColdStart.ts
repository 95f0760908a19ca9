import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openCatalog } from "../harness/Catalog.ts"
import { ServerProcess } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { table, whole } from "../harness/Report.ts"
import { spreadOf } from "../harness/Statistics.ts"
import type { Scenario } from "./Scenario.ts"

/** Starts the service, and stops it as soon as it says that it is ready; how long that took, in milliseconds. */
const startOnce = async (env: Readonly<Record<string, string>>): Promise<number> => {
  const startedAt = performance.now()
  const server = await ServerProcess.start(["dist/main.js", "serve"], env)
  try {
    const { status } = await fetch(`${server.url}/readyz`)
    const millis = performance.now() - startedAt
    if (status !== 200) throw new Error(`/readyz answered ${status}.`)
    return millis
  } finally {
    await server.stop()
  }
}

/** From the start of the process to the first 200 of /readyz, after the service has said where it listens. */
export const coldStart: Scenario = {
  name: "cold-start",
  title: "Cold start",
  run: async ({ rounds: count }) => {
    const { postgresVersion, url } = await openCatalog("catalog_bench", 100_000)
    const folder = mkdtempSync(join(tmpdir(), "bench-start-"))
    const cases = ["embedded, first start: makes database and demo", "embedded, later starts", "server"] as const
    const millis = cases.map((): Array<number> => [])
    try {
      for (let number = 0; number <= count; number++) {
        const DATA_DIR = join(folder, String(number))
        const taken = [
          await startOnce({ DATA_DIR }),
          await startOnce({ DATA_DIR }),
          await startOnce({ DATABASE_URL: url })
        ]
        rmSync(DATA_DIR, { recursive: true, force: true })
        progress(`round ${number}: ${taken.map(whole).join(", ")} ms`)
        // The first one only warms up.
        if (number > 0) for (const [index, one] of taken.entries()) millis[index]?.push(one)
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
    const report = [
      `From the start of the process to ready; ${count} rounds. The server holds 100,000 products.`,
      table(
        ["", "ms, median", "min", "max"],
        cases.map((name, index) => {
          const { max, median, min } = spreadOf(millis[index] ?? [])
          return [name, whole(median), whole(min), whole(max)]
        })
      )
    ].join("\n\n")
    return { report, postgresVersion }
  }
}
