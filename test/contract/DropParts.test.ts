import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Effect, Layer, Logger, Ref, Schedule, Stream } from "effect"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import type { Drop, NewDrop } from "../../src/drops/Drop.ts"
import { makeDropExecution } from "../../src/drops/DropExecution.ts"
import type { DueStep } from "../../src/drops/DropStep.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { DropsRepo } from "../../src/drops/DropsRepo.ts"
import { type DropId, EntityId, ImportId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { layerWorkers, Publishing } from "../../src/publishing/Publishing.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anAccount, CatalogChange, CatalogChanges, Drafts, Stores } from "../../src/testing/index.ts"
import { acceptedProduct, untilDrop } from "../support/DueDrops.ts"
import { advance, ahead, layerMovableClock, layerStarted } from "../support/MovableClock.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

const hour = 3_600_000
/** One more than a part has, so that the last product is in a second part. */
const count = 51

/** Two stores that have accepted all products. */
const aShop = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    const { link } = yield* Stores
    const [one, two] = yield* Effect.forEach(["one", "two"], (place) =>
      Effect.map(
        link({ domain: `${place}-${accountId.slice(0, 8)}.demo.example`, platform: "demo" }),
        ({ store }) => store
      )
    )
    assert(one !== undefined && two !== undefined)
    const products = yield* Effect.replicateEffect(mintId(EntityId), count)
    yield* (yield* CatalogChanges).apply(products.flatMap((id) => acceptedProduct(id, [one, two])))
    return { accountId, actor, one, two, products, last: products[count - 1] ?? assert.fail() }
  }).pipe(actingAs(actor))
}).pipe(Effect.orDie)
type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<unknown, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

/** A drop that gives each product another title on the store (null: on all), from an hour on for an hour. */
const aDrop = ({ products }: Shop, store: Store | null, { from = hour, name = "Sale" } = {}) =>
  Effect.gen(function* () {
    const now = Date.now() + (yield* Ref.get(ahead))
    const changes: NewDrop["changes"] = products.map((entity_id) => ({
      entity_id,
      store_id: store?.id ?? null,
      field: "title",
      value: name
    }))
    return yield* (yield* Drops).create({
      name,
      starts_at: fromMillis(now + from),
      ends_at: fromMillis(now + from + hour),
      timezone: "UTC",
      changes
    })
  })

const get = (id: DropId) => Effect.flatMap(Drops, (drops) => drops.get(id))
const runDue = Effect.flatMap(Drops, (drops) => drops.runDue)

/** Carries out one due step of the drop, or one part of it. */
const runPart = (id: DropId) =>
  Effect.gen(function* () {
    const due = yield* (yield* DropsRepo).due(50, [])
    const own = due.find((step) => step.id === id) ?? assert.fail("no step is due")
    const carryOut = yield* Effect.provide(makeDropExecution, FaultInjector.layer)
    assert.isTrue(yield* carryOut(own))
    return own.step
  })

/**
 * Carries out a step of the drop, each part in a process that did not see the others fail, and none of which can save more than `max`
 * effects. Returns how many effects each part had.
 */
const runBreaking = (id: DropId, step: DueStep["step"], max: number) =>
  Effect.gen(function* () {
    const repo = yield* DropsRepo
    const sizes: Array<number> = []
    const breaking = Layer.succeed(DropsRepo, {
      ...repo,
      move: (due, to) =>
        Effect.suspend(() => {
          sizes.push(to.effects.length)
          return to.effects.length > max ? Effect.dieMessage("the database is gone") : repo.move(due, to)
        })
    })
    for (;;) {
      const due = (yield* repo.due(50, [])).find((other) => other.id === id && other.step === step)
      if (due === undefined || sizes.length === count) return sizes
      const carryOut = yield* Effect.provide(makeDropExecution, Layer.merge(FaultInjector.layer, breaking))
      yield* carryOut(due)
    }
  })

/** The outcomes of the changes, or why they failed, each with its number. */
const outcomes = ({ changes }: Drop) =>
  Object.fromEntries(
    Object.entries(Arr.groupBy(changes, ({ error, outcome }) => error?.code ?? String(outcome))).map(([key, all]) => [
      key,
      all.length
    ])
  )

/** The titles in the store's shop, each with its number. */
const titles = ({ accountId }: Shop, { id: storeId }: Store) =>
  Effect.gen(function* () {
    const records = yield* Stream.runCollect((yield* DemoShops).records({ accountId, storeId }))
    const found = Arr.groupBy([...records], ({ attributes }) => attributes.title?.value ?? "")
    return Object.fromEntries(Object.entries(found).map(([title, all]) => [title, all.length]))
  })

const hold = ({ accountId }: Shop, { id: storeId }: Store) =>
  Effect.flatMap(DemoShops, (shops) =>
    shops.fail({ accountId, storeId }, { kind: "error", percent: 100, delayMillis: 0 })
  )
const release = ({ accountId }: Shop, { id: storeId }: Store) =>
  Effect.flatMap(DemoShops, (shops) => shops.repair({ accountId, storeId }))
