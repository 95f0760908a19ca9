import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Ref, Schedule } from "effect"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import type { Drop, NewDrop } from "../../src/drops/Drop.ts"
import { Drops } from "../../src/drops/Drops.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import type { DropId, EntityId } from "../../src/model/Ids.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { layerWorkers, Publishing } from "../../src/publishing/Publishing.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  Catalog,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Stores
} from "../../src/testing/index.ts"
import { advance, ahead, layerMovableClock, layerStarted } from "../support/MovableClock.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

const hour = 3_600_000

const inMillis = (millis: number) => Effect.map(Ref.get(ahead), (shift) => fromMillis(Date.now() + shift + millis))

/** Two products, one with a variant, that are live on a shop. */
const aShop = Effect.gen(function* () {
  const { actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    const { store } = yield* (yield* Stores).link({ domain: "shop.demo.example", platform: "demo" })
    const tent = yield* anEntity("product", { title: "Tent" }, { on: [store] })
    const small = yield* anEntity("variant", { title: "S", sku: "T-1", price: "10.00" }, { on: [store], of: tent })
    const stove = yield* anEntity("product", { title: "Stove" }, { on: [store] })
    const { request, settle } = yield* Publishing
    for (const id of [tent, stove]) {
      const asked = yield* request(id, store.id)
      assert(asked.outcome === "requested")
      const [record] = yield* settle([asked.publicationId], () => Effect.void)
      assert.strictEqual(record?.state, "published")
    }
    return { actor, store, tent, small, stove }
  }).pipe(actingAs(actor))
}).pipe(Effect.orDie)

type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<unknown, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

const aDrop = (shop: Shop, name: string, ...fields: ReadonlyArray<readonly [EntityId, field: string, value: string]>) =>
  Effect.gen(function* () {
    const drop: NewDrop = {
      name,
      starts_at: yield* inMillis(hour),
      ends_at: yield* inMillis(2 * hour),
      timezone: "UTC",
      changes: fields.map(([entity_id, field, value]) => ({ entity_id, store_id: shop.store.id, field, value }))
    }
    return yield* (yield* Drops).create(drop)
  })

const get = (id: DropId) => Effect.flatMap(Drops, (drops) => drops.get(id))
const runDue = Effect.flatMap(Drops, (drops) => drops.runDue)

/** Runs due steps until the drop has this status and no step left, or has a step left if `isOpen`. */
const until = (id: DropId, status: Drop["status"], isOpen = false) =>
  Effect.gen(function* () {
    yield* runDue
    const { rows } = yield* (yield* Drops).page({ isOpen, after: null, limit: 10 })
    return rows.some((row) => row.id === id && row.status === status)
  }).pipe(
    Effect.repeat({ until: (isThere) => isThere, schedule: Schedule.spaced("10 millis") }),
    Effect.zipRight(get(id))
  )

/** Runs a deletion to its end, and returns why it refuses entities. */
const refusalsOf = (kind: EntityKind, ...ids: ReadonlyArray<EntityId>) =>
  Effect.gen(function* () {
    const { id } = yield* (yield* BulkJobs).begin({ kind, ids }, { _tag: "Delete" })
    const ended = yield* Effect.flatten((yield* JobWorker).settle(id, () => Effect.void))
    return ended.errors.map(({ message }) => message)
  })

/** As if the shop had deleted these entities, and a refresh had found that out. */
const leaveShop = ({ store }: Shop, ...ids: ReadonlyArray<EntityId>) =>
  Effect.flatMap(CatalogChanges, ({ apply }) =>
    apply(ids.map((entityId) => CatalogChange.RemoveFromStore({ entityId, storeId: store.id })))
  )

