import { setFlagsFromString } from "node:v8"
import { FileSystem } from "@effect/platform"
import type { SystemError } from "@effect/platform/Error"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import type { SqlClient } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import { PgClient } from "@effect/sql-pg"
import { PGlite, type PGliteOptions } from "@electric-sql/pglite"
import { btree_gin } from "@electric-sql/pglite/contrib/btree_gin"
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm"
import { createPgConfig } from "@electric-sql/pglite/node-postgres"
import { Clock, Context, Data, Duration, Effect, Layer, Option, Redacted, Runtime, Schedule, Schema } from "effect"
import pg from "pg"
import { Unavailable } from "../model/Errors.ts"
import { ClusterNodes, NodeStates } from "./ClusterNodes.ts"
import { littleSpaceOn } from "./DataVolume.ts"
import {
  type Deadlines,
  defaultDeadlines,
  defaultPoolSizes,
  keepAliveOf,
  type NodeAccess,
  type Pooler,
  type PoolSizes,
  replicaDeadlines
} from "./Deadlines.ts"
import { DirectQuery } from "./DirectQuery.ts"
import * as EmbeddedLock from "./EmbeddedLock.ts"
import { NodePools, urlAt, verifyNode } from "./NodePools.ts"
import { type Listen, listenOnPool, listenOnServer, Notifications } from "./Notifications.ts"
import { defaultShares, type Shares } from "./RateLimitSemaphores.ts"
import { Replica, withReplica } from "./Replica.ts"
import { ServerPools, warnLost } from "./ServerPools.ts"
import { missingSettings, ServerAnswer, serverQuestion, unsuitability } from "./ServerSettings.ts"
import { makeEmbeddedClient, makeNodeClient, sessionOf, types } from "./Sessions.ts"
import { HasSpareConnection } from "./SpareTransaction.ts"
import { WatchedClient, watchedOf } from "./WatchedClient.ts"

/** The database cannot be opened. `message` names the place and the reason, never a password. */
export class DatabaseUnreachable extends Data.TaggedError("DatabaseUnreachable")<{
  readonly message: string
  /** Whether the server may be starting, so that another attempt can succeed. */
  readonly isStarting?: boolean
}> {}

/** The server or the database cannot hold a catalog: its version is too old, or its encoding lacks characters. */
class DatabaseUnsuitable extends Data.TaggedError("DatabaseUnsuitable")<{ readonly message: string }> {}

/** How to connect to a server. */
interface ServerOptions {
  readonly url: Redacted.Redacted
  /** A streaming replica of that server, which answers reads (`Replica`). */
  readonly readUrl?: Redacted.Redacted | undefined
  readonly deadlines?: Deadlines | undefined
  readonly poolSizes?: PoolSizes | undefined
  readonly shares?: Shares | undefined
  readonly pooler?: Pooler | undefined
  /** Default: direct. */
  readonly nodeAccess?: NodeAccess | undefined
  /** How long to wait for a server that is starting. Undefined: do not wait. */
  readonly startPatience?: Duration.Duration | undefined
  /** For tests and tools: one pool with this many connections for all work, instead of `poolSizes`. */
  readonly maxConnections?: number | undefined
  /** The name of the pools in metrics. Default: their kinds. */
  readonly poolName?: string | undefined
}

/** `url`: a PostgreSQL server; without one, the embedded database in `dataDirectory`. */
interface Settings extends Omit<ServerOptions, "url"> {
  readonly url: Option.Option<Redacted.Redacted>
  readonly dataDirectory: string
}

export type Database = PgClient.PgClient | SqlClient.SqlClient | DirectQuery | Notifications

const closePool = (pool: { readonly end: () => Promise<void> }) =>
  Effect.promise(() => pool.end()).pipe(
    Effect.interruptible,
    Effect.timeoutOption("2 seconds"),
    // With the clock of a test, closing would never time out.
    Effect.withClock(Clock.make())
  )

/** Logs a warning of the pools, which call it outside fibers. */
const makeWarn = Effect.map(Effect.runtime<never>(), (runtime) => (message: string) => {
  Runtime.runFork(runtime)(Effect.logWarning(message))
})

const now = () => performance.now()

const openReplica = (options: ServerOptions) =>
  Effect.gen(function* () {
    const {
      deadlines = defaultDeadlines,
      pooler = "none",
      poolSizes = defaultPoolSizes,
      shares = defaultShares
    } = options
    const warn = yield* makeWarn
    const log = Runtime.runFork(yield* Effect.runtime<never>())
    const pool = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new ServerPools({
            session: { ...sessionOf(options), allowsStandby: true },
            deadlines: replicaDeadlines(deadlines),
            pooler,
            sizes: poolSizes.replica,
            kind: "replica",
            shares,
            warn
          })
      ),
      closePool
    )
    return new Replica({
      pool: {
        connect: (callback) =>
          pool.connect((error, client, release) => callback(error, client && watchedOf(client), release))
      },
      now,
      onChange: (reason) =>
        log(
          reason === undefined
            ? Effect.logInfo("The read replica answers again")
            : Effect.logWarning(`The read replica is not used while it does not answer: ${reason}`)
        )
    })
  })