const unlink = ({ domain }: Store) => Effect.flatMap(Stores, (stores) => stores.unlink(domain))
const link = ({ domain }: Store) => Effect.flatMap(Stores, (stores) => stores.link({ domain, platform: "demo" }))

/** Ends the drop, and checks that the shop has the titles from before it. */
const assertReverted = (shop: Shop, store: Store, id: DropId) =>
  Effect.gen(function* () {
    assert.deepStrictEqual(outcomes(yield* untilDrop(id, "reverted")), { reverted: count })
    assert.deepStrictEqual(yield* titles(shop, store), { Tent: count })
  })

const assertAppliedThenReverted = (shop: Shop, store: Store, id: DropId) =>
  Effect.gen(function* () {
    assert.deepStrictEqual(outcomes(yield* untilDrop(id, "applied")), { applied: count })
    assert.deepStrictEqual(yield* titles(shop, store), { Sale: count })
    yield* advance(hour)
    yield* assertReverted(shop, store, id)
  })

for (const engine of featureServiceEngines)
  describe.skipIf(engine.absent)(`between the parts of a drop on ${engine.name}`, () => {
    const TestLayer = Layer.merge(layerWorkers, layerStarted).pipe(
      Layer.provideMerge(engine.layer),
      Layer.provideMerge(layerMovableClock),
      // Attempts fail on purpose.
      Layer.provideMerge(Logger.remove(Logger.defaultLogger))
    )
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("a store is unlinked, and linked again after the start: the drop goes on with both parts", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { two } = shop
            yield* hold(shop, two)
            const { id } = yield* aDrop(shop, two)
            yield* advance(hour)
            assert.strictEqual(yield* runPart(id), "start")
            yield* unlink(two)
            assert.strictEqual(yield* runPart(id), "start")
            yield* untilDrop(id, "failed")
            yield* release(shop, two)
            yield* link(two)
            assert.deepStrictEqual(outcomes(yield* get(id)), { null: count })
            // Once more, before a server runs the drop.
            yield* unlink(two)
            yield* untilDrop(id, "failed")
            yield* link(two)
            yield* assertAppliedThenReverted(shop, two, id)
          })
        )
      )

      it.effect("a store is linked again: the drop starts there with both parts", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { two } = shop
            const { id } = yield* aDrop(shop, two)
            yield* unlink(two)
            yield* advance(hour)
            assert.strictEqual(yield* runPart(id), "start")
            yield* link(two)
            yield* assertAppliedThenReverted(shop, two, id)
          })
        )
      )

      it.effect("a store is unlinked: a drop of all stores starts there with the part that it was linked in", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, two } = shop
            yield* hold(shop, two)
            const { id } = yield* aDrop(shop, null)
            yield* advance(hour)
            // 25 products on both stores.
            assert.strictEqual(yield* runPart(id), "start")
            yield* unlink(two)
            yield* untilDrop(id, "failed")
            assert.deepStrictEqual(yield* titles(shop, one), { Sale: count })
            yield* release(shop, two)
            yield* link(two)
            assert.deepStrictEqual(outcomes(yield* untilDrop(id, "applied")), { applied: count })
            assert.deepStrictEqual(yield* titles(shop, two), { Sale: 25 })
            yield* advance(hour)
            yield* untilDrop(id, "reverted")
            for (const [store, number] of [
              [one, count],
              [two, 25]
            ] as const)
              assert.deepStrictEqual(yield* titles(shop, store), { Tent: number })
          })
        )
      )

      it.effect("a store is unlinked at the end, and linked again: both parts end there", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { two } = shop
            for (const linkedAgain of ["between", "after"]) {
              const { id } = yield* aDrop(shop, two)
              yield* advance(hour)
              yield* untilDrop(id, "applied")
              yield* hold(shop, two)
              yield* advance(hour)
              assert.strictEqual(yield* runPart(id), "end")
              yield* unlink(two)
              if (linkedAgain === "after") {
                assert.strictEqual(yield* runPart(id), "end")
                yield* untilDrop(id, "failed")
              }
              yield* release(shop, two)
              yield* link(two)
              yield* assertReverted(shop, two, id)
            }
          })
        )
      )

      it.effect("the values that the drop has replaced are shown", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { two } = shop
            const { earlierValues } = yield* Drops
            const { id } = yield* aDrop(shop, two)
            yield* advance(hour)
            yield* untilDrop(id, "applied")
            const before = yield* earlierValues(id)
            assert.lengthOf(before, count)
            yield* advance(hour)
            assert.strictEqual(yield* runPart(id), "end")
            assert.lengthOf(yield* earlierValues(id), before.length)
            yield* assertReverted(shop, two, id)
          })
        )
      )

      it.effect("an import locks the account: the drop goes on after it, also if its end is due", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, two } = shop
            const { keep } = yield* ImportLockRepo
            const { id } = yield* aDrop(shop, two)
            yield* advance(hour)
            assert.strictEqual(yield* runPart(id), "start")
            yield* keep(accountId, yield* mintId(ImportId))
            yield* advance(hour)
            yield* runDue
            assert.deepStrictEqual((yield* get(id)).status, "applying")
            yield* keep(accountId, null)
            assert.strictEqual(yield* runPart(id), "start")
            yield* assertReverted(shop, two, id)
          })
        )
      )

      it.effect("the drop cannot be cancelled, and a product that is no longer on the store fails", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { last, two } = shop
            const { id } = yield* aDrop(shop, two)
            yield* advance(hour)
            assert.strictEqual(yield* runPart(id), "start")
            const refused = yield* Effect.flip((yield* Drops).cancel(id))
            assert.include(String(refused.message), "the drop is applying")
            yield* (yield* CatalogChanges).apply([CatalogChange.RemoveFromStore({ entityId: last, storeId: two.id })])
            assert.deepStrictEqual(outcomes(yield* untilDrop(id, "failed")), { applied: count - 1, NOT_ON_STORE: 1 })
          })
        )
      )

      it.effect("a product of a later part is published: the drop restores what the store has accepted then", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { last, two } = shop
            const { id } = yield* aDrop(shop, two)
            yield* advance(hour)
            assert.strictEqual(yield* runPart(id), "start")
            yield* (yield* CatalogChanges).apply([
              CatalogChange.SetAttributes({ entityId: last, values: { title: "Big tent" } })
            ])
            yield* (yield* Publishing).request(last, two.id)
            yield* untilDrop(id, "applied")
            assert.deepStrictEqual(yield* titles(shop, two), { Sale: count })
            yield* advance(hour)
            yield* untilDrop(id, "reverted")
            assert.deepStrictEqual(yield* titles(shop, two), { Tent: count - 1, "Big tent": 1 })
          })
        )
      )

      it.effect("no part of more than 6 publishes can be saved: the drop starts and ends in smaller ones", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { two } = shop
            const { id } = yield* aDrop(shop, two)
            for (const [step, status] of [
              ["start", "applied"],
              ["end", "reverted"]
            ] as const) {
              yield* advance(hour)
              // 50 publishes are tried first. A part that was saved is followed by a larger one.
              assert.deepStrictEqual(
                yield* runBreaking(id, step, 6),
                [50, 25, 12, 6, 12, 6, 12, 6, 12, 6, 12, 6, 12, 6, 12, 6, 9, 6, 3]
              )
              assert.deepStrictEqual(outcomes(yield* untilDrop(id, status)), { [status]: count })
            }
            assert.deepStrictEqual(yield* titles(shop, two), { Tent: count })
          })
        )
      )

      it.effect(
        "the store refuses the values: the drafts are withdrawn in two parts, and the drop fails after the last one",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { accountId, two } = shop
              yield* (yield* DemoShops).fail(
                { accountId, storeId: two.id },
                { kind: "refuse", percent: 100, delayMillis: 0 }
              )
              const { id } = yield* aDrop(shop, two)
              yield* advance(hour)
              assert.strictEqual(yield* runPart(id), "start")
              assert.strictEqual(yield* runPart(id), "start")
              yield* Effect.repeat(
                Effect.flatMap(DropsRepo, (repo) => repo.due(50, [])),
                {
                  until: (steps) => steps.some((step) => step.id === id),
                  schedule: Schedule.spaced("10 millis")
                }
              )
              const drafts = Effect.forEach(shop.products, (product) =>
                Effect.map(
                  Effect.flatMap(Drafts, ({ get }) => get(product, two.id)),
                  ({ attributes }) => attributes.some(({ key, value }) => key === "title" && value === "Sale")
                )
              )
              const written = Effect.map(drafts, (all) => all.filter((isWritten) => isWritten).length)
              assert.strictEqual(yield* written, count)
              assert.strictEqual(yield* runPart(id), "settle_start")
              assert.strictEqual(yield* written, 1)
              assert.deepInclude(yield* get(id), { status: "applying" })
              assert.deepStrictEqual(outcomes(yield* get(id)), { null: count })
              // A store that is linked again between the parts changes nothing: the publishes were refused before.
              yield* unlink(two)
              yield* link(two)
              assert.strictEqual(yield* runPart(id), "settle_start")
              assert.strictEqual(yield* written, 0)
              assert.deepInclude(yield* get(id), { status: "failed" })
              assert.deepStrictEqual(outcomes(yield* get(id)), { DEMO_REFUSED: count })
            })
          )
      )

      it.effect("another drop of the fields waits for the last part of the end", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { two } = shop
            const { id } = yield* aDrop(shop, two)
            const next = yield* aDrop(shop, two, { name: "Rest", from: 2 * hour })
            yield* advance(hour)
            yield* untilDrop(id, "applied")
            yield* advance(hour)
            assert.strictEqual(yield* runPart(id), "end")
            assert.deepStrictEqual(
              (yield* (yield* DropsRepo).due(50, [])).filter((due) => due.id === next.id),
              []
            )
            yield* untilDrop(next.id, "applied")
            assert.deepStrictEqual(yield* titles(shop, two), { Rest: count })
            yield* advance(hour)
            yield* untilDrop(id, "reverted")
            yield* assertReverted(shop, two, next.id)
          })
        )
      )
    })
  })
