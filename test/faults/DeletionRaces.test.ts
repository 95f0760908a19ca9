import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schedule } from "effect"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { DropsRepo } from "../../src/drops/DropsRepo.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import type { DropId, EntityId, JobId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import { plusMicros } from "../../src/model/Timestamp.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { layerWorkers } from "../../src/publishing/Publishing.ts"
import { RepositoriesOnDatabase, ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { held } from "../support/ShopRecords.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"
import { Dice, report } from "./Dice.ts"
import { layerDatabase } from "./ServerServices.ts"

const rounds = amount(5, 40)
const productsEach = 6

const quiet = () => Effect.void

const services = layerWorkers.pipe(
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(RepositoriesOnDatabase),
  Layer.provideMerge(layerDatabase(16))
)

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (all) => Effect.orDie(all.apply(changes)))

const link = (domain: string) =>
  Effect.flatMap(Stores, (stores) => Effect.map(stores.link({ domain, platform: "demo" }), ({ store }) => store))

const unlink = (domain: string) => Effect.flatMap(Stores, (stores) => stores.unlink(domain))

const someProducts = (store: Store) =>
  Effect.replicateEffect(anEntity("product", { title: "Tent" }, { on: [store] }), productsEach)

const begin = (id: EntityId) =>
  Effect.flatMap(BulkJobs, (bulk) => bulk.begin({ kind: "product", ids: [id] }, { _tag: "Delete" }))

const settle = (id: JobId) => Effect.flatMap(JobWorker, (worker) => Effect.flatten(worker.settle(id, quiet)))

const remove = (id: EntityId) => Effect.flatMap(begin(id), (job) => settle(job.id))

const atOnce = { concurrency: "unbounded" } as const

/** Begins the deletion of each product, and runs the jobs beside other work that begins at random times. Returns the ended jobs. */
const race = <A, E, R>(dice: Dice, products: ReadonlyArray<EntityId>, others: ReadonlyArray<Effect.Effect<A, E, R>>) =>
  Effect.gen(function* () {
    const jobs = yield* Effect.forEach(products, begin)
    const later = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.delay(work, dice.below(120))
    const settled = jobs.map(({ id }) => later(settle(id)))
    const exits = yield* Effect.all(
      [Effect.all(settled, atOnce), Effect.forEach(others, (each) => Effect.exit(later(each)), atOnce)],
      atOnce
    )
    return { ended: exits[0], others: exits[1] }
  })

const existing = (ids: ReadonlyArray<EntityId>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql`SELECT id FROM entity WHERE id = ANY(${ids}::uuid[])`
    return new Set(rows.map(({ id }) => String(id)))
  })

type Ended = Effect.Effect.Success<ReturnType<typeof settle>>

/** Checks that each job tells the truth: it deleted its product, or refused it with one of these messages. Returns the number deleted. */
const judge = (products: ReadonlyArray<EntityId>, ended: ReadonlyArray<Ended>, refusals: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    assert.lengthOf(products, productsEach)
    assert.lengthOf(ended, productsEach)
    const there = yield* existing(products)
    for (const [index, job] of ended.entries()) {
      assert.strictEqual(job.state, "done")
      const isThere = there.has(products[index] ?? "")
      assert.deepStrictEqual(job.result, { changed: isThere ? 0 : 1, unchanged: 0, refused: isThere ? 1 : 0 })
      if (isThere) assert.include(refusals, job.errors[0]?.message)
    }
    return products.length - there.size
  })

/** Repeats a race in one account, and checks how many deletions there were. */
const repeat = <E, R>(name: string, round: (dice: Dice, store: Store) => Effect.Effect<number, E, R>) =>
  Effect.gen(function* () {
    const { actor } = yield* anAccount()
    const dice = new Dice(name)
    const deleted = yield* Effect.gen(function* () {
      const store = yield* link("race.example")
      return yield* Effect.replicateEffect(round(dice, store), rounds)
    }).pipe(actingAs(actor))
    report(name, { deletions: rounds * productsEach, deletedInRaces: deleted.reduce((sum, each) => sum + each, 0) })
    assert.lengthOf(deleted, rounds)
  }).pipe(Effect.provide(services))

const inAnHour = Effect.gen(function* () {
  const now = yield* (yield* DropsRepo).now
  return { starts_at: plusMicros(now, 3_600_000_000), ends_at: plusMicros(now, 7_200_000_000), timezone: "UTC" }
})

const changesOf = (products: ReadonlyArray<EntityId>, store: Store) =>
  products.map((entity_id) => ({ entity_id, store_id: store.id, field: "title", value: "Sale" }))

const untilStatus = (id: DropId, status: string) =>
  Effect.gen(function* () {
    const drops = yield* Drops
    yield* drops.runDue
    return (yield* drops.get(id)).status === status
  }).pipe(Effect.repeat({ until: (isThere) => isThere, schedule: Schedule.spaced("10 millis") }))

