import { assert, describe, layer } from "@effect/vitest"
import { Chunk, Effect, Fiber, Layer, Option, Stream, TestClock } from "effect"
import { EntityId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { nonePlatform } from "../../src/platform/NonePlatform.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import type { PlatformRecord } from "../../src/platform/PlatformRecord.ts"
import { again, aProduct, attributesOf } from "../../src/testing/platform/Publications.ts"
import { demoEngines, demoMemory } from "./PlatformEngines.ts"
import { aStore, PlatformShops } from "./PlatformShops.ts"

const record = (index: number): PlatformRecord => ({
  kind: "product",
  platformId: `demo://product/${String(index).padStart(5, "0")}`,
  entityId: null,
  parentId: null,
  attributes: attributesOf({ title: `Product ${index}` }),
  media: [],
  members: [],
  picture: null
})

const market = {
  handle: "gulf",
  type: "region",
  platform_id: "demo://market/gulf",
  name: "Gulf",
  status: "active" as const,
  currency: "AED",
  regions: [{ code: "AE", name: "United Arab Emirates" }],
  web_presences: [],
  catalogs: []
}

for (const engine of [{ name: "memory", absent: false, layer: demoMemory }, ...demoEngines]) {
  describe.skipIf(engine.absent)(`a demo shop on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("applies concurrent publications with the same key once", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const shops = yield* DemoShops
          const store = yield* (yield* PlatformShops).open
          const publication = aProduct()
          const results = yield* Effect.all(
            Array.from({ length: 20 }, () => client.publish(store, publication)),
            { concurrency: "unbounded" }
          )
          for (const result of results) assert.deepStrictEqual(result, results[0])
          assert.strictEqual(yield* shops.effects(store), 1)
          // A deliberate fault: a new key for every attempt.
          yield* Effect.all(
            Array.from({ length: 3 }, () => client.publish(store, { ...publication, key: crypto.randomUUID() })),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(yield* shops.effects(store), 4)
        })
      )

      it.effect("finds the record of an entity", () =>
        Effect.gen(function* () {
          const shops = yield* DemoShops
          const store = yield* (yield* PlatformShops).open
          const entityId = EntityId.make(crypto.randomUUID())
          const [first, second] = ["a", "b"].map((name) => ({
            ...record(1),
            platformId: `demo://product/${name}`,
            entityId
          }))
          yield* shops.put(
            store,
            [record(2), second, first].flatMap((each) => each ?? [])
          )
          assert.deepStrictEqual(yield* shops.find(store, entityId), Option.fromNullable(first))
          assert.deepStrictEqual(yield* shops.find(store, EntityId.make(crypto.randomUUID())), Option.none())
          const other = yield* (yield* PlatformShops).open
          assert.deepStrictEqual(yield* shops.find(other, entityId), Option.none())
        })
      )

      it.effect("takes the records of staff that are entities which it has accepted without telling their ids", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const shops = yield* DemoShops
          const store = yield* (yield* PlatformShops).open
          const { attributes, variants, ...product } = aProduct()
          const [variant] = variants
          assert.isDefined(variant)
          const ofStaff = (
            kind: "product" | "variant",
            platformId: string,
            values: Readonly<Record<string, string>>
          ) => ({
            ...record(1),
            ...{ kind, platformId, parentId: kind === "variant" ? "p/staff" : null },
            attributes: attributesOf(values)
          })
          yield* shops.put(store, [
            ofStaff("product", "p/staff", { title: "Staff", handle: "same" }),
            ofStaff("variant", "v/other", { sku: "OTHER" }),
            ofStaff("variant", "v/staff", { sku: "SAME", price: "1.00" })
          ])
          const accepted = { platformId: null, isAccepted: true } as const
          const publication = {
            ...{ ...product, ...accepted, attributes: { ...attributes, ...attributesOf({ handle: "same" }) } },
            variants: [{ ...variant, ...accepted, attributes: attributesOf({ sku: "SAME", price: "2.00" }) }],
            media: []
          }
          const published = yield* client.publish(store, publication)
          assert.deepStrictEqual(
            [...published.platformIds],
            [
              [product.entityId, "p/staff"],
              [variant.entityId, "v/staff"]
            ]
          )
          assert.deepStrictEqual(yield* client.publish(store, publication), published)
          const records = Chunk.toReadonlyArray(yield* Stream.runCollect(client.pull(store)))
          assert.deepStrictEqual(
            records.map(({ attributes, entityId, platformId }) => [platformId, entityId, attributes.price?.value]),
            [
              ["p/staff", product.entityId, undefined],
              // The publish of a product that the store has sends only the order of its variants.
              ["v/staff", null, "1.00"],
              ["v/other", null, undefined]
            ]
          )
        })
      )

      it.effect("repeating an applied key changes nothing, even after a newer key", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const store = yield* (yield* PlatformShops).open
          const first = aProduct()
          const { platformIds } = yield* client.publish(store, first)
          yield* client.publish(store, again(first, platformIds, { title: "Newer" }))
          assert.deepStrictEqual(yield* client.publish(store, first), { platformIds })
          const records = yield* Stream.runCollect(client.pull(store))
          assert.deepStrictEqual(
            Chunk.toReadonlyArray(records).flatMap(({ attributes, kind }) =>
              kind === "product" ? attributes.title?.value : []
            ),
            ["Newer"]
          )
        })
      )

      it.effect(
        "refuses with a reason while it simulates refusals, and accepts publications again after the repair",
        () =>
          Effect.gen(function* () {
            const client = yield* PlatformClient
            const shops = yield* DemoShops
            const store = yield* (yield* PlatformShops).open
            const publication = aProduct()
            yield* shops.fail(store, { kind: "refuse", percent: 100, delayMillis: 0 })
            assert.deepStrictEqual(yield* shops.failures(store), [{ kind: "refuse", percent: 100, delayMillis: 0 }])
            assert.deepInclude(yield* Effect.flip(client.publish(store, publication)), {
              _tag: "PlatformRefused",
              code: "DEMO_REFUSED",
              message:
                "The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it.",
              field: null
            })
            yield* shops.repair(store)
            assert.deepStrictEqual(yield* shops.failures(store), [])
            assert.deepStrictEqual(yield* client.readBack(store, publication), Option.none())
            yield* client.publish(store, publication)
            assert.strictEqual(yield* shops.effects(store), 1)
          })
      )

      it.effect("fails in the given percentage of calls", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const shops = yield* DemoShops
          const store = yield* (yield* PlatformShops).open
          yield* shops.fail(store, { kind: "error", percent: 50, delayMillis: 0 })
          const outcomes = yield* Effect.forEach(Array.from({ length: 200 }), () =>
            Effect.either(client.salesChannels(store))
          )
          const failed = outcomes.filter(({ _tag }) => _tag === "Left").length
          assert.isAbove(failed, 50)
          assert.isBelow(failed, 150)
        })
      )

      it.effect("reads all pages of a pull", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const shops = yield* DemoShops
          const store = yield* (yield* PlatformShops).open
          const records = Array.from({ length: 1_001 }, (_, index) => record(index))
          yield* shops.put(store, records)
          assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(client.pull(store))), records)
        })
      )

      it.effect("reads sections, and fails with `nonsense` on items of a wrong shape", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const shops = yield* DemoShops
          const store = yield* (yield* PlatformShops).open
          assert.strictEqual((yield* Stream.runCollect(client.markets(store))).length, 0)
          yield* shops.putSections(store, { markets: [market] })
          assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(client.markets(store))), [market])
          yield* shops.putSections(store, { markets: [{ handle: 7 }] })
          assert.deepInclude(yield* Effect.flip(Stream.runDrain(client.markets(store))), {
            _tag: "PlatformUnavailable",
            reason: "nonsense"
          })
        })
      )
    })
  })
}