const exists = (kind: EntityKind, id: EntityId) =>
  Effect.flatMap(Catalog, (catalog) => Effect.isSuccess(catalog.get(kind, id)))

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`entities of drops are deleted, on ${engine.name}`, () => {
    const TestLayer = Layer.merge(layerWorkers, layerStarted).pipe(
      Layer.provideMerge(engine.layer),
      Layer.provideMerge(layerMovableClock)
    )
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("ended drops keep the ids, kinds and names of deleted entities", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { small, stove, tent } = shop
            const drops = yield* Drops
            const sale = yield* aDrop(
              shop,
              "Sale",
              [small, "price", "8.00"],
              [stove, "title", "Oven"],
              [tent, "title", "Camp"]
            )
            const cancelled = yield* aDrop(shop, "Never", [small, "barcode", "1"])
            yield* drops.cancel(cancelled.id)
            yield* advance(hour)
            yield* until(sale.id, "applied", true)
            yield* leaveShop(shop, tent, small)
            const live = 'the drop "Sale" changes it: wait until the drop has ended'
            assert.deepStrictEqual(yield* refusalsOf("product", tent), [live])
            assert.isTrue(yield* exists("product", tent))

            yield* advance(hour)
            const before = yield* until(sale.id, "failed")
            const [earlier, never] = [yield* drops.earlierValues(sale.id), yield* get(cancelled.id)]
            const gone = { code: "NOT_ON_STORE", message: "The entity is no longer on the store." }
            assert.deepStrictEqual(
              before.changes.map(({ deleted_name, error, outcome }) => [deleted_name, outcome, error]),
              [
                [null, "failed", gone],
                [null, "reverted", null],
                [null, "failed", gone]
              ]
            )
            assert.deepStrictEqual(yield* refusalsOf("product", tent), [])
            assert.isFalse(yield* exists("product", tent))
            assert.isFalse(yield* exists("variant", small))

            const [price, title, camp] = before.changes
            const after = {
              ...before,
              changes: [{ ...price, deleted_name: "Tent: S, T-1" }, title, { ...camp, deleted_name: "Tent" }]
            }
            assert.deepStrictEqual<unknown>(yield* get(sale.id), after)
            assert.deepStrictEqual<unknown>(yield* get(cancelled.id), {
              ...never,
              changes: [{ ...never.changes[0], deleted_name: "Tent: S, T-1" }]
            })
            assert.deepStrictEqual<unknown>(
              (yield* drops.list).find(({ id }) => id === sale.id),
              after
            )
            assert.deepStrictEqual(yield* drops.earlierValues(sale.id), earlier)
            assert.deepStrictEqual(
              earlier.map(({ value }) => value),
              ["10.00", "Stove", "Tent"]
            )
            const { rows } = yield* drops.page({ isOpen: false, after: null, limit: 10 })
            assert.deepStrictEqual(rows.map(({ changes, entities, name }) => [name, changes, entities]).sort(), [
              ["Never", 1, 1],
              ["Sale", 3, 3]
            ])
            assert.strictEqual((yield* Effect.flip(drops.ofEntity("product", tent)))._tag, "NotFound")
            assert.deepStrictEqual<unknown>(
              (yield* drops.ofEntity("product", stove)).map(({ changes }) => changes),
              [[title]]
            )
          })
        )
      )

      it.effect("a drop that goes on when its store is linked again leaves out deleted entities", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { small, store, stove } = shop
            const { link, unlink } = yield* Stores
            const sale = yield* aDrop(shop, "Sale", [stove, "title", "Oven"], [small, "price", "8.00"])
            yield* advance(hour)
            yield* until(sale.id, "applied", true)
            yield* unlink(store.domain)
            assert.deepStrictEqual(yield* refusalsOf("product", stove), [
              'the drop "Sale" changes it: wait until the drop has ended'
            ])
            yield* advance(hour)
            const ended = yield* until(sale.id, "failed")
            assert.deepStrictEqual(ended.changes, [])
            assert.deepStrictEqual(yield* refusalsOf("product", stove), [])
            yield* link({ domain: store.domain, platform: "demo" })
            const gone = { code: "STORE_UNLINKED", message: "The store was unlinked before the drop ended." }
            const [oven, price] = (yield* until(sale.id, "failed")).changes
            assert.deepInclude(oven, { entity_id: stove, deleted_name: "Stove", outcome: "failed", error: gone })
            assert.deepInclude(price, { entity_id: small, deleted_name: null, outcome: "reverted", error: null })
            const sheet = yield* (yield* Drafts).get(small, store.id)
            assert.deepInclude(sheet, { overridden: [], pending_publish: false })
          })
        )
      )

      it.effect(
        "a drop without an end that only changes a deleted entity is not reopened when its store is linked again",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { store, stove, tent } = shop
              const { link, unlink } = yield* Stores
              const create = (name: string, entity_id: EntityId) =>
                Effect.flatMap(inMillis(hour), (starts_at) =>
                  Effect.flatMap(Drops, (drops) =>
                    drops.create({
                      name,
                      starts_at,
                      ends_at: null,
                      timezone: "UTC",
                      changes: [{ entity_id, store_id: store.id, field: "title", value: "Oven" }]
                    })
                  )
                )
              const gone = yield* create("Gone", stove)
              const kept = yield* create("Kept", tent)
              yield* unlink(store.domain)
              yield* advance(hour)
              yield* until(gone.id, "failed")
              yield* until(kept.id, "failed")
              assert.deepStrictEqual(yield* refusalsOf("product", stove), [])
              yield* link({ domain: store.domain, platform: "demo" })
              const linked = yield* get(gone.id)
              assert.strictEqual(linked.status, "failed")
              assert.lengthOf(linked.changes, 1)
              assert.deepInclude(linked.changes[0], { entity_id: stove, deleted_name: "Stove", outcome: "failed" })
              assert.strictEqual((yield* get(kept.id)).status, "applying")
              yield* until(kept.id, "applied")
              assert.deepStrictEqual(yield* get(gone.id), linked)
            })
          )
      )
    })
  })
}
