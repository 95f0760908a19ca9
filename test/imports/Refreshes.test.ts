import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Option } from "effect"
import { afterAll } from "vitest"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { CatalogChange } from "../../src/drafts/CatalogChange.ts"
import type { ImportPhase } from "../../src/imports/Import.ts"
import { Imports } from "../../src/imports/Imports.ts"
import type { Actor } from "../../src/model/Actor.ts"
import type { Attributes, EntityKind } from "../../src/model/Attribute.ts"
import { EntityId, ImportId, type StoreId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import type { PlatformRecord } from "../../src/platform/PlatformRecord.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { FaultInjector, type FaultStep } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, CatalogChanges, Programs, Publishing, Stores } from "../../src/testing/index.ts"
import { makeHeldPublishes } from "../support/HeldPublishes.ts"
import { aProductOf, from, held } from "../support/ShopRecords.ts"
import { featureEngines } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "refreshes-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const quiet = () => Effect.void

const publishes = makeHeldPublishes()

/** A change of the catalog that happens when the next refresh reaches a step. */
let meanwhile: { readonly step: FaultStep; readonly effect: Effect.Effect<void> } | null = null
const Disturbing = Layer.succeed(FaultInjector, {
  at: (step) =>
    Effect.suspend(() => {
      if (step !== meanwhile?.step) return Effect.void
      const { effect } = meanwhile
      meanwhile = null
      return effect
    })
})

const ask = (entityId: EntityId, storeId: StoreId) =>
  Effect.gen(function* () {
    const asked = yield* (yield* Publishing).request(entityId, storeId)
    return asked.outcome === "nothing_to_publish" ? assert.fail(asked.outcome) : asked.publicationId
  })

/** Requests a publish and waits for its end. */
const publish = (entityId: EntityId, storeId: StoreId) =>
  Effect.gen(function* () {
    const { settle } = yield* Publishing
    const [record] = yield* settle([yield* ask(entityId, storeId)], quiet)
    assert.strictEqual(record?.state, "published")
  })

/** An account with stores on the demo platform and one without a platform. */
const aMerchant = (domains: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount({ domains: ["files.example"] })
    const { link } = yield* Stores
    const shops = yield* DemoShops
    const stores = yield* Effect.forEach(domains, (domain) =>
      Effect.map(link({ domain, platform: "demo" }), ({ store }) => store)
    ).pipe(actingAs(actor))
    const idOf = (domain: string) => stores.find((store) => store.domain === domain)?.id as StoreId
    return {
      accountId,
      actor,
      idOf,
      stores,
      put: (domain: string, records: ReadonlyArray<PlatformRecord>) =>
        shops.put({ accountId, storeId: idOf(domain) }, records)
    }
  })

const refreshed = (domain: string) =>
  Effect.gen(function* () {
    const imports = yield* Imports
    const { id } = yield* imports.refresh(domain, quiet)
    return yield* imports.accept(id, quiet, { rest: "take_store" })
  })

/** Every row that a refresh may write, with the transaction that wrote it, except the import's own record. */
const rows = (actor: Actor) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const written: Record<string, unknown> = {}
    for (const table of ["entity", "store_version", "entity_media", "collection_member", "entity_history"])
      written[table] = yield* sql`
        SELECT t.xmin::text AS xmin, to_jsonb(t) AS row FROM ${sql(table)} t
        WHERE t.account_id = ${actor.accountId} ORDER BY to_jsonb(t)::text`
    written.account = yield* sql`
      SELECT change_seq, last_changed_at FROM account_state WHERE account_id = ${actor.accountId}`
    return written
  })

const entityOf = (kind: EntityKind, key: string, value: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const found = yield* sql`
      SELECT id FROM entity WHERE kind = ${kind} AND attributes #>> ARRAY[${key}, 'value'] = ${value}`
    assert.lengthOf(found, 1, `${kind} with ${key} ${value}`)
    return EntityId.make(String(found[0]?.id))
  })

const version = (id: EntityId, storeId: StoreId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [found] = yield* sql`
      SELECT v.platform_id, v.pending_publish, v.last_publish_status, v.overrides, v.accepted FROM store_version v
      WHERE v.entity_id = ${id} AND v.store_id = ${storeId}`
    return found as
      | {
          readonly platform_id: string | null
          readonly pending_publish: boolean
          readonly last_publish_status: string
          readonly overrides: Attributes
          readonly accepted: { readonly attributes: Attributes } | null
        }
      | undefined
  })

const nothing = { created: 0, updated: 0, unchanged: 0 }

