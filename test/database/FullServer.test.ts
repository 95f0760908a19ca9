import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type pg from "pg"
import { defaultDeadlines, defaultPoolSizes } from "../../src/database/Deadlines.ts"
import { defaultShares } from "../../src/database/RateLimitSemaphores.ts"
import { ServerPools } from "../../src/database/ServerPools.ts"
import { sessionOf } from "../../src/database/Sessions.ts"
import { query, serverUrl } from "../support/RunDatabases.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

/** The number of connections that the server allows the role of a test. */
const allowed = 2

const onServer = (text: string) => Effect.promise(() => query(serverUrl, text))

/** Pools of a role that may have few connections, and the warnings that they log. */
const poolsOfRole = Effect.gen(function* () {
  const url = new URL(Redacted.value(yield* TestDatabaseUrl))
  const role = url.pathname.slice(1)
  url.username = role
  url.password = role
  yield* Effect.acquireRelease(
    onServer(`CREATE ROLE ${role} LOGIN PASSWORD '${role}' CONNECTION LIMIT ${allowed}`),
    () => onServer(`DROP ROLE ${role}`)
  )
  const warnings: Array<string> = []
  const pools = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new ServerPools({
          session: sessionOf({ url: Redacted.make(url.href) }),
          deadlines: defaultDeadlines,
          pooler: "none",
          sizes: defaultPoolSizes,
          shares: defaultShares,
          warn: (message) => warnings.push(message)
        })
    ),
    (pools) => Effect.promise(() => pools.end())
  )
  const setLimit = (limit: number) => onServer(`ALTER ROLE ${role} CONNECTION LIMIT ${limit}`)
  return { pools, setLimit, warnings }
})

const run = (pools: ServerPools, text: string) =>
  Effect.async<ReadonlyArray<{ readonly process?: number; readonly one?: number }>, pg.DatabaseError>((resume) =>
    pools.query(text, [], (error, result) =>
      resume(error ? Effect.fail(error as pg.DatabaseError) : Effect.succeed(result.rows))
    )
  )

const statements = Array.from({ length: 40 }, () => "SELECT pg_backend_pid() AS process FROM pg_sleep(0.005)")

/** Runs many statements at once and returns the number of connections that ran them. */
const connectionsOf = (pools: ServerPools) =>
  Effect.map(
    Effect.forEach(statements, (text) => run(pools, text), { concurrency: "unbounded" }),
    (answers) => new Set(answers.map(([row]) => row?.process)).size
  )

describe.skipIf(!serverAnswers)("a server without a free connection", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.scoped("a statement waits for a connection that its pool has, and the pool grows again later", () =>
      Effect.gen(function* () {
        const { pools, setLimit, warnings } = yield* poolsOfRole
        assert.isAbove(defaultPoolSizes.background, allowed)
        yield* run(pools, "SELECT 1")
        assert.strictEqual(yield* connectionsOf(pools), allowed)
        // One for the pool, not for each statement; another if the statements took longer than the pool keeps its size.
        assert.isBelow(warnings.length, statements.length / 4)
        assert.match(
          warnings[0] ?? "",
          /^The database refuses pool background a further connection, so it keeps to \d+: too many connections for role /
        )
        yield* setLimit(defaultPoolSizes.background)
        yield* Effect.repeat(connectionsOf(pools), {
          until: (connections) => connections === defaultPoolSizes.background
        })
      })
    )

    it.scoped("a statement is refused at once while its pool has no connection", () =>
      Effect.gen(function* () {
        const { pools, setLimit, warnings } = yield* poolsOfRole
        yield* setLimit(0)
        const refusals = yield* Effect.forEach(statements, (text) => Effect.flip(run(pools, text)), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual([...new Set(refusals.map(({ code }) => code))], ["53300"])
        assert.deepStrictEqual(warnings, [])
        yield* setLimit(allowed)
        assert.deepStrictEqual(yield* run(pools, "SELECT 1 AS one"), [{ one: 1 }])
      })
    )
  })
})
