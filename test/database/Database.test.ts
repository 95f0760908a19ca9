import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inspect } from "node:util"
import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer, scoped } from "@effect/vitest"
import {
  Cause,
  Deferred,
  Effect,
  Exit,
  Fiber,
  FiberId,
  Layer,
  Logger,
  Option,
  Redacted,
  Stream,
  TestClock
} from "effect"
import pg from "pg"
import * as Database from "../../src/database/Database.ts"
import { defaultDeadlines, Workload } from "../../src/database/Deadlines.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { planCustom } from "../../src/database/PlannerHints.ts"
import * as SqlErrors from "../../src/database/SqlErrors.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { Unavailable } from "../../src/model/Errors.ts"
import * as TestDatabase from "../support/TestDatabase.ts"

// layer() binds it.effect and it.scoped to its own clock for the rest of the file, so tests that need the TestClock
// call effect() and scoped() of @effect/vitest.

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "catalog-data-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const listening = (onSocket: (socket: Socket) => void) =>
  Effect.acquireRelease(
    Effect.async<{ readonly server: Server; readonly sockets: Set<Socket> }>((resume) => {
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket)
        onSocket(socket)
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ server, sockets })))
    }),
    ({ server, sockets }) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        sockets.forEach((socket) => {
          socket.destroy()
        })
      })
  ).pipe(
    Effect.map(({ server }) => {
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : 0
    })
  )

const at = (port: number) => Redacted.make(`postgres://someone:pass%77ord@127.0.0.1:${port}/catalog`)

const refusal = (url: Redacted.Redacted) => Effect.flip(Effect.scoped(Layer.build(Database.layerServer({ url }))))

/** A message of the wire protocol: type, length, body. */
const message = (type: string, ...parts: ReadonlyArray<Buffer>) => {
  const body = Buffer.concat(parts)
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}
const int16 = (value: number) => Buffer.from([value >> 8, value & 0xff])
const int32 = (value: number) => Buffer.concat([int16(value >>> 16), int16(value & 0xffff)])
const column = (name: string, type: number) =>
  Buffer.concat([Buffer.from(`${name}\0`), int32(0), int16(0), int32(type), int16(4), int32(-1), int16(0)])
const field = (text: string) => Buffer.concat([int32(text.length), Buffer.from(text)])

/** Answers every query as a server of this version answers the question before its use, for a database with this encoding. */
const serverWith = (number: string, version: string, encoding: string) =>
  listening((socket) => {
    const ready = message("Z", Buffer.from("I"))
    socket.once("data", () => {
      socket.write(Buffer.concat([message("R", int32(0)), ready]))
      socket.on("data", (data) => {
        if (data.toString("latin1", 0, 1) === "Q") {
          socket.write(
            Buffer.concat([
              message(
                "T",
                int16(7),
                column("number", 23),
                ...["version", "encoding", "name", "timezone", "timeout"].map((name) => column(name, 25)),
                column("hasCitus", 16)
              ),
              message("D", int16(7), ...[number, version, encoding, "catalog", "UTC", "0", "f"].map(field)),
              message("C", Buffer.from("SELECT 1\0")),
              ready
            ])
          )
        } else {
          socket.end()
        }
      })
    })
  })

describe("Database.layerServer, refused", () => {
  it.scopedLive("by a closed port", () =>
    Effect.gen(function* () {
      const port = yield* Effect.scoped(listening(() => {}))
      const error = yield* refusal(at(port))
      assert.strictEqual(error._tag, "DatabaseUnreachable")
      assert.strictEqual(
        error.message,
        `Cannot reach the database catalog at 127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}`
      )
      assert.notInclude(inspect(error, { depth: 10 }), "password")
    })
  )

  scoped("by a server that says nothing, after 5 s", () =>
    Effect.gen(function* () {
      const port = yield* listening((socket) => socket.resume())
      const waiting = yield* Effect.fork(refusal(at(port)))
      yield* TestClock.adjust("5 seconds")
      const error = yield* Fiber.join(waiting)
      assert.strictEqual(error.message, `Cannot reach the database catalog at 127.0.0.1:${port}: no answer within 5 s`)
    })
  )

  it.scopedLive("by an old server", () =>
    Effect.gen(function* () {
      const port = yield* serverWith("140011", "14.11", "UTF8")
      const error = yield* refusal(at(port))
      assert.strictEqual(error._tag, "DatabaseUnsuitable")
      assert.strictEqual(error.message, "The database server is PostgreSQL 14.11; this service needs 15 or newer.")
    })
  )

  it.scopedLive("by a database that cannot hold all characters", () =>
    Effect.gen(function* () {
      const port = yield* serverWith("150006", "15.6", "LATIN1")
      const error = yield* refusal(at(port))
      assert.strictEqual(error._tag, "DatabaseUnsuitable")
      assert.strictEqual(
        error.message,
        "The database catalog has the encoding LATIN1; this service needs UTF8. Create another database, with ENCODING 'UTF8' TEMPLATE template0, and name it in DATABASE_URL."
      )
    })
  )

  it.live("by an invalid URL, which the message does not repeat", () =>
    Effect.gen(function* () {
      const error = yield* refusal(Redacted.make("postgres://someone:password@127.0.0.1:port/catalog"))
      assert.strictEqual(
        error.message,
        "The database url cannot be read: it should look like postgres://user:password@host:5432/database."
      )
      assert.notInclude(inspect(error, { depth: 10 }), "someone")
    })
  )
})