for (const engine of featureEngines)
  describe.skipIf(engine.absent)(`refreshes on ${engine.name}`, () => {
    const TestLayer = Imports.layer.pipe(
      Layer.provide(Disturbing),
      Layer.provideMerge(Services),
      Layer.provideMerge(publishes.layer),
      Layer.provideMerge(RepositoriesOnDatabase),
      Layer.provideMerge(engine.layer),
      Layer.orDie
    )
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("import a whole store, and write nothing if nothing changed", () =>
        Effect.gen(function* () {
          const { actor, idOf, put } = yield* aMerchant(["shop.example"])
          yield* put("shop.example", [
            ...aProductOf("boot", ["S", "M"]),
            ...aProductOf("mug", ["One"]),
            held("media", "file/loose", { url: "https://shop.example/files/loose.jpg" }),
            held(
              "collection",
              "collection/all",
              { title: "All", handle: "all", sort_order: "manual" },
              {
                members: ["product/mug", "product/boot", "product/never"]
              }
            )
          ])
          yield* Effect.gen(function* () {
            const run = yield* refreshed("shop.example")
            assert.deepInclude(run, { phase: "applied", source: "refresh", fileName: null, applied: 6, error: null })
            assert.deepStrictEqual(run.summary, {
              created: 2,
              updated: 0,
              unchanged: 0,
              conflicts: 0,
              variants: 3,
              images: 3,
              collections: { ...nothing, created: 1 },
              files: { ...nothing, created: 3 },
              unlinked: 0,
              beside: {
                markets: 0,
                metafield_definitions: 0,
                metaobject_definitions: 0,
                metaobject_entries: 0,
                translations: 0,
                cut_metaobjects: []
              },
              answer: null,
              metafields: [],
              ignored_columns: [],
              problems: [],
              problem_count: 0,
              unpublished: 0
            })
            const programs = yield* Programs
            const boot = yield* entityOf("product", "handle", "boot")
            const mug = yield* entityOf("product", "handle", "mug")
            const all = yield* entityOf("collection", "handle", "all")
            const picture = yield* entityOf("media", "alt", "boot on a table")
            const product = yield* programs.getProduct({ path: { id: boot } })
            assert.deepStrictEqual(product.media_ids, [picture])
            assert.deepStrictEqual(product.collection_ids, [all])
            const values = Object.fromEntries(product.attributes.map(({ key, value }) => [key, value]))
            assert.deepInclude(values, { title: "The boot", tags: '["a","b"]', "my.fit": "snug", vendor: "Fell" })
            const sql = yield* SqlClient.SqlClient
            const members =
              yield* sql`SELECT product_id FROM collection_member WHERE collection_id = ${all} ORDER BY position`
            assert.deepStrictEqual(
              members.map(({ product_id }) => product_id),
              [mug, boot]
            )
            const sizes = yield* Effect.forEach(product.variant_ids, (id) => programs.getVariant({ path: { id } }))
            assert.deepStrictEqual(
              // The shop lists the variants by id.
              sizes.map(({ title }) => title),
              ["M", "S"]
            )
            for (const [id, platformId] of [
              [boot, "product/boot"],
              [sizes[1]?.id, "variant/boot/S"],
              [picture, "file/boot"],
              [all, "collection/all"]
            ] as const)
              assert.deepInclude(yield* version(id as EntityId, idOf("shop.example")), {
                platform_id: platformId,
                pending_publish: false,
                last_publish_status: "published"
              })
            const [store] = (yield* (yield* Stores).list).filter(({ domain }) => domain === "shop.example")
            assert.isNotNull(store?.last_imported_at)
            assert.deepStrictEqual(yield* sql`SELECT * FROM import_record`, [])

            const before = yield* rows(actor)
            const again = yield* refreshed("shop.example")
            assert.deepInclude(again.summary, {
              ...nothing,
              unchanged: 2,
              conflicts: 0,
              collections: { ...nothing, unchanged: 1 },
              files: { ...nothing, unchanged: 3 },
              unlinked: 0
            })
            assert.strictEqual(again.applied, 0)
            assert.deepStrictEqual(yield* rows(actor), before)
            const [later] = (yield* (yield* Stores).list).filter(({ domain }) => domain === "shop.example")
            assert.isTrue((later?.last_imported_at ?? "") > (store?.last_imported_at ?? "~"))
          }).pipe(actingAs(actor))
        })
      )

      it.effect("take the store's edits, keep drafts, and make fields that both edited conflicts", () =>
        Effect.gen(function* () {
          const { actor, idOf, put } = yield* aMerchant(["one.example", "two.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const changes = yield* CatalogChanges
            yield* put("one.example", aProductOf("tent", ["S", "M"]))
            yield* refreshed("one.example")
            const tent = yield* entityOf("product", "handle", "tent")
            const small = yield* entityOf("variant", "sku", "tent-S")
            const one = idOf("one.example")
            const draft = (entityId: EntityId, values: Readonly<Record<string, string>>) =>
              changes.apply([CatalogChange.SetAttributes({ entityId, values })])

            // The title is edited in the store only, the vendor here only, the type on both sides to the same value,
            // fit and price on both sides to different values.
            yield* draft(tent, { vendor: "Tarn", product_type: "Shelter", "my.fit": "wide" })
            yield* draft(small, { price: "12.00" })
            yield* put("one.example", [
              ...aProductOf("tent", ["M"], {
                options: JSON.stringify([{ name: "Size", values: ["S", "M"] }]),
                title: "Tent",
                product_type: "Shelter ",
                "my.fit": "tight",
                tags: '["b", "a"]'
              }),
              held(
                "variant",
                "variant/tent/S",
                { title: "S", option1: "S", sku: "tent-S", price: "11.0" },
                { parentId: "product/tent" }
              )
            ])
            const run = yield* imports.refresh("one.example", quiet)
            assert.deepInclude(run.summary, {
              ...nothing,
              updated: 1,
              conflicts: 2,
              files: { ...nothing, unchanged: 1 }
            })
            const undecided = {
              store_id: one,
              store_domain: "one.example",
              decision: null,
              decided_by: null,
              decided_at: null
            }
            assert.deepStrictEqual(yield* imports.conflicts(run.id, 0, 100), [
              {
                conflict: 1,
                entity_id: tent,
                entity_type: "product",
                title: "The tent",
                field: "my.fit",
                accepted: "snug",
                draft_value: "wide",
                store_value: "tight",
                ...undecided
              },
              {
                conflict: 2,
                entity_id: small,
                entity_type: "variant",
                title: "S",
                field: "price",
                accepted: "10.00",
                draft_value: "12.00",
                store_value: "11.0",
                ...undecided
              }
            ])
            assert.deepStrictEqual(
              (yield* imports.conflicts(run.id, 1, 100)).map(({ conflict }) => conflict),
              [2]
            )
            assert.strictEqual(yield* imports.decide(run.id, [1, 2], "take_store"), 2)
            assert.strictEqual(yield* imports.decide(run.id, [1], "keep_draft"), 1)
            const [kept] = yield* imports.conflicts(run.id, 0, 1)
            assert.deepInclude(kept, { decision: "keep_draft", decided_by: { kind: "cli", id: null, name: null } })
            assert.isNotNull(kept?.decided_at)
            yield* imports.accept(run.id, quiet)

            const programs = yield* Programs
            const product = yield* programs.getProduct({ path: { id: tent } })
            const values = Object.fromEntries(product.attributes.map(({ key, value }) => [key, value]))
            assert.deepInclude(values, {
              title: "Tent",
              vendor: "Tarn",
              product_type: "Shelter",
              "my.fit": "wide",
              tags: '["a","b"]'
            })
            const held_ = yield* version(tent, one)
            assert.isTrue(held_?.pending_publish)
            assert.deepInclude(held_?.accepted?.attributes ?? {}, {
              title: { value: "Tent", type: "single_line_text_field" },
              vendor: { value: "Fell", type: "single_line_text_field" },
              "my.fit": { value: "tight", type: "single_line_text_field" }
            })
            const variant = yield* programs.getVariant({ path: { id: small } })
            assert.strictEqual(variant.attributes.find(({ key }) => key === "price")?.value, "11.0")
            assert.isFalse((yield* version(small, one))?.pending_publish)

            // After the decision there is no conflict.
            const before = yield* rows(actor)
            assert.deepInclude((yield* refreshed("one.example")).summary, { updated: 0, unchanged: 1, conflicts: 0 })
            assert.deepStrictEqual(yield* rows(actor), before)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("change canonical values if there is one store, and create overrides if there are several", () =>
        Effect.gen(function* () {
          const { actor, idOf, put } = yield* aMerchant(["a.example", "b.example"])
          yield* Effect.gen(function* () {
            yield* put("a.example", aProductOf("lamp", ["One"]))
            yield* refreshed("a.example")
            // The other store's lamp matches this one: first by its SKU, at the next refresh by the platform id.
            const other = aProductOf("lamp", ["One"], { handle: "lampe", title: "Lampe", "my.fit": "" })
            yield* put("b.example", other)
            const first = yield* refreshed("b.example")
            assert.deepInclude(first.summary, { created: 0, updated: 1, files: { ...nothing, updated: 1 } })
            const lamp = yield* entityOf("product", "handle", "lamp")
            assert.deepStrictEqual(Object.keys((yield* version(lamp, idOf("b.example")))?.overrides ?? {}).sort(), [
              "handle",
              "my.fit",
              "title"
            ])
            assert.isFalse((yield* version(lamp, idOf("b.example")))?.pending_publish)
            yield* put("a.example", aProductOf("lamp", ["One"], { title: "Lampe" }))
            yield* refreshed("a.example")
            assert.deepInclude((yield* version(lamp, idOf("a.example")))?.overrides ?? {}, {
              title: { value: "Lampe", type: "single_line_text_field" }
            })
            assert.strictEqual(yield* entityOf("product", "title", "The lamp"), lamp)
            yield* put("a.example", aProductOf("lamp", ["One"]))
            yield* refreshed("a.example")
            assert.deepStrictEqual((yield* version(lamp, idOf("a.example")))?.overrides, {})
            const before = yield* rows(actor)
            yield* refreshed("a.example")
            yield* refreshed("b.example")
            assert.deepStrictEqual(yield* rows(actor), before)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("match entities by platform id, the record's entity id, SKU and handle, each once", () =>
        Effect.gen(function* () {
          const { actor, idOf, put, stores } = yield* aMerchant(["match.example"])
          yield* Effect.gen(function* () {
            const [store] = stores
            assert.isDefined(store)
            const on = [store as NonNullable<typeof store>]
            const said = yield* anEntity("product", { title: "Said", handle: "said" }, { on })
            const bySku = yield* anEntity("product", { title: "By SKU", handle: "by-sku" }, { on })
            const skuVariant = yield* anEntity("variant", { sku: "match-1" }, { of: bySku, on })
            const byHandle = yield* anEntity("product", { title: "By handle", handle: "by-handle" })
            const collection = yield* anEntity("collection", { title: "C", handle: "match-c" })
            const file = yield* anEntity("media", { url: "https://cdn.example/match.jpg" })
            const foreign = yield* Effect.flatMap(aMerchant([]), (other) =>
              anEntity("product", { title: "Foreign" }).pipe(actingAs(other.actor))
            )
            yield* put("match.example", [
              from(said, held("product", "p/1", { title: "Said", handle: "by-sku" })),
              // The product with the same SKU as an entity here, although its handle is another entity's.
              held("product", "p/2", { title: "By SKU", handle: "by-handle" }),
              held("variant", "v/2", { sku: "match-1" }, { parentId: "p/2" }),
              held("product", "p/3", { title: "By handle", handle: "by-handle" }),
              // A copy of the first record, whose entity is already matched.
              from(said, held("product", "p/4", { title: "Copy", handle: "copy" })),
              from(foreign, held("product", "p/5", { title: "New", handle: "new" })),
              from(collection, held("product", "p/6", { title: "Of another kind", handle: "kind" })),
              held("collection", "c/1", { title: "C", handle: "match-c" }),
              held("media", "m/1", { url: "https://cdn.example/match.jpg?v=9" })
            ])
            const run = yield* refreshed("match.example")
            assert.deepInclude(run.summary, {
              created: 3,
              conflicts: 2,
              collections: { ...nothing, updated: 1 },
              files: { ...nothing, updated: 1 }
            })
            for (const [id, platformId] of [
              [said, "p/1"],
              [bySku, "p/2"],
              [skuVariant, "v/2"],
              [byHandle, "p/3"],
              [collection, "c/1"],
              [file, "m/1"]
            ] as const)
              assert.strictEqual((yield* version(id, idOf("match.example")))?.platform_id, platformId)
            const sql = yield* SqlClient.SqlClient
            assert.deepStrictEqual(
              yield* sql`
                SELECT v.platform_id, count(*)::integer AS count FROM store_version v
                WHERE v.store_id = ${idOf("match.example")} GROUP BY 1 HAVING count(*) > 1`,
              []
            )
            // Now it matches by platform id, although its other values differ.
            yield* put("match.example", [held("product", "p/3", { title: "Renamed", handle: "renamed" })])
            assert.deepInclude((yield* refreshed("match.example")).summary, { created: 0, updated: 1 })
            assert.strictEqual(yield* entityOf("product", "handle", "renamed"), byHandle)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("offer as new what was deleted here while the store was unlinked, without conflicts", () =>
        Effect.gen(function* () {
          const { accountId, actor, idOf, put } = yield* aMerchant(["back.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const sql = yield* SqlClient.SqlClient
            const { link, unlink } = yield* Stores
            const remove = (kind: EntityKind, id: EntityId) =>
              Effect.gen(function* () {
                const job = yield* (yield* BulkJobs).begin({ kind, ids: [id] }, { _tag: "Delete" })
                const { errors } = yield* Effect.flatten((yield* JobWorker).settle(job.id, quiet))
                assert.deepStrictEqual(errors, [])
              })
            const members = ["product/axe", "product/saw"]
            yield* put("back.example", [
              ...aProductOf("axe", ["S", "M"]),
              ...aProductOf("saw", ["S"]),
              held(
                "collection",
                "collection/tools",
                { title: "Tools", handle: "tools", sort_order: "manual" },
                { members }
              )
            ])
            yield* refreshed("back.example")
            const axe = yield* entityOf("product", "handle", "axe")
            const tools = yield* entityOf("collection", "handle", "tools")
            const saw = yield* entityOf("product", "handle", "saw")
            const medium = yield* entityOf("variant", "sku", "axe-M")
            // As if they had been published from here: the records name our ids.
            yield* sql`
              UPDATE demo_shop_record r SET entity_id = n.id
              FROM (VALUES ('product/saw', ${saw}::uuid), ('variant/axe/M', ${medium}::uuid)) AS n (platform_id, id)
              WHERE r.account_id = ${accountId} AND r.platform_id = n.platform_id`
            const programs = yield* Programs
            const before = yield* programs.getProduct({ path: { id: axe } })
            yield* unlink("back.example")
            yield* remove("variant", medium)
            yield* remove("product", saw)
            yield* link({ domain: "back.example", platform: "demo" })
            const pending = Effect.all([
              Effect.map(programs.getProduct({ path: { id: axe } }), ({ pending_publish }) => pending_publish),
              Effect.map(programs.getCollection({ path: { id: tools } }), ({ pending_publish }) => pending_publish)
            ])
            assert.deepStrictEqual(yield* pending, [false, false])

            const run = yield* imports.refresh("back.example", quiet)
            assert.deepInclude(run.summary, { created: 1, updated: 1, unlinked: 0, conflicts: 0 })
            yield* imports.accept(run.id, quiet)
            const again = yield* entityOf("product", "handle", "saw")
            const mediumAgain = yield* entityOf("variant", "sku", "axe-M")
            assert.notStrictEqual(again, saw)
            assert.notStrictEqual(mediumAgain, medium)
            assert.strictEqual((yield* version(again, idOf("back.example")))?.platform_id, "product/saw")
            assert.deepStrictEqual(yield* pending, [false, false])
            const { attributes, variant_ids } = yield* programs.getProduct({ path: { id: axe } })
            assert.deepStrictEqual(
              variant_ids,
              before.variant_ids.map((id) => (id === medium ? mediumAgain : id))
            )
            assert.deepInclude(attributes, {
              key: "options",
              value: JSON.stringify([{ name: "Size", values: ["S", "M"] }]),
              type: "json"
            })
            assert.deepStrictEqual(
              yield* sql`
                SELECT product_id FROM collection_member WHERE account_id = ${accountId} ORDER BY position`,
              [{ product_id: axe }, { product_id: again }]
            )
            const written = yield* rows(actor)
            yield* refreshed("back.example")
            assert.deepStrictEqual(yield* rows(actor), written)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("propose to unlink entities that left the store, but not entities that were never published", () =>
        Effect.gen(function* () {
          const { accountId, actor, idOf, put, stores } = yield* aMerchant(["gone.example", "other.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const sql = yield* SqlClient.SqlClient
            const on = stores.filter(({ domain }) => domain === "gone.example")
            const all = held(
              "collection",
              "collection/gone",
              { title: "G", handle: "g", sort_order: "manual" },
              {
                members: ["product/stays", "product/goes"]
              }
            )
            yield* put("gone.example", [...aProductOf("stays", ["S", "M"]), ...aProductOf("goes", ["S"]), all])
            yield* put("other.example", aProductOf("goes", ["S"]))
            yield* refreshed("gone.example")
            yield* refreshed("other.example")
            const draft = yield* anEntity("product", { title: "Draft", handle: "first-draft" }, { on })
            const goes = yield* entityOf("product", "handle", "goes")
            const lateVariant = yield* anEntity("variant", { sku: "goes-late" }, { of: goes, on })
            const stays = yield* entityOf("product", "handle", "stays")
            const medium = yield* entityOf("variant", "sku", "stays-M")
            yield* sql`
              DELETE FROM demo_shop_record
              WHERE account_id = ${accountId} AND store_id = ${idOf("gone.example")}
                AND platform_id IN ('product/goes', 'variant/goes/S', 'file/goes', 'variant/stays/M', 'file/stays')`
            yield* put("gone.example", [
              {
                ...(aProductOf("stays", ["S"])[1] as PlatformRecord),
                media: []
              },
              { ...all, members: ["product/stays"] }
            ])
            const run = yield* imports.refresh("gone.example", quiet)
            // Unlinked: the product, its published variant, its draft variant and its file; of the other product one
            // variant and the file.
            assert.deepInclude(run.summary, { created: 0, updated: 1, unlinked: 6, conflicts: 0 })
            assert.strictEqual((yield* imports.accept(run.id, quiet)).applied, 8)
            const storesOf = (id: EntityId) =>
              Effect.map(sql`SELECT store_id FROM store_version WHERE entity_id = ${id}`, (found) =>
                found.map(({ store_id }) => store_id)
              )
            assert.deepStrictEqual(yield* storesOf(goes), [idOf("other.example")])
            assert.deepStrictEqual(yield* storesOf(lateVariant), [])
            assert.deepStrictEqual(yield* storesOf(medium), [])
            assert.deepStrictEqual(yield* storesOf(draft), [idOf("gone.example")])
            const programs = yield* Programs
            const product = yield* programs.getProduct({ path: { id: stays } })
            assert.deepInclude(product, { media_ids: [], pending_publish: false })
            assert.deepStrictEqual(
              (yield* sql`SELECT product_id FROM collection_member WHERE account_id = ${accountId}`).map(
                ({ product_id }) => product_id
              ),
              [stays]
            )
            const before = yield* rows(actor)
            yield* refreshed("gone.example")
            assert.deepStrictEqual(yield* rows(actor), before)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("compare again if the catalog changes during the comparison, without reading the store twice", () =>
        Effect.gen(function* () {
          const { actor, put } = yield* aMerchant(["busy.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            yield* put("busy.example", aProductOf("late", ["S"]))
            yield* refreshed("busy.example")
            const late = yield* entityOf("product", "handle", "late")
            yield* put("busy.example", aProductOf("late", ["S"], { title: "The store's" }))
            const changes = yield* CatalogChanges
            meanwhile = {
              step: "staged",
              effect: changes
                .apply([CatalogChange.SetAttributes({ entityId: late, values: { title: "Ours" } })])
                .pipe(actingAs(actor), Effect.orDie)
            }
            const run = yield* imports.refresh("busy.example", quiet)
            assert.deepInclude(run.summary, { updated: 1, conflicts: 1, variants: 1 })
            assert.deepStrictEqual(
              (yield* imports.conflicts(run.id, 0, 10)).map(({ conflict, draft_value }) => [conflict, draft_value]),
              [[1, "Ours"]]
            )
            yield* imports.discard(run.id)
            // The conflicts of a discarded import are still listed, but cannot be decided.
            assert.lengthOf(yield* imports.conflicts(run.id, 0, 10), 1)
            assert.strictEqual(
              (yield* Effect.flip(imports.decide(run.id, "all", "keep_draft"))).message,
              "import: is discarded, not under review"
            )
          }).pipe(actingAs(actor))
        })
      )

      it.effect("do not overwrite publishes that are newer than the reading", () =>
        Effect.gen(function* () {
          const { actor, idOf, put, stores } = yield* aMerchant(["read.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const storeId = idOf("read.example")
            const { apply } = yield* CatalogChanges
            yield* put("read.example", [
              ...aProductOf("read", ["S"]),
              held("collection", "c/read", { handle: "reads", title: "Reads" }, { members: ["product/read"] })
            ])
            yield* refreshed("read.example")
            const product = yield* entityOf("product", "handle", "read")
            const variant = yield* entityOf("variant", "sku", "read-S")
            const collection = yield* entityOf("collection", "handle", "reads")
            const fresh = yield* anEntity("product", { title: "Fresh", handle: "fresh" }, { on: stores })
            const freshVariant = yield* anEntity("variant", { sku: "fresh-S" }, { on: stores, of: fresh })
            const edited = [product, variant, collection]
            yield* apply(
              edited.map((entityId) => CatalogChange.SetAttributes({ entityId, values: { title: "Published" } }))
            )
            const services = yield* Effect.context<Publishing>()
            meanwhile = {
              step: "fetched",
              effect: Effect.forEach([fresh, ...edited], (id) => publish(id, storeId), { discard: true }).pipe(
                actingAs(actor),
                Effect.provide(services),
                Effect.orDie
              )
            }
            const run = yield* imports.refresh("read.example", quiet)
            assert.deepInclude(run.summary, {
              updated: 0,
              unchanged: 1,
              conflicts: 0,
              unlinked: 0,
              collections: { ...nothing, unchanged: 1 }
            })
            yield* imports.accept(run.id, quiet)
            for (const id of edited) {
              const there = yield* version(id, storeId)
              assert.strictEqual(there?.accepted?.attributes.title?.value, "Published")
              assert.deepInclude(there, { pending_publish: false, last_publish_status: "published" })
            }
            assert.isDefined(yield* version(fresh, storeId))
            assert.isDefined(yield* version(freshVariant, storeId))
            // The next refresh reads the published values.
            yield* put("read.example", [from(product, held("product", "product/read", { title: "Edited there" }))])
            yield* refreshed("read.example")
            const taken = yield* version(product, storeId)
            assert.strictEqual(taken?.accepted?.attributes.title?.value, "Edited there")
          }).pipe(actingAs(actor))
        })
      )

      it.effect("include publishes that ended during the review", () =>
        Effect.gen(function* () {
          const { actor, idOf, put } = yield* aMerchant(["passing.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const sql = yield* SqlClient.SqlClient
            const storeId = idOf("passing.example")
            const { apply } = yield* CatalogChanges
            yield* put("passing.example", [...aProductOf("kept", ["S"]), ...aProductOf("gone", ["S"])])
            yield* refreshed("passing.example")
            const kept = yield* entityOf("product", "handle", "kept")
            const gone = yield* entityOf("product", "handle", "gone")
            yield* apply(
              [kept, gone].map((entityId) => CatalogChange.SetAttributes({ entityId, values: { title: "Ours" } }))
            )
            // Both publishes are under way and reach the store after it was read.
            const { goOn, haveArrived } = yield* publishes.holdPublishes(storeId, 2)
            const publications = yield* Effect.forEach([kept, gone], (id) => ask(id, storeId))
            const settling = yield* Effect.fork(Effect.flatMap(Publishing, ({ settle }) => settle(publications, quiet)))
            yield* haveArrived
            yield* put("passing.example", aProductOf("kept", ["S"], { title: "Theirs" }))
            yield* sql`DELETE FROM demo_shop_record WHERE platform_id = 'product/gone'`
            yield* sql`DELETE FROM demo_shop_record WHERE parent_id = 'product/gone'`
            const run = yield* imports.refresh("passing.example", quiet)
            assert.deepInclude(run.summary, { conflicts: 1, unlinked: 2 })
            yield* goOn
            assert.deepStrictEqual(
              (yield* Fiber.join(settling)).map(({ state }) => state),
              ["published", "published"]
            )
            yield* imports.decide(run.id, "all", "take_store")
            yield* imports.accept(run.id, quiet)
            const drafted = yield* version(kept, storeId)
            assert.strictEqual(drafted?.accepted?.attributes.title?.value, "Ours")
            assert.isTrue(drafted?.pending_publish)
            assert.strictEqual((yield* sql`SELECT title FROM entity WHERE id = ${kept}`)[0]?.title, "Theirs")
            assert.deepInclude(yield* version(gone, storeId), { last_publish_status: "published" })
          }).pipe(actingAs(actor))
        })
      )

      it.effect("fail with the platform's reason, and write nothing", () =>
        Effect.gen(function* () {
          const { accountId, actor, idOf, put } = yield* aMerchant(["broken.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const shops = yield* DemoShops
            const shop = { accountId, storeId: idOf("broken.example") }
            yield* put("broken.example", aProductOf("cup", ["S"]))
            yield* refreshed("broken.example")
            yield* put("broken.example", aProductOf("cup", ["S"], { title: "Changed" }))
            const before = yield* rows(actor)
            const failing = (message: string) =>
              Effect.gen(function* () {
                const error = yield* Effect.flip(imports.refresh("broken.example", quiet))
                const [run] = yield* imports.list
                assert.deepInclude(run, { phase: "failed", source: "refresh", applied: 0, error: message })
                assert.deepStrictEqual(yield* rows(actor), before)
                const sql = yield* SqlClient.SqlClient
                const locks = yield* sql`SELECT run_id FROM import_lock WHERE account_id = ${accountId}`
                assert.deepStrictEqual(locks, [{ run_id: null }])
                assert.deepStrictEqual(yield* sql`SELECT * FROM import_item WHERE run_id = ${run?.id ?? ""}`, [])
                assert.deepStrictEqual(yield* sql`SELECT * FROM import_record`, [])
                return error
              })
            yield* shops.fail(shop, { kind: "error", percent: 100, delayMillis: 0 })
            yield* failing("The store's platform cannot be reached: it reports an internal error.")
            yield* shops.repair(shop)
            yield* shops.fail(shop, { kind: "refuse", percent: 100, delayMillis: 0 })
            yield* failing(
              "The store's platform refused the request (DEMO_REFUSED): The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it."
            )
            yield* shops.repair(shop)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("refuse records that cannot be stored, and SKUs that match several products", () =>
        Effect.gen(function* () {
          const { actor, put } = yield* aMerchant(["odd.example", "torn.example", "orphan.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            yield* put("odd.example", [held("product", "odd/1", { title: "Odd", handle: "x".repeat(256) })])
            const refusal = (domain: string) =>
              Effect.map(Effect.flip(imports.refresh(domain, quiet)), ({ message }) => message)
            assert.strictEqual(
              yield* refusal("odd.example"),
              'store: has a product odd/1 ("Odd") whose handle must have at most 255 characters'
            )
            yield* put("orphan.example", [held("variant", "orphan/1", { sku: "o" }, { parentId: "orphan/0" })])
            assert.strictEqual(
              yield* refusal("orphan.example"),
              "The store's platform cannot be reached: its answer is not valid."
            )
            const [left, right] = [
              yield* anEntity("product", { title: "L" }),
              yield* anEntity("product", { title: "R" })
            ]
            yield* anEntity("variant", { sku: "torn-l" }, { of: left })
            yield* anEntity("variant", { sku: "torn-r" }, { of: right })
            yield* put("torn.example", [
              held("product", "torn/1", { title: "Torn" }),
              held("variant", "torn/1/l", { sku: "torn-l" }, { parentId: "torn/1" }),
              held("variant", "torn/1/r", { sku: "torn-r" }, { parentId: "torn/1" })
            ])
            assert.strictEqual(
              yield* refusal("torn.example"),
              `store: has the product torn/1 ("Torn") whose SKUs belong to different products here: ${[left, right].sort().join(", ")}; give all of them to one product, or to none`
            )
          }).pipe(actingAs(actor))
        })
      )

      it.effect("continue in the background, and record failures with the import", () =>
        Effect.gen(function* () {
          const { accountId, actor, idOf, put } = yield* aMerchant(["back.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const shops = yield* DemoShops
            const shop = { accountId, storeId: idOf("back.example") }
            const until = (id: ImportId, phase: ImportPhase) =>
              imports.get(id).pipe(Effect.delay("10 millis"), Effect.repeat({ until: (run) => run.phase === phase }))
            yield* put("back.example", aProductOf("pot", ["S"]))
            yield* shops.fail(shop, { kind: "refuse", percent: 100, delayMillis: 0 })
            const refused = yield* imports.startRefresh("back.example")
            assert.deepInclude(refused, { phase: "fetching", source: "refresh", storeDomain: "back.example" })
            assert.deepInclude(yield* until(refused.id, "failed"), {
              error:
                "The store's platform refused the request (DEMO_REFUSED): The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it."
            })
            yield* shops.repair(shop)
            const { id } = yield* imports.startRefresh("back.example")
            yield* until(id, "reviewing")
            assert.strictEqual((yield* Effect.flip(imports.startRefresh("back.example")))._tag, "PimLocked")
            const accepting = yield* imports.startAccepting(id, {})
            assert.strictEqual(accepting.id, id)
            assert.deepInclude(yield* until(id, "applied"), { applied: 2, error: null })
            assert.strictEqual(
              (yield* Effect.flip(imports.startAccepting(id, {}))).message,
              "import: is applied, not under review"
            )
            const refusal = (domain: string) =>
              Effect.map(Effect.flip(imports.startRefresh(domain)), ({ message }) => message)
            assert.strictEqual(
              yield* refusal("nowhere.example"),
              "store: no store nowhere.example is linked; see `catalog store list`"
            )
            assert.strictEqual(
              yield* refusal("files.example"),
              "store: files.example has no platform: import its product export instead"
            )
          }).pipe(actingAs(actor))
        })
      )

      it.effect("are refused with the next step if they cannot start", () =>
        Effect.gen(function* () {
          const { actor, put } = yield* aMerchant(["once.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const refusal = <A>(effect: Effect.Effect<A, { readonly message: string }, never>) =>
              Effect.map(Effect.flip(effect), ({ message }) => message)
            assert.strictEqual(
              yield* refusal(imports.refresh("nowhere.example", quiet).pipe(actingAs(actor))),
              "store: no store nowhere.example is linked; see `catalog store list`"
            )
            assert.strictEqual(
              yield* refusal(imports.refresh("files.example", quiet).pipe(actingAs(actor))),
              "store: files.example has no platform: import its product export instead"
            )
            yield* put("once.example", aProductOf("pan", ["S"]))
            const run = yield* imports.refresh("once.example", quiet)
            assert.strictEqual(run.phase, "reviewing")
            assert.strictEqual(
              yield* refusal(imports.refresh("once.example", quiet).pipe(actingAs(actor))),
              `import ${run.id} is under review: accept it with \`catalog import accept ${run.id}\` or discard it with \`catalog import discard ${run.id}\` first`
            )
            const written = (yield* CatalogChanges).apply([
              CatalogChange.CreateEntity({ id: EntityId.make(run.id), kind: "media", parentId: null, values: {} })
            ])
            assert.strictEqual((yield* Effect.flip(written))._tag, "PimLocked")
            assert.strictEqual(
              yield* refusal(imports.decide(run.id, [7], "keep_draft").pipe(actingAs(actor))),
              `conflict: the import has no conflict 7`
            )
            const unknown = ImportId.make("00000000-0000-4000-8000-00000000dead")
            const stranger = yield* anAccount()
            for (const [id, who] of [
              [unknown, actor],
              [run.id, stranger.actor]
            ] as const)
              for (const asked of [
                Effect.asVoid(imports.decide(id, "all", "keep_draft")),
                Effect.asVoid(imports.conflicts(id, 0, 10)),
                Effect.asVoid(imports.accept(id, quiet)),
                Effect.asVoid(imports.discard(id))
              ])
                assert.strictEqual(yield* refusal(asked.pipe(actingAs(who))), "No such record.")
            assert.strictEqual((yield* imports.get(run.id)).phase, "reviewing")
            yield* imports.accept(run.id, quiet)
            assert.strictEqual(
              yield* refusal(imports.decide(run.id, "all", "keep_draft").pipe(actingAs(actor))),
              "import: is applied, not under review"
            )
          }).pipe(actingAs(actor))
        })
      )

      it.effect("of exports have conflicts too, which are decided in the same way", () =>
        Effect.gen(function* () {
          const { actor } = yield* aMerchant([])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const changes = yield* CatalogChanges
            const bring = (name: string, lines: ReadonlyArray<string>) =>
              Effect.suspend(() => {
                const path = join(folder, name)
                writeFileSync(path, `${lines.join("\n")}\n`)
                return imports.csv(path, "files.example", quiet)
              })
            const header = "Handle,Title,Vendor,Variant SKU,Variant Price,Image Src"
            const images = (...names: ReadonlyArray<string>) =>
              names.slice(1).map((name) => `bag,,,,,https://cdn.example/bag-${name}.jpg`)
            const file = (title: string, price: string, ...names: ReadonlyArray<string>) => [
              header,
              `bag,${title},Fell,bag-1,${price},https://cdn.example/bag-${names[0]}.jpg`,
              ...images(...names)
            ]
            const first = yield* bring("bag.csv", file("Bag", "10.00", "a", "b", "c"))
            yield* imports.accept(first.id, quiet)
            const bag = yield* entityOf("product", "handle", "bag")
            const variant = yield* entityOf("variant", "sku", "bag-1")
            const programs = yield* Programs
            const gallery = (yield* programs.getProduct({ path: { id: bag } })).media_ids
            const storeId = (yield* (yield* Stores).list)[0]?.id as StoreId
            yield* changes.apply([
              CatalogChange.SetAttributes({ entityId: bag, values: { title: "Our bag" } }),
              CatalogChange.SetAttributes({ entityId: variant, values: { price: "12.00" } }),
              CatalogChange.SetGallery({
                entityId: bag,
                entries: gallery.toReversed().map((mediaId) => ({ mediaId, storeIds: [storeId] }))
              })
            ])
            const run = yield* bring("again.csv", file("Their bag", "11.00", "b", "a", "c"))
            assert.strictEqual(run.summary.conflicts, 3)
            const conflicts = yield* imports.conflicts(run.id, 0, 10)
            const [a, b, c] = gallery
            assert.deepStrictEqual(
              conflicts.map(({ accepted, draft_value, field, store_value }) => [
                field,
                accepted,
                draft_value,
                store_value
              ]),
              [
                ["title", "Bag", "Our bag", "Their bag"],
                ["price", "10.00", "12.00", "11.00"],
                ["media_ids", JSON.stringify([a, b, c]), JSON.stringify([c, b, a]), JSON.stringify([b, a, c])]
              ]
            )
            // The draft's price and image order are kept and pending; its title is replaced by the store's.
            yield* imports.decide(run.id, [2, 3], "keep_draft")
            yield* imports.accept(run.id, quiet, { rest: "take_store" })
            const product = yield* programs.getProduct({ path: { id: bag } })
            assert.deepInclude(product, { title: "Their bag", pending_publish: true })
            assert.deepStrictEqual<ReadonlyArray<EntityId | undefined>>(product.media_ids, [c, b, a])
            const kept = yield* programs.getVariant({ path: { id: variant } })
            assert.strictEqual(kept.attributes.find(({ key }) => key === "price")?.value, "12.00")
            assert.isTrue(kept.pending_publish)
            const before = yield* rows(actor)
            const same = yield* bring("again.csv", file("Their bag", "11.00", "b", "a", "c"))
            assert.deepInclude((yield* imports.accept(same.id, quiet)).summary, { unchanged: 1, conflicts: 0 })
            assert.deepStrictEqual(yield* rows(actor), before)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("are deleted with their staged data 7 days after their end, and discarded if nobody decides", () =>
        Effect.gen(function* () {
          const { accountId, actor, put } = yield* aMerchant(["old.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const sql = yield* SqlClient.SqlClient
            const changes = yield* CatalogChanges
            yield* put("old.example", aProductOf("rug", ["S"]))
            yield* refreshed("old.example")
            const rug = yield* entityOf("product", "handle", "rug")
            yield* changes.apply([CatalogChange.SetAttributes({ entityId: rug, values: { title: "Ours" } })])
            yield* put("old.example", aProductOf("rug", ["S"], { title: "Theirs" }))
            const { id } = yield* imports.refresh("old.example", quiet)
            const age = (span: string) =>
              sql`UPDATE import_run SET updated_at = app_now() - ${span}::interval WHERE account_id = ${accountId}`
            const left = sql`
              SELECT (SELECT count(*)::integer FROM import_item WHERE account_id = ${accountId}) AS items,
                     (SELECT count(*)::integer FROM import_conflict WHERE account_id = ${accountId}) AS conflicts,
                     (SELECT count(*)::integer FROM import_record WHERE account_id = ${accountId}) AS records`
            yield* age("7 days")
            assert.strictEqual(yield* imports.discardAbandoned, 1)
            assert.deepInclude(yield* imports.get(id), {
              phase: "discarded",
              error: "Nobody accepted or discarded it within 7 days."
            })
            // Both imports ended less than 7 days ago: their items and conflicts are kept for people who open them.
            yield* age("6 days 23 hours")
            yield* imports.forgetStaged
            assert.deepStrictEqual(yield* left, [{ items: 2, conflicts: 1, records: 0 }])
            // A record that a process wrote after it had lost the import.
            yield* sql`
              INSERT INTO import_record (account_id, run_id, root, ordinal, kind, platform_id, attributes, related)
              VALUES (${accountId}, ${id}, 1, 1, 'product', 'late', '{}', '{}')`
            yield* age("7 days")
            assert.strictEqual(yield* imports.forgetStaged, 2)
            assert.deepStrictEqual(yield* left, [{ items: 0, conflicts: 0, records: 0 }])
          }).pipe(actingAs(actor))
        })
      )

      it.effect("follow the order of galleries, variants and members; an order that both changed is a conflict", () =>
        Effect.gen(function* () {
          const { actor, idOf, put } = yield* aMerchant(["order.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const changes = yield* CatalogChanges
            const programs = yield* Programs
            const sql = yield* SqlClient.SqlClient
            const files = ["x", "y", "z"].map((name) =>
              held("media", `file/${name}`, { url: `https://shop.example/${name}.jpg` })
            )
            const shop = (media: ReadonlyArray<string>, members: ReadonlyArray<string>) => [
              ...files,
              ...["one", "two", "three"].map((handle) =>
                held(
                  "product",
                  `product/${handle}`,
                  { handle: `order-${handle}`, title: handle },
                  { media: handle === "one" ? media.map((name) => `file/${name}`) : [] }
                )
              ),
              held(
                "collection",
                "collection/order",
                { title: "O", handle: "order", sort_order: "manual" },
                {
                  members: members.map((handle) => `product/${handle}`)
                }
              )
            ]
            yield* put("order.example", shop(["x", "y", "z"], ["one", "two", "three"]))
            yield* refreshed("order.example")
            const one = yield* entityOf("product", "handle", "order-one")
            const collection = yield* entityOf("collection", "handle", "order")
            const gallery = Effect.map(
              programs.getProduct({ path: { id: one } }),
              ({ media_ids }): ReadonlyArray<EntityId | undefined> => media_ids
            )
            const members = Effect.map(
              sql`SELECT product_id FROM collection_member WHERE collection_id = ${collection} ORDER BY position`,
              (found) => found.map(({ product_id }) => String(product_id))
            )
            const [x, y, z] = yield* gallery
            const [first, second, third] = yield* members

            yield* put("order.example", shop(["z", "x", "y"], ["two", "three", "one"]))
            assert.deepInclude((yield* refreshed("order.example")).summary, { updated: 1, conflicts: 0 })
            assert.deepStrictEqual(yield* gallery, [z, x, y])
            assert.deepStrictEqual(yield* members, [second, third, first])

            const on = [idOf("order.example")]
            const drafted = [y, x, z].flatMap((mediaId) => (mediaId === undefined ? [] : [{ mediaId, storeIds: on }]))
            yield* changes.apply([
              CatalogChange.SetGallery({ entityId: one, entries: drafted }),
              CatalogChange.SetMembers({
                collectionId: collection,
                productIds: [third, first, second].flatMap((id) => (id === undefined ? [] : [EntityId.make(id)]))
              })
            ])
            // The store is unchanged: drafts are kept, and there are no conflicts.
            assert.deepInclude((yield* refreshed("order.example")).summary, { updated: 0, conflicts: 0 })
            assert.deepStrictEqual(yield* gallery, [y, x, z])

            yield* put("order.example", shop(["x", "z", "y"], ["one", "three", "two"]))
            const run = yield* imports.refresh("order.example", quiet)
            assert.deepStrictEqual(
              (yield* imports.conflicts(run.id, 0, 10)).map(({ draft_value, field, store_value }) => [
                field,
                draft_value,
                store_value
              ]),
              [
                ["media_ids", JSON.stringify([y, x, z]), JSON.stringify([x, z, y])],
                ["members", JSON.stringify([third, first, second]), JSON.stringify([first, third, second])]
              ]
            )
            yield* imports.decide(run.id, [1], "keep_draft")
            yield* imports.accept(run.id, quiet, { rest: "take_store" })
            assert.deepStrictEqual(yield* gallery, [y, x, z])
            assert.deepStrictEqual(yield* members, [first, third, second])
            assert.isTrue((yield* version(one, idOf("order.example")))?.pending_publish)
            assert.isFalse((yield* version(collection, idOf("order.example")))?.pending_publish)

            // A file that the draft removed stays removed if the store still shows it; a file that the store removed
            // is removed.
            yield* changes.apply([CatalogChange.SetGallery({ entityId: one, entries: drafted.slice(0, 2) })])
            yield* refreshed("order.example")
            assert.deepStrictEqual(yield* gallery, [y, x])
            yield* put("order.example", shop(["x"], ["one"]))
            yield* refreshed("order.example")
            assert.deepStrictEqual(yield* gallery, [x])
            assert.deepStrictEqual(yield* members, [first])
            const before = yield* rows(actor)
            yield* refreshed("order.example")
            assert.deepStrictEqual(yield* rows(actor), before)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("decide all conflicts at once, and accept with the store's values for the rest", () =>
        Effect.gen(function* () {
          const { actor, idOf, put } = yield* aMerchant(["many.example"])
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const changes = yield* CatalogChanges
            const handles = ["one", "two", "three"]
            yield* put(
              "many.example",
              handles.flatMap((handle) => aProductOf(`m-${handle}`, ["S"]))
            )
            yield* refreshed("many.example")
            const products = yield* Effect.forEach(handles, (handle) => entityOf("product", "handle", `m-${handle}`))
            const edit = (round: string) =>
              Effect.gen(function* () {
                yield* changes.apply(
                  products.map((entityId) =>
                    CatalogChange.SetAttributes({ entityId, values: { title: `ours ${round}` } })
                  )
                )
                yield* put(
                  "many.example",
                  handles.flatMap((handle) => aProductOf(`m-${handle}`, ["S"], { title: `theirs ${round}` }))
                )
                return yield* imports.refresh("many.example", quiet)
              })
            const titles = Effect.gen(function* () {
              const programs = yield* Programs
              const all = yield* Effect.forEach(products, (id) => programs.getProduct({ path: { id } }))
              return all.map(({ pending_publish, title }) => `${title}${pending_publish ? ", pending" : ""}`)
            })
            const first = yield* edit("1")
            assert.strictEqual(first.summary.conflicts, 3)
            assert.strictEqual(yield* imports.decide(first.id, "all", "keep_draft"), 3)
            yield* imports.accept(first.id, quiet)
            assert.deepStrictEqual(yield* titles, Array(3).fill("ours 1, pending"))

            const second = yield* edit("2")
            yield* imports.decide(second.id, [2], "keep_draft")
            yield* imports.accept(second.id, quiet, { rest: "take_store" })
            assert.deepStrictEqual((yield* titles).filter((title) => title === "theirs 2").length, 2)
            assert.deepStrictEqual((yield* titles).filter((title) => title === "ours 2, pending").length, 1)
            const decisions = yield* imports.conflicts(second.id, 0, 10)
            assert.deepStrictEqual(
              decisions.map(({ decision }) => decision),
              ["take_store", "keep_draft", "take_store"]
            )
            for (const { decided_by } of decisions)
              assert.deepStrictEqual(decided_by, { kind: "cli", id: null, name: null })
            assert.isTrue(Option.isSome(Option.fromNullable(idOf("many.example"))))
          }).pipe(actingAs(actor))
        })
      )
    })
  })