/** The pools of the nodes of a cluster, each opened at its first use. */
const openNodePools = (options: ServerOptions, coordinator: ServerPools) =>
  Effect.gen(function* () {
    const { deadlines = defaultDeadlines, maxConnections, nodeAccess = "direct", pooler = "none" } = options
    const { poolSizes = defaultPoolSizes, shares = defaultShares } = options
    const warn = yield* makeWarn
    const log = Runtime.runFork(yield* Effect.runtime<never>())
    const url = Redacted.value(options.url)
    const open = (address: string) =>
      new ServerPools({
        session: {
          ...sessionOf({ url: Redacted.make(urlAt(url, address)) }),
          Client: makeNodeClient(),
          verify: verifyNode(address)
        },
        deadlines: replicaDeadlines(deadlines),
        pooler,
        sizes: maxConnections ?? poolSizes,
        name: "nodes",
        // Every account of these pools is on the node.
        shares: { ...shares, perNode: 100 },
        nodes: coordinator.nodes,
        warn
      })
    const onChange = (address: string, reason: string | undefined) =>
      log(
        reason === undefined
          ? Effect.logInfo(`Node ${address} accepts connections of this process again`)
          : Effect.logWarning(`The coordinator runs the statements of node ${address}: ${reason}`)
      )
    // A pooler leads to the coordinator. pg accepts the path of a socket as a url, which has no host to replace.
    const canOpen = nodeAccess === "direct" && pooler === "none" && URL.canParse(url)
    return yield* Effect.acquireRelease(
      Effect.sync(() => new NodePools({ coordinator, open: canOpen ? open : undefined, now, onChange })),
      closePool
    )
  })

const openPools = (options: ServerOptions) => {
  const {
    deadlines = defaultDeadlines,
    maxConnections,
    pooler = "none",
    poolSizes = defaultPoolSizes,
    shares = defaultShares
  } = options
  return Effect.acquireRelease(
    Effect.map(
      makeWarn,
      (warn) =>
        new ServerPools({
          session: sessionOf(options),
          deadlines,
          pooler,
          sizes: maxConnections ?? poolSizes,
          name: options.poolName,
          shares,
          warn
        })
    ),
    closePool
  )
}

/** Undefined behind a pooler in transaction mode: LISTEN needs a connection that stays. */
const listenOf = (options: ServerOptions): Listen | undefined => {
  const { deadlines = defaultDeadlines, pooler } = options
  return pooler === "transaction"
    ? undefined
    : listenOnServer({
        ...sessionOf(options),
        ...keepAliveOf(deadlines),
        application_name: "catalog events",
        newConnectionMillis: deadlines.connection
      })
}

/** The pool is open already, so creating the client cannot fail. */
const layerFromPool = (
  {
    direct,
    nodes,
    pool
  }: {
    readonly pool: pg.Pool | NodePools
    readonly direct: Context.Tag.Service<DirectQuery>
    readonly nodes: NodeStates
  },
  listen: Listen | undefined,
  hasSpareConnection?: () => boolean
): Layer.Layer<Database> =>
  Layer.mergeAll(
    // `NodePools` has the methods of a pool that @effect/sql-pg uses.
    Layer.orDie(PgClient.layerFromPool({ acquire: Effect.succeed(pool as pg.Pool) })),
    Layer.succeed(DirectQuery, direct),
    Layer.succeed(HasSpareConnection, hasSpareConnection),
    Layer.succeed(ClusterNodes, nodes),
    Layer.succeed(Notifications, listen)
  )

const reasonOf = (error: unknown): string => {
  const parts = error instanceof AggregateError ? error.errors : [error]
  return parts.map((part) => (part instanceof Error ? part.message : String(part))).join("; ")
}

/** The host, port and database of a url, as pg parses it, including the environment and defaults. */
const placeOf = (url: Redacted.Redacted) =>
  Effect.try({
    try: () => new pg.Client({ connectionString: Redacted.value(url) }),
    // The original error is dropped, because its message may contain the url with the password.
    catch: () =>
      new DatabaseUnreachable({
        message: "The database url cannot be read: it should look like postgres://user:password@host:5432/database."
      })
  }).pipe(Effect.map(({ database, host, port }) => `the database ${database} at ${host}:${port}`))

