import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Option } from "effect"
import { afterAll } from "vitest"
import { DemoFailures } from "../../src/demo/DemoFailures.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { ImportsRepo } from "../../src/imports/ImportsRepo.ts"
import { PulledRecordsRepo } from "../../src/imports/PulledRecordsRepo.ts"
import { firstAnswer } from "../../src/imports/StagedImport.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount, Publishing, Stores } from "../../src/testing/index.ts"
import { makeHolding } from "../support/HeldStep.ts"
import { aProductOf, held } from "../support/ShopRecords.ts"
import { featureEngines } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "store-answers-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const header = "Handle,Title,Vendor,Option1 Name,Option1 Value,Variant SKU,Variant Price"
const fileOf = (name: string, ...lines: ReadonlyArray<string>) => {
  const path = join(folder, name)
  writeFileSync(path, `${[header, ...lines].join("\n")}\n`)
  return path
}
const tent = "tent,The tent,Tarn,Size,S,tent-S,10.00"
const hat = "hat,Hat,Fell,Title,Default Title,H-1,5.00"
const both = fileOf("both.csv", tent, hat)
const quiet = () => Effect.void
const { heldAt, layerOn } = makeHolding()

const aShop = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  const sql = yield* SqlClient.SqlClient
  const { store } = yield* Effect.flatMap(Stores, ({ link }) =>
    link({ domain: `shop-${accountId.slice(0, 8)}.example`, platform: "demo" })
  ).pipe(actingAs(actor))
  const shop = { accountId, storeId: store.id }
  const put = (records: Parameters<DemoShops["Type"]["put"]>[1]) =>
    Effect.flatMap(DemoShops, (shops) => shops.put(shop, records))
  return {
    actor,
    store,
    put,
    /** Deletes all records of the shop. */
    empty: sql`DELETE FROM demo_shop_record WHERE account_id = ${accountId}`,
    bring: (path: string) =>
      Effect.flatMap(Imports, (imports) =>
        Effect.flatMap(imports.csv(path, store.domain, quiet), ({ id }) => imports.accept(id, quiet))
      ).pipe(actingAs(actor)),
    states: Effect.map(
      sql`
        SELECT e.kind, coalesce(e.attributes #>> '{handle,value}', e.attributes #>> '{sku,value}') AS name,
               v.last_publish_status AS status, v.pending_publish AS pending, v.platform_id AS platform,
               v.accepted #>> '{attributes,vendor,value}' AS vendor
        FROM entity e JOIN store_version v ON v.account_id = e.account_id AND v.entity_id = e.id
        WHERE e.account_id = ${accountId} AND e.kind <> 'media'`,
      (rows) =>
        rows
          .map(
            (row) =>
              `${row.kind} ${row.name}: ${row.status}, ${row.pending ? "pending" : "same"}, ${row.platform}, ${row.vendor}`
          )
          .sort()
    ),
    /** The accepted order of the tent's variants and pictures. */
    order: Effect.map(
      sql`
        SELECT list.key, array_agg(coalesce(m.attributes #>> '{sku,value}', m.attributes #>> '{url,value}') ORDER BY i.place) AS names
        FROM entity e JOIN store_version v ON v.account_id = e.account_id AND v.entity_id = e.id
        CROSS JOIN (VALUES ('variants'), ('media')) AS list (key)
        CROSS JOIN jsonb_array_elements_text(v.accepted -> list.key) WITH ORDINALITY AS i (id, place)
        JOIN entity m ON m.account_id = e.account_id AND m.id = i.id::uuid
        WHERE e.account_id = ${accountId} AND e.kind = 'product' GROUP BY list.key`,
      (rows) =>
        Object.fromEntries(
          rows.map(({ key, names }) => [
            key,
            (names as ReadonlyArray<string>).map((name) => name.replace(/^.*\/(.*)\.jpg$/, "$1"))
          ])
        )
    ),
    idOf: (handle: string) =>
      Effect.map(
        sql`SELECT id FROM entity WHERE account_id = ${accountId} AND attributes #>> '{handle,value}' = ${handle}`,
        ([row]) => EntityId.make(String(row?.id))
      )
  }
})

