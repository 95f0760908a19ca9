import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Effect, Fiber, Layer, Ref } from "effect"
import type { Drop } from "../../src/drops/Drop.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { type DropId, EntityId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import { layerWorkers } from "../../src/publishing/Publishing.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { report } from "../faults/Dice.ts"
import { acceptedProduct, untilDrop } from "../support/DueDrops.ts"
import { advance, ahead, layerMovableClock, layerStarted } from "../support/MovableClock.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"
import { amount } from "../support/Volume.ts"

const hour = 3_600_000

/** Number of changed products, each with two changes. A part has 50 products. The long run has as many changes as a drop may have. */
const count = amount(101, 1_000)

const apply = (changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (catalog) => catalog.apply(changes))

/** Products that the store has accepted. */
const someProducts = (store: Store) =>
  Effect.gen(function* () {
    const products = yield* Effect.replicateEffect(mintId(EntityId), count)
    for (const some of Arr.chunksOf(products, 250)) yield* apply(some.flatMap((id) => acceptedProduct(id, [store])))
    return products
  })

/** Writes another product of the account until it is stopped. Then it returns the number of writes and the time of the longest one. */
const writeBeside = Effect.gen(function* () {
  const id = yield* mintId(EntityId)
  yield* apply([CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "0" } })])
  const wrote = { writes: 0, longestMillis: 0 }
  const write = Effect.gen(function* () {
    const begin = performance.now()
    yield* apply([CatalogChange.SetAttributes({ entityId: id, values: { title: String(wrote.writes + 1) } })])
    wrote.writes += 1
    wrote.longestMillis = Math.max(wrote.longestMillis, Math.round(performance.now() - begin))
  })
  const fiber = yield* Effect.fork(Effect.forever(Effect.zipRight(write, Effect.sleep("5 millis"))))
  return { stop: Effect.as(Fiber.interrupt(fiber), wrote) }
})

/** Runs due steps until the drop has this status, which all its changes must have too. Returns the time that this took. */
const millisUntil = (id: DropId, status: Drop["status"]) =>
  Effect.gen(function* () {
    const begin = performance.now()
    const drop = yield* untilDrop(id, status)
    assert.deepStrictEqual(
      drop.changes.filter(({ outcome }) => outcome !== status),
      []
    )
    assert.lengthOf(drop.changes, 2 * count)
    return Math.round(performance.now() - begin)
  })

for (const engine of featureServiceEngines)
  describe.skipIf(engine.absent)(`a large drop on ${engine.name}`, () => {
    const TestLayer = Layer.merge(layerWorkers, layerStarted).pipe(
      Layer.provideMerge(engine.layer),
      Layer.provideMerge(layerMovableClock)
    )
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("changes all its fields and restores them, while others write", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const { link } = yield* Stores
            const { store } = yield* link({ domain: `${accountId.slice(0, 8)}.demo.example`, platform: "demo" })
            const products = yield* someProducts(store)
            const now = Date.now() + (yield* Ref.get(ahead))
            const { id } = yield* (yield* Drops).create({
              name: "Sale",
              starts_at: fromMillis(now + hour),
              ends_at: fromMillis(now + 2 * hour),
              timezone: "UTC",
              changes: products.flatMap((entity_id) =>
                ["title", "vendor"].map((field) => ({ entity_id, store_id: store.id, field, value: "Sale" }))
              )
            })
            const writer = yield* writeBeside
            yield* advance(hour)
            const start = yield* millisUntil(id, "applied")
            yield* advance(hour)
            const end = yield* millisUntil(id, "reverted")
            const wrote = yield* writer.stop
            assert.isAbove(wrote.writes, 0)
            report(`A drop of ${2 * count} changes on ${engine.name}`, { start, end, ...wrote })
          }).pipe(actingAs(actor))
        })
      )
    })
  })
