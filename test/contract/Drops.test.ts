import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option, Ref, Schedule, Stream } from "effect"
import type { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { type Drop, type DropPlace, maxDropChanges, type NewDrop } from "../../src/drops/Drop.ts"
import { notLinkedCode, unsettledCode } from "../../src/drops/DropStep.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { DropsRepo } from "../../src/drops/DropsRepo.ts"
import { DropId, EntityId, ImportId, nilUuid, type PublicationId, type StoreId } from "../../src/model/Ids.ts"
import { isDelayed } from "../../src/model/PublishState.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import { layerWorkers, Publishing } from "../../src/publishing/Publishing.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import {
  type Accounts,
  type ApiKeys,
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Drafts,
  definedAs,
  type Mirror,
  OwnDefinitions,
  Stores
} from "../../src/testing/index.ts"
import { MemoryRepositories } from "../../src/testing/Layers.ts"
import { makeHeldPublishes } from "../support/HeldPublishes.ts"
import { aMetafield, refresh as refreshMirror } from "../support/Mirrors.ts"
import { advance, ahead, layerMovableClock, layerStarted } from "../support/MovableClock.ts"
import { engines } from "../support/TestDatabase.ts"
import { allowed, unknownKey } from "./DraftValues.ts"

const hour = 3_600_000

const publishes = makeHeldPublishes()

/** The time this many milliseconds from now, on the clock that drops use. */
const inMillis = (millis: number) => Effect.map(Ref.get(ahead), (shift) => fromMillis(Date.now() + shift + millis))

const create = (drop: NewDrop) => Effect.flatMap(Drops, (drops) => drops.create(drop))
const runDue = Effect.flatMap(Drops, (drops) => drops.runDue)
const get = (id: DropId) => Effect.flatMap(Drops, (drops) => drops.get(id))

/** Checks that running all due steps does not change this drop. */
const assertStays = (id: DropId) =>
  Effect.gen(function* () {
    const before = yield* get(id)
    yield* runDue
    assert.deepStrictEqual(yield* get(id), before)
  })

/** Runs due steps until the drop has this status. */
const until = (id: DropId, status: Drop["status"]) =>
  Effect.zipRight(runDue, get(id)).pipe(
    Effect.repeat({ until: (drop) => drop.status === status, schedule: Schedule.spaced("10 millis") }),
    Effect.orDie,
    Effect.zipRight(get(id))
  )

const aShop = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    const { link } = yield* Stores
    const name = accountId.slice(0, 8)
    const [one, two, files] = yield* Effect.forEach(["one", "two", "files"], (place) =>
      Effect.map(
        link({ domain: `${place}-${name}.demo.example`, platform: place === "files" ? "none" : "demo" }),
        ({ store }) => store
      )
    )
    assert(one !== undefined && two !== undefined && files !== undefined)
    const on = [one, two, files]
    const product = yield* anEntity("product", { title: "Tent", vendor: "Fell" }, { on })
    const variant = yield* anEntity("variant", { title: "S", price: "10.00" }, { on, of: product })
    const { request, settle } = yield* Publishing
    for (const store of [one, two]) {
      const asked = yield* request(product, store.id)
      assert(asked.outcome === "requested")
      const [record] = yield* settle([asked.publicationId], () => Effect.void)
      assert.strictEqual(record?.state, "published")
    }
    return { accountId, actor, one, two, files, product, variant }
  }).pipe(actingAs(actor))
}).pipe(Effect.orDie)
type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<unknown, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

/** The values of the store's shop. */
const live = ({ accountId }: Shop, storeId: StoreId, id: EntityId, key: string) =>
  Effect.map(
    Effect.flatMap(DemoShops, (shops) => Stream.runCollect(shops.records({ accountId, storeId }))),
    (records) => [...records].find(({ entityId }) => entityId === id)?.attributes[key]?.value
  )

/** Claims a publication as a process that dies. No other process attempts it meanwhile. */
const holdFor = (millis: number, id: PublicationId) =>
  Effect.flatMap(PublicationsRepo, (repo) =>
    Effect.repeat(
      Effect.delay(repo.claim({ limit: 1, maxPerStore: 100, leaseSeconds: millis / 1_000, only: [id] }), "10 millis"),
      { until: (claimed) => claimed.length > 0 }
    )
  )

/** Waits until a publish of the variant to the store has met an outage. */
const untilDelayed = ({ accountId, variant }: Shop, storeId: StoreId, attempts = 1) =>
  Effect.gen(function* () {
    const repo = yield* PublicationsRepo
    const { id } = yield* Effect.flatten(repo.newest(accountId, variant, storeId))
    const ended = Effect.map(
      repo.attempts(accountId, id),
      (all) => all.filter(({ endedAt }) => endedAt !== null).length
    )
    yield* Effect.repeat(Effect.delay(ended, "10 millis"), { until: (count) => count >= attempts })
    const [record] = yield* repo.find(accountId, [id])
    assert.isTrue(isDelayed(record?.error ?? null))
  })

/** Runs due steps until the store's shop has this price of the variant. */
const untilPrice = (shop: Shop, storeId: StoreId, value: string) =>
  Effect.repeat(Effect.zipRight(runDue, live(shop, storeId, shop.variant, "price")), {
    until: (price) => price === value,
    schedule: Schedule.spaced("10 millis")
  })

const draft = (id: EntityId, storeId: StoreId, key: string) =>
  Effect.map(
    Effect.flatMap(Drafts, (drafts) => drafts.get(id, storeId)),
    ({ attributes, overridden, pending_publish }) => ({
      value: attributes.find((each) => each.key === key)?.value,
      own: overridden.includes(key),
      pending: pending_publish
    })
  )

/** Checks that the variant has the price from before the drop, in the store's shop and in its draft. */
const assertRestored = (shop: Shop, storeId: StoreId) =>
  Effect.gen(function* () {
    assert.strictEqual(yield* live(shop, storeId, shop.variant, "price"), "10.00")
    assert.deepStrictEqual(yield* draft(shop.variant, storeId, "price"), { value: "10.00", own: false, pending: false })
  })

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => service.apply(changes))

const aDrop = (
  changes: NewDrop["changes"],
  { from = hour, name = "Sale", to = 2 * hour }: { from?: number; to?: number | null; name?: string } = {}
) =>
  Effect.gen(function* () {
    return yield* create({
      name,
      starts_at: yield* inMillis(from),
      ends_at: to === null ? null : yield* inMillis(to),
      timezone: "Europe/Lisbon",
      changes
    })
  })

const price = (shop: Shop, store_id: string | null, value = "8.00") => [
  { entity_id: shop.variant, store_id, field: "price", value }
]

const issues = <A, E extends { readonly _tag: string }, R>(refused: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(refused), (error) =>
    "issues" in error ? (error.issues as ReadonlyArray<{ path: string; message: string }>) : assert.fail(error._tag)
  )

const unlinked = (code: string) => ({ code, message: "The store was unlinked." })

const outcomes = ({ changes }: Drop) => changes.map(({ outcome }) => outcome)

const endedTooEarly = { code: "DROP_ENDED", message: "The drop ended before the store could take its values." }

/** The services that the tests need. On a database they include its client, which moves the database's clock. */
type Needed =
  | Accounts
  | ApiKeys
  | CatalogChanges
  | DemoShops
  | Drafts
  | DraftsRepo
  | Drops
  | DropsRepo
  | ImportLockRepo
  | Mirror
  | PublicationsRepo
  | OwnDefinitions
  | Publishing
  | Stores

const all: ReadonlyArray<{ readonly name: string; readonly absent: boolean; readonly layer: Layer.Layer<Needed> }> = [
  {
    name: "memory",
    absent: false,
    layer: Services.pipe(Layer.provideMerge(publishes.layer), Layer.provideMerge(MemoryRepositories))
  },
  ...engines.map(({ absent, layer, name }) => ({
    name,
    absent,
    layer: Services.pipe(
      Layer.provideMerge(publishes.layer),
      Layer.provideMerge(RepositoriesOnDatabase),
      Layer.provideMerge(layer),
      Layer.orDie
    )
  }))
]