/** The sizes of the lists that the repositories of imports return. */
const sizes: Array<number> = []
const counted = <R extends object>(repo: R): R =>
  new Proxy(repo, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== "function") return member
      return (...args: ReadonlyArray<unknown>) =>
        Effect.tap(member(...args) as Effect.Effect<unknown>, (result) => {
          sizes.push(Array.isArray(result) ? result.length : result instanceof Map ? result.size : 0)
        })
    }
  })
const layerCounting = Layer.mergeAll(
  Layer.effect(ImportsRepo, Effect.map(ImportsRepo, counted)),
  Layer.effect(PulledRecordsRepo, Effect.map(PulledRecordsRepo, counted))
)

for (const engine of featureEngines)
  describe.skipIf(engine.absent)(`large exports for stores with a platform on ${engine.name}`, () => {
    const services = Imports.layer.pipe(
      Layer.provide(FaultInjector.layer),
      Layer.provideMerge(Services),
      Layer.provideMerge(layerCounting),
      Layer.provideMerge(RepositoriesOnDatabase),
      Layer.provideMerge(engine.layer),
      Layer.orDie
    )
    layer(services, { excludeTestServices: true })((it) => {
      it.effect("have their changed entities read a part at a time", () =>
        Effect.gen(function* () {
          const { bring, put } = yield* aShop
          const handles = Array.from({ length: 400 }, (_, n) => `tent${n}`)
          // The shop has every other product, with one more variant.
          yield* put(handles.filter((_, n) => n % 2 === 0).flatMap((handle) => aProductOf(handle, ["S", "L"])))
          sizes.length = 0
          const path = fileOf("large.csv", ...handles.map((each) => `${each},${each},Tarn,Size,S,${each}-S,10.00`))
          assert.deepInclude((yield* bring(path)).summary.answer, { entities: 400 })
          assert.isAtMost(Math.max(...sizes), 500)
        })
      )
    })
  })