/** Error codes of a server that is starting, or of a network that is not ready. Another attempt may succeed. */
const startingCodes: ReadonlySet<string | undefined> = new Set([
  "25006", // a standby that is about to be promoted
  "53300", // too many connections: of the processes that are being replaced
  "57P01",
  "57P02",
  "57P03", // the database system is starting up
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "EPIPE",
  "ETIMEDOUT"
])

const isStarting = (cause: unknown): boolean => {
  const { code, message } = cause as { readonly code?: string; readonly message?: string }
  return startingCodes.has(code) || message?.startsWith("Connection terminated") === true
}

/** Whether a new connection can run a statement. False if the server is a standby. */
export const connectsAfresh = (url: Redacted.Redacted): Effect.Effect<boolean> =>
  Effect.promise(async () => {
    const client = new WatchedClient({ connectionString: Redacted.value(url), newConnectionMillis: 3_000 })
    // The promises below report the error; without a listener it would end the process.
    client.on("error", () => {})
    try {
      await client.connect()
      await client.query({ text: "SELECT 1", query_timeout: 3_000 } as pg.QueryConfig)
      return true
    } catch {
      return false
    } finally {
      void client.end()
    }
  })

const openServer = (options: ServerOptions) =>
  Effect.gen(function* () {
    const place = yield* placeOf(options.url)
    const pool = yield* openPools(options)
    const unreachable = (reason: string, isStarting: boolean) =>
      new DatabaseUnreachable({ message: `Cannot reach ${place}: ${reason}`, isStarting })
    const { startPatience = Duration.zero } = options
    const result = yield* Effect.tryPromise({
      try: () =>
        new Promise<pg.QueryResult>((resolve, reject) => {
          pool.query(serverQuestion, [], (error, result) => (error ? reject(error) : resolve(result)))
        }),
      catch: (error) => unreachable(reasonOf(error), isStarting(error))
    }).pipe(
      Effect.disconnect,
      Effect.timeoutFail({ duration: "5 seconds", onTimeout: () => unreachable("no answer within 5 s", true) }),
      Effect.tapError((error) =>
        error.isStarting === true && Duration.greaterThan(startPatience, Duration.zero)
          ? Effect.logWarning(`${error.message}; trying again for up to ${Duration.format(startPatience)} in all`)
          : Effect.void
      ),
      Effect.retry({
        while: (error) => error.isStarting === true,
        schedule: Schedule.exponential("500 millis").pipe(
          Schedule.union(Schedule.spaced("5 seconds")),
          Schedule.intersect(Schedule.elapsed.pipe(Schedule.whileOutput(Duration.lessThan(startPatience))))
        )
      })
    )
    const [server] = yield* Effect.orDie(Schema.decodeUnknown(ServerAnswer)(result.rows))
    const unsuitable = unsuitability(server)
    if (unsuitable !== undefined) return yield* new DatabaseUnsuitable({ message: unsuitable })
    pool.isCoordinator = server.hasCitus
    const missing = options.pooler === "transaction" ? missingSettings(server) : undefined
    if (missing !== undefined) return yield* unreachable(missing, false)
    const pools = yield* openNodePools(options, pool)
    const primary = layerFromPool(
      { pool: pools, direct: pools.direct(), nodes: pool.nodes },
      listenOf(options),
      options.pooler === "transaction" ? undefined : () => pool.hasSpare()
    )
    const { readUrl } = options
    if (readUrl === undefined) return primary
    const replica = yield* openReplica({ ...options, url: readUrl })
    return Layer.flatMap(primary, (database) =>
      Layer.effectContext(Effect.map(withReplica(database, replica), (reading) => Context.merge(database, reading)))
    )
  })

/**
 * Ends the process when the embedded engine panics, for example because its write-ahead log finds no space. The engine then answers nothing
 * more and cannot be closed, and a process that waits for it would hang. As after a kill, the next process finds what was committed.
 */
const makeEndProcess = (place: string) =>
  Effect.map(Effect.runtime<never>(), (runtime) => (reason: string) => {
    Runtime.runSync(runtime)(
      Effect.logError(
        `The embedded database in ${place} has stopped, so this process ends: ${reason}. What was committed is kept. Start again when the cause is gone.`
      )
    )
    process.exit(1)
  })

