import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { afterAll } from "vitest"
import { commandsWith } from "../support/Commands.ts"
import { query } from "../support/RunDatabases.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "bulk-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const shop = "tern.demo.example"

describe.skipIf(!serverAnswers)("bulk changes on the command line", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("set a field, add to a store and take off it as jobs that are followed to their end", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { json, partly, refusal, said } = commandsWith({ DATABASE_URL })
        yield* json("account", "create", "--name", "Mine")
        yield* json("store", "link", shop, "--platform", "demo")
        yield* json("store", "link", "files.example")
        const file = join(folder, "export.csv")
        const rows = Array.from({ length: 3 }, (_, index) => `hat-${index},Hat ${index},H-${index},5.00`)
        writeFileSync(file, ["Handle,Title,Variant SKU,Variant Price", ...rows, ""].join("\n"))
        yield* json("import", "csv", file, "--store", "files.example", "--accept")

        const eitherFilterOrAll = "Give a filter, such as --search WORDS, or --all, and not both."
        for (const [args, words] of [
          [["set", "product", "vendor=Fell"], eitherFilterOrAll],
          [["set", "product", "vendor=Fell", "--all", "--search", "hat"], eitherFilterOrAll],
          [["set", "product", "--all"], "Give one KEY=VALUE or --unset KEY."],
          [["set", "product", "vendor=Fell", "--search", "boot"], "The filters find no product."],
          // As with a variable of the shell that is not set.
          [["set", "product", "vendor=Fell", "--search", ""], "--search: must not be blank"],
          [["delete", "product", "--search", " \u00ad"], "--search: must not be blank"],
          [["delete", "product", "--on", "files.example", "--vendor", " "], "--vendor: must not be blank"],
          [["set", "product", "status=gone", "--all"], "value: must be one of active, draft, archived, unlisted"],
          [
            ["add", "product", "--to", "nowhere.example", "--all"],
            "No store nowhere.example is linked: see `catalog store list`."
          ]
        ] as const)
          assert.strictEqual(yield* refusal("bulk", ...args), words)

        const counts = (changed: number, refused: number, unchanged: number) =>
          `\n {2}begun \\S+Z by the command line, ended \\S+Z\n {2}changed: ${changed}\n {2}refused: ${refused}\n {2}unchanged: ${unchanged}`
        assert.match(
          yield* said("bulk", "set", "product", "vendor=Fell", "--search", "hat"),
          new RegExp(`^Set vendor of 3 products \\([0-9a-f-]{36}\\): done, 3 entities${counts(3, 0, 0)}$`)
        )
        assert.match(
          yield* said("bulk", "add", "product", "--to", shop, "--search", "Hat 1"),
          new RegExp(`^Add 1 product to ${shop} \\(\\S+\\): done, 1 entities${counts(1, 0, 0)}$`)
        )
        assert.match(
          (yield* partly("bulk", "set", "product", "title=Hut", "--store", shop, "--all")).output,
          new RegExp(
            `^Set title of 3 products on ${shop} \\(\\S+\\): done, 3 entities${counts(1, 2, 0)}(\n {2}product Hat [02]: the product is not on this store){2}$`
          )
        )
        const rowsOf = yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            `SELECT e.title, e.attributes #>> '{vendor,value}' AS vendor,
                    (SELECT v.overrides #>> '{title,value}' FROM store_version v JOIN store s ON s.id = v.store_id
                     WHERE v.entity_id = e.id AND s.domain = '${shop}') AS own
             FROM entity e WHERE e.kind = 'product' ORDER BY e.title`
          )
        )
        assert.deepStrictEqual(rowsOf, [
          { title: "Hat 0", vendor: "Fell", own: null },
          { title: "Hat 1", vendor: "Fell", own: "Hut" },
          { title: "Hat 2", vendor: "Fell", own: null }
        ])
        const imported = "was published to this store, or imported from it, so it cannot be taken off"
        const removal = yield* partly("bulk", "remove", "product", "--from", "files.example", "--search", "Hat 1")
        assert.strictEqual(removal.reason, "Take 1 product off files.example: 1 of 1 refused.")
        assert.match(
          removal.output,
          new RegExp(
            `^Take 1 product off files.example \\(\\S+\\): done, 1 entities${counts(0, 1, 0)}\n {2}product Hat 1: the product ${imported}$`
          )
        )
        const [{ id } = assert.fail("no product")] = (yield* Effect.promise(() =>
          query(DATABASE_URL, "SELECT id FROM entity WHERE kind = 'product' AND title = 'Hat 1'")
        )) as ReadonlyArray<{ readonly id: string }>
        const remove = ["store-version", "remove", id, "--store"]
        assert.strictEqual(yield* refusal(...remove, "files.example"), `--store: the product ${imported}`)
        assert.strictEqual(yield* said(...remove, shop), `Took product ${id} off ${shop}: draft revision 5.`)
        assert.strictEqual(yield* refusal(...remove, shop), `The account has no entity ${id} on ${shop}.`)
        assert.match(
          yield* said("bulk", "remove", "product", "--from", shop, "--all"),
          new RegExp(`^Take 3 products off ${shop} \\(\\S+\\): done, 3 entities${counts(0, 0, 3)}$`)
        )
        assert.match(
          yield* said("jobs", "list"),
          /done {7}Take 3 products off tern\.demo\.example {2}3 entities\n(.*\n)*.* {2}Add 1 product to/
        )
        // As if a refresh had found that the store has it no longer.
        yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            `UPDATE store_version v SET accepted = NULL, platform_id = NULL
             FROM entity e WHERE e.id = v.entity_id AND '${id}' IN (e.id, e.parent_id)`
          )
        )
        const live = "was published to a store, or imported from one: delete it in that store, then refresh the store"
        const deletion = yield* partly("bulk", "delete", "product", "--all")
        assert.strictEqual(deletion.reason, "Delete 3 products: 2 of 3 refused.")
        assert.match(
          deletion.output,
          new RegExp(
            `^Delete 3 products \\(\\S+\\): done, 3 entities${counts(1, 2, 0)}(\n {2}product Hat [02]: the product ${live}){2}\n {2}deleted product Hat 1 \\(${id}\\)$`
          )
        )
        const [, job = assert.fail("no id")] = /\((\S+)\)/.exec(deletion.output) ?? []
        yield* Effect.promise(() =>
          query(DATABASE_URL, `UPDATE job SET result = result || '{"changed": 1204}' WHERE id = '${job}'`)
        )
        assert.match(
          yield* said("jobs", "show", job),
          new RegExp(`\n {2}deleted product Hat 1 \\(${id}\\)\n {2}and 1,203 more deleted$`)
        )
        assert.deepInclude(yield* json("jobs", "show", job), { deleted: [{ id, kind: "product", name: "Hat 1" }] })

        const pictures = [
          "Handle,Title,Image Src",
          ...[3, 4].map((at) => `hat-${at},Hat ${at},https://cdn.example/${at}.png`)
        ]
        writeFileSync(file, [...pictures, ""].join("\n"))
        yield* json("import", "csv", file, "--store", "files.example", "--accept")
        yield* json("store", "unlink", "files.example")
        assert.match(
          yield* said("bulk", "delete", "product", "--search", "Hat 3", "--with-media"),
          /changed: 2\n {2}refused: 0\n {2}unchanged: 0\n {2}deleted product Hat 3 \(\S+\)\n {2}deleted media \S+ \(\S+\)$/
        )
        assert.match(
          yield* said("bulk", "delete", "product", "--search", "Hat 4"),
          /changed: 1\n {2}refused: 0\n {2}unchanged: 0\n {2}deleted product Hat 4 \(\S+\)$/
        )
      })
    )
  })
})