for (const engine of featureEngines)
  describe.skipIf(engine.absent)(`exports for stores with a platform on ${engine.name}`, () => {
    layer(layerOn(engine.layer), { excludeTestServices: true })((it) => {
      it.effect("count as accepted only where the store has the same values", () =>
        Effect.gen(function* () {
          const { actor, bring, idOf, put, states, store } = yield* aShop
          yield* put(aProductOf("tent", ["S"]))
          const run = yield* bring(both)
          assert.deepInclude(run, { phase: "applied", applied: 2 })
          assert.deepInclude(run.summary, { created: 2 })
          assert.deepInclude(run.summary.answer, { entities: 2 })
          // The shop has the tent with another vendor; it does not have the hat.
          assert.deepStrictEqual(yield* states, [
            "product hat: never_published, pending, null, null",
            "product tent: published, pending, product/tent, Fell",
            "variant H-1: never_published, pending, null, null",
            "variant tent-S: published, same, variant/tent/S, null"
          ])
          // A publish is not empty, and its values are then accepted.
          yield* Effect.gen(function* () {
            const publishing = yield* Publishing
            const asked = yield* publishing.request(yield* idOf("hat"), store.id)
            assert.strictEqual(asked.outcome, "requested")
            if (asked.outcome !== "requested") return
            const [record] = yield* publishing.settle([asked.publicationId], quiet)
            assert.strictEqual(record?.state, "published")
            // An entity that was never on the store is not unlinked.
            const review = yield* (yield* Imports).refresh(store.domain, quiet)
            assert.strictEqual(review.summary.unlinked, 0)
            yield* (yield* Imports).discard(review.id)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("update only the accepted values that changed: a refresh still finds other edits in the store", () =>
        Effect.gen(function* () {
          const { actor, bring, put, states, store } = yield* aShop
          yield* put(aProductOf("tent", ["S"]))
          const imports = yield* Imports
          yield* Effect.flatMap(imports.refresh(store.domain, quiet), ({ id }) => imports.accept(id, quiet)).pipe(
            actingAs(actor)
          )
          yield* put(aProductOf("tent", ["S"], { vendor: "Scree", title: "Tent of the shop" }))
          const run = yield* bring(fileOf("vendor.csv", tent))
          assert.strictEqual(run.summary.conflicts, 0)
          assert.include(yield* states, "product tent: published, pending, product/tent, Scree")
          const review = yield* imports.refresh(store.domain, quiet).pipe(actingAs(actor))
          assert.deepInclude(review.summary, { updated: 1, conflicts: 0 })
          yield* imports.discard(review.id).pipe(actingAs(actor))
        })
      )

      it.effect(
        "leave an order that changed in the store for the next refresh, unless the file changes the order",
        () =>
          Effect.gen(function* () {
            const { actor, bring, order, put, states, store } = yield* aShop
            const imports = yield* Imports
            const shop = (sizes: ReadonlyArray<string>, pictures: ReadonlyArray<string>) => {
              const [product, ...variants] = aProductOf("tent", sizes).filter(({ kind }) => kind !== "media")
              if (product === undefined) return []
              return [
                ...pictures.map((name) =>
                  held("media", `file/${name}`, {
                    url: `https://shop.example/files/${name}.jpg`,
                    mime_type: "image/jpeg"
                  })
                ),
                { ...product, media: pictures.map((name) => `file/${name}`) },
                ...variants.map((variant, position) => ({ ...variant, position }))
              ]
            }
            const refresh = Effect.flatMap(imports.refresh(store.domain, quiet), ({ id, summary }) =>
              Effect.as(imports.accept(id, quiet), summary)
            ).pipe(actingAs(actor))
            yield* put(shop(["S", "M", "L"], ["a", "b"]))
            yield* refresh
            const before = { variants: ["tent-S", "tent-M", "tent-L"], media: ["a", "b"] }
            assert.deepStrictEqual(yield* order, before)
            yield* put(shop(["L", "S", "M"], ["c", "b", "a"]))
            const vendor = fileOf("order-vendor.csv", tent, "tent,,,,M,tent-M,", "tent,,,,L,tent-L,")
            assert.strictEqual((yield* bring(vendor)).summary.conflicts, 0)
            assert.deepStrictEqual(yield* order, before)
            assert.include(yield* states, "product tent: published, pending, product/tent, Fell")
            assert.deepInclude(yield* refresh, { updated: 1, conflicts: 0 })
            const after = { variants: ["tent-L", "tent-S", "tent-M"], media: ["c", "b", "a"] }
            assert.deepStrictEqual(yield* order, after)
            // The file has the order that the store has got.
            yield* put(shop(["M", "S", "L"], ["c", "b", "a"]))
            yield* bring(
              fileOf("order-new.csv", "tent,The tent,Tarn,Size,M,tent-M,", "tent,,,,S,tent-S,", "tent,,,,L,tent-L,")
            )
            assert.deepStrictEqual(yield* order, { ...after, variants: ["tent-M", "tent-S", "tent-L"] })
          })
      )

      it.effect("show no picture that a refresh took off the store with its product, unless the file names it", () =>
        Effect.gen(function* () {
          const { actor, bring, empty, put, store } = yield* aShop
          const imports = yield* Imports
          const sql = yield* SqlClient.SqlClient
          const refresh = Effect.flatMap(imports.refresh(store.domain, quiet), ({ id }) =>
            imports.accept(id, quiet, { confirmsRemovals: true, rest: "take_store" })
          ).pipe(actingAs(actor))
          const pictured = aProductOf("tent", ["S"]).map((record) =>
            record.kind === "variant" ? { ...record, picture: "file/tent" } : record
          )
          /** The entities that show the picture on the store, and whether the picture is on the store. */
          const shown = Effect.map(
            sql`
              SELECT e.kind, EXISTS (
                SELECT FROM store_version v
                WHERE v.account_id = g.account_id AND v.entity_id = g.media_id AND v.store_id = ${store.id}
              ) AS "isThere"
              FROM entity_media g JOIN entity e ON e.account_id = g.account_id AND e.id = g.entity_id
              WHERE g.account_id = ${actor.accountId} AND ${store.id} = ANY(g.store_ids) ORDER BY 1`,
            (rows) => rows.map(({ isThere, kind }) => [kind, isThere])
          )
          for (const [name, image, expected] of [
            ["unnamed", "", []],
            [
              "named",
              "https://shop.example/files/tent.jpg",
              [
                ["product", true],
                ["variant", true]
              ]
            ]
          ] as const) {
            yield* put(pictured)
            yield* refresh
            assert.deepStrictEqual(yield* shown, [
              ["product", true],
              ["variant", true]
            ])
            yield* empty
            yield* refresh
            const path = join(folder, `${name}.csv`)
            const columns = "Handle,Title,Option1 Name,Option1 Value,Variant SKU,Image Src,Variant Image"
            writeFileSync(path, `${columns}\ntent,The tent,Size,S,tent-S,${image},${image}\n`)
            yield* bring(path)
            assert.deepStrictEqual<unknown>(yield* shown, expected, name)
          }
        })
      )

      it.effect("do not count as accepted if the store cannot be read, and report the reason", () =>
        Effect.gen(function* () {
          const { actor, bring, put, states, store } = yield* aShop
          yield* put(aProductOf("tent", ["S"]))
          const failure = { kind: "refuse", percent: 100, delayMillis: 0 } as const
          yield* Effect.flatMap(DemoFailures, ({ fail }) => fail(store.domain, failure)).pipe(actingAs(actor))
          const run = yield* bring(both)
          assert.deepInclude(run, { phase: "applied", applied: 2, error: null })
          assert.deepStrictEqual(run.summary.answer as object, {
            error:
              "The store's platform refused the request (DEMO_REFUSED): The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it."
          })
          for (const state of yield* states) assert.match(state, /: never_published, pending, null, null$/)
          yield* Effect.flatMap(DemoFailures, ({ repair }) => repair(store.domain)).pipe(actingAs(actor))
        })
      )

      it.effect("have one file for a picture of two products, and a refresh finds the store's file for it", () =>
        Effect.gen(function* () {
          const { actor, bring, put, store } = yield* aShop
          const hats = aProductOf("hat", ["S"]).filter(({ kind }) => kind !== "media")
          yield* put([
            ...aProductOf("tent", ["S"]),
            ...hats.map((record) => (record.kind === "product" ? { ...record, media: ["file/tent"] } : record))
          ])
          const url = "https://shop.example/files/tent.jpg?v=3"
          const path = join(folder, "pictures.csv")
          writeFileSync(
            path,
            ["Handle,Title,Variant SKU,Image Src", `tent,Tent,tent-S,${url}`, `hat,Hat,hat-S,${url}`].join("\n")
          )
          yield* bring(path)
          const imports = yield* Imports
          const review = yield* imports.refresh(store.domain, quiet).pipe(actingAs(actor))
          assert.strictEqual(review.summary.files.created, 0)
          yield* imports.accept(review.id, quiet, { rest: "take_store" }).pipe(actingAs(actor))
          const sql = yield* SqlClient.SqlClient
          const pictures = yield* sql`
            SELECT e.attributes #>> '{handle,value}' AS handle, v.platform_id AS file
            FROM entity e
            JOIN entity_media g ON g.account_id = e.account_id AND g.entity_id = e.id
            JOIN store_version v ON v.account_id = e.account_id AND v.entity_id = g.media_id
            WHERE e.account_id = ${actor.accountId} ORDER BY 1`
          assert.deepStrictEqual(pictures, [
            { handle: "hat", file: "file/tent" },
            { handle: "tent", file: "file/tent" }
          ])
        })
      )

      it.effect("are read again after an interruption, and no answer of the earlier reading counts", () =>
        Effect.gen(function* () {
          const { actor, put, states, store } = yield* aShop
          yield* put(aProductOf("tent", ["S"]))
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const sql = yield* SqlClient.SqlClient
            const { id } = yield* imports.csv(both, store.domain, quiet)
            const { fiber } = yield* heldAt("askingStore", imports.accept(id, quiet))
            yield* Fiber.interrupt(fiber)
            // Two batches of answers that the interrupted reading staged.
            yield* sql`
                INSERT INTO import_item (account_id, run_id, ordinal, entities, changes)
                SELECT ${actor.accountId}::uuid, ${id}::uuid, ${firstAnswer}::integer + n, 1000, '[]' FROM generate_series(0, 1) n`
            assert.strictEqual(yield* imports.resume(Option.some(actor.accountId)), 1)
            assert.strictEqual((yield* imports.get(id)).phase, "applied")
          }).pipe(actingAs(actor))
          assert.include(yield* states, "product tent: published, pending, product/tent, Fell")
        })
      )

      it.effect("publish accepted values again if the store does not have them", () =>
        Effect.gen(function* () {
          const { actor, empty, idOf, put, store } = yield* aShop
          yield* put(aProductOf("tent", ["S"]))
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            yield* Effect.flatMap(imports.refresh(store.domain, quiet), ({ id }) => imports.accept(id, quiet))
            yield* empty
            const id = yield* idOf("tent")
            const publishing = yield* Publishing
            assert.strictEqual((yield* publishing.request(id, store.id)).outcome, "nothing_to_publish")
            const again = yield* publishing.request(id, store.id, undefined, true)
            if (again.outcome === "nothing_to_publish") return assert.fail(again.outcome)
            const [record] = yield* publishing.settle([again.publicationId], quiet)
            assert.strictEqual(record?.state, "published")
            const sql = yield* SqlClient.SqlClient
            assert.isAtLeast((yield* sql`SELECT 1 FROM demo_shop_record WHERE store_id = ${store.id}`).length, 1)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("remove more than ten entities from a store only after a confirmation, and list them", () =>
        Effect.gen(function* () {
          const { actor, empty, put, states, store } = yield* aShop
          yield* put([
            ...aProductOf("tent", ["S"]),
            ...aProductOf("boat", ["1", "2", "3", "4", "5", "6", "7", "8", "9"])
          ])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            yield* Effect.flatMap(imports.refresh(store.domain, quiet), ({ id }) => imports.accept(id, quiet))
            yield* empty
            yield* put(aProductOf("tent", ["S"]))
            const { id, summary } = yield* imports.refresh(store.domain, quiet)
            assert.strictEqual(summary.unlinked, 11)
            const before = yield* states
            const refused = yield* Effect.flip(imports.accept(id, quiet))
            assert.deepInclude(refused, { _tag: "ReviewIncomplete", undecided: 0, removals: 11 })
            assert.strictEqual((yield* imports.get(id)).phase, "reviewing")
            assert.deepStrictEqual(yield* states, before)
            const first = yield* imports.removals(id, 0, 4)
            const rest = yield* imports.removals(id, 4, 500)
            assert.deepStrictEqual([first.length, rest.length], [4, 7])
            assert.lengthOf(new Set([...first, ...rest].map((each) => each.id)), 11)
            yield* imports.accept(id, quiet, { confirmsRemovals: true })
            assert.lengthOf(yield* states, 2)
          }).pipe(actingAs(actor))
        })
      )
    })
  })