const openEmbedded = (place: string, options: PGliteOptions) =>
  Effect.gen(function* () {
    // Node.js 24 can crash when V8 frees code that the engine may still run (https://github.com/nodejs/node/issues/64500).
    setFlagsFromString("--no-wasm-code-gc")
    const endProcess = yield* makeEndProcess(place)
    const lite = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => PGlite.create({ ...options, extensions: { btree_gin, pg_trgm } }),
        catch: (error) =>
          new DatabaseUnreachable({
            message: `Cannot open the embedded database in ${place}: ${reasonOf(error)}${littleSpaceOn(place)}`
          })
      }),
      (lite) => Effect.promise(() => lite.close())
    )
    yield* Effect.promise(() => lite.exec("SET timezone = 'UTC'"))
    // One connection. It is never closed for being idle, and a caller waits for it without a timeout.
    const pool = yield* Effect.acquireRelease(
      Effect.map(makeWarn, (warn) =>
        new pg.Pool({
          ...createPgConfig(lite),
          types,
          Client: makeEmbeddedClient(endProcess),
          max: 1,
          idleTimeoutMillis: 0
        }).on("error", warnLost(warn))
      ),
      closePool
    )
    return layerFromPool({ pool, direct: DirectQuery.onPool(pool), nodes: new NodeStates() }, listenOnPool(pool))
  })

/**
 * A PostgreSQL server. Its pools survive restarts of the server, and every wait has a timeout (`Deadlines`). Fails
 * after about 5 s if the server cannot be used.
 */
export const layerServer = (options: ServerOptions): Layer.Layer<Database, DatabaseUnreachable | DatabaseUnsuitable> =>
  Layer.unwrapScoped(openServer(options))

/** Logs that the first start takes a few seconds. */
const announceCreation = (dataDirectory: string) =>
  Effect.flatMap(FileSystem.FileSystem, (files) =>
    Effect.unlessEffect(
      Effect.logInfo(
        `Creating the embedded database in ${dataDirectory}. This takes a few seconds, only at the first start.`
      ),
      files.exists(`${dataDirectory}/pgdata`)
    )
  )

/** The reason why a directory cannot hold a database, for the person who chose it. */
const describeUnusable = (dataDirectory: string, error: SystemError): string => {
  switch (error.reason) {
    case "AlreadyExists":
    case "BadResource":
      return `${dataDirectory} is not a directory, or one of its parents is not.`
    case "NotFound":
      return `${dataDirectory} cannot be created: the parent directory is missing.`
    case "PermissionDenied":
      return `${dataDirectory} cannot be created or written: permission denied.`
    default:
      return error.message
  }
}

/**
 * PostgreSQL inside this process, with its data in `dataDirectory`. It has one connection, and only one process can use
 * the directory.
 */
export const layerEmbedded = (options: {
  readonly dataDirectory: string
}): Layer.Layer<Database, DatabaseUnreachable | EmbeddedLock.DatabaseInUse> =>
  Layer.unwrapScoped(
    EmbeddedLock.acquire(options.dataDirectory).pipe(
      Effect.zipRight(announceCreation(options.dataDirectory)),
      Effect.catchTags({
        BadArgument: (error) => Effect.fail(new DatabaseUnreachable({ message: error.message })),
        SystemError: (error) =>
          Effect.fail(new DatabaseUnreachable({ message: describeUnusable(options.dataDirectory, error) }))
      }),
      Effect.zipRight(openEmbedded(options.dataDirectory, { dataDir: `${options.dataDirectory}/pgdata` })),
      Effect.provide(NodeFileSystem.layer)
    )
  )

/**
 * The embedded engine in memory, for tests. `image`: the result of PGlite's dumpDataDir, which loads faster than a new
 * database.
 */
export const layerEmbeddedMemoryFrom = (image: Option.Option<Blob>): Layer.Layer<Database, DatabaseUnreachable> =>
  Layer.unwrapScoped(
    openEmbedded("memory", Option.match(image, { onNone: () => ({}), onSome: (loadDataDir) => ({ loadDataDir }) }))
  )

/** A new, empty embedded engine in memory. */
export const layerEmbeddedMemory: Layer.Layer<Database, DatabaseUnreachable> = layerEmbeddedMemoryFrom(Option.none())

/** The PostgreSQL server if a url is set, otherwise the embedded database. */
export const layer = (
  settings: Settings
): Layer.Layer<Database, DatabaseUnreachable | DatabaseUnsuitable | EmbeddedLock.DatabaseInUse> =>
  Option.match(settings.url, {
    onNone: () => layerEmbedded(settings),
    onSome: (url) => layerServer({ ...settings, url })
  })

/** Runs a query of the readiness check. Unavailable: it took longer than 2 s. */
export const withinReadiness = <A, R>(question: Effect.Effect<A, SqlError, R>): Effect.Effect<A, Unavailable, R> =>
  question.pipe(
    // Cancelling a statement may take longer than the timeout.
    Effect.disconnect,
    Effect.timeout("2 seconds"),
    Effect.catchAll((error) =>
      Effect.zipRight(Effect.logDebug("The database does not answer", error), Effect.fail(new Unavailable()))
    )
  )
