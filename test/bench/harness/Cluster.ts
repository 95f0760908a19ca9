import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { distributedTables } from "../../../src/database/Distribution.ts"
import { catalog, connected } from "./Catalog.ts"
import { mustRun, run } from "./Processes.ts"
import { progress } from "./Progress.ts"

const script = "test/support/citus.sh"
const settings = { CITUS_PORT: process.env.CITUS_PORT ?? "5700" }

/**
 * Calls `use` with an empty database of a Citus cluster: the one of BENCH_CLUSTER_URL, or one of a cluster of a
 * coordinator and two workers on this machine that exists until `use` is done. Undefined: no cluster can be started
 * here.
 */
export const withCluster = async <A>(use: (url: string) => Promise<A>): Promise<A | undefined> => {
  const given = process.env.BENCH_CLUSTER_URL
  if (given !== undefined) return await use(given)
  const { code } = await run("sh", [script, "help"])
  // Without the extension the script ends with 1; it answers an unknown command with 2.
  if (code === 1) return undefined
  const folder = mkdtempSync(join(tmpdir(), "catalog-bench-citus-"))
  try {
    progress("Starting a cluster")
    return await use((await mustRun("sh", [script, "up", folder], settings)).trim())
  } finally {
    await run("sh", [script, "down", folder], settings)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Distributes the tables of a database on a cluster, and collects their statistics. */
export const distribute = async (url: string): Promise<void> => {
  progress("Distributing the tables")
  await catalog(url, "migrate", "--distribute")
  await connected(url, async (client) => {
    const { rows } = await client.query("SELECT FROM pg_dist_partition WHERE partmethod = 'h'")
    if (rows.length !== distributedTables.length)
      throw new Error(`${rows.length} tables are distributed instead of ${distributedTables.length}.`)
    for (const each of distributedTables) await client.query(`VACUUM (ANALYZE) "${each}"`)
    await client.query("SELECT run_command_on_workers('CHECKPOINT')")
  })
}
