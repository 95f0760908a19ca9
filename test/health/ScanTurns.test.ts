import { assert, describe, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { Transaction } from "../../src/database/Transaction.ts"
import { DataHealth } from "../../src/health/DataHealth.ts"
import type { HealthDimension } from "../../src/health/Health.ts"
import { HealthRepo } from "../../src/health/HealthRepo.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { writeMetrics } from "../../src/telemetry/Exposition.ts"
import { readGauges } from "../../src/telemetry/Metrics.ts"
import { actingAs, anAccount, TestServices } from "../../src/testing/index.ts"
import { parseExposition, sumOf } from "../telemetry/Exposition.ts"

/** Scans of `large` have 50 steps, each after `open`; `steps` has the account and dimension of every step. */
const scansOf = (large: AccountId, open: Effect.Effect<void>) =>
  Effect.gen(function* () {
    const steps: Array<readonly [AccountId, HealthDimension]> = []
    const Slow = Layer.effect(
      HealthRepo,
      Effect.map(HealthRepo, (repo) => ({
        ...repo,
        scan: (...[accountId, dimension, ...rest]: Parameters<typeof repo.scan>) =>
          Effect.gen(function* () {
            steps.push([accountId, dimension])
            if (accountId !== large) return yield* repo.scan(accountId, dimension, ...rest)
            yield* open
            const done = steps.filter(([account, other]) => account === large && other === dimension).length
            if (done === 50) return yield* repo.scan(accountId, dimension, ...rest)
            return { run: null, scanned: done, entities: 50 }
          })
      }))
    )
    // Transactions in memory run one after another. These steps run side by side, as on a server.
    const SideBySide = Layer.succeed(Transaction, { run: (effect) => effect })
    const context = yield* Layer.build(DataHealth.layer.pipe(Layer.provide(Layer.merge(Slow, SideBySide))))
    return { steps, scan: Context.get(context, DataHealth).scan }
  })

const twoLargeScans = ["completeness", "media"] as const

describe("turns of scans", () => {
  layer(TestServices, { excludeTestServices: true })((it) => {
    it.scoped("the scan of an account waits for single steps of the long scans of another", () =>
      Effect.gen(function* () {
        const [large, small] = yield* Effect.all([anAccount(), anAccount()])
        const { scan, steps } = yield* scansOf(large.accountId, Effect.yieldNow())
        const long = yield* Effect.forEach(twoLargeScans, (dimension) =>
          Effect.fork(scan(dimension).pipe(actingAs(large.actor)))
        )
        while (steps.length < 4) yield* Effect.yieldNow()
        yield* scan("sync").pipe(actingAs(small.actor))
        yield* Fiber.joinAll(long)
        assert.lengthOf(steps, 101)
        assert.isBelow(
          steps.findIndex(([accountId]) => accountId === small.accountId),
          20
        )
      })
    )

    it.scoped("a scan that nobody waits for any more does not begin", () =>
      Effect.gen(function* () {
        const [large, small] = yield* Effect.all([anAccount(), anAccount()])
        const gate = yield* Deferred.make<void>()
        const { scan, steps } = yield* scansOf(large.accountId, Deferred.await(gate))
        const long = yield* Effect.forEach(twoLargeScans, (dimension) =>
          Effect.fork(scan(dimension).pipe(actingAs(large.actor)))
        )
        while (steps.length < 2) yield* Effect.yieldNow()
        const gone = yield* Effect.fork(scan("sync").pipe(actingAs(small.actor)))
        for (let turn = 0; turn < 100; turn++) yield* Effect.yieldNow()
        readGauges()
        // The scan that waits for its first turn is not running.
        assert.strictEqual(sumOf(parseExposition(writeMetrics()), "catalog_scans_running", {}), 2)
        yield* Fiber.interrupt(gone)
        yield* Deferred.succeed(gate, undefined)
        // Its turn comes after that of the other scan of the account.
        yield* scan("structure").pipe(actingAs(small.actor))
        yield* Fiber.joinAll(long)
        assert.deepStrictEqual(
          steps.filter(([accountId]) => accountId === small.accountId),
          [[small.accountId, "structure"]]
        )
      })
    )
  })
})
