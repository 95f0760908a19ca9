import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
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
