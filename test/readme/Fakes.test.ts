import { assert, it } from "@effect/vitest"
import {
  actingAs,
  anAccount,
  anEntity,
  DemoFailures,
  Drafts,
  Drops,
  Imports,
  Publishing,
  runDueWork,
  TestServices
} from "catalog/testing"
import { Effect, TestClock } from "effect"

it.effect("a publish fails, a drop starts, and an import locks the account", () =>
  Effect.gen(function* () {
    const { actor, stores } = yield* anAccount({ domains: ["shop.example"], platform: "demo" })
    const [{ domain, id: storeId }] = stores
    yield* Effect.gen(function* () {
      const id = yield* anEntity("product", { title: "Boots", handle: "boots" }, { on: stores })
      const drafts = yield* Drafts
      const publishing = yield* Publishing
      const shop = yield* DemoFailures

      // `refuse`: the publish fails. `error`: it is tried again later. `lost`: the store is read back. `delay`: the answer comes late.
      yield* shop.fail(domain, { kind: "refuse", percent: 100, delayMillis: 0 })
      yield* publishing.request(id, storeId)
      yield* runDueWork
      const [failure] = yield* publishing.failures(1)
      assert.strictEqual(failure?.error.code, "DEMO_REFUSED")
      yield* shop.fail(domain, { kind: "error", percent: 100, delayMillis: 0 })
      yield* publishing.request(id, storeId)
      yield* runDueWork
      yield* shop.repair(domain)
      yield* TestClock.adjust("10 minutes")
      yield* runDueWork
      assert.strictEqual((yield* drafts.get(id, storeId)).last_publish_status, "published")

      // The clock of `it.effect` begins in 1970.
      const [starts_at, ends_at] = ["1970-01-01T12:00:00Z", "1970-01-01T18:00:00Z"]
      const changes = [{ entity_id: id, store_id: storeId, field: "vendor", value: "Sale" }]
      const drops = yield* Drops
      const drop = yield* drops.create({ name: "Sale", timezone: "UTC", starts_at, ends_at, changes })
      const statusAfter = (hours: number) =>
        TestClock.setTime(hours * 3_600_000).pipe(
          Effect.zipRight(runDueWork),
          Effect.zipRight(drops.get(drop.id)),
          Effect.map(({ status }) => status)
        )
      assert.strictEqual(yield* statusAfter(11), "scheduled")
      assert.strictEqual(yield* statusAfter(12), "applied")
      assert.strictEqual(yield* statusAfter(18), "reverted")

      const imports = yield* Imports
      const file = { name: "export.csv", content: Buffer.from("Handle,Title\nboots,Winter boots\n") }
      const run = yield* imports.startCsv(file, domain)
      while ((yield* imports.get(run.id)).phase === "fetching") yield* Effect.promise(() => new Promise(setImmediate))
      const update = { draft_revision: 1, attributes: [{ key: "title", value: "Shoes" }] }
      const locked = yield* Effect.flip(drafts.updateAttributes(id, update))
      assert.strictEqual(locked._tag, "PimLocked")
      yield* imports.accept(run.id, () => Effect.void, { rest: "take_store" })
      const { attributes } = yield* drafts.get(id, storeId)
      assert.strictEqual(attributes.find(({ key }) => key === "title")?.value, "Winter boots")
    }).pipe(actingAs(actor))
  }).pipe(Effect.provide(TestServices))
)