for (const engine of all) {
  describe.skipIf(engine.absent)(`drops on ${engine.name}`, () => {
    const TestLayer = Layer.merge(layerWorkers, layerStarted).pipe(
      Layer.provideMerge(engine.layer),
      Layer.provideMerge(layerMovableClock)
    )
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("start and end at their times and publish nothing else", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, product, two, variant } = shop
            // A draft that the drop must not publish.
            yield* apply(
              CatalogChange.SetAttributes({ entityId: variant, values: { barcode: "draft" } }),
              CatalogChange.SetAttributes({ entityId: product, values: { vendor: "Draft" } })
            )
            const drop = yield* aDrop(price(shop, one.id))
            assert.deepStrictEqual([drop.status, drop.timezone, outcomes(drop)], ["scheduled", "Europe/Lisbon", [null]])
            // It never starts early.
            yield* advance(hour - 60_000)
            yield* assertStays(drop.id)
            assert.strictEqual(yield* live(shop, one.id, variant, "price"), "10.00")

            yield* advance(60_000)
            assert.deepStrictEqual(outcomes(yield* until(drop.id, "applied")), ["applied"])
            assert.strictEqual(yield* live(shop, one.id, variant, "price"), "8.00")
            assert.strictEqual(yield* live(shop, two.id, variant, "price"), "10.00")
            assert.notStrictEqual(yield* live(shop, one.id, variant, "barcode"), "draft")
            assert.strictEqual(yield* live(shop, one.id, product, "vendor"), "Fell")
            assert.deepStrictEqual(yield* draft(variant, one.id, "price"), { value: "8.00", own: true, pending: true })
            yield* assertStays(drop.id)

            yield* advance(hour)
            assert.deepStrictEqual(outcomes(yield* until(drop.id, "reverted")), ["reverted"])
            assert.strictEqual(yield* live(shop, one.id, variant, "price"), "10.00")
            assert.deepStrictEqual(yield* draft(variant, one.id, "price"), {
              value: "10.00",
              own: false,
              pending: true
            })
            assert.notStrictEqual(yield* live(shop, one.id, variant, "barcode"), "draft")
            yield* assertStays(drop.id)
            // The author of the drop is the author of its changes.
            const history = yield* (yield* Drafts).history(variant, 50)
            const prices = history.flatMap(({ actor, changes, store_id }) =>
              changes
                .filter(({ key }) => key === "price")
                .map((change) => [actor.kind, store_id, change.old, change.new])
            )
            assert.deepStrictEqual(prices.slice(0, 2), [
              ["cli", one.id, "8.00", null],
              ["cli", one.id, null, "8.00"]
            ])
            // These rows name the drop and who scheduled it; earlier rows name no drop.
            const told = history.map(({ action, actor, drop }) => [action, actor.kind, drop])
            const its = { id: drop.id, name: "Sale" }
            assert.deepStrictEqual(told.slice(0, 6), [
              ["published", "cli", its],
              ["publish_asked", "cli", its],
              ["attributes", "cli", its],
              ["published", "cli", its],
              ["publish_asked", "cli", its],
              ["attributes", "cli", its]
            ])
            assert.isTrue(told.slice(6).every(([, , made]) => made === null))
          })
        )
      )

      it.effect("stay if they have no end, and apply to every store with a platform if they have no store", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { files, one, two, variant } = shop
            const drop = yield* aDrop(price(shop, null, ""), { to: null })
            yield* advance(hour)
            const applied = yield* until(drop.id, "applied")
            assert.deepStrictEqual([outcomes(applied), applied.changes[0]?.store_id], [["applied"], null])
            for (const store of [one, two]) {
              assert.isUndefined(yield* live(shop, store.id, variant, "price"))
              assert.deepInclude(yield* draft(variant, store.id, "price"), { value: "", own: true, pending: false })
            }
            assert.deepInclude(yield* draft(variant, files.id, "price"), { value: "10.00", own: false })
            yield* advance(100 * hour)
            yield* assertStays(drop.id)
            // The first drop has ended, so its field is free again.
            assert.strictEqual((yield* aDrop(price(shop, one.id))).status, "scheduled")
          })
        )
      )

      it.effect("tell the values that they replaced, from the end of their publishes on", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, one, product, two, variant } = shop
            const shops = yield* DemoShops
            const { unlink } = yield* Stores
            const drop = yield* aDrop([
              ...price(shop, null),
              { entity_id: product, store_id: one.id, field: "vendor", value: "Tern" }
            ])
            const late = yield* anEntity("variant", { price: "1.00" }, { on: [one], of: product })
            const refused = yield* aDrop([{ entity_id: late, store_id: one.id, field: "price", value: "0.50" }])
            const earlier = (id: DropId) =>
              Effect.map(
                Effect.flatMap(Drops, ({ earlierValues }) => earlierValues(id)),
                (values) => values.map(({ entity_id, field, store_id, value }) => [entity_id, store_id, field, value])
              )
            assert.deepStrictEqual(yield* earlier(drop.id), [])
            // Another publish is pending when the drop starts: its value is the one that the drop replaces.
            yield* shops.fail({ accountId, storeId: two.id }, { kind: "error", percent: 100, delayMillis: 0 })
            yield* apply(CatalogChange.SetOverrides({ entityId: variant, storeId: two.id, values: { price: "12.00" } }))
            yield* (yield* Publishing).request(variant, two.id)
            yield* advance(hour)
            yield* untilPrice(shop, one.id, "8.00")
            assert.deepStrictEqual(yield* earlier(drop.id), [])
            yield* shops.repair({ accountId, storeId: two.id })
            yield* until(drop.id, "applied")
            const all = [
              [variant, null, "price", null],
              [product, one.id, "vendor", "Fell"]
            ]
            assert.deepStrictEqual(yield* earlier(drop.id), all)
            // A change that could not start has replaced nothing.
            assert.strictEqual((yield* get(refused.id)).status, "failed")
            assert.deepStrictEqual(yield* earlier(refused.id), [])
            // They stay while the end is published, and afterwards.
            yield* shops.fail({ accountId, storeId: two.id }, { kind: "error", percent: 100, delayMillis: 0 })
            yield* advance(hour)
            yield* untilPrice(shop, one.id, "10.00")
            assert.deepStrictEqual(yield* earlier(drop.id), all)
            yield* shops.repair({ accountId, storeId: two.id })
            yield* until(drop.id, "reverted")
            assert.deepStrictEqual(yield* earlier(drop.id), all)
            yield* unlink(two.domain)
            assert.deepStrictEqual((yield* earlier(drop.id))[0], [variant, null, "price", "10.00"])
          })
        )
      )

      it.effect("leave fields that somebody edited meanwhile and restore the rest", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, product, two, variant } = shop
            yield* apply(CatalogChange.SetOverrides({ entityId: product, storeId: two.id, values: { title: "Zelt" } }))
            const drop = yield* aDrop([
              ...price(shop, one.id),
              { entity_id: product, store_id: two.id, field: "title", value: "Angebot" },
              { entity_id: product, store_id: one.id, field: "title", value: "Offer" }
            ])
            yield* advance(hour)
            yield* until(drop.id, "applied")
            assert.strictEqual(yield* live(shop, two.id, product, "title"), "Angebot")
            yield* apply(
              CatalogChange.SetOverrides({ entityId: variant, storeId: one.id, values: { price: "7.50" } }),
              // Not changed by the drop, because that store has its own value.
              CatalogChange.SetAttributes({ entityId: product, values: { title: "Big tent" } })
            )
            yield* advance(hour)
            const reverted = yield* until(drop.id, "reverted")
            assert.deepStrictEqual(outcomes(reverted), ["skipped", "reverted", "reverted"])
            assert.strictEqual(yield* live(shop, one.id, variant, "price"), "8.00")
            assert.deepStrictEqual(yield* draft(variant, one.id, "price"), { value: "7.50", own: true, pending: true })
            // Every value is restored exactly: a draft that the store had not accepted is a draft again.
            assert.strictEqual(yield* live(shop, two.id, product, "title"), "Tent")
            assert.deepStrictEqual(yield* draft(product, two.id, "title"), { value: "Zelt", own: true, pending: true })
            assert.strictEqual(yield* live(shop, one.id, product, "title"), "Tent")
            assert.deepStrictEqual(yield* draft(product, one.id, "title"), {
              value: "Big tent",
              own: false,
              pending: true
            })
          })
        )
      )

      it.effect("fail with the platform's reason and leave no draft behind", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, one, two, variant } = shop
            const shops = yield* DemoShops
            yield* shops.fail({ accountId, storeId: two.id }, { kind: "refuse", percent: 100, delayMillis: 0 })
            const drop = yield* aDrop([...price(shop, one.id), ...price(shop, two.id)])
            yield* advance(hour)
            const failed = yield* until(drop.id, "failed")
            assert.deepStrictEqual(outcomes(failed), ["applied", "failed"])
            assert.deepStrictEqual(failed.changes[1]?.error, {
              code: "DEMO_REFUSED",
              message: "The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it."
            })
            assert.deepInclude(yield* draft(variant, two.id, "price"), { value: "10.00", own: false })
            // A failed drop is listed as long as it runs, and a week after its start.
            const isListed = (from: number) =>
              Effect.gen(function* () {
                const { dueBetween } = yield* Drops
                const rows = yield* dueBetween(yield* inMillis(from * hour), yield* inMillis((from + 1) * hour), 10)
                return rows.some(({ id }) => id === drop.id)
              })
            assert.isTrue(yield* isListed(-48))
            yield* shops.repair({ accountId, storeId: two.id })
            // The changes that were published are reverted at the end.
            yield* advance(hour)
            yield* Effect.repeat(Effect.zipRight(runDue, get(drop.id)), {
              until: ({ changes }) => changes[0]?.outcome === "reverted",
              schedule: Schedule.spaced("10 millis")
            })
            assert.deepStrictEqual(outcomes(yield* get(drop.id)), ["reverted", "failed"])
            assert.strictEqual((yield* get(drop.id)).status, "failed")
            assert.deepStrictEqual(yield* Effect.forEach([-48, 6 * 24, 8 * 24], isListed), [false, true, false])
            assert.strictEqual(yield* live(shop, one.id, variant, "price"), "10.00")
          })
        )
      )

      it.effect("end on the other stores if a store is unlinked while its publish is pending", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, one, two } = shop
            const shops = yield* DemoShops
            yield* shops.fail({ accountId, storeId: two.id }, { kind: "error", percent: 100, delayMillis: 0 })
            const drop = yield* aDrop(price(shop, null))
            yield* advance(hour)
            yield* until(drop.id, "applying")
            yield* untilPrice(shop, one.id, "8.00")
            yield* untilDelayed(shop, two.id)
            yield* assertStays(drop.id)
            yield* (yield* Stores).unlink(two.domain)
            const failed = yield* until(drop.id, "failed")
            assert.deepStrictEqual(failed.changes[0]?.error, {
              code: "STORE_UNLINKED_AT_START",
              message: "The store was unlinked before the publish had ended."
            })
            yield* advance(hour)
            yield* untilPrice(shop, one.id, "10.00")
            // The store is linked again after the end: it keeps its earlier price, and the drop's override is removed.
            yield* shops.repair({ accountId, storeId: two.id })
            yield* (yield* Stores).link({ domain: two.domain, platform: "demo" })
            yield* Effect.repeat(Effect.zipRight(runDue, get(drop.id)), {
              until: ({ changes }) => changes[0]?.error?.code !== unsettledCode,
              schedule: Schedule.spaced("10 millis")
            })
            const ended = yield* get(drop.id)
            assert.deepInclude(ended.changes[0], { outcome: "failed", error: endedTooEarly })
            yield* assertRestored(shop, two.id)
            yield* assertStays(drop.id)
          })
        )
      )

      it.effect("are not sent to a store that answers again only after their end", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, one, two, variant } = shop
            const shops = yield* DemoShops
            yield* shops.fail({ accountId, storeId: two.id }, { kind: "error", percent: 100, delayMillis: 0 })
            const drop = yield* aDrop([...price(shop, one.id), ...price(shop, two.id)])
            yield* advance(hour)
            yield* untilPrice(shop, one.id, "8.00")
            yield* untilDelayed(shop, two.id)
            yield* advance(hour)
            yield* assertStays(drop.id)
            // An attempt during the next step of the clock would outlive its lease and count as lost.
            yield* untilDelayed(shop, two.id, 2)
            yield* shops.repair({ accountId, storeId: two.id })
            // An outage pauses a publish for at most five minutes.
            yield* advance(5 * 60_000)
            const failed = yield* until(drop.id, "failed")
            assert.deepInclude(failed.changes[1], { outcome: "failed", error: endedTooEarly })
            yield* Effect.repeat(Effect.zipRight(runDue, get(drop.id)), {
              until: ({ changes }) => changes[0]?.outcome === "reverted",
              schedule: Schedule.spaced("10 millis")
            })
            const ended = yield* get(drop.id)
            assert.deepStrictEqual([ended.status, outcomes(ended)], ["failed", ["reverted", "failed"]])
            for (const { id } of [one, two]) yield* assertRestored(shop, id)
            const history = yield* (yield* Drafts).history(variant, 50)
            const publishes = history.filter(
              ({ action, drop, store_id }) => drop !== null && store_id === two.id && action !== "attributes"
            )
            assert.deepStrictEqual(
              publishes.map(({ action, error }) => [action, error]),
              [
                ["publish_failed", endedTooEarly],
                ["publish_asked", null]
              ]
            )
          })
        )
      )

      it.effect("go on with a store that is linked again before the end, also if they have none", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, product, two, variant } = shop
            const shops = yield* DemoShops
            const { link, unlink } = yield* Stores
            yield* shops.fail({ accountId, storeId: two.id }, { kind: "error", percent: 100, delayMillis: 0 })
            const drop = yield* aDrop(price(shop, two.id))
            const endless = yield* aDrop([{ entity_id: product, store_id: two.id, field: "vendor", value: "Tern" }], {
              to: null
            })
            yield* advance(hour)
            yield* runDue
            yield* unlink(two.domain)
            for (const { id } of [drop, endless]) yield* until(id, "failed")
            yield* shops.repair({ accountId, storeId: two.id })
            yield* link({ domain: two.domain, platform: "demo" })
            const reopened = yield* get(drop.id)
            assert.strictEqual(reopened.status, "applying")
            assert.deepInclude(reopened.changes[0], { outcome: null, error: null })
            for (const { id } of [drop, endless]) yield* until(id, "applied")
            assert.strictEqual(yield* live(shop, two.id, variant, "price"), "8.00")
            assert.strictEqual(yield* live(shop, two.id, product, "vendor"), "Tern")
            yield* advance(hour)
            yield* until(drop.id, "reverted")
            yield* assertRestored(shop, two.id)
          })
        )
      )

      it.effect("wait for a drop without an end that is reopened", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, product, two } = shop
            const shops = yield* DemoShops
            const { link, unlink } = yield* Stores
            const vendor = (store_id: StoreId | null, value: string) => [
              { entity_id: product, store_id, field: "vendor", value }
            ]
            yield* shops.fail({ accountId, storeId: two.id }, { kind: "error", percent: 100, delayMillis: 0 })
            const endless = yield* aDrop(vendor(two.id, "Tern"), { to: null })
            yield* advance(hour)
            yield* runDue
            yield* unlink(two.domain)
            yield* until(endless.id, "failed")
            const later = yield* aDrop(vendor(null, "Gannet"))
            // The store is linked again, but the publish of the first drop is still pending when the second is due.
            yield* link({ domain: two.domain, platform: "demo" })
            yield* advance(hour)
            yield* assertStays(later.id)
            assert.deepStrictEqual(
              [(yield* get(endless.id)).status, (yield* get(later.id)).status],
              ["applying", "scheduled"]
            )
            yield* shops.repair({ accountId, storeId: two.id })
            yield* until(later.id, "applied")
            assert.strictEqual((yield* get(endless.id)).status, "applied")
            assert.strictEqual(yield* live(shop, two.id, product, "vendor"), "Gannet")
            yield* advance(hour)
            yield* until(later.id, "reverted")
            assert.strictEqual(yield* live(shop, two.id, product, "vendor"), "Tern")
          })
        )
      )

      it.effect("start on a store that was not linked at their start when it is linked again before the end", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, product, two, variant } = shop
            const { link, unlink } = yield* Stores
            const { history } = yield* Drafts
            const drop = yield* aDrop([...price(shop, one.id), ...price(shop, two.id, "7.00")])
            const endless = yield* aDrop([{ entity_id: product, store_id: two.id, field: "vendor", value: "Tern" }], {
              to: null
            })
            yield* unlink(two.domain)
            yield* advance(hour)
            for (const { id } of [drop, endless]) yield* until(id, "failed")
            yield* untilPrice(shop, one.id, "8.00")
            const before = (yield* history(variant, 50)).filter(({ store_id }) => store_id === one.id)
            yield* link({ domain: two.domain, platform: "demo" })
            const reopened = yield* get(drop.id)
            assert.strictEqual(reopened.status, "applying")
            assert.deepStrictEqual(outcomes(reopened), ["applied", null])
            assert.deepInclude(reopened.changes[1], { outcome: null, error: null })
            for (const { id } of [drop, endless]) yield* until(id, "applied")
            assert.deepStrictEqual(outcomes(yield* get(drop.id)), ["applied", "applied"])
            assert.strictEqual(yield* live(shop, two.id, variant, "price"), "7.00")
            assert.strictEqual(yield* live(shop, two.id, product, "vendor"), "Tern")
            // The other store has the drop already: nothing happens there.
            const after = (yield* history(variant, 50)).filter(({ store_id }) => store_id === one.id)
            assert.deepStrictEqual(after, before)
            yield* assertStays(drop.id)
            yield* advance(hour)
            assert.deepStrictEqual(outcomes(yield* until(drop.id, "reverted")), ["reverted", "reverted"])
            for (const { id } of [one, two]) yield* assertRestored(shop, id)
            assert.strictEqual(yield* live(shop, two.id, product, "vendor"), "Tern")
            yield* assertStays(endless.id)
          })
        )
      )

      it.effect("restore the override of a store that was not linked at their start", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { two, variant } = shop
            const { link, unlink } = yield* Stores
            yield* apply(CatalogChange.SetOverrides({ entityId: variant, storeId: two.id, values: { price: "11.00" } }))
            const drop = yield* aDrop(price(shop, two.id))
            yield* unlink(two.domain)
            yield* advance(hour)
            yield* until(drop.id, "failed")
            yield* link({ domain: two.domain, platform: "demo" })
            yield* until(drop.id, "applied")
            yield* advance(hour)
            yield* until(drop.id, "reverted")
            assert.strictEqual(yield* live(shop, two.id, variant, "price"), "10.00")
            assert.deepStrictEqual(yield* draft(variant, two.id, "price"), { value: "11.00", own: true, pending: true })
          })
        )
      )

      it.effect("change nothing on a store that was not linked from their start until their end", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, product, two, variant } = shop
            const { link, unlink } = yield* Stores
            // Somebody else has the value of the drop as a draft.
            yield* apply(CatalogChange.SetOverrides({ entityId: variant, storeId: two.id, values: { price: "7.00" } }))
            const drop = yield* aDrop([...price(shop, one.id), ...price(shop, two.id, "7.00")])
            const second = yield* aDrop([{ entity_id: product, store_id: two.id, field: "vendor", value: "Tern" }])
            yield* unlink(two.domain)
            yield* advance(hour)
            yield* until(drop.id, "failed")
            yield* until(second.id, "failed")
            // The store is linked and unlinked again before a server runs the first drop.
            yield* link({ domain: two.domain, platform: "demo" })
            yield* unlink(two.domain)
            yield* until(drop.id, "failed")
            yield* until(second.id, "failed")
            yield* advance(hour)
            yield* untilPrice(shop, one.id, "10.00")
            yield* until(second.id, "failed")
            yield* link({ domain: two.domain, platform: "demo" })
            yield* Effect.repeat(Effect.zipRight(runDue, get(drop.id)), {
              until: ({ changes }) => changes[0]?.outcome === "reverted",
              schedule: Schedule.spaced("10 millis")
            })
            const ended = yield* get(drop.id)
            assert.deepStrictEqual([ended.status, outcomes(ended)], ["failed", ["reverted", "failed"]])
            assert.deepStrictEqual(ended.changes[1]?.error, {
              code: "STORE_NOT_LINKED",
              message: "The store was not linked when the drop started."
            })
            for (const { id } of [drop, second]) yield* assertStays(id)
            assert.strictEqual(yield* live(shop, two.id, variant, "price"), "10.00")
            assert.deepStrictEqual(yield* draft(variant, two.id, "price"), { value: "7.00", own: true, pending: true })
            assert.strictEqual(yield* live(shop, two.id, product, "vendor"), "Fell")
          })
        )
      )

      it.effect("reopen all changes on a store that was unlinked between two parts of their start", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, product, two, variant } = shop
            const { lock, move, reopen } = yield* DropsRepo
            const vendor = { entity_id: product, store_id: two.id, field: "vendor", value: "Tern" }
            const drop = yield* aDrop([...price(shop, two.id), vendor])
            yield* advance(hour)
            const due = { accountId, id: drop.id, step: "start" } as const
            assert.isTrue(Option.isSome(yield* lock(due)))
            const failed = { outcome: "failed", error: { code: "", message: "Failed" } } as const
            const effect = {
              isDeleted: false,
              storeId: two.id,
              overrideBefore: null,
              acceptedBefore: "",
              publicationId: null,
              ...failed
            }
            yield* move(due, {
              status: "failed",
              next: null,
              effects: [
                {
                  ...effect,
                  ordinal: 0,
                  entityId: variant,
                  field: "price",
                  value: "8.00",
                  error: unlinked(unsettledCode)
                },
                {
                  ...effect,
                  ordinal: 1,
                  entityId: product,
                  field: "vendor",
                  value: "Tern",
                  error: unlinked(notLinkedCode)
                }
              ],
              outcomes: [0, 1].map((ordinal) => ({ ordinal, ...failed }))
            })
            yield* reopen(accountId, two.id)
            const reopened = yield* get(drop.id)
            assert.deepStrictEqual([reopened.status, outcomes(reopened)], ["applying", [null, null]])
            const locked = Option.getOrThrow(yield* lock(due))
            assert.deepStrictEqual(
              locked.effects.map(({ outcome }) => outcome),
              [null, "failed"]
            )
          })
        )
      )

      it.effect("end on a store that was unlinked at the end when it is linked again", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, two, variant } = shop
            const { link, unlink } = yield* Stores
            const [drop, edited] = yield* Effect.all([
              aDrop(price(shop, null)),
              aDrop([{ entity_id: shop.product, store_id: two.id, field: "vendor", value: "Sold out" }])
            ])
            yield* advance(hour)
            yield* until(drop.id, "applied")
            yield* until(edited.id, "applied")
            yield* unlink(two.domain)
            yield* advance(hour)
            const failed = yield* until(drop.id, "failed")
            assert.deepStrictEqual(failed.changes[0]?.error, {
              code: "STORE_UNLINKED",
              message: "The store was unlinked before the drop ended."
            })
            yield* untilPrice(shop, one.id, "10.00")
            yield* until(edited.id, "failed")
            yield* link({ domain: two.domain, platform: "demo" })
            yield* apply(
              CatalogChange.SetOverrides({ entityId: shop.product, storeId: two.id, values: { vendor: "Tern" } })
            )
            yield* until(drop.id, "reverted")
            yield* assertRestored(shop, two.id)
            assert.strictEqual(yield* live(shop, one.id, variant, "price"), "10.00")
            yield* Effect.repeat(Effect.zipRight(runDue, get(edited.id)), {
              until: ({ changes }) => changes[0]?.outcome === "skipped",
              schedule: Schedule.spaced("10 millis")
            })
            assert.deepInclude(yield* draft(shop.product, two.id, "vendor"), { value: "Tern", own: true })
          })
        )
      )

      for (const { isRefused, title } of [
        {
          isRefused: false,
          title:
            "restore the value of another publish that was pending when they started, and whose store was unlinked then"
        },
        { isRefused: true, title: "withdraw a change that is refused when their store is linked again after the end" }
      ])
        it.effect(title, () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { accountId, two, variant } = shop
              const shops = yield* DemoShops
              const { link, unlink } = yield* Stores
              const { request } = yield* Publishing
              yield* shops.fail({ accountId, storeId: two.id }, { kind: "error", percent: 100, delayMillis: 0 })
              yield* apply(CatalogChange.SetAttributes({ entityId: variant, values: { price: "12.00" } }))
              const drop = yield* aDrop(price(shop, two.id))
              const asked = yield* request(variant, two.id)
              assert(asked.outcome === "requested")
              // The publish meets no outage after the start of the drop, which would keep its values from being sent later.
              yield* holdFor(1.5 * hour, asked.publicationId)
              yield* advance(hour)
              yield* runDue
              yield* unlink(two.domain)
              yield* until(drop.id, "failed")
              yield* advance(hour)
              yield* runDue
              yield* shops.repair({ accountId, storeId: two.id })
              if (isRefused)
                yield* shops.fail({ accountId, storeId: two.id }, { kind: "refuse", percent: 100, delayMillis: 0 })
              yield* link({ domain: two.domain, platform: "demo" })
              yield* Effect.repeat(Effect.zipRight(runDue, get(drop.id)), {
                until: ({ changes }) =>
                  isRefused ? changes[0]?.error?.code === "DEMO_REFUSED" : changes[0]?.outcome === "reverted",
                schedule: Schedule.spaced("10 millis")
              })
              assert.strictEqual((yield* get(drop.id)).status, isRefused ? "failed" : "reverted")
              assert.strictEqual(yield* live(shop, two.id, variant, "price"), isRefused ? "10.00" : "12.00")
              assert.deepStrictEqual(yield* draft(variant, two.id, "price"), {
                value: "12.00",
                own: false,
                pending: isRefused
              })
              yield* assertStays(drop.id)
            })
          )
        )

      it.effect("withdraw a change that the platform refused before its store was unlinked", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, two, variant } = shop
            const shops = yield* DemoShops
            const { link, unlink } = yield* Stores
            const { failures } = yield* Publishing
            yield* shops.fail({ accountId, storeId: two.id }, { kind: "refuse", percent: 100, delayMillis: 0 })
            const drop = yield* aDrop(price(shop, null))
            yield* advance(hour)
            yield* runDue
            yield* Effect.repeat(failures(10), {
              until: ({ length }) => length === 1,
              schedule: Schedule.spaced("10 millis")
            })
            yield* unlink(two.domain)
            yield* until(drop.id, "failed")
            yield* link({ domain: two.domain, platform: "demo" })
            const failed = yield* until(drop.id, "failed")
            assert.strictEqual(
              failed.changes[0]?.error?.message,
              "The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it."
            )
            assert.deepInclude(yield* draft(variant, two.id, "price"), { value: "10.00", own: false })
          })
        )
      )

      for (const isEnded of [false, true])
        it.effect(
          `say why a publish was refused, if its store is linked again ${isEnded ? "after" : "before"} the end`,
          () =>
            inShop((shop) =>
              Effect.gen(function* () {
                const { accountId, one, two, variant } = shop
                const shops = yield* DemoShops
                const { link, unlink } = yield* Stores
                const drop = yield* aDrop([...price(shop, one.id), ...price(shop, two.id)])
                yield* unlink(one.domain)
                yield* link({ domain: one.domain, platform: "none" })
                // The start cannot be settled while the publish to the other store is pending.
                yield* shops.fail({ accountId, storeId: two.id }, { kind: "error", percent: 100, delayMillis: 0 })
                yield* advance(hour)
                yield* runDue
                yield* unlink(one.domain)
                yield* shops.repair({ accountId, storeId: two.id })
                yield* until(drop.id, "failed")
                if (isEnded) {
                  yield* advance(hour)
                  yield* untilPrice(shop, two.id, "10.00")
                }
                yield* link({ domain: one.domain, platform: "none" })
                yield* Effect.repeat(Effect.zipRight(runDue, get(drop.id)), {
                  until: ({ changes }) => changes.length === 2 && changes.every(({ outcome }) => outcome !== null),
                  schedule: Schedule.spaced("10 millis")
                })
                yield* assertStays(drop.id)
                const failed = yield* get(drop.id)
                assert.deepStrictEqual(outcomes(failed), ["failed", isEnded ? "reverted" : "applied"])
                assert.deepStrictEqual(failed.changes[0]?.error, {
                  code: "REFUSED",
                  message: `${one.domain} has no platform: nothing can be published to it`
                })
                assert.deepInclude(yield* draft(variant, one.id, "price"), { value: "10.00", own: false })
              })
            )
        )

      it.effect("do not remove a value of somebody else that equals one of a change that could not start", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, product } = shop
            const late = yield* anEntity("variant", { price: "1.00" }, { on: [one], of: product })
            yield* apply(CatalogChange.SetOverrides({ entityId: late, storeId: one.id, values: { price: "0.50" } }))
            const drop = yield* aDrop([{ entity_id: late, store_id: one.id, field: "price", value: "0.50" }])
            yield* advance(hour)
            yield* until(drop.id, "failed")
            assert.deepInclude(yield* draft(late, one.id, "price"), { value: "0.50", own: true })
          })
        )
      )

      it.effect(
        "withdraw a change after the first refusal of its publish, also if they start later on another store",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { one, two, variant } = shop
              const { link, unlink } = yield* Stores
              const drop = yield* aDrop([...price(shop, one.id), ...price(shop, two.id, "7.00")])
              yield* unlink(one.domain)
              yield* link({ domain: one.domain, platform: "none" })
              yield* unlink(two.domain)
              yield* advance(hour)
              const [refused] = (yield* until(drop.id, "failed")).changes
              assert.deepInclude(refused?.error, {
                code: "REFUSED",
                message: `${one.domain} has no platform: nothing can be published to it`
              })
              assert.deepInclude(yield* draft(variant, one.id, "price"), { value: "10.00", own: false })
              // Somebody else writes the same value.
              yield* apply(
                CatalogChange.SetOverrides({ entityId: variant, storeId: one.id, values: { price: "8.00" } })
              )
              yield* link({ domain: two.domain, platform: "demo" })
              assert.deepStrictEqual(outcomes(yield* until(drop.id, "failed")), ["failed", "applied"])
              assert.strictEqual(yield* live(shop, two.id, variant, "price"), "7.00")
              assert.deepInclude(yield* draft(variant, one.id, "price"), { value: "8.00", own: true })
            })
          )
      )

      it.effect("are reverted when a store is linked again whose last publish was pending", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, two } = shop
            const shops = yield* DemoShops
            const { link, unlink } = yield* Stores
            const drop = yield* aDrop(price(shop, null))
            yield* advance(hour)
            yield* until(drop.id, "applied")
            yield* shops.fail({ accountId, storeId: two.id }, { kind: "error", percent: 100, delayMillis: 0 })
            yield* advance(hour)
            yield* runDue
            yield* unlink(two.domain)
            const failed = yield* until(drop.id, "failed")
            assert.deepStrictEqual(failed.changes[0]?.error, {
              code: "STORE_UNLINKED_AT_END",
              message: "The store was unlinked before the earlier value was published."
            })
            yield* shops.repair({ accountId, storeId: two.id })
            yield* link({ domain: two.domain, platform: "demo" })
            yield* until(drop.id, "reverted")
            yield* assertRestored(shop, two.id)
          })
        )
      )

      it.effect("fail on entities that were never published to the store", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, product } = shop
            const late = yield* anEntity("variant", { price: "1.00" }, { on: [one], of: product })
            const drop = yield* aDrop([{ entity_id: late, store_id: one.id, field: "price", value: "0.50" }])
            yield* advance(hour)
            const failed = yield* until(drop.id, "failed")
            assert.deepStrictEqual(failed.changes[0]?.error, {
              code: "NEVER_PUBLISHED",
              message:
                "The entity was never published to the store. Publish it first: a drop changes values of a published entity."
            })
            assert.deepInclude(yield* draft(late, one.id, "price"), { value: "1.00", own: false })
            yield* advance(hour)
            yield* Effect.repeatN(runDue, 2)
            assert.strictEqual((yield* get(drop.id)).status, "failed")
          })
        )
      )

      it.effect("a drop that starts when another ends waits for it, and restores the value before both", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, variant } = shop
            const first = yield* aDrop(price(shop, one.id, "8.00"), { name: "First" })
            const second = yield* create({
              name: "Second",
              starts_at: first.ends_at ?? "",
              ends_at: yield* inMillis(3 * hour),
              timezone: "UTC",
              changes: price(shop, null, "6.00")
            })
            // No server ran before both drops were due.
            yield* advance(2 * hour + 1_000)
            yield* until(first.id, "reverted")
            yield* until(second.id, "applied")
            assert.strictEqual(yield* live(shop, one.id, variant, "price"), "6.00")
            yield* advance(hour)
            yield* until(second.id, "reverted")
            assert.strictEqual(yield* live(shop, one.id, variant, "price"), "10.00")
            assert.deepInclude(yield* draft(variant, one.id, "price"), { value: "10.00", own: false, pending: false })
          })
        )
      )

      it.effect("restore the value that the store had, not one whose earlier publish failed", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, variant } = shop
            const { request, find } = yield* Publishing
            const { haveArrived, refuse } = yield* publishes.holdPublishes(one.id, 1)
            yield* apply(CatalogChange.SetAttributes({ entityId: variant, values: { price: "99.00" } }))
            const drop = yield* aDrop(price(shop, one.id), { from: 1_000 })
            // A publish of the entity is under way when the drop starts; the drop's publish waits for it.
            const asked = yield* request(variant, one.id)
            assert(asked.outcome === "requested")
            yield* haveArrived
            yield* advance(1_000)
            yield* runDue
            assert.strictEqual((yield* get(drop.id)).status, "applying")
            yield* refuse
            yield* Effect.repeat(find([asked.publicationId]), {
              until: ([record]) => record?.state !== "pending",
              schedule: Schedule.spaced("10 millis")
            })
            assert.deepInclude((yield* find([asked.publicationId]))[0], { state: "failed" })
            yield* until(drop.id, "applied")
            yield* advance(2 * hour)
            yield* until(drop.id, "reverted")
            assert.strictEqual(yield* live(shop, one.id, variant, "price"), "10.00")
            assert.deepStrictEqual(yield* draft(variant, one.id, "price"), {
              value: "99.00",
              own: false,
              pending: true
            })
          })
        )
      )

      it.effect("write a metafield with the type of its definition", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, product } = shop
            yield* refreshMirror(shop.accountId, one, {
              metafields: [aMetafield("product", "pack.grams", { type: "number_integer" })]
            })
            const weight = (value: string) => [{ entity_id: product, store_id: one.id, field: "pack.grams", value }]
            assert.deepStrictEqual(yield* issues(aDrop(weight("heavy"))), [
              {
                path: "changes[0].value",
                message: "must be a whole number from -9007199254740991 to 9007199254740991"
              }
            ])
            const drop = yield* aDrop(weight("350"))
            yield* advance(hour)
            yield* until(drop.id, "applied")
            const { attributes } = yield* Effect.flatMap(Drafts, (drafts) => drafts.get(product, one.id))
            assert.deepInclude(attributes, { key: "pack.grams", value: "350", type: "number_integer" })
            yield* advance(hour)
            yield* until(drop.id, "reverted")
            assert.isUndefined(yield* live(shop, one.id, product, "pack.grams"))
          })
        )
      )

      it.effect("restore an override with the type that its definition got meanwhile", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, product } = shop
            const grams = (value: string) =>
              Effect.gen(function* () {
                const { attributes } = yield* (yield* Drafts).get(product, one.id)
                assert.deepInclude(attributes, { key: "pack.grams", value, type: "number_decimal" })
              })
            yield* definedAs("product", { "pack.grams": "number_integer" })
            yield* apply(
              CatalogChange.SetOverrides({
                entityId: product,
                storeId: one.id,
                values: { "pack.grams": "100" },
                types: { "pack.grams": "number_integer" }
              })
            )
            const drop = yield* aDrop([{ entity_id: product, store_id: one.id, field: "pack.grams", value: "50" }])
            yield* advance(hour)
            yield* until(drop.id, "applied")
            yield* (yield* OwnDefinitions).setType({
              owner_type: "product",
              key: "pack.grams",
              type: "number_decimal"
            })
            yield* grams("50")
            yield* advance(hour)
            yield* until(drop.id, "reverted")
            yield* grams("100")
          })
        )
      )

      it.effect("wait while an import locks the account", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { keep } = yield* ImportLockRepo
            yield* keep(shop.accountId, ImportId.make(crypto.randomUUID()))
            const drop = yield* aDrop(price(shop, shop.one.id))
            yield* advance(hour)
            yield* assertStays(drop.id)
            assert.strictEqual((yield* get(drop.id)).status, "scheduled")
            yield* keep(shop.accountId, null)
            yield* until(drop.id, "applied")
          })
        )
      )

      it.effect("can be cancelled until they start", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { cancel } = yield* Drops
            const drop = yield* aDrop(price(shop, shop.one.id))
            assert.deepStrictEqual(yield* cancel(drop.id), { ...drop, status: "cancelled" })
            yield* advance(3 * hour)
            yield* assertStays(drop.id)
            const again = yield* aDrop(price(shop, shop.one.id), { from: 1_000 })
            yield* advance(2_000)
            yield* until(again.id, "applied")
            assert.deepStrictEqual(yield* issues(cancel(again.id)), [
              { path: "id", message: "the drop is applied: only a scheduled one can be cancelled" }
            ])
            assert.deepStrictEqual(yield* issues(cancel(drop.id)), [
              { path: "id", message: "the drop is cancelled: only a scheduled one can be cancelled" }
            ])
            const other = yield* anAccount()
            for (const refused of [
              yield* Effect.flip(cancel(DropId.make(nilUuid))),
              yield* Effect.flip(cancel(drop.id).pipe(actingAs(other.actor))),
              yield* Effect.flip(get(drop.id).pipe(actingAs(other.actor)))
            ])
              assert.strictEqual(refused._tag, "NotFound")
          })
        )
      )

      it.effect("are refused if another drop has the field at the same time; the refusal names it", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, product, two, variant } = shop
            const taken = yield* aDrop(price(shop, one.id), { name: 'The "first"' })
            const why = [
              {
                path: "changes[0]",
                message: `the drop "The \\"first\\"" (${taken.id}) changes this field at the same time`
              }
            ]
            const span = (from: number, to: number | null) => ({
              from: from * hour,
              to: to === null ? null : to * hour
            })
            for (const at of [span(1.5, 3), span(0.5, 1.5), span(1.2, 1.4), span(0.5, 5), span(0.5, null)])
              for (const store of [one.id, null])
                assert.deepStrictEqual(yield* issues(aDrop(price(shop, store), at)), why)
            for (const at of [span(0.2, 0.9), span(2.1, 3), span(2.1, null)])
              yield* Effect.flatMap(aDrop(price(shop, null), at), ({ id }) =>
                Effect.flatMap(Drops, ({ cancel }) => cancel(id))
              )
            yield* aDrop(price(shop, two.id))
            yield* aDrop([
              { entity_id: variant, store_id: one.id, field: "barcode", value: "1" },
              { entity_id: product, store_id: one.id, field: "title", value: "1" }
            ])
            yield* (yield* Drops).cancel(taken.id)
            yield* aDrop(price(shop, one.id))
          })
        )
      )

      it.effect("are refused with a path for each problem, and nothing is stored", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { list } = yield* Drops
            const { files, one, product, two, variant } = shop
            const other = yield* aShop
            const elsewhere = yield* anEntity("product", {}, { on: [two] })
            const nowhere = yield* anEntity("product", {}, { on: [files] })
            const change = (over: Partial<NewDrop["changes"][number]>) => ({
              entity_id: variant as string,
              store_id: one.id as string | null,
              field: "price",
              value: "1.00",
              ...over
            })
            const good = {
              name: "Sale",
              starts_at: yield* inMillis(hour),
              ends_at: yield* inMillis(2 * hour),
              timezone: "UTC",
              changes: [change({})]
            }
            const past = yield* inMillis(-1_000)
            const says = (over: Partial<NewDrop>) => issues(create({ ...good, ...over }))
            assert.deepStrictEqual(yield* says({ name: "half \ud83d" }), [
              { path: "name", message: "must be one line of valid text" }
            ])
            assert.deepStrictEqual(
              yield* says({ name: " ", starts_at: "tomorrow", ends_at: "2026-02-30T00:00:00Z", timezone: "Mars/Base" }),
              [
                { path: "name", message: "must have 1 to 200 characters" },
                {
                  path: "starts_at",
                  message: "must be an RFC 3339 date-time with an offset, such as 2026-01-31T09:30:00Z"
                },
                {
                  path: "ends_at",
                  message: "must be an RFC 3339 date-time with an offset: this date does not exist"
                },
                { path: "timezone", message: "must be an IANA time zone such as Europe/Berlin" }
              ]
            )
            assert.deepStrictEqual(yield* says({ starts_at: past }), [
              { path: "starts_at", message: "must not be in the past" }
            ])
            for (const ends_at of [good.starts_at, past])
              assert.deepStrictEqual(yield* says({ ends_at }), [
                { path: "ends_at", message: "must be later than the start" }
              ])
            for (const changes of [
              [],
              Array.from({ length: maxDropChanges + 1 }, (_, index) => change({ field: `custom.f${index}` }))
            ])
              assert.deepStrictEqual((yield* says({ changes }))[0], {
                path: "changes",
                message: `must have 1 to ${maxDropChanges} changes`
              })
            assert.deepStrictEqual(
              yield* says({
                changes: [
                  change({ entity_id: "nonsense" }),
                  change({ entity_id: other.variant }),
                  change({ store_id: "nonsense" }),
                  change({ entity_id: product, field: "title", store_id: other.one.id }),
                  change({ entity_id: elsewhere, field: "title" }),
                  change({ entity_id: variant, field: "barcode", store_id: files.id }),
                  change({ entity_id: nowhere, field: "title", store_id: null }),
                  change({ field: "colour" }),
                  change({ entity_id: product, field: "options", value: "[]" }),
                  change({ field: "weight", value: "heavy" }),
                  change({ entity_id: product, field: "vendor", value: "\u0000" }),
                  change({ field: "weight", store_id: null })
                ]
              }),
              [
                { path: "changes[0].entity_id", message: "no such entity" },
                { path: "changes[1].entity_id", message: "no such entity" },
                { path: "changes[2].store_id", message: "no such store is linked" },
                { path: "changes[3].store_id", message: "no such store is linked" },
                { path: "changes[4].store_id", message: `the product is not on ${one.domain}` },
                {
                  path: "changes[5].store_id",
                  message: `${files.domain} has no platform: nothing can be published to it`
                },
                {
                  path: "changes[6].store_id",
                  message: "the product is not on any store that can be published to"
                },
                {
                  path: "changes[7].field",
                  message: unknownKey("variant")
                },
                {
                  path: "changes[8].field",
                  message: `is read-only; ${allowed.product}`
                },
                {
                  path: "changes[9].value",
                  message:
                    "must be a decimal number such as 19.90, with at most 13 digits before the point and 9 after it"
                },
                { path: "changes[10].value", message: "must not contain U+0000" },
                { path: "changes[11]", message: "writes the same field as changes[9]" }
              ]
            )
            assert.deepStrictEqual(yield* list, [])
          })
        )
      )

      it.effect("are listed by page: those with a step left by start, the others from the latest", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { between, cancel, create, dueBetween, list, openOf, page } = yield* Drops
            const { one, product, two, variant } = shop
            const { unlink } = yield* Stores
            const day = yield* inMillis(24 * hour)
            // Two start at the same time: their ids decide.
            const same = { starts_at: yield* inMillis(3 * hour), ends_at: yield* inMillis(4 * hour), timezone: "UTC" }
            const title = { entity_id: product, store_id: two.id, field: "title", value: "Offer" }
            const vendor = { entity_id: product, store_id: one.id, field: "vendor", value: "Tern" }
            yield* create({ ...same, name: "Title", changes: [title] })
            yield* create({ ...same, name: "Vendor", changes: [vendor] })
            yield* aDrop([...price(shop, one.id), vendor], { from: hour, to: 2 * hour, name: "First" })
            yield* aDrop(price(shop, null), { from: 5 * hour, to: null, name: "Last" })
            for (const from of [6, 7, 8]) {
              const { id } = yield* aDrop([title], { from: from * hour, to: null, name: `Cancelled ${from}` })
              yield* cancel(id)
            }
            const all = yield* list
            const names = (isOpen: boolean) =>
              Effect.gen(function* () {
                const found: Array<string> = []
                let after: DropPlace | null | undefined = null
                while (after !== undefined) {
                  const { next, rows }: Effect.Effect.Success<ReturnType<typeof page>> = yield* page({
                    isOpen,
                    after,
                    limit: 2
                  })
                  assert.isAtMost(rows.length, 2)
                  for (const row of rows) {
                    const { changes, ...rest } = all.find(({ id }) => id === row.id) ?? assert.fail(row.id)
                    assert.deepStrictEqual(row, {
                      ...rest,
                      isOpen,
                      changes: changes.length,
                      entities: new Set(changes.map(({ entity_id }) => entity_id)).size,
                      fields: changes.map(({ field }) => field).sort()
                    })
                  }
                  found.push(...rows.map(({ name }) => name))
                  after = next
                }
                return found
              })
            const open = all.filter(({ status }) => status === "scheduled").map(({ name }) => name)
            assert.sameMembers(open.slice(1, 3), ["Title", "Vendor"])
            assert.deepStrictEqual(yield* names(true), open)
            assert.deepStrictEqual(yield* names(false), ["Cancelled 8", "Cancelled 7", "Cancelled 6"])

            const during = (from: number, until: number, limit = 10) =>
              Effect.map(
                Effect.flatten(
                  Effect.zipWith(inMillis(from * hour), inMillis(until * hour), (...at) => between(...at, limit))
                ),
                (rows) => rows.map(({ name }) => name)
              )
            assert.deepStrictEqual(yield* during(0, 1.5), ["First"])
            assert.deepStrictEqual(yield* during(1.5, 2.5), ["First"])
            assert.deepStrictEqual(yield* during(2.5, 2.75), [])
            // A drop without an end counts at its start.
            assert.deepStrictEqual(yield* during(4.5, 5.5), ["Last"])
            assert.deepStrictEqual(yield* during(5.5, 6.5), ["Cancelled 6"])
            assert.deepStrictEqual(yield* during(0, 24, 1), ["First"])
            assert.deepStrictEqual(yield* between(day, day, 10), [])

            const due = (from: number, until: number, limit = 10) =>
              Effect.map(
                Effect.flatten(
                  Effect.zipWith(inMillis(from * hour), inMillis(until * hour), (...at) => dueBetween(...at, limit))
                ),
                (rows) => rows.map(({ name }) => name)
              )
            assert.deepStrictEqual(yield* due(0.5, 1.5), ["First"])
            // A drop that lasts, but neither starts nor ends in this time.
            assert.deepStrictEqual((yield* during(1.25, 1.75)).slice(0, 1), ["First"])
            // A drop whose start is overdue is found at every later time. Cancelled drops are left out.
            assert.deepStrictEqual(yield* due(6.5, 7.5), open)
            assert.deepStrictEqual(yield* due(0.5, 7.5, 1), ["First"])
            assert.deepStrictEqual(yield* due(0.25, 0.5), [])

            const openRows = (id: EntityId, limit = 10) =>
              Effect.map(openOf(id, limit), (rows) =>
                rows.map(({ changes, entities, fields, name }) => [name, changes, entities, ...fields])
              )
            assert.deepStrictEqual(yield* openRows(variant), [
              ["First", 1, 1, "price"],
              ["Last", 1, 1, "price"]
            ])
            const ofProduct = yield* openRows(product)
            assert.deepStrictEqual(
              [ofProduct[0], ofProduct[3]],
              [
                ["First", 2, 2, "price", "vendor"],
                ["Last", 1, 1, "price"]
              ]
            )
            assert.sameDeepMembers(ofProduct.slice(1, 3), [
              ["Title", 1, 1, "title"],
              ["Vendor", 1, 1, "vendor"]
            ])
            assert.lengthOf(yield* openRows(product, 1), 1)
            yield* unlink(two.domain)
            assert.deepStrictEqual(
              (yield* openRows(product)).map(([name]) => name),
              ["First", "Vendor", "Last"]
            )
          })
        )
      )

      it.effect("are checked without being stored, and their things are read with values and variants", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { check, list, things } = yield* Drops
            const { one, product, two, variant } = shop
            const other = yield* aDrop(price(shop, one.id), { name: "Other" })
            const drop = {
              name: "Sale",
              starts_at: yield* inMillis(1.5 * hour),
              ends_at: null,
              timezone: "UTC",
              changes: [
                { entity_id: variant, store_id: two.id, field: "price", value: "7.00" },
                { entity_id: variant, store_id: one.id, field: "price", value: "8.00" }
              ]
            }
            const { changes: _, status: __, ...rest } = other
            assert.deepStrictEqual(yield* check(drop), [{ ordinal: 1, ...rest }])
            assert.deepStrictEqual(yield* issues(check({ ...drop, name: "" })), [
              { path: "name", message: "must have 1 to 200 characters" }
            ])
            assert.lengthOf(yield* list, 1)

            const second = yield* anEntity("variant", { title: "M", price: "11.00" }, { on: [one], of: product })
            yield* apply(
              CatalogChange.SetOverrides({ entityId: second, storeId: one.id, values: { price: "9.00", sku: "M" } })
            )
            const read = (ids: ReadonlyArray<EntityId>, withVariants: boolean, limit = 10) =>
              Effect.map(things({ ids, withVariants, fields: ["price"], limit }), (found) =>
                found.map(({ attributes, id, kind, parentId, parentTitle, title, versions }) => [
                  [kind, title, parentTitle],
                  [id, parentId],
                  attributes.price?.value,
                  Object.keys(attributes).length,
                  ...versions.map(({ accepted, overrides, storeId }) => [
                    storeId,
                    accepted?.price?.value ?? accepted,
                    overrides.price?.value,
                    Object.keys(overrides).length
                  ])
                ])
              )
            const byDomain = [one, two, shop.files].sort((left, right) => (left.domain < right.domain ? -1 : 1))
            const small = [
              ["variant", "S", "Tent"],
              [variant, product],
              "10.00",
              1,
              ...byDomain.map(({ id }) => [id, id === shop.files.id ? null : "10.00", undefined, 0])
            ]
            const medium = [["variant", "M", "Tent"], [second, product], "11.00", 1, [one.id, null, "9.00", 1]]
            const found = yield* read([product], true)
            assert.deepStrictEqual(found.slice(1), [small, medium])
            assert.deepStrictEqual(found[0]?.slice(0, 4), [["product", "Tent", null], [product, null], undefined, 0])
            assert.lengthOf(yield* read([product], true, 2), 2)
            assert.deepStrictEqual((yield* read([product], false)).length, 1)
            // A variant that is asked for by its own id has the place of that id, and not that of its product.
            assert.deepStrictEqual(
              (yield* read([second, product], true)).map(([named]) => (Array.isArray(named) ? named[1] : undefined)),
              ["M", "Tent", "S"]
            )
            assert.deepStrictEqual(yield* read([EntityId.make(nilUuid)], true), [])
          })
        )
      )

      it.effect("tell the values that their ends will restore, unless somebody edited them meanwhile", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { one, two, variant } = shop
            const { things } = yield* Drops
            const restored = Effect.map(
              things({ ids: [variant], withVariants: false, fields: ["price", "sku"], limit: 1 }),
              ([thing]) =>
                [one, two, shop.files].map(({ id }) => thing?.versions.find(({ storeId }) => storeId === id)?.restored)
            )
            const [endless, ending] = [
              yield* aDrop([{ entity_id: variant, store_id: two.id, field: "sku", value: "SALE" }], { to: null }),
              yield* aDrop(price(shop, null))
            ]
            assert.deepStrictEqual(yield* restored, [{}, {}, {}])
            yield* advance(hour)
            yield* until(ending.id, "applied")
            yield* until(endless.id, "applied")
            assert.deepStrictEqual(yield* restored, [{ price: "10.00" }, { price: "10.00" }, {}])
            yield* apply(CatalogChange.SetOverrides({ entityId: variant, storeId: two.id, values: { price: "9.00" } }))
            assert.deepStrictEqual(yield* restored, [{ price: "10.00" }, {}, {}])
            yield* advance(hour)
            yield* until(ending.id, "reverted")
            assert.deepStrictEqual(yield* restored, [{}, {}, {}])
          })
        )
      )

      it.effect("are listed by start; the list of an entity has only its changes; unlinked stores are left out", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { list, ofEntity } = yield* Drops
            const { unlink } = yield* Stores
            const { one, product, two, variant } = shop
            const title = { entity_id: product, store_id: two.id, field: "title", value: "Offer" }
            const later = yield* aDrop([...price(shop, one.id), title], { from: 5 * hour, to: 6 * hour })
            const sooner = yield* aDrop(price(shop, null))
            assert.deepStrictEqual(yield* list, [sooner, later])
            assert.deepStrictEqual(yield* ofEntity("variant", variant), [
              sooner,
              { ...later, changes: later.changes.slice(0, 1) }
            ])
            assert.deepStrictEqual(yield* ofEntity("product", product), [{ ...later, changes: later.changes.slice(1) }])
            assert.strictEqual((yield* Effect.flip(ofEntity("product", variant)))._tag, "NotFound")
            yield* unlink(two.domain)
            assert.deepStrictEqual(yield* list, [sooner, { ...later, changes: later.changes.slice(0, 1) }])
            assert.deepStrictEqual(yield* ofEntity("product", product), [])
          })
        )
      )
    })
  })
}
