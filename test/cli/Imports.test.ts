import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { afterAll } from "vitest"
import { catalog, onTerminalOf } from "../support/CommandLine.ts"
import { commandsWith } from "../support/Commands.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "imports-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const path = join(folder, "export.csv")
writeFileSync(path, "Handle,Title,Variant SKU,Variant Price,Variant Cost\nhat,Hat,H-1,5.00,2\ncap,Cap,C-1,4.00,\n")

const moved = (connectionString: string, id: string, phase: string) =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString })
    await client.connect()
    await client.query(
      `UPDATE import_run
       SET phase = $2::text, lease_until = CASE WHEN $2::text = 'applying' THEN now() + interval '1 hour' END WHERE id = $1`,
      [id, phase]
    )
    await client.end()
  })

describe.skipIf(!serverAnswers)("importing on the command line", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("links a store, imports, reviews and accepts; the same file again changes nothing", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { run, json, refusal } = commandsWith({ DATABASE_URL })

        yield* json("account", "create", "--name", "Mine")
        assert.match(
          yield* refusal("import", "csv", path, "--store", "shop.example.com"),
          /no store shop\.example\.com is linked/
        )
        const store = yield* json("store", "link", "Shop.example.com")
        assert.deepStrictEqual(
          [Object.keys(store), store.domain, store.platform],
          [["store_id", "domain", "platform"], "shop.example.com", "none"]
        )
        assert.strictEqual(
          yield* refusal("store", "link", "shop.example.com"),
          "domain: shop.example.com is already linked"
        )
        assert.strictEqual(
          yield* refusal("store", "link", "x.example", "--platform", "shopify"),
          "domain: must be the store's address on Shopify, such as tarn-and-tern.myshopify.com"
        )
        assert.strictEqual(
          yield* refusal("store", "link", "not a host"),
          "domain: must be a host name such as shop.example.com"
        )

        const review = yield* json("import", "csv", path, "--store", "shop.example.com")
        assert.deepInclude(review, { phase: "reviewing", created: 2, updated: 0, unchanged: 0, conflicts: 0 })
        const id = String(review.import_id)
        assert.match(
          yield* refusal("import", "csv", path, "--store", "shop.example.com"),
          new RegExp(`import ${id} is under review`)
        )
        const shown = (yield* run("import", "show", id)).stdout
        assert.include(shown, "ignored columns: Variant Cost (1); a publish does not change them in the shop")
        assert.deepInclude(yield* json("import", "accept", id), { import_id: id, phase: "applied" })
        assert.strictEqual(yield* refusal("import", "discard", id), "import: is applied, not under review")
        assert.deepInclude(yield* json("import", "csv", path, "--store", "shop.example.com", "--accept"), {
          phase: "applied",
          created: 0,
          updated: 0,
          unchanged: 2
        })
        assert.strictEqual(
          yield* refusal("import", "csv", join(folder, "none.csv"), "--store", "shop.example.com"),
          `There is no such file: ${join(folder, "none.csv")}`
        )
        assert.strictEqual(
          yield* refusal("import", "show", "nonsense"),
          "The account has no import nonsense: see `catalog import list`."
        )
        // Runs as `npm run catalog` does when it is called from that folder.
        const npm = { INIT_CWD: folder, npm_package_json: join(process.cwd(), "package.json") }
        const fromBelow = ["import", "csv", "none.csv", "--store", "shop.example.com"]
        for (const [env, from] of [
          [npm, folder],
          [{ ...npm, npm_package_json: "/elsewhere/package.json" }, process.cwd()]
        ] as const) {
          const { stderr } = yield* catalog(fromBelow, { DATABASE_URL, ...env })
          assert.strictEqual(stderr, `There is no such file: ${join(from, "none.csv")}\n`)
        }
        const { imports } = yield* json("import", "list")
        assert.deepStrictEqual(
          (imports as ReadonlyArray<{ readonly phase: string }>).map(({ phase }) => phase),
          ["failed", "failed", "failed", "applied", "applied"]
        )

        const unlinked = yield* json("store", "unlink", "SHOP.example.com")
        assert.deepStrictEqual(unlinked, { store_id: store.store_id, domain: "shop.example.com", entities: 4 })
        assert.deepStrictEqual(yield* json("store", "list"), { stores: [] })
        assert.strictEqual(
          yield* refusal("store", "unlink", "shop.example.com"),
          "domain: no store shop.example.com is linked; see `catalog store list`"
        )
        const said = (...args: ReadonlyArray<string>) => Effect.map(run(...args), ({ stdout }) => stdout.split("\n"))
        assert.deepStrictEqual(yield* said("store", "link", "shop.example.com"), [
          `Linked shop.example.com (${store.store_id}) again: 4 entities have their versions on it again.`,
          "Next: catalog import csv FILE --store shop.example.com",
          ""
        ])
        assert.deepStrictEqual(yield* said("store", "unlink", "shop.example.com"), [
          `Unlinked shop.example.com (${store.store_id}): 4 entities have no version on it any more.`,
          "Only a saved token or saved credentials are deleted: `catalog store link shop.example.com` restores all versions.",
          ""
        ])
        assert.deepStrictEqual(yield* json("store", "link", "shop.example.com"), store)
        const second = yield* json("import", "csv", path, "--store", "shop.example.com")
        assert.strictEqual(
          yield* refusal("store", "unlink", "shop.example.com"),
          `Nothing was written: import ${second.import_id} is under review: accept it with \`catalog import accept ${second.import_id}\` or discard it with \`catalog import discard ${second.import_id}\` first`
        )
        yield* moved(DATABASE_URL, String(second.import_id), "applying")
        assert.strictEqual(
          yield* refusal("store", "unlink", "shop.example.com"),
          `Nothing was written: import ${second.import_id} is being applied: see \`catalog import show ${second.import_id}\`, and try again when it is done`
        )
        yield* moved(DATABASE_URL, String(second.import_id), "reviewing")
        const discarded = yield* json("import", "discard", String(second.import_id))
        assert.deepStrictEqual(discarded, {
          import_id: second.import_id,
          source: "csv",
          store: "shop.example.com",
          error: null,
          phase: "discarded",
          created: 0,
          updated: 0,
          unchanged: 2,
          conflicts: 0,
          applied: 0,
          unpublished: 0,
          answer: null,
          ignored_columns: [{ name: "Variant Cost", filled_cells: 1 }]
        })
        const shownLines = (id: unknown) =>
          Effect.map(said("import", "show", String(id)), (lines) => lines.slice(0, -1))
        assert.deepStrictEqual(yield* shownLines(second.import_id), [
          `Import ${second.import_id} of export.csv into shop.example.com: discarded`,
          "  planned products: 0 created, 0 updated, 2 unchanged; 2 variants, 0 images",
          "  applied: 0 of 0 products",
          "  ignored columns: Variant Cost (1); a publish does not change them in the shop"
        ])
        assert.deepStrictEqual(yield* shownLines(id), [
          `Import ${id} of export.csv into shop.example.com: applied`,
          "  products: 2 created, 0 updated, 0 unchanged; 2 variants, 0 images",
          "  ignored columns: Variant Cost (1); a publish does not change them in the shop"
        ])
        const wide = join(folder, "wide.csv")
        const columns = Array.from({ length: 80 }, (_, index) => `Extra ${index}`)
        writeFileSync(wide, `Handle,Title,${columns.join(",")}\nhat,Hat,${columns.map(() => "x").join(",")}\n`)
        const wideLines = yield* said("import", "csv", wide, "--store", "shop.example.com", "--accept")
        const named = columns.slice(0, 10).map((name) => `${name} (1)`)
        assert.strictEqual(
          wideLines[2],
          `  ignored columns: ${named.join(", ")} and 70 more; a publish does not change them in the shop`
        )
        // ESC ] begins the title of the terminal, and U+009B is ESC [ in one character.
        const controlling = ["\u001b]0;Title\u0007", "\u009b2J", "\u202eExtra"]
        const lines = [
          ["Handle", "Title", ...controlling],
          ["hat", "Hat", "x", "x", "x"]
        ]
        writeFileSync(wide, lines.map((cells) => cells.join(",")).join("\n"))
        const importing = ["import", "csv", wide, "--store", "shop.example.com", "--accept"]
        const shownColumns = "\\u001b]0;Title\\u0007 (1), \\u009b2J (1), \\u202eExtra (1)"
        assert.include(yield* Effect.promise(() => onTerminalOf(importing, { DATABASE_URL })), shownColumns)
        const { ignored_columns } = yield* json(...importing)
        assert.deepStrictEqual(
          (ignored_columns as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name),
          controlling
        )
        const failed = (imports as ReadonlyArray<{ readonly import_id: string }>)[2]
        assert.deepStrictEqual(yield* shownLines(failed?.import_id), [
          `Import ${failed?.import_id} of none.csv into shop.example.com: failed`,
          "  applied: 0 of 0 products",
          `  There is no such file: ${join(folder, "none.csv")}`
        ])
      })
    )

    it.effect("imports publication and status of products, and names ignored columns", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { json, refusal, said } = commandsWith({ DATABASE_URL })
        const { account_id: account } = yield* json("account", "create", "--name", "Hidden")
        yield* json("store", "link", "hidden.example.com", "--account", account)
        const file = join(folder, "hidden.csv")
        const extras = Array.from({ length: 12 }, (_, index) => `Google Shopping / Custom Label ${index}`)
        const labels = extras.map(() => "x").join(",")
        writeFileSync(
          file,
          [
            `Handle,Title,${extras.join(",")},Product Category,Published,Variant Price,Variant Inventory Policy,Gift Card,Cost per item,Status`,
            `shown,Shown,${labels},Apparel,true,5.00,deny,false,2.00,active`,
            `hidden,Hidden,${labels},Apparel,false,5.00,continue,false,2.00,active`,
            `kept,Kept,${labels},,false,5.00,deny,true,,archived`,
            `direct,Direct,${labels},,true,5.00,deny,false,,Unlisted`
          ].join("\n")
        )
        const importing = ["import", "csv", file, "--store", "hidden.example.com", "--account", account]
        const review = yield* said(...importing)
        assert.include(review, "\n  1 active product is not published to the online store: it is imported as a draft\n")
        assert.include(
          review,
          "\n  ignored columns: Product Category (2), Variant Inventory Policy (4), Gift Card (4), Cost per item (2), Google Shopping / Custom Label 0 (4),"
        )
        assert.include(review, "and 6 more; a publish does not change them in the shop\n")
        const { imports } = yield* json("import", "list", "--account", account)
        const [{ import_id, ignored_columns, unpublished }] = imports
        // The next command of a refusal names the account, in the output for programs too.
        assert.strictEqual(
          yield* refusal(...importing),
          `import ${import_id} is under review: accept it with \`catalog import accept ${import_id} --account ${account}\` or discard it with \`catalog import discard ${import_id} --account ${account}\` first`
        )
        const elsewhere = yield* refusal("import", "refresh", "--store", "none.example", `--account=${account}`)
        assert.strictEqual(
          elsewhere,
          `store: no store none.example is linked; see \`catalog store list --account ${account}\``
        )
        assert.deepStrictEqual([unpublished, ignored_columns.length], [1, 16])
        yield* json("import", "accept", import_id, "--account", account)
        const statuses = yield* Effect.promise(async () => {
          const client = new pg.Client({ connectionString: DATABASE_URL })
          await client.connect()
          const { rows } = await client.query(
            `SELECT attributes #>> '{handle,value}' AS handle, attributes #>> '{status,value}' AS status FROM entity
             WHERE account_id = $1 AND kind = 'product' ORDER BY 1`,
            [account]
          )
          await client.end()
          return rows.map(({ handle, status }) => [handle, status])
        })
        assert.deepStrictEqual(statuses, [
          ["direct", "unlisted"],
          ["hidden", "draft"],
          ["kept", "archived"],
          ["shown", "active"]
        ])
        assert.deepInclude(yield* json(...importing, "--accept"), { created: 0, updated: 0, unchanged: 4 })
        yield* json("health", "scan", "structure", "--account", account)
        const invalid = yield* json("health", "issues", "structure-invalid-value", "--account", account)
        assert.deepStrictEqual(invalid.data, [])
      })
    )

    it.effect("refuses a file with all its problems, as text and as JSON", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { json, run } = commandsWith({ DATABASE_URL })
        const { account_id: account } = yield* json("account", "create", "--name", "Another")
        yield* json("store", "link", "another.example.com", "--account", account)
        const wrong = join(folder, "wrong.csv")
        const importing = ["import", "csv", wrong, "--store", "another.example.com", "--account", account]
        const problem = (line: number) => ({
          line,
          column: "Variant Price",
          reason: '"free" is not a number of 0 or more, written like 12.50.'
        })
        const write = (count: number) =>
          writeFileSync(
            wrong,
            ["Handle;Title;Variant Price", ...Array.from({ length: count }, (_, index) => `a${index};A;free`)].join(
              "\n"
            )
          )

        write(1)
        const one = 'Line 2, column "Variant Price": "free" is not a number of 0 or more, written like 12.50.'
        assert.deepStrictEqual(yield* run(...importing), { code: 1, stdout: "", stderr: `${one}\n` })
        const ended = yield* run(...importing, "--json")
        assert.deepStrictEqual([ended.code, ended.stderr], [1, `${one}\n`])
        assert.deepStrictEqual(JSON.parse(ended.stdout), {
          error: { code: "validation_failed", message: one, problems: [problem(2)], problem_count: 1 }
        })

        write(103)
        const { code, stderr, stdout } = yield* run(...importing)
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.deepStrictEqual(stderr.trimEnd().split("\n"), [
          "The file has 103 problems:",
          ...Array.from({ length: 100 }, (_, index) => `  ${one.replace("Line 2", `Line ${index + 2}`)}`),
          "  and 3 more"
        ])
        const { error } = JSON.parse((yield* run(...importing, "--json")).stdout)
        assert.deepStrictEqual(error, {
          code: "validation_failed",
          message: `The file has 103 problems. The first: ${one}`,
          problems: Array.from({ length: 100 }, (_, index) => problem(index + 2)),
          problem_count: 103
        })
        const { imports } = yield* json("import", "list", "--account", account)
        const shown = yield* json("import", "show", imports[0].import_id, "--account", account)
        assert.deepInclude(shown, { phase: "failed", problems: error.problems, problem_count: 103 })

        writeFileSync(wrong, Buffer.from("\uFEFFHandle\tTitle\tVariant Price\r\nCUP\tTasse\t12,50\r\n", "utf16le"))
        assert.deepInclude(yield* json(...importing, "--accept"), { phase: "applied", created: 1 })
        writeFileSync(wrong, "Handle;Title;Variant Price\ncup;Tasse;12,5\n")
        assert.deepInclude(yield* json(...importing, "--accept"), { created: 0, unchanged: 1 })
      })
    )
  })
})