for (const engine of TestDatabase.engines) {
  describe.skipIf(engine.absent)(`Database on ${engine.name}`, () => {
    layer(engine.empty, { excludeTestServices: true })((it) => {
      it.effect("values have the types that the code expects", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const rows = yield* sql`
            SELECT
              ${42}::bigint AS version,
              NULL::bigint AS nothing,
              ARRAY[1, NULL]::bigint[] AS versions,
              ARRAY[]::bigint[] AS none,
              ARRAY['0190b4f0-0000-7000-8000-000000000001']::uuid[] AS ids,
              ${["a,b", 'c"d']}::text[] AS texts,
              ${JSON.stringify({ a: [1, null] })}::jsonb AS attributes,
              true AS flag,
              current_setting('TimeZone') AS zone
          `
          assert.deepStrictEqual(rows, [
            {
              version: 42,
              nothing: null,
              versions: [1, null],
              none: [],
              ids: ["0190b4f0-0000-7000-8000-000000000001"],
              texts: ["a,b", 'c"d'],
              attributes: { a: [1, null] },
              flag: true,
              zone: "UTC"
            }
          ])
          // pg's global parsers are not changed.
          assert.strictEqual(pg.types.getTypeParser(pg.types.builtins.INT8)("42"), "42")
        })
      )

      it.effect(
        "prepares a statement with parameters once, but neither marked statements nor those without parameters",
        () =>
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const prepared = Effect.map(
              sql`SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%of this test%' ORDER BY statement`,
              (rows) => rows.map((row) => row.statement)
            )
            // In one transaction, because the list shows the statements of one connection.
            yield* sql.withTransaction(
              Effect.gen(function* () {
                for (const value of [1, 2, 3]) {
                  const rows = yield* sql`SELECT ${value}::int AS kept_of_this_test`
                  assert.deepStrictEqual(rows, [{ kept_of_this_test: value }])
                  yield* sql`SELECT ${value}::int AS "marked of this test" ${sql.literal(planCustom)}`
                  yield* sql`SELECT 1 AS "parameterless of this test"`
                  yield* sql`SELECT ${value}::int AS "named of this test"`
                  const values = yield* sql`SELECT ${value}::int AS "a configuration of this test"`.values
                  assert.deepStrictEqual(values, [[value]])
                }
                assert.deepStrictEqual(yield* prepared, ['SELECT $1::int AS "named of this test"'])
              })
            )
            const stream = sql`SELECT generate_series(1, ${300}::int) AS "cursor of this test"`.stream
            assert.strictEqual(yield* Stream.runCount(stream), 300)
          })
      )

      it.effect("a prepared statement that failed works after the cause is removed", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const late = sql`SELECT id FROM late WHERE id = ${1}`
          yield* sql.withTransaction(
            Effect.gen(function* () {
              assert.match(SqlErrors.describe(yield* Effect.flip(sql.withTransaction(late))), /\(42P01\)$/)
              assert.match(SqlErrors.describe(yield* Effect.flip(sql.withTransaction(late))), /\(42P01\)$/)
              yield* sql`CREATE TABLE late (id int)`
              assert.deepStrictEqual(yield* late, [])
              const divide = (by: number) => sql.withTransaction(sql`SELECT 1 / ${by}::int AS quotient`)
              assert.match(SqlErrors.describe(yield* Effect.flip(divide(0))), /\(22012\)$/)
              assert.deepStrictEqual(yield* divide(1), [{ quotient: 1 }])
            })
          )
        })
      )

      it.effect("an interrupted statement leaves the connection usable", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const started = yield* Deferred.make<void>()
          const counting = Deferred.succeed(started, undefined).pipe(
            Effect.zipRight(sql`SELECT count(*) FROM generate_series(1, ${500_000})`)
          )
          const fiber = yield* Effect.fork(sql.withTransaction(counting))
          yield* Deferred.await(started)
          yield* Effect.yieldNow()
          yield* Fiber.interrupt(fiber)
          assert.deepStrictEqual(yield* sql`SELECT ${1}::int AS one`, [{ one: 1 }])
        })
      )

      // This test must be the last: it uses up the statement names of this process.
      it.effect("prepares at most a thousand statements", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const prepared = yield* sql.withTransaction(
            Effect.gen(function* () {
              for (let n = 0; n < 1_100; n++) {
                yield* sql`SELECT ${n}::int AS ${sql(`n${n}`)}`
              }
              return yield* sql`SELECT name FROM pg_prepared_statements`
            })
          )
          assert.isAtMost(prepared.length, 1_000)
          assert.isAbove(prepared.length, 900)
        })
      )
    })
  })
}

