import { randomBytes } from "node:crypto"
import pg from "pg"

/** The URL of a database of a Citus cluster's coordinator. Without it no suite runs on a cluster. */
export const clusterUrl = process.env.TEST_CITUS_URL

/** Any database of the server. Each suite creates its own database on this server. */
export const serverUrl = process.env.TEST_DATABASE_URL ?? "postgres://postgres@127.0.0.1:5432/test"

/** Runs one statement over a connection of its own. Returns the rows. */
export const query = async (
  connectionString: string,
  text: string
): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 10_000 })
  await client.connect()
  const { rows } = await client.query(text).finally(() => client.end())
  return rows
}

const maintenance = new pg.Pool({ connectionString: serverUrl, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
maintenance.on("error", () => {})

/**
 * Uses the connection on which this worker creates databases and alters them, one caller after another. A connection for each statement
 * takes 40 ms of processor time on a slow machine.
 */
export const onMaintenance = async <A>(use: (client: pg.ClientBase) => Promise<A>): Promise<A> => {
  const client = await maintenance.connect()
  return use(client).finally(() => client.release())
}

/** The URL of the database with this name on the server of `base`. */
export const urlOfDatabase = (name: string, base = serverUrl): string => {
  const url = new URL(base)
  url.pathname = `/${name}`
  return url.href
}

/** The URLs of the database with this name on all nodes of the cluster, the coordinator's first. Without a cluster: none. */
export const urlsOnCluster = async (name: string): Promise<ReadonlyArray<string>> => {
  if (clusterUrl === undefined) return []
  const nodes = await query(clusterUrl, "SELECT nodename, nodeport FROM pg_dist_node ORDER BY groupid")
  return nodes.map(({ nodename, nodeport }) => {
    const url = new URL(urlOfDatabase(name, clusterUrl))
    url.hostname = String(nodename)
    url.port = String(nodeport)
    return url.href
  })
}

/**
 * The beginning of the names of this run's databases. On the server they stay until the end of the run: ext4 searches long for free
 * inodes while many were deleted in the last minutes, so each drop makes the next CREATE DATABASE slow. `retire` keeps autovacuum away
 * from them.
 */
export const runPrefix = (): string => `catalog_test_${process.env.CATALOG_TEST_RUN}_`

/** Names this run, for itself and its workers. */
export const nameRun = (): void => {
  process.env.CATALOG_TEST_RUN = randomBytes(4).toString("hex")
}

/**
 * Marks a database of this run as one that can only be dropped, as PostgreSQL does when a drop is interrupted. Without this, autovacuum
 * starts a process for each database once a minute: 100 databases took 3.8 s of processor time a minute (slow machine).
 */
export const retire = (name: string): Promise<unknown> =>
  onMaintenance((client) => client.query("UPDATE pg_database SET datconnlimit = -2 WHERE datname = $1", [name]))

const dropsAtOnce = 8

/** Drops the databases of this run. */
export const dropDatabases = async (): Promise<void> => {
  const ours = `SELECT datname FROM pg_database WHERE starts_with(datname, '${runPrefix()}')`
  // A server that is absent has none.
  const databases = [...(await query(serverUrl, ours).catch(() => []))]
  // Each drop waits for a checkpoint, which those at the same time share.
  const drop = async () => {
    const client = new pg.Client({ connectionString: serverUrl })
    await client.connect()
    for (let next = databases.shift(); next !== undefined; next = databases.shift())
      await client.query(`DROP DATABASE ${next.datname} WITH (FORCE)`)
    await client.end()
  }
  await Promise.all(Array.from({ length: Math.min(dropsAtOnce, databases.length) }, drop))
}
