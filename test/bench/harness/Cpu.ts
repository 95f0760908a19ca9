import pg from "pg"
import type { BenchCatalog } from "./Catalog.ts"
import { applicationNames, type ContenderName } from "./Contenders.ts"
import { cpuMillisOf, type ServerProcess } from "./Processes.ts"

/**
 * Processor time of a contender: of its process, and of its connections in PostgreSQL (NaN if PostgreSQL runs on
 * another machine).
 */
export interface Cpu {
  readonly serverMillis: number
  readonly databaseMillis: number
}

const backendsOf = async ({ url }: BenchCatalog, name: ContenderName): Promise<ReadonlyMap<number, number>> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client
    .query<{ readonly pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1",
      [applicationNames[name]]
    )
    .finally(() => client.end())
  return new Map(rows.map(({ pid }) => [pid, cpuMillisOf(pid)]))
}

/** Measures both before and after. Other work on the machine affects rates much more than processor time. */
export const measureCpu = async <A>(
  catalog: BenchCatalog,
  name: ContenderName,
  server: ServerProcess,
  use: () => Promise<A>
): Promise<readonly [A, Cpu]> => {
  const backends = await backendsOf(catalog, name)
  const before = cpuMillisOf(server.pid)
  const result = await use()
  const serverMillis = cpuMillisOf(server.pid) - before
  let databaseMillis = 0
  // A connection that was opened meanwhile had used no time before.
  for (const [pid, millis] of await backendsOf(catalog, name)) databaseMillis += millis - (backends.get(pid) ?? 0)
  return [result, { serverMillis, databaseMillis }]
}