layer(demoMemory)("a demo shop that answers late", (it) => {
  it.effect("ends a live read after 5 s, and a publish as unknown after 30 s", () =>
    Effect.gen(function* () {
      const client = yield* PlatformClient
      const shops = yield* DemoShops
      const store = yield* (yield* PlatformShops).open
      yield* shops.fail(store, { kind: "delay", percent: 100, delayMillis: 60_000 })
      const read = yield* Effect.fork(Effect.flip(client.salesChannels(store)))
      const publish = yield* Effect.fork(Effect.flip(client.publish(store, aProduct())))
      yield* TestClock.adjust("5 seconds")
      assert.deepInclude(yield* Fiber.join(read), { _tag: "PlatformUnavailable", reason: "timeout" })
      yield* TestClock.adjust("24999 millis")
      assert.isTrue(Option.isNone(yield* Fiber.poll(publish)))
      yield* TestClock.adjust("1 millis")
      assert.deepInclude(yield* Fiber.join(publish), { _tag: "PlatformOutcomeUnknown", reason: "timeout" })
      assert.strictEqual(yield* shops.effects(store), 0)
    })
  )
})

layer(Layer.empty)("a store of platform none", (it) => {
  it.effect("has no channels and no store data, and refuses publications", () =>
    Effect.gen(function* () {
      const store = aStore("none")
      const refusal = {
        _tag: "PlatformRefused" as const,
        code: "NO_PLATFORM",
        message:
          "The store has no platform: its data comes only from imported files. Nothing can be read from it or published to it.",
        field: null
      }
      assert.deepStrictEqual(yield* nonePlatform.salesChannels(store), [])
      assert.deepStrictEqual(yield* nonePlatform.entityChannels(store, "x"), [])
      assert.strictEqual((yield* Stream.runCollect(nonePlatform.markets(store))).length, 0)
      assert.deepInclude(yield* Effect.flip(nonePlatform.publish(store, aProduct())), refusal)
      assert.deepInclude(yield* Effect.flip(nonePlatform.verify(store)), refusal)
      assert.deepInclude(yield* Effect.flip(Stream.runDrain(nonePlatform.pull(store))), refusal)
    })
  )
})
