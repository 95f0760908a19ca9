import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { afterAll } from "vitest"
import type { GalleryEntry } from "../../src/catalog/Aggregate.ts"
import { Imports } from "../../src/imports/Imports.ts"
import type { AccountId, EntityId } from "../../src/model/Ids.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  Catalog,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Programs,
  Stores
} from "../../src/testing/index.ts"
import { aMetafield, refresh as refreshMirror } from "../support/Mirrors.ts"
import { leaveImport } from "../support/PlantedLeases.ts"
import { engines } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "imports-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const file = (name: string, lines: ReadonlyArray<string>) => {
  const path = join(folder, name)
  writeFileSync(path, `${lines.join("\n")}\n`)
  return path
}

const header =
  "Handle,Title,Vendor,Tags,Option1 Name,Option1 Value,Variant SKU,Variant Price,Image Src,Image Alt Text,Fit (product.metafields.my.fit),Variant Inventory Qty"
const boots = [
  'boots,Boots,Fell,"a, b",Size,S,B-S,10.00,https://cdn.example/b.jpg?v=1,Boots,snug,3',
  "boots,,,,,M,B-M,11.00,,,,4"
]
const hat = ["hat,Hat,Fell,,Title,Default Title,H-1,5.00,,,,1"]
const us = file("us.csv", [header, ...boots, ...hat])
const eu = file("eu.csv", [
  header,
  boots[0]?.replace("Boots,Fell", "Stiefel,Fell") ?? "",
  boots[1]?.replace("11.00", "12.50") ?? ""
])

const quiet = () => Effect.void

