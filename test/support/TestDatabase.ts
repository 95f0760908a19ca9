import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { Context, Effect, Layer, Option, Random, Record, Redacted } from "effect"
import * as Database from "../../src/database/Database.ts"
import { type Deadlines, defaultDeadlines } from "../../src/database/Deadlines.ts"
import * as Distribution from "../../src/database/Distribution.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { recordMultiTask, refuseMultiTask, reportMultiTask } from "./MultiTask.ts"
import {
  clusterUrl,
  onMaintenance,
  query,
  retire,
  runPrefix,
  serverUrl,
  urlOfDatabase,
  urlsOnCluster
} from "./RunDatabases.ts"
import { emptyImage, schemaHash, schemaImage } from "./SchemaImages.ts"
import { isLong } from "./Volume.ts"

/** Whether suites on a cluster can run. */
export const isClusterThere = clusterUrl !== undefined

/** With TEST_SERVER=citus, suites that otherwise run on a single server run on the cluster. */
export const isServerCluster = clusterUrl !== undefined && process.env.TEST_SERVER === "citus"

/** The URL of the suite's own database, for a second pool or process. */
export class TestDatabaseUrl extends Context.Tag("test/TestDatabaseUrl")<TestDatabaseUrl, Redacted.Redacted>() {}

/** For `describe.skipIf(!serverAnswers)`. */
export const serverAnswers: boolean = await query(serverUrl, "SELECT 1").then(
  () => true,
  () => false
)

const urlOf = (name: string, base = serverUrl) => Redacted.make(urlOfDatabase(name, base))

const migrated = (url: Redacted.Redacted) =>
  Effect.scoped(Layer.build(Migrations.layer.pipe(Layer.provide(Database.layerServer({ url, maxConnections: 1 })))))

const template = `catalog_template_${schemaHash}`

/** A lock number that nothing else in the database of `serverUrl` uses. */
const templateLock = 7_102_026

/**
 * Creates a database as a copy of the template database, which has the schema. The first caller creates the template
 * and drops the templates of other schemas; callers that find it share the lock, so that nobody drops it meanwhile.
 */
const createWithSchema = (name: string) =>
  onMaintenance(async (client) => {
    const copy = async () => {
      const { rows } = await client.query("SELECT FROM pg_database WHERE datname = $1", [template])
      // WAL_LOG writes the copy to the log and takes 0.1 s; FILE_COPY forces two checkpoints and takes 0.7 s.
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
      await client.query("SELECT pg_advisory_unlock_all()")
    }
  })

/** Runs a statement on the maintenance database of each node, because databases are created on each node separately. */
const onEachNode = async (statement: string) => {
  for (const url of await urlsOnCluster("postgres")) await query(url, statement)
}

/**
 * Adds a node. On a loaded machine a node sometimes refuses the connection that the coordinator makes for it ("failure on connection
 * marked as essential"); the statement then changes nothing, so it is repeated.
 */
const addNode = async (statement: string, coordinator: string, attempts = 5) => {
  try {
    await query(coordinator, statement)
  } catch (error) {
    if (attempts === 1 || !String(error).includes("marked as essential")) throw error
    await new Promise((resume) => setTimeout(resume, 1_000))
    await addNode(statement, coordinator, attempts - 1)
  }
}

/** Installs the extension in the database on all nodes, and registers the nodes with the coordinator's. */
export const joinNodes = async (name: string) => {
  const urls = await urlsOnCluster(name)
  for (const url of urls) await query(url, "CREATE EXTENSION citus")
  const [coordinator = "", ...workers] = urls
  const places = (url: string) => [`'${new URL(url).hostname}'`, new URL(url).port].join(", ")
  await query(coordinator, `SELECT citus_set_coordinator_host(${places(coordinator)})`)
  for (const worker of workers) await addNode(`SELECT citus_add_node(${places(worker)})`, coordinator)
}

/** Creates a database on all nodes. Its tables are local until they are distributed. */
const createOnCluster = async (name: string) => {
  await onEachNode(`CREATE DATABASE ${name}`)
  // In the tests, app_now() reads a table. If a statement runs completely on a worker, that is a nested query.
  await onEachNode(`ALTER DATABASE ${name} SET citus.allow_nested_distributed_execution = on`)
  // One shard for each node: eight take a tenth more processor time.
  await onEachNode(`ALTER DATABASE ${name} SET citus.shard_count = 2`)
  await joinNodes(name)
}

/** Throws unless exactly the right tables are distributed: once, suites passed although no table was. */
export const requireDistributed = async (coordinator: string) => {
  const rows = await query(
    coordinator,
    "SELECT c.relname AS name FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid WHERE p.partmethod = 'h'"
  )
  const names = rows.map((row) => String(row.name)).sort()
  if (names.join() !== [...Distribution.distributedTables].sort().join())
    throw new Error(`The distributed tables of ${new URL(coordinator).pathname.slice(1)} are ${names.join(", ")}`)
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
  await requireDistributed(Redacted.value(url))
  recordMultiTask()
  for (const setting of reportMultiTask) await query(Redacted.value(url), `ALTER DATABASE ${name} SET ${setting}`)
}

