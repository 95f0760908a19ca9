import { type AddressInfo, connect, createServer } from "node:net"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import * as Database from "../../src/database/Database.ts"
import { ServerPools } from "../../src/database/ServerPools.ts"
import { codeOf } from "../../src/database/SqlErrors.ts"
import { engines, layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"

/** Few connections, so that a statement soon runs on a connection whose last statement was interrupted. */
const connections = 3
const interruptions = amount(200, 5_000)

const onFewConnections = Layer.unwrapEffect(
  Effect.map(TestDatabaseUrl, (url) => Database.layerServer({ url, maxConnections: connections }))
)

/** Interrupts statements near their end, while other fibers run statements. Returns the SQLSTATEs of the other fibers' failures. */
const interruptBesideOthers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const failures: Array<string | undefined> = []
  let running = true
  let others = 0
  const other = Effect.tapError(sql`SELECT pg_sleep(0.001)`, (error) =>
    Effect.sync(() => failures.push(codeOf(error)))
  ).pipe(
    Effect.ignore,
    Effect.tap(() => Effect.sync(() => others++)),
    Effect.repeat({ while: () => running })
  )
  const slow = sql`SELECT pg_sleep(0.003)`
  /** The statement ends after 3 ms and more, so some interruptions come before its end and some after it. */
  const interrupted = (statement: Effect.Effect<unknown, unknown>, round: number) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(statement)
      yield* Effect.sleep(`${3 + (round % 4)} millis`)
      yield* Fiber.interrupt(fiber)
    })
  const rounds = (statement: Effect.Effect<unknown, unknown>) =>
    Effect.forEach(
      Array.from({ length: interruptions }, (_, round) => round),
      (round) => interrupted(statement, round),
      {
        discard: true
      }
    )
  const beside = yield* Effect.fork(Effect.all([other, other], { concurrency: "unbounded" }))
  yield* Effect.all([rounds(slow), rounds(sql.withTransaction(slow))], { concurrency: "unbounded" })
  running = false
  yield* Fiber.join(beside)
  return { failures, others }
})

/** A deliberate fault: the connection gets its next statement before the server has the cancellation. */
const withoutWaiting = Effect.acquireRelease(
  Effect.sync(() => {
    const original = Reflect.get(ServerPools.prototype, "cancelRunning")
    Reflect.set(
      ServerPools.prototype,
      "cancelRunning",
      function (this: ServerPools, client: unknown, then: () => void) {
        setTimeout(() => original.call(this, client, () => {}), 2)
        then()
      }
    )
    return original
  }),
  (original) => Effect.sync(() => Reflect.set(ServerPools.prototype, "cancelRunning", original))
)

describe.skipIf(!serverAnswers)("interrupted statements on a server", () => {
  layer(onFewConnections.pipe(Layer.provide(layerServerUrl)), { excludeTestServices: true })(
    "few connections",
    (it) => {
      it.effect("are cancelled, and no other statement is", () =>
        Effect.gen(function* () {
          const { failures, others } = yield* interruptBesideOthers
          assert.deepStrictEqual(failures, [])
          assert.isAtLeast(others, 100)
        })
      )

      it.scoped("a planted fault that does not wait for the cancellation cancels others", () =>
        Effect.gen(function* () {
          yield* withoutWaiting
          // By chance, no interruption of a round may come near the end of its statement.
          const { failures } = yield* Effect.repeat(interruptBesideOthers, {
            until: ({ failures }) => failures.includes("57014"),
            times: 19
          })
          assert.include(failures, "57014")
        })
      )
    }
  )
})

/** A proxy in front of the server that holds the statement back until it was cancelled twice. Counts the cancellations. */
const overtaken = (url: string, statement: string) =>
  Effect.gen(function* () {
    const { hostname, port } = new URL(url)
    const held = yield* Deferred.make<void>()
    let cancellations = 0
    let release = () => {}
    const server = createServer((client) => {
      const upstream = connect(Number(port || 5432), hostname)
      const send = (bytes: Buffer) => {
        upstream.write(bytes)
      }
      // The second cancellation is a prepared statement, so it is sent without its text. This connection sends nothing else.
      let cancels = false
      client.on("data", (bytes) => {
        cancels ||= bytes.includes("pg_cancel_backend")
        if (cancels && ++cancellations === 2) release()
        if (bytes.includes(statement)) {
          release = () => send(bytes)
          Deferred.unsafeDone(held, Effect.void)
        } else send(bytes)
      })
      upstream.on("data", (bytes) => client.write(bytes))
      client.on("close", () => upstream.destroy()).on("error", () => upstream.destroy())
      upstream.on("close", () => client.destroy()).on("error", () => client.destroy())
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () => Effect.sync(() => server.close())
    )
    const proxied = new URL(url)
    proxied.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    return { url: Redacted.make(proxied.href), held: Deferred.await(held), cancellations: () => cancellations }
  })

describe.skipIf(!serverAnswers)("a cancellation that overtakes its statement", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.scoped("is repeated, so the transaction ends", () =>
      Effect.gen(function* () {
        const proxy = yield* overtaken(Redacted.value(yield* TestDatabaseUrl), "pg_sleep(86400)")
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const fiber = yield* Effect.fork(sql.withTransaction(sql`SELECT pg_sleep(86400)`))
          yield* proxy.held
          yield* Fiber.interrupt(fiber)
        }).pipe(Effect.provide(Database.layerServer({ url: proxy.url })))
        assert.isAtLeast(proxy.cancellations(), 2, "the first one came before the statement, so it had no effect")
      })
    )
  })
})

for (const { absent, layer: database, name } of engines.filter(({ name }) => name !== "embedded")) {
  describe.skipIf(absent)(`an interrupted statement on ${name}`, () => {
    layer(database, { excludeTestServices: true })((it) => {
      it.effect("ends on the server", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const running = Effect.map(
            sql<{ readonly count: number }>`
            SELECT count(*)::int AS count FROM pg_stat_activity
            WHERE datname = current_database() AND state = 'active' AND query LIKE ${"%pg_sleep(86400)%"}
              AND pid <> pg_backend_pid()`,
            ([row]) => row?.count
          )
          const forever = sql`SELECT pg_sleep(86400)`
          for (const statement of [forever, sql.withTransaction(forever)]) {
            const fiber = yield* Effect.fork(statement)
            yield* Effect.repeat(running, { until: (count) => count === 1 })
            yield* Fiber.interrupt(fiber)
            yield* Effect.repeat(running, { until: (count) => count === 0 })
          }
        })
      )
    })
  })
}
