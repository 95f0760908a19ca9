import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Schedule } from "effect"
import { ChangeFeed } from "../../src/feed/ChangeFeed.ts"
import { HealthRepo } from "../../src/health/HealthRepo.ts"
import type { AccountId, StoreId } from "../../src/model/Ids.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { layerServices } from "./ServerServices.ts"

const dimension = "completeness"

const scanAll = (accountId: AccountId, storeId: StoreId | null) =>
  Effect.gen(function* () {
    const repo = yield* HealthRepo
    const sql = yield* SqlClient.SqlClient
    const step = Effect.zipRight(repo.tryLock(accountId, dimension), repo.scan(accountId, dimension, storeId))
    yield* Effect.repeat(sql.withTransaction(step), { until: ({ run }) => run !== null })
  })

/** An account with a product without a vendor on a store. No snapshot shows the base of the store's last scan. */
const aShop = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"] })
  const [{ id: storeId } = assert.fail("no store")] = stores
  yield* actingAs(actor)(anEntity("product", { title: "Tent" }, { on: stores }))
  yield* scanAll(accountId, storeId)
  yield* scanAll(accountId, null)
  return { accountId, actor, storeId, stores }
})

const shownRows = (accountId: AccountId, storeId: StoreId) =>
  Effect.flatMap(HealthRepo, (repo) =>
    repo.issues(accountId, { section: "completeness-required", storeId, locale: null, page: 1, pageSize: 10 })
  ).pipe(Effect.map((found) => Option.getOrThrow(found).rows))

/** Runs an effect while another connection is in a transaction after `begin`. */
const during = <A, E, R, E2, R2>(begin: Effect.Effect<unknown, E, R>, effect: Effect.Effect<A, E2, R2>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [hasBegun, mayEnd] = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
    const other = yield* begin.pipe(
      Effect.zipRight(Deferred.succeed(hasBegun, undefined)),
      Effect.zipRight(Deferred.await(mayEnd)),
      sql.withTransaction,
      Effect.fork
    )
    yield* Effect.raceFirst(Deferred.await(hasBegun), Fiber.join(other))
    const result = yield* Effect.ensuring(effect, Deferred.succeed(mayEnd, undefined))
    yield* Fiber.join(other)
    return result
  })

describe.skipIf(!serverAnswers)("deleting the rows of earlier scans", () => {
  layer(layerServices(6), { excludeTestServices: true })((it) => {
    it.effect("a scan that begins meanwhile does not continue them", () =>
      Effect.gen(function* () {
        const repo = yield* HealthRepo
        const sql = yield* SqlClient.SqlClient
        const { accountId, storeId } = yield* aShop
        const locked = sql`
          SELECT FROM health_issue i WHERE i.account_id = ${accountId}
            AND NOT EXISTS (SELECT FROM health_snapshot s WHERE s.account_id = ${accountId} AND s.base = i.base) FOR UPDATE`
        const isWaiting = sql`
          SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%DELETE FROM health_issue%'`
        const tidying = yield* during(
          locked,
          Effect.gen(function* () {
            const tidying = yield* Effect.forkDaemon(repo.tidy(accountId))
            yield* Effect.repeat(isWaiting, {
              until: ({ length }) => length > 0,
              schedule: Schedule.spaced("10 millis")
            })
            yield* scanAll(accountId, storeId)
            return tidying
          })
        )
        assert.isAtLeast(yield* Fiber.join(tidying), 1)
        assert.lengthOf(yield* shownRows(accountId, storeId), 1)
      })
    )

    it.effect("the rows that a scan shows in its open transaction stay", () =>
      Effect.gen(function* () {
        const repo = yield* HealthRepo
        const { accountId, storeId } = yield* aShop
        yield* during(
          scanAll(accountId, storeId),
          Effect.map(repo.tidy(accountId), (removed) => assert.strictEqual(removed, 0))
        )
        assert.lengthOf(yield* shownRows(accountId, storeId), 1)
      })
    )

    it.effect("the old notes that a scan in its open transaction needs stay until it has ended", () =>
      Effect.gen(function* () {
        const feed = yield* ChangeFeed
        const repo = yield* HealthRepo
        const sql = yield* SqlClient.SqlClient
        const { accountId, actor, storeId, stores } = yield* aShop
        yield* actingAs(actor)(anEntity("product", { title: "Stove" }, { on: stores }))
        yield* sql`UPDATE change_note SET at = plus_micros(at, -31::bigint * 86400000000) WHERE account_id = ${accountId}`
        yield* during(
          repo.tryLock(accountId, dimension),
          Effect.map(feed.forget, (deleted) => assert.strictEqual(deleted, 0))
        )
        yield* scanAll(accountId, storeId)
        assert.lengthOf(yield* shownRows(accountId, storeId), 2)
        assert.isAtLeast(yield* feed.forget, 1)
      })
    )
  })
})
