import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { afterAll } from "vitest"
import * as Database from "../../src/database/Database.ts"
import { commandsWith } from "../support/Commands.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "platform-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(!serverAnswers)("platform commands", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("make a demo store's shop fail for every process, and end the failures", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabaseUrl
        const { run, refusal } = commandsWith({ DATABASE_URL: Redacted.value(url) })
        const failures = Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`SELECT kind, percent, delay_millis FROM demo_shop_failure ORDER BY kind`
        ).pipe(Effect.provide(Database.layerServer({ url })))

        yield* run("account", "create", "--name", "Mine")
        yield* run("store", "link", "tern.demo.example", "--platform", "demo")
        yield* run("store", "link", "files.example")

        assert.deepStrictEqual(yield* run("platform", "fail", "--store", "Tern.demo.example", "--percent", "10"), {
          code: 0,
          stdout:
            "The platform of Tern.demo.example now fails (refuse, 10 %).\nNext: catalog platform repair --store Tern.demo.example\n",
          stderr: ""
        })
        // A blank list is an empty variable of a script: it must not mean `none`.
        for (const blank of ["", " , "])
          assert.deepStrictEqual(yield* run("store", "channels", "tern.demo.example", "--for-new", blank), {
            code: 2,
            stdout: "",
            stderr: "--for-new: give ids of sales channels, none or default\n"
          })
        yield* run("platform", "repair", "--store", "tern.demo.example")
        for (const [chosen, lines] of [
          [
            ["demo://publication/online-store", "demo://publication/fair"],
            [
              "demo://publication/online-store  Online Store  (new records)",
              "demo://publication/point-of-sale  Point of Sale",
              "New products and collections are put on 1 of them.",
              "1 chosen channel is gone from the store: demo://publication/fair. Choose again without it."
            ]
          ],
          [
            ["demo://publication/fair", "demo://publication/shop"],
            [
              "demo://publication/online-store  Online Store",
              "demo://publication/point-of-sale  Point of Sale",
              "New products and collections are put on no sales channel.",
              "2 chosen channels are gone from the store: demo://publication/fair, demo://publication/shop. Choose again without them."
            ]
          ]
        ] as const) {
          yield* Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`UPDATE store SET new_record_channels = ${[...chosen]} WHERE domain = 'tern.demo.example'`
          ).pipe(Effect.provide(Database.layerServer({ url })))
          assert.deepStrictEqual(yield* run("store", "channels", "tern.demo.example"), {
            code: 0,
            stdout: `${lines.join("\n")}\n`,
            stderr: ""
          })
          const { stdout } = yield* run("store", "channels", "tern.demo.example", "--json")
          assert.deepStrictEqual(JSON.parse(stdout).gone, chosen.slice(lines[2]?.includes("no sales") ? 0 : 1))
        }
        yield* run("platform", "fail", "--store", "tern.demo.example", "--percent", "10")
        yield* run("platform", "fail", "--store", "tern.demo.example", "--kind", "delay", "--delay", "7")
        assert.deepStrictEqual(yield* failures, [
          { kind: "delay", percent: 100, delay_millis: 7_000 },
          { kind: "refuse", percent: 10, delay_millis: 0 }
        ])
        assert.deepStrictEqual(yield* run("platform", "repair", "--store", "tern.demo.example", "--json"), {
          code: 0,
          stdout: '{"store":"tern.demo.example"}\n',
          stderr: ""
        })
        assert.deepStrictEqual(yield* failures, [])

        assert.strictEqual(
          yield* refusal("platform", "fail", "--store", "nowhere.example"),
          "--store: nowhere.example is not linked; see `catalog store list`"
        )
        assert.strictEqual(
          yield* refusal("platform", "repair", "--store", "files.example"),
          "--store: files.example is on platform none; only demo stores can simulate failures"
        )
        assert.strictEqual(
          yield* refusal("platform", "fail", "--store", "tern.demo.example", "--percent", "101"),
          "--percent: must be a whole number, 1 to 100"
        )
        assert.strictEqual(
          yield* refusal("platform", "fail", "--store", "tern.demo.example", "--kind", "delay", "--delay", "3601"),
          "--delay: must be 0 to 3600 seconds"
        )
        assert.deepStrictEqual(yield* failures, [])
      })
    )

    it.effect("show an entity with the values that its store has", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { json, misuse, refusal, run, said } = commandsWith({ DATABASE_URL })
        const tern = "shown.demo.example"
        const account = String((yield* json("account", "create", "--name", "Shown")).account_id)
        const other = String((yield* json("account", "create", "--name", "Other")).account_id)
        const mine = ["--account", account] as const
        yield* json("store", "link", tern, "--platform", "demo", ...mine)
        yield* json("store", "link", "shown.files.example", ...mine)
        const file = join(folder, "export.csv")
        writeFileSync(file, `Handle,Title,Body (HTML),Variant SKU\nhat,Hat,${"long ".repeat(40)},H-1\n`)
        yield* json("import", "csv", file, "--store", "shown.files.example", "--accept", ...mine)
        const [hat] = yield* Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql<{ id: string }>`SELECT id FROM entity WHERE account_id = ${account} AND kind = 'product'`
        ).pipe(Effect.provide(Database.layerServer({ url: yield* TestDatabaseUrl })))
        const id = hat?.id ?? assert.fail("no product")
        const show = ["platform", "show", id, "--store", tern, ...mine] as const

        const absent = `${tern} does not have ${id}: \`catalog publish ${id} --store ${tern} --account ${account}\` publishes it there.`
        assert.strictEqual(yield* refusal(...show), absent)
        const failed = yield* run(...show, "--json")
        assert.deepStrictEqual([failed.code, failed.stderr], [1, `${absent}\n`])
        assert.strictEqual(JSON.parse(failed.stdout).error.message, absent)
        yield* json("store-version", "add", id, "--store", tern, ...mine)
        assert.strictEqual(yield* refusal(...show), absent)
        yield* json("publish", id, "--store", tern, ...mine)

        const lines = (title: string) => [
          `${tern} has product ${id} as demo://product/${id}:`,
          `  title: "${title}"`,
          '  handle: "hat"',
          `  description_html: "${"long ".repeat(20)}…"`
        ]
        assert.deepStrictEqual((yield* said(...show)).split("\n").slice(0, 4), lines("Hat"))
        // Shows edits in the shop, and no values that are only in the draft.
        const { draft_revision } = yield* json("draft", "show", id, ...mine)
        yield* json("draft", "set", id, "--revision", String(draft_revision), "title=Draft of a hat", ...mine)
        assert.deepStrictEqual((yield* said(...show)).split("\n").slice(0, 4), lines("Hat"))
        yield* json("platform", "edit", "--store", tern, id, "title", "Hat, as the shop calls it", ...mine)
        assert.deepStrictEqual((yield* said(...show)).split("\n").slice(0, 4), lines("Hat, as the shop calls it"))
        const shown = yield* json("platform", "show", id.toUpperCase(), "--store", tern.toUpperCase(), ...mine)
        assert.deepInclude(shown, {
          store: tern,
          platform: "demo",
          entity_id: id,
          entity_type: "product",
          platform_id: `demo://product/${id}`,
          media: [],
          members: []
        })
        assert.deepStrictEqual(shown.attributes.slice(0, 2), [
          { key: "title", value: "Hat, as the shop calls it", type: "single_line_text_field" },
          { key: "handle", value: "hat", type: "single_line_text_field" }
        ])

        assert.strictEqual(
          yield* refusal("platform", "show", id, "--store", "shown.files.example", ...mine),
          "shown.files.example has no platform: its data comes only from imported files, so it cannot be read."
        )
        const nobody = "00000000-0000-4000-8000-00000000dead"
        for (const unknown of [nobody, "cap"])
          assert.strictEqual(
            yield* refusal("platform", "show", unknown, "--store", tern, ...mine),
            `The account has no entity ${unknown}.`
          )
        yield* json("store", "link", "other.demo.example", "--platform", "demo", "--account", other)
        assert.strictEqual(
          yield* refusal("platform", "show", id, "--store", "other.demo.example", "--account", other),
          `The account has no entity ${id}.`
        )
        assert.strictEqual(
          yield* refusal("platform", "show", id, "--store", tern, "--account", other),
          `No store ${tern} is linked: see \`catalog store list --account ${other}\`.`
        )
        yield* said("platform", "fail", "--store", tern, ...mine)
        assert.strictEqual(
          yield* refusal(...show),
          `The store's platform refused the request (DEMO_REFUSED): The demo shop refuses because of \`catalog platform fail ${mine.join(" ")}\`; \`catalog platform repair ${mine.join(" ")}\` repairs it.`
        )
        yield* said("platform", "repair", "--store", tern, ...mine)
        yield* said("store", "unlink", tern, ...mine)
        assert.strictEqual(
          yield* refusal(...show),
          `No store ${tern} is linked: see \`catalog store list ${mine.join(" ")}\`.`
        )
        assert.match(yield* misuse("platform", "show", id, ...mine), /--store/)
      })
    )
  })
})