for (const engine of engines) {
  describe.skipIf(engine.absent)(`imports on ${engine.name}`, () => {
    layer(ServicesOnDatabase.pipe(Layer.provideMerge(engine.layer), Layer.orDie), { excludeTestServices: true })(
      (it) => {
        const bring = (path: string, domain: string) =>
          Effect.gen(function* () {
            const imports = yield* Imports
            const { id } = yield* imports.csv(path, domain, quiet)
            return yield* imports.accept(id, quiet, { rest: "take_store" })
          })
        const everything = Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          return yield* sql`
          SELECT (SELECT json_agg(e ORDER BY e.id) FROM entity e) AS entities,
                 (SELECT json_agg(v ORDER BY v.entity_id, v.store_id) FROM store_version v) AS versions,
                 (SELECT json_agg(g ORDER BY g.entity_id, g.media_id) FROM entity_media g) AS galleries,
                 (SELECT json_agg(to_jsonb(a) - 'version' - 'feed_seq' ORDER BY a.account_id) FROM account_state a) AS accounts,
                 (SELECT json_agg(to_jsonb(s) - 'last_imported_at' ORDER BY s.id) FROM store s) AS stores`
        })
        const picturesOf = (accountId: AccountId, handle: string) =>
          Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql<GalleryEntry & { readonly url: string; readonly alt: string; readonly onStores: number }>`
              SELECT m.attributes #>> '{url,value}' AS url, m.attributes #>> '{alt,value}' AS alt,
                     cardinality(m.store_ids) AS "onStores", g.media_id AS "mediaId", g.store_ids AS "storeIds"
              FROM entity e
              JOIN entity_media g ON g.account_id = e.account_id AND g.entity_id = e.id
              JOIN entity m ON m.account_id = e.account_id AND m.id = g.media_id
              WHERE e.account_id = ${accountId} AND e.attributes #>> '{handle,value}' = ${handle}
              ORDER BY g.position`
          )
        /**
         * The values that recording an import changes: the store's last import, and the account's version and feed
         * position.
         */
        const recorded = (accountId: AccountId) =>
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const [account] = yield* sql`SELECT version, feed_seq FROM account_state WHERE account_id = ${accountId}`
            const stores = yield* (yield* Stores).list
            return {
              version: Number(account?.version),
              changes: Number(account?.feed_seq),
              times: new Map(stores.map((store) => [store.domain, store.last_imported_at]))
            }
          })

        it.effect("a file that swaps the SKUs of two variants must have both of them", () =>
          Effect.gen(function* () {
            const { actor, accountId } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              const imports = yield* Imports
              const columns = "Handle,Title,Option1 Name,Option1 Value,Variant SKU"
              const [both, one, swapped, unchanged] = [
                file("both-skus.csv", [columns, "tee,Tee,Size,S,T-1", "tee,,,M,T-2"]),
                file("one-sku.csv", [columns, "hat,Hat,Size,S,H-1", "tee,Tee,Size,M,T-1"]),
                file("swapped-skus.csv", [columns, "tee,Tee,Size,M,T-1", "tee,,,S,T-2"]),
                file("no-options.csv", ["Handle,Title,Variant SKU", "tee,Shirt,T-1"])
              ]
              yield* bring(both, "us.example")
              const before = yield* recorded(accountId)
              const refused = yield* Effect.flip(imports.csv(one, "us.example", quiet))
              assert.deepInclude(refused, {
                _tag: "ImportFileRejected",
                count: 1,
                problems: [
                  {
                    line: 3,
                    column: null,
                    reason:
                      'the variant "T-2" has these option values on this store and is not in the file: give both variants their values in one file'
                  }
                ]
              })
              assert.deepStrictEqual(yield* recorded(accountId), before)
              for (const path of [swapped, unchanged])
                assert.strictEqual((yield* bring(path, "us.example")).phase, "applied")
            }).pipe(actingAs(actor))
          })
        )

        it.effect("a metafield column creates its definition once; an existing definition gives the type", () =>
          Effect.gen(function* () {
            const { actor, accountId, stores } = yield* anAccount({ domains: ["us.example", "eu.example"] })
            yield* Effect.gen(function* () {
              const programs = yield* Programs
              const [eu] = stores
              assert(eu !== undefined)
              yield* refreshMirror(accountId, eu, {
                metafields: [aMetafield("variant", "my.grams", { type: "number_integer" })]
              })
              const columns =
                "Handle,Title,Variant SKU,Fit (product.metafields.my.fit),Grams (variant.metafields.my.grams)"
              const path = file("defined.csv", [columns, "a,A,A-1,snug,350", "b,B,B-1,,", "c,C,C-1,loose,1"])
              yield* bring(path, "us.example")
              const { data } = yield* programs.listMetafieldDefinitions({ urlParams: {} })
              const us = stores.find(({ domain }) => domain === "us.example")
              assert.deepStrictEqual(
                data.map(({ id: _, ...definition }) => definition),
                [
                  {
                    owner_type: "product",
                    namespace: "my",
                    key: "fit",
                    name: "Fit",
                    description: null,
                    type: "single_line_text_field",
                    validations: [],
                    stores: [{ store_id: us?.id ?? eu.id, platform_id: "", metafields_count: 2 }]
                  },
                  {
                    ...(({ platform_id: _, metafields_count: __, ...said }) => said)(
                      aMetafield("variant", "my.grams", { type: "number_integer" })
                    ),
                    stores: data[1]?.stores ?? []
                  }
                ]
              )
              assert.deepStrictEqual(
                data[1]?.stores.map(({ store_id }) => store_id),
                [eu.id]
              )
              const sql = yield* SqlClient.SqlClient
              const types = yield* sql`
                SELECT DISTINCT attributes #>> '{my.grams,type}' AS type FROM entity
                WHERE account_id = ${accountId} AND attributes ? 'my.grams'`
              assert.deepStrictEqual(types, [{ type: "number_integer" }])
              const before = yield* everything
              yield* bring(path, "us.example")
              assert.deepStrictEqual(yield* everything, before)
              assert.deepStrictEqual((yield* programs.listMetafieldDefinitions({ urlParams: {} })).data, data)
            }).pipe(actingAs(actor))
          })
        )

        it.effect("a metafield has the common type of its column's values, and can be edited with that type", () =>
          Effect.gen(function* () {
            const { actor, accountId } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              const programs = yield* Programs
              const columns =
                "Handle,Title,Fabric (product.metafields.custom.fabric),Pages (product.metafields.custom.pages),New (product.metafields.custom.new),Empty (product.metafields.custom.empty),Code (variant.metafields.custom.code),Variant SKU"
              const path = file("typed.csv", [
                columns,
                'a,A,"wool\nand silk",320,TRUE,,007,A-1',
                "b,B,linen,12,false,,12,B-1"
              ])
              yield* bring(path, "us.example")
              const { data } = yield* programs.listMetafieldDefinitions({ urlParams: {} })
              assert.deepStrictEqual(
                data.map(({ key, name, owner_type, type }) => [owner_type, key, name, type]),
                [
                  ["product", "fabric", "Fabric", "multi_line_text_field"],
                  ["product", "new", "New", "boolean"],
                  ["product", "pages", "Pages", "number_integer"],
                  ["variant", "code", "Code", "single_line_text_field"]
                ]
              )
              const sql = yield* SqlClient.SqlClient
              const values = yield* sql`
                SELECT attributes -> 'custom.fabric' AS fabric, attributes -> 'custom.new' AS new FROM entity
                WHERE account_id = ${accountId} AND kind = 'product' AND attributes #>> '{handle,value}' = 'a'`
              assert.deepStrictEqual(values, [
                {
                  fabric: { value: "wool\nand silk", type: "multi_line_text_field" },
                  new: { value: "true", type: "boolean" }
                }
              ])
              yield* programs.runDataHealthScan({ payload: { dimension: "structure" } })
              const invalid = yield* programs.listDataHealthIssues({
                urlParams: { section: "structure-invalid-value", page: 1, page_size: 25 }
              })
              assert.deepStrictEqual(invalid.data, [])
              const { data: products } = JSON.parse((yield* (yield* Catalog).list("product", { limit: 2 })).text)
              const drafts = yield* Drafts
              for (const { draft_revision, id } of products)
                yield* drafts.updateAttributes(id, {
                  draft_revision,
                  attributes: [{ key: "custom.fabric", value: "one\ntwo" }]
                })
            }).pipe(actingAs(actor))
          })
        )

        it.effect(
          "the type of a definition does not change: lists are split, references by handle are ignored, other invalid values are refused",
          () =>
            Effect.gen(function* () {
              const { actor, accountId, stores } = yield* anAccount({ domains: ["us.example"] })
              yield* Effect.gen(function* () {
                const [us] = stores
                assert(us !== undefined)
                yield* refreshMirror(accountId, us, {
                  metafields: [
                    aMetafield("product", "my.pages", {
                      type: "number_integer",
                      validations: [{ name: "max", type: "number_integer", value: "500" }]
                    }),
                    aMetafield("product", "my.sizes", { type: "list.single_line_text_field" }),
                    aMetafield("product", "my.color", { type: "list.metaobject_reference" }),
                    aMetafield("product", "my.width", { type: "dimension" }),
                    aMetafield("variant", "my.fits", { type: "boolean" })
                  ]
                })
                const columns =
                  "Handle,Title,Variant SKU,Pages (product.metafields.my.pages),Sizes (product.metafields.my.sizes),Color (product.metafields.my.color),Fits (variant.metafields.my.fits),Width (product.metafields.my.width)"
                const path = file("fitting.csv", [
                  columns,
                  "a,A,A-1,320,S; M,black; moss,TRUE,25.0 cm",
                  'b,B,B-1, 12,,,false,"{""value"":3,""unit"":""m""}"'
                ])
                const run = yield* bring(path, "us.example")
                assert.deepStrictEqual(run.summary.ignored_columns, [
                  { name: "Color (product.metafields.my.color)", filled_cells: 1 }
                ])
                const sql = yield* SqlClient.SqlClient
                const values = yield* sql`
                SELECT k.key, k.value ->> 'value' AS value, k.value ->> 'type' AS type
                FROM entity e, jsonb_each(e.attributes) AS k
                WHERE e.account_id = ${accountId} AND k.key LIKE 'my.%' ORDER BY 1, 2`
                assert.deepStrictEqual(
                  values.map(({ key, type, value }) => [key, value, type]),
                  [
                    ["my.fits", "false", "boolean"],
                    ["my.fits", "true", "boolean"],
                    ["my.pages", "12", "number_integer"],
                    ["my.pages", "320", "number_integer"],
                    ["my.sizes", '["S","M"]', "list.single_line_text_field"],
                    ["my.width", '{"value":25,"unit":"cm"}', "dimension"],
                    ["my.width", '{"value":3,"unit":"m"}', "dimension"]
                  ]
                )
                const before = yield* everything
                assert.deepInclude((yield* bring(path, "us.example")).summary, { created: 0, updated: 0, unchanged: 2 })
                const misfit = file("misfit.csv", [
                  columns,
                  "a,A,A-1,many,S,,maybe,",
                  "b,B,B-1,12.5,,,,",
                  "c,C,C-1,900,,,,25 kg"
                ])
                const rejected = yield* Effect.flip((yield* Imports).csv(misfit, "us.example", quiet))
                assert(rejected._tag === "ImportFileRejected")
                assert.deepStrictEqual(
                  rejected.problems.map(({ column, line, reason }) => [line, column, reason]),
                  [
                    [
                      2,
                      "Pages (product.metafields.my.pages)",
                      '"many" does not fit the definition of my.pages (number_integer): it must be a whole number from -9007199254740991 to 9007199254740991. Correct the cell, or change the definition in the shop or in this service.'
                    ],
                    [
                      2,
                      "Fits (variant.metafields.my.fits)",
                      '"maybe" does not fit the definition of my.fits (boolean): it must be true or false. Correct the cell, or change the definition in the shop or in this service.'
                    ],
                    [
                      3,
                      "Pages (product.metafields.my.pages)",
                      '"12.5" does not fit the definition of my.pages (number_integer): it must be a whole number from -9007199254740991 to 9007199254740991. Correct the cell, or change the definition in the shop or in this service.'
                    ],
                    [
                      4,
                      "Pages (product.metafields.my.pages)",
                      '"900" does not fit the definition of my.pages (number_integer): it must be at most 500. Correct the cell, or change the definition in the shop or in this service.'
                    ],
                    [
                      4,
                      "Width (product.metafields.my.width)",
                      '"25 kg" does not fit the definition of my.width (dimension): it must be JSON such as {"value":25,"unit":"mm"}, with one of the units mm, cm, m, in, ft, yd. Correct the cell, or change the definition in the shop or in this service.'
                    ]
                  ]
                )
                assert.deepStrictEqual(yield* everything, before)
              }).pipe(actingAs(actor))
            })
        )

        it.effect("a handle in upper case matches the same product", () =>
          Effect.gen(function* () {
            const { actor, accountId } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              const head = "Handle,Title,Variant Price"
              yield* bring(file("lower.csv", [head, "blue-mug,Mug,5.00"]), "us.example")
              const upper = file("upper.csv", [head, "BLUE-Mug,Mug,5.00"])
              assert.deepInclude((yield* bring(upper, "us.example")).summary, { created: 0, updated: 0, unchanged: 1 })
              // Restores the handle that an earlier version imported.
              const sql = yield* SqlClient.SqlClient
              const { data } = JSON.parse((yield* (yield* Catalog).list("product", { limit: 2 })).text)
              const changes = yield* CatalogChanges
              yield* changes.apply([
                CatalogChange.SetAttributes({ entityId: data[0].id, values: { handle: "BLUE-Mug" } })
              ])
              yield* bring(upper, "us.example")
              assert.deepInclude((yield* bring(upper, "us.example")).summary, { created: 0, unchanged: 1 })
              const [{ count } = { count: 0 }] = yield* sql`
                SELECT count(*)::int AS count FROM entity WHERE account_id = ${accountId} AND kind = 'product'`
              assert.strictEqual(count, 1)
            }).pipe(actingAs(actor))
          })
        )

        it.effect("all conflicts of a file with the catalog's rules are reported, and kept with the import", () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              yield* bring(us, "us.example")
              const imports = yield* Imports
              const before = yield* everything
              const records = Array.from({ length: 150 }, (_, index) => `new-${index},N-${index}`)
              const path = file("untitled.csv", ["Handle,Variant SKU", "boots,B-S", "boots,H-1", ...records])
              const rejected = yield* Effect.flip(imports.csv(path, "us.example", quiet))
              assert(rejected._tag === "ImportFileRejected")
              assert.deepStrictEqual([rejected.count, rejected.problems.length], [151, 100])
              assert.deepStrictEqual(rejected.problems.slice(0, 2), [
                {
                  line: 3,
                  column: "Variant SKU",
                  reason: "this SKU and an earlier SKU of the product belong to different products here"
                },
                { line: 4, column: "Title", reason: "the product does not exist yet, and a new product needs a title" }
              ])
              const [run] = yield* imports.list
              assert.deepInclude(run, { phase: "failed", error: rejected.message })
              assert.deepInclude(run?.summary, { problems: rejected.problems, problem_count: 151 })
              assert.deepStrictEqual(yield* everything, before)
            }).pipe(actingAs(actor))
          })
        )

        it.effect("a file creates products; the file of a second store creates overrides only where it differs", () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount({ domains: ["us.example", "eu.example"] })
            yield* Effect.gen(function* () {
              const first = yield* bring(us, "us.example")
              assert.deepInclude(first, { phase: "applied", applied: 2, storeDomain: "us.example", fileName: "us.csv" })
              assert.deepInclude(first.summary, {
                created: 2,
                updated: 0,
                unchanged: 0,
                conflicts: 0,
                variants: 3,
                images: 1
              })
              assert.deepStrictEqual(first.summary.ignored_columns, [
                { name: "Variant Inventory Qty", filled_cells: 3 }
              ])
              const second = yield* bring(eu, "eu.example")
              assert.deepInclude(second.summary, { created: 0, updated: 1, unchanged: 0, conflicts: 0 })

              const catalog = yield* Catalog
              const programs = yield* Programs
              const page = JSON.parse((yield* catalog.list("product", { limit: 50 })).text)
              const titles = page.data.map(({ title }: { title: string }) => title).sort()
              assert.deepStrictEqual(titles, ["Boots", "Hat"])
              const row = page.data.find(({ title }: { title: string }) => title === "Boots")
              assert.deepInclude(row, { pending_publish: false, last_publish_status: "published" })
              const versions = (yield* programs.listProductVersions({ path: { id: row.id } })).data
              const valueOn = (index: number, key: string) =>
                versions[index]?.attributes.find((each) => each.key === key)?.value
              assert.deepStrictEqual([valueOn(0, "title"), valueOn(1, "title")], ["Stiefel", "Boots"])
              assert.deepStrictEqual([valueOn(0, "tags"), valueOn(1, "my.fit")], ['["a","b"]', "snug"])
              const sql = yield* SqlClient.SqlClient
              const overrides = yield* sql`
              SELECT e.kind, k.key FROM store_version v JOIN entity e ON e.account_id = v.account_id AND e.id = v.entity_id,
                     jsonb_object_keys(v.overrides) AS k (key)
              WHERE v.account_id = ${actor.accountId} ORDER BY 1, 2`
              assert.deepStrictEqual(
                overrides.map(({ key, kind }) => `${kind} ${key}`),
                ["product title", "variant price"]
              )
            }).pipe(actingAs(actor))
          })
        )

        it.effect("the same file again writes only the import itself", () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount({ domains: ["us.example", "eu.example"] })
            yield* Effect.gen(function* () {
              yield* bring(us, "us.example")
              yield* bring(eu, "eu.example")
              const before = yield* everything
              for (const [path, domain, other] of [
                [us, "us.example", "eu.example"],
                [eu, "eu.example", "us.example"]
              ] as const) {
                const was = yield* recorded(actor.accountId)
                const again = yield* bring(path, domain)
                assert.deepInclude(again.summary, { created: 0, updated: 0, conflicts: 0 })
                const is = yield* recorded(actor.accountId)
                assert.strictEqual(is.version, was.version + 1)
                assert.strictEqual(is.changes, was.changes + 1, "the store, for the time of its last import")
                assert.isTrue((is.times.get(domain) ?? "") > (was.times.get(domain) ?? "~"))
                assert.strictEqual(is.times.get(other), was.times.get(other))
              }
              assert.deepStrictEqual(yield* everything, before)
              assert.strictEqual((yield* (yield* Imports).list).length, 4)
            }).pipe(actingAs(actor))
          })
        )

        it.effect("an open review locks drafts, and another import is refused with its name", () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              const imports = yield* Imports
              const run = yield* imports.csv(us, "us.example", quiet)
              assert.strictEqual(run.phase, "reviewing")
              const locked = yield* Effect.flip(
                (yield* CatalogChanges).apply([
                  CatalogChange.CreateEntity({
                    id: (yield* Effect.succeed(run.id)) as never,
                    kind: "media",
                    parentId: null,
                    values: {}
                  })
                ])
              )
              assert.strictEqual(locked._tag, "PimLocked")
              const second = yield* Effect.flip(imports.csv(us, "us.example", quiet))
              assert.strictEqual(
                second.message,
                `import ${run.id} is under review: accept it with \`catalog import accept ${run.id}\` or discard it with \`catalog import discard ${run.id}\` first`
              )
              const { list, unlink } = yield* Stores
              assert.strictEqual((yield* Effect.flip(unlink("us.example")))._tag, "PimLocked")
              assert.strictEqual((yield* imports.discard(run.id)).phase, "discarded")
              assert.deepStrictEqual(
                (yield* list).map(({ last_imported_at }) => last_imported_at),
                [null]
              )
              assert.strictEqual(
                (yield* Effect.flip(imports.accept(run.id, quiet))).message,
                "import: is discarded, not under review"
              )
              yield* anEntity("media", { alt: "free again" })
            }).pipe(actingAs(actor))
          })
        )

        it.effect("problems of a file are reported with line and column, and nothing is written", () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              yield* bring(us, "us.example")
              const before = yield* everything
              const imports = yield* Imports
              const refusal = (path: string, domain = "us.example") =>
                Effect.map(Effect.flip(imports.csv(path, domain, quiet)), ({ message }) => message)
              const misled = file("misled.csv", [header, boots[0] ?? "", "boots,,,,,M,H-1,11.00,,,,4"])
              assert.strictEqual(
                yield* refusal(misled),
                'Line 3, column "Variant SKU": this SKU and an earlier SKU of the product belong to different products here'
              )
              const priced = file("priced.csv", [header, ...hat.map((line) => line.replace("5.00", "free"))])
              assert.match(yield* refusal(priced), /^Line 2, column "Variant Price": /)
              assert.match(yield* refusal(us, "nowhere.example"), /^store: no store nowhere\.example is linked/)
              assert.deepStrictEqual(yield* everything, before)
              const failed = (yield* imports.list).filter(({ phase }) => phase === "failed")
              assert.strictEqual(failed.length, 2)
              assert.match(failed[0]?.error ?? "", /^Line 2/)
              yield* anEntity("media", { alt: "not locked" })
            }).pipe(actingAs(actor))
          })
        )

        it.effect("a SKU of several products in a file matches nothing", () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              const head = "Handle,Title,Variant SKU,Variant Price"
              yield* bring(file("sole.csv", [head, "h1,One,B,5.00"]), "us.example")
              const copied = file("copied.csv", [head, "h1,One,B,6.00", "h1-copy,Copy,B,7.00"])
              assert.deepInclude((yield* bring(copied, "us.example")).summary, { created: 1, updated: 1, unchanged: 0 })
              assert.deepInclude((yield* bring(copied, "us.example")).summary, { created: 0, updated: 0, unchanged: 2 })
            }).pipe(actingAs(actor))
          })
        )

        it.effect(
          "a draft value that the store changed too is a conflict, and taking the store's value applies it",
          () =>
            Effect.gen(function* () {
              const { actor } = yield* anAccount({ domains: ["us.example"] })
              yield* Effect.gen(function* () {
                yield* bring(us, "us.example")
                const catalog = yield* Catalog
                const programs = yield* Programs
                const find = (search: string) =>
                  Effect.map(catalog.list("product", { limit: 1, search }), ({ text }) => JSON.parse(text).data[0].id)
                const hatId = yield* find("hat")
                const bootsId = yield* find("boots")
                yield* (yield* CatalogChanges).apply([
                  CatalogChange.SetAttributes({ entityId: hatId, values: { title: "Our hat" } }),
                  CatalogChange.SetAttributes({ entityId: bootsId, values: { vendor: "Our vendor" } })
                ])
                const theirs = file("theirs.csv", [
                  header,
                  ...boots,
                  ...hat.map((line) => line.replace("Hat", "Their hat"))
                ])
                const run = yield* bring(theirs, "us.example")
                assert.deepInclude(run.summary, { created: 0, updated: 1, unchanged: 1, conflicts: 1 })
                const title = (id: EntityId) =>
                  Effect.map(programs.getProduct({ path: { id } }), (product) => product.title)
                assert.strictEqual(yield* title(hatId), "Their hat")
                const product = yield* programs.getProduct({ path: { id: bootsId } })
                assert.strictEqual(product.attributes.find(({ key }) => key === "vendor")?.value, "Our vendor")
                assert.isTrue(product.pending_publish)
              }).pipe(actingAs(actor))
            })
        )

        it.effect("a store that is unlinked during the reading of its file is not imported", () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              const imports = yield* Imports
              const { unlink } = yield* Stores
              const before = yield* everything
              const refused = yield* Effect.flip(
                imports.csv(us, "us.example", ({ step }) =>
                  step === "comparing" ? Effect.ignore(unlink("us.example")).pipe(actingAs(actor)) : Effect.void
                )
              )
              assert.strictEqual(refused.message, "store: us.example was unlinked while its file was read")
              assert.deepInclude((yield* imports.list)[0], { phase: "failed", error: refused.message, applied: 0 })
              assert.deepStrictEqual((yield* everything)[0]?.entities, before[0]?.entities)
              yield* anEntity("media", { alt: "not locked" })
            }).pipe(actingAs(actor))
          })
        )

        it.effect("a gallery shared with an unlinked store is imported, and the unlinked store keeps it", () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount({ domains: ["us.example", "eu.example"] })
            yield* Effect.gen(function* () {
              yield* bring(us, "us.example")
              const { link, unlink } = yield* Stores
              const shown = (domain: string) =>
                Effect.gen(function* () {
                  const sql = yield* SqlClient.SqlClient
                  return yield* sql`
                    SELECT g.entity_id, g.media_id, g.position FROM entity_media g
                    JOIN store s ON s.account_id = g.account_id AND s.domain = ${domain} AND s.id = ANY(g.store_ids)
                    WHERE g.account_id = ${actor.accountId} ORDER BY 1, 3`
                })
              const before = yield* shown("us.example")
              assert.strictEqual(before.length, 1)
              assert.deepInclude(yield* unlink("us.example"), { entities: 6 })
              assert.deepInclude((yield* bring(eu, "eu.example")).summary, { created: 0, updated: 1 })
              assert.deepStrictEqual(yield* shown("eu.example"), before)
              yield* link({ domain: "us.example" })
              assert.deepStrictEqual(yield* shown("us.example"), before)
              const again = yield* bring(us, "us.example")
              assert.strictEqual(again.phase, "applied")
            }).pipe(actingAs(actor))
          })
        )

        it.effect("a picture that another product shows too keeps its address if the file names a new one", () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              const sql = yield* SqlClient.SqlClient
              yield* bring(us, "us.example")
              const idOf = (handle: string) =>
                Effect.map(
                  sql`
                    SELECT id FROM entity
                    WHERE account_id = ${actor.accountId} AND attributes #>> '{handle,value}' = ${handle}`,
                  ([row]) => row?.id as EntityId
                )
              const entries = yield* picturesOf(actor.accountId, "boots")
              yield* (yield* CatalogChanges).apply([
                CatalogChange.SetGallery({
                  entityId: yield* idOf("hat"),
                  entries: entries.map(({ mediaId, storeIds }) => ({ mediaId, storeIds }))
                })
              ])
              yield* bring(file("new.csv", [header, boots[0]?.replace("b.jpg?v=1", "new.jpg") ?? ""]), "us.example")
              const addresses = (handle: string) =>
                Effect.map(picturesOf(actor.accountId, handle), (all) => all.map(({ url }) => url))
              const [old, replaced] = ["https://cdn.example/b.jpg?v=1", "https://cdn.example/new.jpg"]
              assert.deepStrictEqual(yield* addresses("boots"), [old, replaced])
              assert.deepStrictEqual(yield* addresses("hat"), [old])
            }).pipe(actingAs(actor))
          })
        )

        it.effect(
          "products that name the same picture address share one file, and the same file again changes nothing",
          () =>
            Effect.gen(function* () {
              const { accountId, actor } = yield* anAccount({ domains: ["us.example"] })
              yield* Effect.gen(function* () {
                // Enough products between the first and the last for two batches.
                const between = Array.from({ length: 260 }, (_, n) => `p-${n},P ${n},P-${n},,,`)
                const path = file("shared.csv", [
                  "Handle,Title,Variant SKU,Image Src,Image Alt Text,Variant Image",
                  "first,First,F-1,https://cdn.example/size.png?v=1,Sizes,",
                  "second,Second,S-1,https://cdn.example/own.png,Own,",
                  "second,,,https://cdn.example/size.png?v=2,Other sizes,",
                  ...between,
                  "last,Last,L-1,https://cdn.example/size.png?v=1,,",
                  // Only the variant names the picture.
                  "variant,Variant,V-1,,,https://cdn.example/size.png?v=3"
                ])
                assert.deepInclude((yield* bring(path, "us.example")).summary, { created: 264, images: 5 })
                const shown = Effect.forEach(["first", "second", "last", "variant"], (handle) =>
                  Effect.map(picturesOf(accountId, handle), (all) =>
                    all.map(({ alt, mediaId, onStores, storeIds }) => ({
                      alt,
                      mediaId,
                      onStores,
                      shownOn: storeIds.length
                    }))
                  )
                )
                const [first, second, last, variant] = yield* shown
                const [sizes] = first ?? []
                assert.deepInclude(sizes, { alt: "Sizes", onStores: 1, shownOn: 1 })
                assert.deepStrictEqual([first?.length, second?.[1], last, variant], [1, sizes, [sizes], [sizes]])
                assert.strictEqual(second?.length, 2)
                const before = yield* everything
                assert.deepInclude((yield* bring(path, "us.example")).summary, { created: 0, updated: 0 })
                assert.deepStrictEqual(yield* everything, before)
              }).pipe(actingAs(actor))
            })
        )

        it.effect(
          "a product shows the existing file with the address of its picture, and keeps the values of that file",
          () =>
            Effect.gen(function* () {
              const { accountId, actor } = yield* anAccount({ domains: ["us.example", "eu.example"] })
              yield* Effect.gen(function* () {
                yield* bring(us, "us.example")
                const [picture] = yield* picturesOf(accountId, "boots")
                const hats = (name: string, address: string, ...lines: ReadonlyArray<string>) =>
                  file(name, [header, ...lines, `hat,Hat,Fell,,Title,Default Title,H-1,5.00,${address},A hat,,1`])
                const same = hats("same.csv", "https://cdn.example/b.jpg?v=2")
                yield* bring(same, "us.example")
                assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* picturesOf(accountId, "hat"), [picture])
                const before = yield* everything
                yield* bring(same, "us.example")
                assert.deepStrictEqual(yield* everything, before)
                // The file gives another picture to the boots.
                const moved = hats(
                  "moved.csv",
                  "https://cdn.example/b.jpg",
                  boots[0]?.replace("b.jpg", "new.jpg") ?? ""
                )
                yield* bring(moved, "us.example")
                assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* picturesOf(accountId, "hat"), [picture])
                // On another store, the product of the other store's file shows it too.
                yield* bring(hats("other.csv", "https://cdn.example/b.jpg"), "eu.example")
                const [onBoth] = yield* picturesOf(accountId, "hat")
                assert.deepStrictEqual([onBoth?.mediaId, onBoth?.onStores, onBoth?.alt], [picture?.mediaId, 2, "Boots"])
              }).pipe(actingAs(actor))
            })
        )

        it.effect("a picture keeps its address if another product of the file names it", () =>
          Effect.gen(function* () {
            const { accountId, actor } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              yield* bring(us, "us.example")
              const path = file("named.csv", [
                header,
                boots[0]?.replace("b.jpg", "new.jpg") ?? "",
                "hat,Hat,Fell,,Title,Default Title,H-1,5.00,https://cdn.example/b.jpg?v=1,,,1",
                "cap,Cap,Fell,,Title,Default Title,C-1,5.00,https://cdn.example/new.jpg,,,1"
              ])
              yield* bring(path, "us.example")
              const [old, replaced] = yield* picturesOf(accountId, "boots")
              const hat = yield* picturesOf(accountId, "hat")
              const cap = yield* picturesOf(accountId, "cap")
              assert.deepStrictEqual<unknown>([hat, cap], [[old], [replaced]])
              assert.deepStrictEqual(
                [old?.url, replaced?.url],
                ["https://cdn.example/b.jpg?v=1", "https://cdn.example/new.jpg?v=1"]
              )
              const before = yield* everything
              yield* bring(path, "us.example")
              assert.deepStrictEqual(yield* everything, before)
            }).pipe(actingAs(actor))
          })
        )

        it.effect("a picture that has another address on the store is not shared", () =>
          Effect.gen(function* () {
            const { accountId, actor, stores } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              const [{ id: storeId }] = stores
              yield* bring(us, "us.example")
              const [picture] = yield* picturesOf(accountId, "boots")
              yield* (yield* CatalogChanges).apply([
                CatalogChange.SetOverrides({
                  entityId: picture?.mediaId as EntityId,
                  storeId,
                  values: { url: "https://cdn.example/here.jpg" }
                })
              ])
              const line = "hat,Hat,Fell,,Title,Default Title,H-1,5.00,https://cdn.example/b.jpg,,,1"
              yield* bring(file("here.csv", [header, line]), "us.example")
              const [ofHat] = yield* picturesOf(accountId, "hat")
              assert.isDefined(ofHat)
              assert.notStrictEqual(ofHat?.mediaId, picture?.mediaId)
            }).pipe(actingAs(actor))
          })
        )

        it.effect("an import of a dead process is finished by the next process", () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount({ domains: ["us.example"] })
            yield* Effect.gen(function* () {
              const imports = yield* Imports
              const { id } = yield* imports.csv(us, "us.example", quiet)
              yield* leaveImport(actor.accountId, -1)
              assert.strictEqual(yield* imports.resume(Option.none()), 1)
              assert.deepInclude(yield* imports.get(id), { phase: "applied", applied: 2 })
              assert.strictEqual(yield* imports.resume(Option.none()), 0)
              yield* anEntity("media", { alt: "free again" })
            }).pipe(actingAs(actor))
          })
        )
      }
    )
  })
}