describe.skipIf(!TestDatabase.serverAnswers)("Database.layerServer", () => {
  layer(TestDatabase.layerServerUrlEmpty, { excludeTestServices: true })((it) => {
    it.scoped("sets up its sessions", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabase.TestDatabaseUrl
        const settings = Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`
            SELECT
              current_setting('application_name') AS application,
              current_setting('statement_timeout') AS statement,
              current_setting('lock_timeout') AS lock,
              current_setting('idle_in_transaction_session_timeout') AS idle,
              current_setting('client_connection_check_interval') AS check,
              current_setting('jit') AS jit,
              current_setting('TimeZone') AS zone
          `
        )
        const common = { application: "catalog", check: "1s", jit: "off", zone: "UTC" }
        const byWorkload = Effect.all({
          background: settings,
          request: Effect.provideService(settings, Workload, "request"),
          write: Effect.flatMap(Transaction, ({ run }) => run(settings)).pipe(
            Effect.provideService(Workload, "request"),
            Effect.provide(Transaction.layer)
          )
        })
        assert.deepStrictEqual(yield* Effect.provide(byWorkload, Database.layerServer({ url })), {
          background: [{ ...common, statement: "30s", lock: "20s", idle: "30s" }],
          request: [{ ...common, statement: "5s", lock: "5s", idle: "10s" }],
          write: [{ ...common, statement: "8s", lock: "6s", idle: "10s" }]
        })
      })
    )

    it.scoped("reports a wait for a lock in background work as such, not as a statement that took too long", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabase.TestDatabaseUrl
        const waiter = Database.layerServer({ url, deadlines: { ...defaultDeadlines, background: 900 } })
        const run = (text: string) =>
          Effect.flatMap(SqlClient.SqlClient, (sql) => SqlErrors.orDie(sql.unsafe(text))).pipe(
            Effect.exit,
            Effect.map((exit) => {
              const [defect] = Exit.isFailure(exit) ? Cause.defects(exit.cause) : []
              return [defect instanceof Unavailable, defect instanceof SqlErrors.StatementTimedOut]
            })
          )
        const holder = new pg.Client({ connectionString: Redacted.value(url) })
        yield* Effect.promise(() => holder.connect())
        yield* Effect.addFinalizer(() => Effect.promise(() => holder.end()))
        yield* Effect.promise(() => holder.query("SELECT pg_advisory_lock(7)"))
        const outcomes = yield* Effect.all([run("SELECT pg_advisory_xact_lock(7)"), run("SELECT pg_sleep(60)")]).pipe(
          Effect.provide([waiter, Logger.remove(Logger.defaultLogger)])
        )
        assert.deepStrictEqual(outcomes, [
          [true, false],
          [true, true]
        ])
      })
    )

    it.scoped("names the database if it does not exist", () =>
      Effect.gen(function* () {
        const url = new URL(Redacted.value(yield* TestDatabase.TestDatabaseUrl))
        url.pathname = "/absent_database"
        const error = yield* refusal(Redacted.make(url.href))
        assert.match(
          error.message,
          /^Cannot reach the database absent_database at .*: database "absent_database" does not exist$/
        )
      })
    )

    it.scoped("recovers when the server closes every connection, and logs the loss", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabase.TestDatabaseUrl
        const lost = Deferred.unsafeMake<string>(FiberId.none)
        const listener = Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ message }) => Deferred.unsafeDone(lost, Effect.succeed(String(message))))
        )
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const pids = Effect.map(sql`SELECT pg_backend_pid() AS pid FROM pg_sleep(0.05)`, (rows) => rows[0]?.pid)
          const before = new Set(yield* Effect.all([pids, pids, pids], { concurrency: 3 }))
          assert.strictEqual(before.size, 3)
          yield* Effect.promise(async () => {
            const client = new pg.Client({ connectionString: Redacted.value(url) })
            await client.connect()
            await client.query(
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            await client.end()
          })
          const after = yield* Effect.retry(pids, {
            times: 3,
            while: (error) => SqlErrors.classify(error) === "unavailable"
          })
          assert.notInclude([...before], after)
          assert.strictEqual(
            yield* Deferred.await(lost),
            "A database connection was lost: terminating connection due to administrator command"
          )
        }).pipe(Effect.provide(Layer.provideMerge(Database.layerServer({ url }), listener)))
      })
    )

    it.scoped("does not reuse a connection that was returned with an open transaction", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabase.TestDatabaseUrl
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const abandoned = yield* Effect.scoped(
            Effect.gen(function* () {
              const connection = yield* sql.reserve
              yield* connection.executeUnprepared("BEGIN", [], undefined)
              yield* connection.executeUnprepared("CREATE TABLE left_behind (id int)", [], undefined)
              return yield* connection.executeUnprepared("SELECT pg_backend_pid() AS pid", [], undefined)
            })
          )
          const next = yield* sql`SELECT pg_backend_pid() AS pid, to_regclass('left_behind') AS left_behind`
          assert.notStrictEqual(next[0]?.pid, abandoned[0]?.pid)
          assert.isNull(next[0]?.left_behind)
        }).pipe(Effect.provide(Database.layerServer({ url, maxConnections: 1 })))
      })
    )
  })
})

