import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type pg from "pg"
import { defaultDeadlines, defaultPoolSizes } from "../../src/database/Deadlines.ts"
import { defaultShares } from "../../src/database/RateLimitSemaphores.ts"
import { ServerPools } from "../../src/database/ServerPools.ts"
import { sessionOf } from "../../src/database/Sessions.ts"
import { writeMetrics } from "../../src/telemetry/Exposition.ts"
import { readGauges } from "../../src/telemetry/Metrics.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { parseExposition, sumOf } from "../telemetry/Exposition.ts"

const sizes = { ...defaultPoolSizes, requests: 2 }
const demand = { workload: "request", node: undefined } as const
const holder = (accountId: string) => ({ accountId, credentialId: undefined })

/** Open pools like those of one node. */
const poolsOfANode = Effect.flatMap(TestDatabaseUrl, (url) =>
  Effect.acquireRelease(
    Effect.sync(
      () =>
        new ServerPools({
          session: sessionOf({ url }),
          deadlines: defaultDeadlines,
          pooler: "none",
          sizes,
          name: "nodes",
          shares: defaultShares,
          warn: () => {}
        })
    ),
    (pools) => Effect.promise(() => pools.end())
  )
)

/** Holds a connection for requests until the scope closes. */
const hold = (pools: ServerPools, accountId: string) =>
  Effect.acquireRelease(
    Effect.async<() => void>((resume) =>
      pools.connect(
        (error: Error | undefined, client?: pg.PoolClient, release?: () => void) =>
          resume(client && release ? Effect.succeed(release) : Effect.die(error)),
        { ...demand, holder: holder(accountId) }
      )
    ),
    (release) => Effect.sync(release)
  )

/** The gauges of a pool. */
const gaugesOf = (pool: string) => {
  readGauges()
  const families = parseExposition(writeMetrics())
  const read = (name: string) => sumOf(families, `catalog_database_${name}`, { pool })
  return {
    max: read("pool_max"),
    open: read("pool_open"),
    inUse: read("pool_in_use"),
    waiting: read("pool_waiting"),
    semaphoreWaiting: read("semaphore_waiting"),
    accounts: read("semaphore_accounts")
  }
}

describe.skipIf(!serverAnswers)("the gauges of pools", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("of the nodes of a cluster are sums over the nodes, apart for each kind of work", () =>
      Effect.gen(function* () {
        yield* Effect.scoped(
          Effect.gen(function* () {
            const one = yield* poolsOfANode
            const two = yield* poolsOfANode
            yield* hold(one, "first")
            yield* hold(two, "second")
            yield* hold(one, "third")
            // The pool of the first node is full, and the share of the second account is used.
            yield* Effect.fork(Effect.scoped(hold(one, "fourth")))
            yield* Effect.fork(Effect.scoped(hold(two, "second")))
            yield* Effect.yieldNow()
            assert.deepStrictEqual(gaugesOf("nodes-requests"), {
              max: 4,
              open: 3,
              inUse: 3,
              waiting: 1,
              semaphoreWaiting: 1,
              accounts: 4
            })
            const idle = { open: 0, inUse: 0, waiting: 0, semaphoreWaiting: 0, accounts: 0 }
            assert.deepStrictEqual(gaugesOf("nodes-writes"), { max: 2 * sizes.writes, ...idle })
            assert.deepStrictEqual(gaugesOf("nodes-background"), { max: 2 * sizes.background, ...idle })
          })
        )
        assert.deepInclude(gaugesOf("nodes-requests"), { max: 0, open: 0, inUse: 0, waiting: 0 })
      })
    )
  })
})