describe.skipIf(!serverAnswers)("deletions of what drops and unlinked stores have", () => {
  it.live("beside the end of a drop: each is refused before the end, or the drop keeps the name", () =>
    repeat("Deletions beside the end of a drop", (dice, store) =>
      Effect.gen(function* () {
        const drops = yield* Drops
        const sql = yield* SqlClient.SqlClient
        const products = yield* someProducts(store)
        const on = products.map((entityId) => ({ entityId, storeId: store.id }))
        yield* apply(...on.map(CatalogChange.AcceptPublish))
        const { id } = yield* drops.create({ name: "Sale", ...(yield* inAnHour), changes: changesOf(products, store) })
        yield* sql`UPDATE drop SET starts_at = app_now() WHERE id = ${id}`
        yield* untilStatus(id, "applied")
        yield* apply(...on.map(CatalogChange.RemoveFromStore))
        yield* sql`UPDATE drop SET ends_at = app_now() WHERE id = ${id}`
        const { ended } = yield* race(dice, products, [drops.runDue, drops.runDue])
        const refusals = ['the drop "Sale" changes it: wait until the drop has ended']
        const deleted = yield* judge(products, ended, refusals)
        // No product is on the store any more, so the end has nothing to restore.
        yield* untilStatus(id, "failed")
        const there = yield* existing(products)
        const nameOf = (each: EntityId) => (there.has(each) ? null : "Tent")
        const expected = (name: (each: EntityId) => string | null) =>
          products.map((each) => [each, name(each), "failed"])
        const shown = Effect.map(drops.get(id), ({ changes }) =>
          changes.map(({ deleted_name, entity_id, outcome }) => [entity_id, deleted_name, outcome])
        )
        assert.deepStrictEqual(yield* shown, expected(nameOf))
        for (const each of products.filter((product) => there.has(product)))
          assert.deepStrictEqual((yield* remove(each)).errors, [])
        assert.deepStrictEqual(
          yield* shown,
          expected(() => "Tent")
        )
        return deleted
      })
    )
  )

  it.live("beside the scheduling of a drop: one of both is refused", () =>
    repeat("Deletions beside the scheduling of drops", (dice, store) =>
      Effect.gen(function* () {
        const drops = yield* Drops
        const products = yield* someProducts(store)
        const times = yield* inAnHour
        const schedule = products.map((id) => drops.create({ name: "Sale", ...times, changes: changesOf([id], store) }))
        const { ended, others } = yield* race(dice, products, schedule)
        const refusals = ['the drop "Sale" will change it: cancel the drop first, or wait until the drop has ended']
        const deleted = yield* judge(products, ended, refusals)
        const there = yield* existing(products)
        for (const [index, exit] of others.entries()) {
          assert.strictEqual(Exit.isSuccess(exit), there.has(products[index] ?? ""))
          if (Exit.isFailure(exit)) {
            assert.include(String(exit.cause), "changes[0].entity_id: no such entity")
            continue
          }
          const { changes } = yield* drops.get(exit.value.id)
          assert.deepStrictEqual(
            changes.map(({ deleted_name }) => deleted_name),
            [null]
          )
        }
        return deleted
      })
    )
  )

  it.live("beside linking the store again: each is refused, or the store has nothing of it", () =>
    repeat("Deletions beside linking a store again", (dice, store) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const products = yield* someProducts(store)
        yield* apply(...products.map((entityId) => CatalogChange.AcceptPublish({ entityId, storeId: store.id })))
        yield* unlink(store.domain)
        const { ended, others } = yield* race(dice, products, [link(store.domain)])
        assert.isTrue(others.every(Exit.isSuccess))
        const refusals = [
          "the product was published to a store, or imported from one: delete it in that store, then refresh the store"
        ]
        const deleted = yield* judge(products, ended, refusals)
        const there = yield* existing(products)
        const versions = yield* sql`
          SELECT v.entity_id FROM store_version v JOIN entity e ON e.account_id = v.account_id AND e.id = v.entity_id
          WHERE v.store_id = ${store.id} AND e.store_ids = ARRAY[v.store_id] AND v.entity_id = ANY(${products}::uuid[])`
        assert.sameMembers(
          versions.map(({ entity_id }) => String(entity_id)),
          [...there]
        )
        yield* unlink(store.domain)
        for (const each of products.filter((product) => there.has(product)))
          assert.deepStrictEqual((yield* remove(each)).errors, [])
        yield* link(store.domain)
        return deleted
      })
    )
  )

  it.live("beside a refresh of the store that is linked again: each of its products is here once", () =>
    repeat("Deletions beside a refresh", (dice, store) =>
      Effect.gen(function* () {
        const imports = yield* Imports
        const sql = yield* SqlClient.SqlClient
        const shops = yield* DemoShops
        const records = Array.from({ length: productsEach }, (_, index) =>
          held("product", `p/${index}`, { title: "Tent", handle: `tent-${index}` })
        )
        const { accountId } = yield* CurrentActor
        yield* shops.put({ accountId, storeId: store.id }, records)
        const refresh = Effect.gen(function* () {
          const { id } = yield* imports.refresh(store.domain, quiet)
          return yield* imports.accept(id, quiet, { rest: "take_store" })
        })
        yield* refresh
        const found = () => sql<{ id: EntityId; place: string }>`
          SELECT v.entity_id AS id, v.platform_id AS place FROM store_version v
          JOIN entity e ON e.account_id = v.account_id AND e.id = v.entity_id
          WHERE v.store_id = ${store.id} ORDER BY v.platform_id`
        const before = yield* found()
        const products = before.map(({ id }) => id)
        assert.lengthOf(products, productsEach)
        yield* unlink(store.domain)
        const { ended, others } = yield* race(dice, products, [Effect.zipRight(link(store.domain), refresh)])
        assert.deepStrictEqual(others.filter(Exit.isFailure), [])
        const refusals = [
          "the product was published to a store, or imported from one: delete it in that store, then refresh the store"
        ]
        const deleted = yield* judge(products, ended, refusals)
        const there = yield* existing(products)
        const after = yield* found()
        assert.deepStrictEqual(
          after.map(({ place }) => place),
          before.map(({ place }) => place)
        )
        assert.deepStrictEqual(
          after.map(({ id }) => products.includes(id)),
          products.map((id) => there.has(id))
        )
        return deleted
      })
    )
  )
})