describe("Migrations.current", () => {
  scoped("is Unavailable when no connection answers within 2 s", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const held = yield* Deferred.make<void>()
      yield* Effect.forkScoped(sql.withTransaction(Effect.zipRight(Deferred.succeed(held, undefined), Effect.never)))
      yield* Deferred.await(held)
      const asked = yield* Effect.fork(Effect.flip(Migrations.current))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(asked))._tag, "Unavailable")
    }).pipe(
      // The transaction ends before the database is closed.
      Effect.scoped,
      Effect.provide(TestDatabase.layerEmbeddedEmpty)
    )
  )
})

describe("Database.layerEmbeddedMemory", () => {
  scoped("an interrupted transaction waits for no timer", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const one = sql`SELECT ${1}::int AS one`
      // Interrupts at every turn of the event loop between the request and its answer.
      for (let turns = 0; turns < 10; turns++) {
        const begun = yield* Deferred.make<void>()
        const program = sql.withTransaction(Effect.zipRight(Deferred.succeed(begun, undefined), one))
        const fiber = yield* Effect.fork(program)
        yield* Deferred.await(begun)
        for (let turn = 0; turn < turns; turn++) {
          yield* Effect.promise(() => new Promise<void>((resume) => process.nextTick(resume)))
        }
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* one, [{ one: 1 }])
      }
    }).pipe(Effect.provide(TestDatabase.layerEmbeddedEmpty))
  )
})

describe("Database.layerEmbedded", () => {
  it.scopedLive("keeps its data, and can be open only once", () =>
    Effect.gen(function* () {
      const dataDirectory = join(yield* temporary, "data")
      const open = Database.layer({ url: Option.none(), dataDirectory })
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE EXTENSION pg_trgm`
        yield* sql`CREATE TABLE kept AS SELECT 'yes' AS answer`
        const refused = yield* Effect.flip(Effect.scoped(Layer.build(Layer.fresh(open))))
        assert.strictEqual(
          refused.message,
          `The database in ${dataDirectory} is in use by process ${process.pid}: stop that process, or choose another DATA_DIR.`
        )
      }).pipe(Effect.provide(open))
      const rows = yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT answer FROM kept`).pipe(
        Effect.provide(Layer.fresh(open))
      )
      assert.deepStrictEqual(rows, [{ answer: "yes" }])
    })
  )

  it.scopedLive("names a directory that cannot be used", () =>
    Effect.gen(function* () {
      const file = join(yield* temporary, "file")
      writeFileSync(file, "")
      const error = yield* Effect.flip(
        Effect.scoped(Layer.build(Database.layer({ url: Option.none(), dataDirectory: file })))
      )
      assert.strictEqual(error._tag, "DatabaseUnreachable")
      assert.include(error.message, file)
    })
  )
})
