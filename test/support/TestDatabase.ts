import { readFileSync } from "node:fs"
import { Context, Effect, Layer, Option, Random, Redacted } from "effect"
import pg from "pg"
import * as Database from "../../src/database/Database.ts"
import * as Distribution from "../../src/database/Distribution.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { recordMultiTask, refuseMultiTask, reportMultiTask } from "./MultiTask.ts"
import { emptyImage, schemaHash, schemaImage } from "./SchemaImages.ts"
import { isLong } from "./Volume.ts"

/** A database of a Citus cluster's coordinator, with its nodes. Without it no suite runs on a cluster. */
const clusterUrl = process.env.TEST_CITUS_URL

/** With TEST_SERVER=citus, the suites that run on a server alone run on the cluster. */
export const isClusterThere = clusterUrl !== undefined

const isServerCluster = clusterUrl !== undefined && process.env.TEST_SERVER === "citus"

/** Any database of the server that tests may use; each suite makes its own beside it. */
const serverUrl = process.env.TEST_DATABASE_URL ?? "postgres://postgres@127.0.0.1:5432/test"

/** The url of the suite's own database, for a second pool or process on it. */
export class TestDatabaseUrl extends Context.Tag("test/TestDatabaseUrl")<TestDatabaseUrl, Redacted.Redacted>() {}

const administer = async (statement: string, url = serverUrl): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  await client.connect()
  const { rows } = await client.query(statement).finally(() => client.end())
  return rows
}

/** The rows of one statement, over a connection of its own. */
export const query = async (
  connectionString: string,
  text: string
): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query(text).finally(() => client.end())
  return rows
}

/** For `describe.skipIf(!serverAnswers)`. */
export const serverAnswers: boolean = await administer("SELECT 1").then(
  () => true,
  () => false
)

const urlOf = (name: string, base = serverUrl) => {
  const url = new URL(base)
  url.pathname = `/${name}`
  return Redacted.make(url.href)
}

const migrated = (url: Redacted.Redacted) =>
  Effect.scoped(Layer.build(Migrations.layer.pipe(Layer.provide(Database.layerServer({ url, maxConnections: 1 })))))

const template = `catalog_template_${schemaHash}`

/** Any number that nothing else in the database of `serverUrl` locks. */
const templateLock = 7_102_026

/**
 * Creates a database as a copy of the template database, which has the schema. The first caller creates the template
 * and drops the templates of other schemas; callers that find it share the lock, so that nobody drops it meanwhile.
 */
const createWithSchema = async (name: string) => {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  const copy = async () => {
    const { rows } = await client.query("SELECT FROM pg_database WHERE datname = $1", [template])
    // The strategy writes the copy to the log; the other one, FILE_COPY, forces two checkpoints, and takes 0.7 s instead of 0.1 s.
    if (rows.length > 0) await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY WAL_LOG`)
    return rows.length > 0
  }
  const createTemplate = async () => {
    const others = await client.query("SELECT datname FROM pg_database WHERE datname LIKE 'catalog\\_template\\_%'")
    for (const { datname } of others.rows) await client.query(`DROP DATABASE ${datname} WITH (FORCE)`)
    const unfinished = `${template}_unfinished`
    await client.query(`CREATE DATABASE ${unfinished}`)
    await Effect.runPromise(migrated(urlOf(unfinished)))
    await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${template}`)
  }
  try {
    await client.query("SELECT pg_advisory_lock_shared($1)", [templateLock])
    if (await copy()) return
    await client.query("SELECT pg_advisory_unlock_shared($1)", [templateLock])
    await client.query("SELECT pg_advisory_lock($1)", [templateLock])
    if (await copy()) return
    await createTemplate()
    await copy()
  } finally {
    await client.end()
  }
}

/** The urls of the database of this name on all nodes of the cluster, the coordinator's first. */
const urlsOnCluster = async (name: string) => {
  const nodes = await administer("SELECT nodename, nodeport FROM pg_dist_node ORDER BY groupid", clusterUrl)
  return nodes.map(({ nodename, nodeport }) => {
    const url = new URL(Redacted.value(urlOf(name, clusterUrl)))
    url.hostname = String(nodename)
    url.port = String(nodeport)
    return url.href
  })
}

/** Runs a statement on the maintenance database of each node, because a database is created on each by itself. */
const onEachNode = async (statement: string) => {
  for (const url of await urlsOnCluster("postgres")) await administer(statement, url)
}

/**
 * Adds a node. On a loaded machine a node sometimes refuses the connection that the coordinator makes for it ("failure on connection
 * marked as essential"); the statement then changes nothing, so it is repeated.
 */
const addNode = async (statement: string, coordinator: string, attempts = 5) => {
  try {
    await administer(statement, coordinator)
  } catch (error) {
    if (attempts === 1 || !String(error).includes("marked as essential")) throw error
    await new Promise((resume) => setTimeout(resume, 1_000))
    await addNode(statement, coordinator, attempts - 1)
  }
}

/** Installs the extension in a database of all nodes, and makes the coordinator's one know them. */
export const joinNodes = async (name: string) => {
  const urls = await urlsOnCluster(name)
  for (const url of urls) await administer("CREATE EXTENSION citus", url)
  const [coordinator = "", ...workers] = urls
  const places = (url: string) => [`'${new URL(url).hostname}'`, new URL(url).port].join(", ")
  await administer(`SELECT citus_set_coordinator_host(${places(coordinator)})`, coordinator)
  for (const worker of workers) await addNode(`SELECT citus_add_node(${places(worker)})`, coordinator)
}

