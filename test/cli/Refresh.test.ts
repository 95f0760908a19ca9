import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as Database from "../../src/database/Database.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { AccountId, StoreId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { commandsWith } from "../support/Commands.ts"
import { aProductOf, from } from "../support/ShopRecords.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const domain = "tern.demo.example"

describe.skipIf(!serverAnswers)("import refresh", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("refreshes a store, lists conflicts, decides and accepts", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabaseUrl
        const { run, json, refusal, said: text } = commandsWith({ DATABASE_URL: Redacted.value(url) })
        const said = (...args: ReadonlyArray<string>) => Effect.map(text(...args), (lines) => lines.split("\n"))
        const onDatabase = <A, E>(use: Effect.Effect<A, E, DemoShops | SqlClient.SqlClient>) =>
          use.pipe(
            Effect.provide(
              DemoShops.layer.pipe(Layer.provide(Transaction.layer), Layer.provideMerge(Database.layerServer({ url })))
            )
          )

        const { account_id } = yield* json("account", "create", "--name", "Mine")
        const { store_id } = yield* json("store", "link", domain, "--platform", "demo")
        yield* json("store", "link", "files.example")
        const shop = { accountId: AccountId.make(String(account_id)), storeId: StoreId.make(String(store_id)) }
        yield* onDatabase(Effect.flatMap(DemoShops, ({ put }) => put(shop, aProductOf("tent", ["S"]))))

        assert.strictEqual(
          yield* refusal("import", "refresh", "--store", "files.example"),
          "store: files.example has no platform: import its product export instead"
        )
        const first = yield* json("import", "refresh", "--store", domain, "--accept")
        assert.deepInclude(first, {
          source: "refresh",
          store: domain,
          phase: "applied",
          created: 1,
          updated: 0,
          unchanged: 0,
          conflicts: 0,
          collections: { created: 0, updated: 0, unchanged: 0 },
          files: { created: 1, updated: 0, unchanged: 0 },
          unlinked: 0,
          applied: 2
        })
        const again = yield* said("import", "refresh", "--store", domain, "--accept")
        assert.deepStrictEqual(
          [again[0]?.replace(/[0-9a-f-]{36}/, "ID"), ...again.slice(1)],
          [
            `Import ID, a refresh of ${domain}: applied`,
            "  products: 0 created, 0 updated, 1 unchanged; 1 variants",
            "  files: 0 created, 0 updated, 1 unchanged",
            "  other data: 0 markets, 0 definitions, 0 entries, 0 translations"
          ]
        )

        // As after a publish: the shop's record has the entity's id.
        const tent = yield* onDatabase(
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const [row] = yield* sql`SELECT id FROM entity WHERE kind = 'product'`
            const entityId = String(row?.id)
            const records = aProductOf("tent", ["S"]).map((record) =>
              record.kind === "product" ? from(entityId as never, record) : record
            )
            yield* (yield* DemoShops).put(shop, records)
            return entityId
          })
        )
        assert.deepStrictEqual(yield* said("platform", "edit", "--store", domain, tent, "title", "Tent XL"), [
          `In the shop of ${domain}, title of ${tent} was "The tent" and is now "Tent XL".`,
          `Next: catalog import refresh --store ${domain}`
        ])
        yield* json("platform", "edit", "--store", domain, tent, "vendor", "")
        const { draft_revision } = yield* json("draft", "show", tent)
        yield* json("draft", "set", tent, "title=Our tent", "vendor=Tarn", "--revision", String(draft_revision))
        const nobody = "00000000-0000-4000-8000-00000000dead"
        assert.strictEqual(
          yield* refusal("platform", "edit", "--store", domain, nobody, "title", "X"),
          `The shop of ${domain} does not have ${nobody}.`
        )
        assert.strictEqual(
          yield* refusal("platform", "edit", "--store", "files.example", tent, "title", "X"),
          "--store: files.example is on platform none; only demo stores have a shop that can be edited from here"
        )
        assert.strictEqual(
          yield* refusal("platform", "edit", "--store", domain, tent, "status", "sold"),
          "status: must be one of active, draft, archived, unlisted"
        )

        const review = yield* json("import", "refresh", "--store", domain)
        assert.deepInclude(review, { phase: "reviewing", updated: 1, conflicts: 2 })
        const id = String(review.import_id)
        const shown = yield* json("import", "show", id)
        assert.deepStrictEqual(shown.conflict_list, [
          {
            conflict: 1,
            entity_id: tent,
            entity_type: "product",
            title: "Our tent",
            store_id,
            store_domain: domain,
            field: "title",
            accepted: "The tent",
            draft_value: "Our tent",
            store_value: "Tent XL",
            decision: null,
            decided_by: null,
            decided_at: null
          },
          {
            conflict: 2,
            entity_id: tent,
            entity_type: "product",
            title: "Our tent",
            store_id,
            store_domain: domain,
            field: "vendor",
            accepted: "Fell",
            draft_value: "Tarn",
            store_value: "",
            decision: null,
            decided_by: null,
            decided_at: null
          }
        ])
        assert.deepStrictEqual(yield* said("import", "show", id), [
          `Import ${id}, a refresh of ${domain}: reviewing`,
          "             draft                                 store",
          `  1  product ${tent}  "Our tent" on ${domain}`,
          '     title   "Our tent"                            "Tent XL"                             undecided',
          `  2  product ${tent}  "Our tent" on ${domain}`,
          '     vendor  "Tarn"                                ""                                    undecided',
          "  planned products: 0 created, 1 updated, 0 unchanged; 1 variants",
          "  planned files: 0 created, 0 updated, 1 unchanged",
          "  other data: 0 markets, 0 definitions, 0 entries, 0 translations",
          `  2 fields were edited here and in the store: see \`catalog import show ${id}\`;`,
          "  decide them with `catalog import decide`, or accept with --take-store or --keep-drafts for all undecided ones",
          `Nothing is written yet. Next: catalog import accept ${id}, or catalog import discard ${id}`
        ])

        assert.strictEqual(
          yield* refusal("import", "decide", id, "3", "keep_draft"),
          `conflict: the import has no conflict 3`
        )
        assert.strictEqual(
          yield* refusal("import", "decide", id, "keep_draft"),
          "Give the numbers of conflicts, or --all."
        )
        assert.strictEqual(
          yield* refusal("import", "decide", nobody, "1", "keep_draft"),
          `The account has no import ${nobody}: see \`catalog import list\`.`
        )
        assert.strictEqual((yield* run("import", "decide", id, "1", "keep")).code, 2)
        assert.strictEqual((yield* run("import", "decide", id, "first", "keep_draft")).code, 2)
        // Accepting with an undecided conflict writes nothing, and the error names the options.
        for (const accepting of [
          ["import", "accept", id],
          ["import", "accept", id, "--remove"]
        ])
          assert.strictEqual(
            yield* refusal(...accepting),
            `Nothing was written, and import ${id} is still under review: 2 conflicts are undecided (1, 2): decide with \`catalog import decide ${id} 1 keep_draft\`, or accept with --take-store or --keep-drafts for all of them. For example: \`catalog import accept ${id} --take-store\``
          )
        assert.strictEqual(
          yield* refusal("import", "accept", id, "--take-store", "--keep-drafts"),
          "Use either --take-store or --keep-drafts: they exclude each other."
        )
        assert.deepInclude(yield* json("import", "show", id), { phase: "reviewing", applied: 0 })
        assert.deepStrictEqual(yield* json("import", "decide", id, "--all", "take_store"), {
          import_id: id,
          decision: "take_store",
          decided: 2,
          undecided: 0
        })
        assert.deepStrictEqual(yield* said("import", "decide", id, "1", "keep_draft"), [
          "1 conflict decided: keep_draft; 0 undecided.",
          `Next: catalog import accept ${id}, or catalog import discard ${id}`
        ])
        assert.deepInclude(yield* json("import", "accept", id), { phase: "applied", conflicts: 2, applied: 1 })
        const draft = yield* json("draft", "show", tent, "--store", domain)
        const values = Object.fromEntries(
          (draft.attributes as ReadonlyArray<{ key: string; value: string }>).map(({ key, value }) => [key, value])
        )
        assert.deepInclude(values, { title: "Our tent", vendor: "" })
        assert.isTrue(draft.pending_publish)
        assert.strictEqual(
          yield* refusal("import", "decide", id, "--all", "take_store"),
          "import: is applied, not under review"
        )
        // With conflicts, --accept also needs --take-store or --keep-drafts.
        yield* json("platform", "edit", "--store", domain, tent, "title", "Tent XXL")
        const open = yield* refusal("import", "refresh", "--store", domain, "--accept")
        assert.match(
          open,
          /^Nothing was written, and import \S+ is still under review: 1 conflict is undecided \(1\): /
        )
        const undecided = open.split(" ").at(-2) ?? ""
        assert.deepInclude(yield* json("import", "show", undecided), { phase: "reviewing", applied: 0 })
        yield* json("import", "discard", undecided)
        yield* json("import", "refresh", "--store", domain, "--accept", "--keep-drafts")
        const kept = yield* json("draft", "show", tent, "--store", domain)
        const title = (kept.attributes as ReadonlyArray<{ key: string; value: string }>).find(
          ({ key }) => key === "title"
        )
        assert.strictEqual(title?.value, "Our tent")
        const list = (yield* said("import", "list")).filter((line) => !line.includes("discarded"))
        assert.lengthOf(list, 4)
        for (const line of list) assert.match(line, /applied {4}tern\.demo\.example {2}\(refresh\)$/)

        // If the shop is empty, a person must confirm before everything is taken off the store.
        yield* onDatabase(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`DELETE FROM demo_shop_record`))
        const refused = yield* refusal("import", "refresh", "--store", domain, "--accept")
        const emptied = refused.split(" ").at(-2) ?? ""
        assert.strictEqual(
          refused,
          `Nothing was written, and import ${emptied} is still under review: 3 products, variants, collections and files are no longer in ${domain}: see \`catalog import show ${emptied}\`, and accept with --remove to take them off the store. For example: \`catalog import accept ${emptied} --remove\``
        )
        assert.deepInclude(yield* json("import", "show", emptied), { phase: "reviewing", unlinked: 3, applied: 0 })
        assert.deepInclude(yield* json("import", "accept", emptied, "--remove"), {
          phase: "applied",
          unlinked: 3,
          applied: 3
        })

        // If more than ten entities are gone from a shop that is not empty, the review lists them, and only --remove
        // takes them off the store.
        const sizes = ["1", "2", "3", "4", "5", "6", "7", "8", "9"]
        yield* onDatabase(
          Effect.flatMap(DemoShops, ({ put }) =>
            put(shop, [...aProductOf("tent", ["S"]), ...aProductOf("boat", sizes)])
          )
        )
        yield* json("import", "refresh", "--store", domain, "--accept", "--take-store")
        yield* onDatabase(
          Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`DELETE FROM demo_shop_record WHERE platform_id LIKE '%boat%'`
          )
        )
        const onStore = onDatabase(
          Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`SELECT entity_id FROM store_version WHERE store_id = ${String(store_id)}`
          )
        )
        const { import_id } = yield* json("import", "refresh", "--store", domain)
        const leaving = String(import_id)
        const lines = yield* said("import", "show", leaving)
        const heading = lines.indexOf(`  no longer in ${domain}:`)
        const named = lines.slice(heading + 1, heading + 12).map((line) => line.replace(/[0-9a-f-]{36}/, "ID"))
        assert.sameMembers(named, [
          '    product ID  "The boat"',
          '    media ID  "boat on a table"',
          ...sizes.map((size) => `    variant ID  "${size}"`)
        ])
        assert.include(lines, "  accepting this needs --remove")
        const inJson = yield* json("import", "show", leaving)
        assert.lengthOf(inJson.removal_list as ReadonlyArray<unknown>, 11)
        for (const accepting of [
          ["import", "accept", leaving],
          ["import", "accept", leaving, "--take-store"]
        ])
          assert.strictEqual(
            yield* refusal(...accepting),
            `Nothing was written, and import ${leaving} is still under review: 11 products, variants, collections and files are no longer in ${domain}: see \`catalog import show ${leaving}\`, and accept with --remove to take them off the store. For example: \`catalog import accept ${leaving} --remove\``
          )
        assert.deepInclude(yield* json("import", "show", leaving), { phase: "reviewing", unlinked: 11, applied: 0 })
        assert.lengthOf(yield* onStore, 14)
        assert.deepInclude(yield* json("import", "accept", leaving, "--remove"), {
          phase: "applied",
          unlinked: 11,
          applied: 11
        })
        assert.lengthOf(yield* onStore, 3)

        yield* json("platform", "fail", "--store", domain)
        assert.strictEqual(
          yield* refusal("import", "refresh", "--store", domain),
          "The store's platform refused the request (DEMO_REFUSED): The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it."
        )
      })
    )
  })
})