/**
 * A database on the server or the cluster, created by `create` with the given name. On the server it stays until the end of the run. On
 * the cluster it is dropped with the scope, because Citus has a process for each database.
 */
const layerCreated = (
  create: (name: string) => Promise<unknown>,
  isCluster = isServerCluster
): Layer.Layer<TestDatabaseUrl> =>
  Layer.scoped(
    TestDatabaseUrl,
    Effect.gen(function* () {
      const suffix = (yield* Random.nextIntBetween(0, 2 ** 40)).toString(36)
      const name = `${runPrefix()}${suffix}`
      yield* Effect.acquireRelease(
        Effect.promise(() => create(name)),
        () =>
          Effect.promise(async () => {
            if (isCluster) await onEachNode(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
            else await retire(name)
            refuseMultiTask(name)
          })
      )
      return urlOf(name, isCluster ? clusterUrl : serverUrl)
    })
  )

/** A fresh database on the server, without the schema: for suites about migrations or about several installations. */
export const layerServerUrlEmpty = layerCreated((name) =>
  isServerCluster ? createOnCluster(name) : onMaintenance((client) => client.query(`CREATE DATABASE ${name}`))
)

/** A fresh database on the server, with the schema. */
export const layerServerUrl = layerCreated(isServerCluster ? createDistributed : createWithSchema)

/**
 * Commits do not wait for the disk: one takes 0.2 ms instead of 4 ms. Suites of races and crashes need the wait, so
 * `layerServerUrl` does not use this.
 */
const WithoutSync = Layer.effectDiscard(
  Effect.flatMap(TestDatabaseUrl, (url) => {
    const name = new URL(Redacted.value(url)).pathname.slice(1)
    const alter = `ALTER DATABASE ${name} SET synchronous_commit = off`
    return Effect.promise<unknown>(() =>
      isServerCluster ? onEachNode(alter) : onMaintenance((client) => client.query(alter))
    )
  })
)

/**
 * Ten times the deadlines of the service, so that a machine that stands still for some seconds fails no test. Suites about deadlines set
 * their own.
 */
const patientDeadlines: Deadlines = Record.map({ ...defaultDeadlines }, (millis) => 10 * millis)

const onServer = Layer.unwrapEffect(
  Effect.map(TestDatabaseUrl, (url) => Database.layerServer({ url, deadlines: patientDeadlines }))
)

/** A fresh database on the server, without the schema. */
export const layerServerEmpty = Layer.provideMerge(onServer, layerServerUrlEmpty)

/** A fresh database on the server, with the schema. */
export const layerServer = onServer.pipe(Layer.provide(WithoutSync), Layer.provideMerge(layerServerUrl))

/**
 * An image as PGlite asks for it, read once for all databases of this process. PGlite copies what it takes from the image. A plain Blob
 * would copy all 44 MB for each database, which takes more than half of the time that opening one takes.
 */
class HeldImage extends Blob {
  readonly #path: string
  #content: ArrayBuffer | undefined

  constructor(path: string) {
    super()
    this.#path = path
  }

  override async arrayBuffer() {
    this.#content ??= new Uint8Array(readFileSync(this.#path)).buffer
    return this.#content
  }
}

const require = createRequire(import.meta.url)
let engineCode: Promise<unknown> | undefined

/**
 * Compiles the engine once, and keeps its code until the worker ends. V8 can crash when it frees the code of an engine ("Check failed:
 * jit_page_->allocations_.erase(addr) == 1", nodejs/node#64500, seen once on Node.js 24). While one compiled module is there, all engines use its code.
 */
const keepEngineCode = Effect.promise(() => {
  engineCode ??= WebAssembly.compile(
    readFileSync(join(dirname(require.resolve("@electric-sql/pglite")), "pglite.wasm"))
  )
  return engineCode
})

const embeddedFrom = (image: string) =>
  Layer.unwrapEffect(Effect.as(keepEngineCode, Database.layerEmbeddedMemoryFrom(Option.some(new HeldImage(image)))))

/** The embedded engine in memory, without the schema. */
export const layerEmbeddedEmpty = embeddedFrom(emptyImage)

/** The embedded engine in memory, with the schema. */
export const layerEmbedded = embeddedFrom(schemaImage)

/**
 * The database for suites of one engine, with the schema: the server, which takes a third of the processor time,
 * otherwise the embedded engine.
 */
export const anyDatabase: Layer.Layer<Database.Database, unknown> = serverAnswers ? layerServer : layerEmbedded

/** A fresh database on the cluster, with distributed tables. */
export const layerCluster = Layer.provideMerge(onServer, layerCreated(createDistributed, true))

/** A database on each node without the extension: each node is a separate server. */
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

/**
 * Engines for suites that run on all of them: `layer` has the schema, `empty` does not. The cluster is left out
 * without TEST_CITUS_URL.
 */
export const engines = [embedded, ...servers]

/**
 * Engines for suites of a feature whose statements other suites run on the embedded engine. It takes two to three
 * times the processor time of a server, so it is left out if a server answers, except in the long run.
 */
export const featureEngines = serverAnswers && !isLong ? servers : engines