/** Creates a database on all nodes. Its tables are local until they are distributed. */
const createOnCluster = async (name: string) => {
  await onEachNode(`CREATE DATABASE ${name}`)
  // The tests' app_now() reads a table of the offset. Where a statement runs whole on a worker, that is a query in a query.
  await onEachNode(`ALTER DATABASE ${name} SET citus.allow_nested_distributed_execution = on`)
  await joinNodes(name)
}

/** Creates a database on all nodes with the schema and distributed tables. */
const createDistributed = async (name: string) => {
  await createOnCluster(name)
  const url = urlOf(name, clusterUrl)
  await Effect.runPromise(
    Effect.zipRight(Migrations.run, Distribution.distribute).pipe(
      Effect.provide(Database.layerServer({ url, maxConnections: 1 }))
    )
  )
  // Suites passed on tables that were not distributed once.
  const rows = await administer(
    "SELECT c.relname AS name FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid WHERE p.partmethod = 'h'",
    Redacted.value(url)
  )
  recordMultiTask()
  for (const setting of reportMultiTask) await administer(`ALTER DATABASE ${name} SET ${setting}`, Redacted.value(url))
  const names = rows.map((row) => String(row.name)).sort()
  if (names.join() !== [...Distribution.distributedTables].sort().join())
    throw new Error(`The distributed tables of ${name} are ${names.join(", ")}`)
}

/** A database on the server, or on the cluster, that `create` creates under the name it is given; dropped with the scope. */
const layerCreated = (
  create: (name: string) => Promise<unknown>,
  isCluster = isServerCluster
): Layer.Layer<TestDatabaseUrl> =>
  Layer.scoped(
    TestDatabaseUrl,
    Effect.gen(function* () {
      const suffix = (yield* Random.nextIntBetween(0, 2 ** 40)).toString(36)
      const name = `catalog_test_${suffix}`
      yield* Effect.acquireRelease(
        Effect.promise(() => create(name)),
        () => {
          const drop = `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`
          return Effect.promise<unknown>(() => (isCluster ? onEachNode(drop) : administer(drop))).pipe(
            Effect.zipRight(Effect.sync(() => refuseMultiTask(name)))
          )
        }
      )
      return urlOf(name, isCluster ? clusterUrl : serverUrl)
    })
  )

/** A fresh database on the server, without the schema: for suites about migrations or about several installations. */
export const layerServerUrlEmpty = layerCreated((name) =>
  isServerCluster ? createOnCluster(name) : administer(`CREATE DATABASE ${name}`)
)

/** A fresh database on the server, with the schema. */
export const layerServerUrl = layerCreated(isServerCluster ? createDistributed : createWithSchema)

/**
 * Commits of the database do not wait for the disk: one takes 0.2 ms instead of 4 ms. Suites of races and crashes keep
 * the wait, so `layerServerUrl` does without this.
 */
const WithoutSync = Layer.effectDiscard(
  Effect.flatMap(TestDatabaseUrl, (url) => {
    const name = new URL(Redacted.value(url)).pathname.slice(1)
    const alter = `ALTER DATABASE ${name} SET synchronous_commit = off`
    return Effect.promise<unknown>(() => (isServerCluster ? onEachNode(alter) : administer(alter)))
  })
)

const onServer = Layer.unwrapEffect(Effect.map(TestDatabaseUrl, (url) => Database.layerServer({ url })))

/** A fresh database on the server, without the schema. */
export const layerServerEmpty = Layer.provideMerge(onServer, layerServerUrlEmpty)

/** A fresh database on the server, with the schema. */
export const layerServer = onServer.pipe(Layer.provide(WithoutSync), Layer.provideMerge(layerServerUrl))

const embeddedFrom = (image: string) =>
  Layer.unwrapEffect(Effect.sync(() => Database.layerEmbeddedMemoryFrom(Option.some(new Blob([readFileSync(image)])))))

/** The embedded engine in memory, without the schema. */
export const layerEmbeddedEmpty = embeddedFrom(emptyImage)

/** The embedded engine in memory, with the schema. */
export const layerEmbedded = embeddedFrom(schemaImage)

/** For suites of one engine, with the schema: the server, which takes a third of the processor time, or else the embedded engine. */
export const anyDatabase: Layer.Layer<Database.Database, unknown> = serverAnswers ? layerServer : layerEmbedded

/** A fresh database on the cluster, with distributed tables. */
const layerCluster = Layer.provideMerge(onServer, layerCreated(createDistributed, true))

/** A database on each node, without the extension: each is a server of its own. */
export const layerSeparateNodes = Layer.provideMerge(
  onServer,
  layerCreated((name) => onEachNode(`CREATE DATABASE ${name}`), true)
)

/** The same without the schema. */
const layerClusterEmpty = Layer.provideMerge(onServer, layerCreated(createOnCluster, true))

const embedded = { name: "embedded", absent: false, layer: layerEmbedded, empty: layerEmbeddedEmpty }
const servers = [
  { name: "server", absent: !serverAnswers, layer: layerServer, empty: layerServerEmpty },
  ...(clusterUrl === undefined ? [] : [{ name: "citus", absent: false, layer: layerCluster, empty: layerClusterEmpty }])
]

/** For suites that run on all engines: `layer` has the schema, `empty` has not. The cluster is left out without TEST_CITUS_URL. */
export const engines = [embedded, ...servers]

/**
 * For suites of a feature whose statements other suites run on the embedded engine, which takes two to three times the processor
 * time of a server: it is left out where a server answers, but for the long run.
 */
export const featureEngines = serverAnswers && !isLong ? servers : engines
