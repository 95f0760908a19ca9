import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { type AddressInfo, connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import pg from "pg"
import * as Database from "../../src/database/Database.ts"
import { type Pooler, Workload, type WorkloadName } from "../../src/database/Deadlines.ts"
import { makeNodeClient, sessionOf } from "../../src/database/Sessions.ts"
import type { WatchedClient } from "../../src/database/WatchedClient.ts"
import { catalogProcess, serveCatalog } from "../support/CommandLine.ts"
import { layerServerUrl, layerServerUrlEmpty, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const isThere = spawnSync("pgbouncer", ["--version"]).status === 0
if (!isThere) console.warn("No pgbouncer (`apt-get install pgbouncer`): suites behind a pooler are left out.")

const freePort = async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy()
      resolve(true)
    }).on("error", () => resolve(false))
  })

/** Fewer connections than clients, so that a client gets a different one for most of its transactions. */
const serverConnections = 3

/** Starts PgBouncer in transaction mode in front of the suite's server. PgBouncer ignores settings of a session. */
const startBouncer = (target: URL) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const folder = mkdtempSync(join(tmpdir(), "catalog-pooler-"))
      chmodSync(folder, 0o755)
      const port = await freePort()
      const path = join(folder, "pgbouncer.ini")
      const lines = [
        "[databases]",
        `* = host=${target.hostname} port=${target.port || 5432} user=${target.username || "postgres"}${target.password === "" ? "" : ` password=${target.password}`}`,
        "[pgbouncer]",
        "listen_addr = 127.0.0.1",
        `listen_port = ${port}`,
        "unix_socket_dir =",
        "auth_type = any",
        "pool_mode = transaction",
        `default_pool_size = ${serverConnections}`,
        "max_client_conn = 200",
        "ignore_startup_parameters = extra_float_digits,options,statement_timeout,lock_timeout,idle_in_transaction_session_timeout"
      ]
      writeFileSync(path, `${lines.join("\n")}\n`, { mode: 0o644 })
      // PgBouncer refuses to run as root.
      const asUser = process.getuid?.() === 0 ? ["-u", "nobody"] : []
      const child = spawn("pgbouncer", [...asUser, path], { stdio: "ignore" })
      while (!(await accepts(port))) {
        if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`)
        await sleep(50)
      }
      const url = new URL(target)
      url.hostname = "127.0.0.1"
      url.port = String(port)
      return { child, folder, url: url.href }
    }),
    ({ child, folder }) =>
      Effect.promise(async () => {
        child.kill("SIGKILL")
        if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
        rmSync(folder, { recursive: true })
      })
  )

const administer = (url: string, ...statements: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  })

/** The settings that docs/operations.md prescribes. */
const settingsOf = (url: URL) => {
  const name = url.pathname.slice(1)
  return [`ALTER DATABASE "${name}" SET timezone = 'UTC'`, `ALTER DATABASE "${name}" SET statement_timeout = '30s'`]
}

const bouncer = Effect.gen(function* () {
  const target = new URL(Redacted.value(yield* TestDatabaseUrl))
  yield* administer(target.href, ...settingsOf(target))
  return { target, ...(yield* startBouncer(target)) }
})

const open = (url: string, pooler: Pooler) =>
  Layer.build(
    Database.layerServer({
      url: Redacted.make(url),
      pooler,
      poolSizes: { requests: 8, writes: 8, background: 2, replica: 1 }
    })
  )

const writers = 12
const transactions = 25

/** Runs transactions that read and increment a counter, with parameters. Returns the process ids of the backends. */
const addUp = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const backends = yield* Effect.forEach(
    Array.from({ length: writers }, (_, writer) => writer),
    (writer) =>
      sql
        .withTransaction(
          Effect.gen(function* () {
            const [row] = yield* sql<{ pid: number }>`
              SELECT pg_backend_pid() AS pid, ${writer}::int AS writer FROM counter WHERE id = ${1} FOR UPDATE`
            yield* sql`UPDATE counter SET value = value + ${1} WHERE id = ${1}`
            return row?.pid
          })
        )
        .pipe(Effect.replicateEffect(transactions)),
    { concurrency: "unbounded" }
  ).pipe(Effect.provideService(Workload, "write"))
  return new Set(backends.flat())
})

/** The process id that a client keeps for cancellations, and that of its session. */
const processIdsOf = (url: string, Client: typeof WatchedClient) =>
  Effect.promise(async () => {
    const client = new Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query("SELECT pg_backend_pid() AS pid")
    await client.end()
    return { kept: client.serverProcess, session: rows[0]?.pid }
  })

describe.skipIf(!serverAnswers)("an interrupted statement is cancelled by the session's process id", () => {
  layer(layerServerUrl, { excludeTestServices: true })("on the server", (it) => {
    it.effect("but not behind a pooler or at a node, where another session can have that id", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabaseUrl
        const direct = yield* processIdsOf(Redacted.value(url), sessionOf({ url }).Client)
        assert.isNumber(direct.session)
        assert.strictEqual(direct.kept, direct.session)
        for (const Client of [sessionOf({ url, pooler: "transaction" }).Client, makeNodeClient()]) {
          const { kept, session } = yield* processIdsOf(Redacted.value(url), Client)
          assert.isNumber(session)
          assert.isUndefined(kept)
        }
      })
    )
  })
})

describe.skipIf(!serverAnswers || !isThere)("PgBouncer in transaction mode", () => {
  layer(layerServerUrl, { excludeTestServices: true })("the database", (it) => {
    it.scoped(
      "serves transactions of many clients over few connections; with named statements, a deliberate fault, they fail",
      () =>
        Effect.gen(function* () {
          const { target, url } = yield* bouncer
          yield* administer(
            target.href,
            "CREATE TABLE counter (id int PRIMARY KEY, value int NOT NULL)",
            "INSERT INTO counter VALUES (1, 0)"
          )
          const pooled = yield* open(url, "transaction")
          const backends = yield* Effect.provide(addUp, pooled)
          assert.isAtMost(backends.size, serverConnections)
          assert.isAtLeast(backends.size, 2)
          const value = Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            return (yield* sql<{ value: number }>`SELECT value FROM counter WHERE id = ${1}`)[0]?.value
          })
          assert.strictEqual(yield* Effect.provide(value, pooled), writers * transactions)

          const named = yield* Effect.flip(Effect.provide(addUp, yield* open(url, "none")))
          assert.match(
            String((named.cause as Error).message),
            /prepared statement "s\d+" (?:does not exist|already exists)/
          )
        })
    )

    it.scoped("gives each transaction the timeouts of its workload, and removes them afterwards", () =>
      Effect.gen(function* () {
        const { url } = yield* bouncer
        const timeouts = Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const [row] = yield* sql<Record<string, string>>`
            SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
              current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('TimeZone') AS zone`
          return Object.values(row ?? {})
        })
        const pooled = yield* open(url, "transaction")
        const inTransaction = (workload: WorkloadName) =>
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(timeouts)).pipe(
            Effect.provideService(Workload, workload),
            Effect.provide(pooled)
          )
        for (let round = 0; round < 3; round++) {
          assert.deepStrictEqual(yield* inTransaction("write"), ["8s", "6s", "10s", "UTC"])
          assert.deepStrictEqual(yield* inTransaction("background"), ["30s", "20s", "30s", "UTC"])
          assert.deepStrictEqual(yield* Effect.provide(timeouts, pooled), ["30s", "0", "0", "UTC"])
        }
      })
    )
  })

  layer(layerServerUrlEmpty, { excludeTestServices: true })("the service", (it) => {
    it.scoped(
      "is refused on a database without the settings; with them it creates a demo and serves many requests at once",
      () =>
        Effect.gen(function* () {
          const target = new URL(Redacted.value(yield* TestDatabaseUrl))
          yield* administer(target.href, `ALTER DATABASE "${target.pathname.slice(1)}" SET timezone = 'Asia/Tokyo'`)
          const bare = yield* startBouncer(target)
          const refused = yield* Effect.promise(() =>
            catalogProcess(["migrate"], { DATABASE_URL: bare.url, DATABASE_POOLER: "transaction" })
          )
          const { port } = new URL(bare.url)
          const name = target.pathname.slice(1)
          assert.deepStrictEqual(refused, {
            code: 1,
            stdout: "",
            stderr: `DATABASE_URL: Cannot reach the database ${name} at 127.0.0.1:${port}: behind a pooler in transaction mode, a session cannot change its settings, so the database must have them. Run there: ALTER DATABASE "${name}" SET timezone = 'UTC'; ALTER DATABASE "${name}" SET statement_timeout = '30s'; Then make the pooler open new connections (RECONNECT).\n`
          })

          const { url } = yield* bouncer
          const env = { DATABASE_URL: url, DATABASE_POOLER: "transaction" }
          const demo = yield* Effect.promise(() => catalogProcess(["demo", "--json"], env))
          assert.strictEqual(demo.code, 0, demo.stderr)
          const { key } = JSON.parse(demo.stdout)
          const { baseUrl } = yield* Effect.acquireRelease(
            Effect.promise(() =>
              serveCatalog({ ...env, LOG_FORMAT: "json", RATE_LIMIT_PER_KEY: "1000", RATE_LIMIT_PER_ACCOUNT: "1000" })
            ),
            ({ stop }) => Effect.promise(() => stop())
          )
          const statuses = yield* Effect.forEach(
            Array.from({ length: 200 }, (_, number) => number),
            (number) =>
              Effect.promise(async () => {
                const path = ["products", "variants", "collections", "stores"][number % 4]
                const answer = await fetch(`${baseUrl}/api/v1/${path}?limit=${1 + (number % 50)}`, {
                  headers: { authorization: `Bearer ${key}` }
                })
                await answer.text()
                return answer.status
              }),
            { concurrency: 20 }
          )
          assert.deepStrictEqual(new Set(statuses), new Set([200]))
          const ready = yield* Effect.promise(() => fetch(`${baseUrl}/readyz`))
          assert.strictEqual(ready.status, 200)
          const scan = yield* Effect.promise(() => catalogProcess(["health", "scan", "--json"], env))
          assert.strictEqual(scan.code, 0, scan.stderr)
        })
    )
  })
})
