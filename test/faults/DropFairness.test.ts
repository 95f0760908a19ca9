import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Schedule } from "effect"
import { Drops } from "../../src/drops/Drops.ts"
import { DropsRepo } from "../../src/drops/DropsRepo.ts"
import { DropId, type EntityId } from "../../src/model/Ids.ts"
import { plusMicros } from "../../src/model/Timestamp.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anAccount, Stores } from "../../src/testing/index.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { liveProducts } from "./DropsJudge.ts"
import { layerServices } from "./ServerServices.ts"

/** More due drops of an account than a process reads at once. */
const many = 25

const aMerchant = (count: number) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    return yield* Effect.gen(function* () {
      const { store } = yield* (yield* Stores).link({
        domain: `shop-${accountId.slice(0, 8)}.demo.example`,
        platform: "demo"
      })
      return { accountId, actor, store, products: yield* liveProducts(store.id, count) }
    }).pipe(actingAs(actor), Effect.orDie)
  })
type Merchant = Effect.Effect.Success<ReturnType<typeof aMerchant>>

/** Schedules a drop that is due, for a number of seconds. */
const aDueDrop = ({ accountId, actor, store }: Merchant, product: EntityId, seconds: number) =>
  Effect.gen(function* () {
    const repo = yield* DropsRepo
    const id = yield* mintId(DropId)
    const planned = {
      name: "Sale",
      starts_at: plusMicros(yield* repo.now, -seconds * 1_000_000),
      ends_at: null,
      timezone: "UTC",
      changes: [
        { entity_id: product, entity_type: "product", store_id: store.id, field: "title", value: "Sale" } as const
      ]
    }
    yield* repo.insert(accountId, id, planned, actor)
    return id
  })

/** Repeats a query until it has a row. */
const untilFound = (found: Effect.Effect<ReadonlyArray<unknown>, unknown>) =>
  Effect.repeat(Effect.orDie(found), { until: (rows) => rows.length > 0, schedule: Schedule.spaced("20 millis") })

describe.skipIf(!serverAnswers)("an account whose due drops wait for a lock", () => {
  layer(layerServices(6), { excludeTestServices: true })((it) => {
    it.scoped("delays no drop of another account, and starts its own in their order", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const held = yield* aMerchant(many)
        const other = yield* aMerchant(1)
        const ids = yield* Effect.forEach(held.products, (product, index) => aDueDrop(held, product, many - index))
        const isLocked = yield* Deferred.make<void>()
        const goOn = yield* Deferred.make<void>()
        yield* sql`SELECT FROM entity WHERE account_id = ${held.accountId} FOR NO KEY UPDATE`.pipe(
          Effect.zipRight(Deferred.succeed(isLocked, undefined)),
          Effect.zipRight(Deferred.await(goOn)),
          sql.withTransaction,
          Effect.forkScoped
        )
        yield* Deferred.await(isLocked)
        yield* Effect.forkScoped(Effect.flatMap(Drops, ({ work }) => work))
        const waiting = sql`
          SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
        yield* untilFound(waiting)

        const [product] = other.products
        assert(product !== undefined)
        const id = yield* aDueDrop(other, product, 0)
        const started = sql`SELECT FROM drop WHERE account_id = ${other.accountId} AND id = ${id} AND status = 'applying'`
        const first = yield* Effect.raceFirst(
          Effect.as(untilFound(started), "the other account"),
          Effect.as(untilFound(Effect.map(waiting, (rows) => (rows.length === 0 ? [0] : []))), "the held account")
        )
        assert.strictEqual(first, "the other account")

        yield* Deferred.succeed(goOn, undefined)
        const publications = sql<{ id: string }>`
          SELECT drop_id AS id FROM publication WHERE account_id = ${held.accountId} ORDER BY sequence`
        yield* untilFound(Effect.map(publications, (rows) => (rows.length === many ? [0] : [])))
        assert.deepStrictEqual(
          (yield* publications).map(({ id }) => id),
          ids
        )
      })
    )
  })
})
