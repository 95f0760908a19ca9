import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { afterAll } from "vitest"
import { commandsWith } from "../support/Commands.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "drafts-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = (name: string, content: string | Buffer) => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const nobody = "00000000-0000-4000-8000-00000000dead"
const domain = "shop.example.com"

type Json = Record<string, unknown>

/** The only product. */
const productIn = async (connectionString: string) => {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query("SELECT id FROM entity WHERE kind = 'product'").finally(() => client.end())
  assert.lengthOf(rows, 1)
  return String(rows[0].id)
}

describe.skipIf(!serverAnswers)("drafts on the command line", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("are written, shown, added to a store, and recorded in the history", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { said, json, refusal, misuse } = commandsWith({ DATABASE_URL })

        yield* json("account", "create", "--name", "Mine")
        yield* json("store", "link", domain)
        const { store_id: otherId } = yield* json("store", "link", "other.example.com")
        const export_ = file("export.csv", "Handle,Title,Variant SKU,Variant Price\nhat,Hat,H-1,5.00\n")
        yield* json("import", "csv", export_, "--store", domain, "--accept")
        const id = yield* Effect.promise(() => productIn(DATABASE_URL))

        const saved = yield* json("draft", "set", id, "--revision", "1", "title=A = b", "--unset", "vendor", "status=")
        assert.deepStrictEqual(
          [saved.entity_id, saved.entity_type, saved.draft_revision, saved.pending_publish],
          [id, "product", 2, true]
        )
        assert.strictEqual(
          yield* said("draft", "set", id.toUpperCase(), "--revision", "2", "title=A = b"),
          "Nothing changed: the draft still has revision 2."
        )
        const values = file("values.json", JSON.stringify({ description_html: "<p>two\nlines</p>", vendor: "Tern" }))
        assert.strictEqual(
          yield* said("draft", "set", id, "--revision", "2", "--store", domain, "--from", values, "--unset", "title"),
          `Saved product ${id}: draft revision 3, waiting to be published.`
        )
        const here = yield* json("draft", "show", id, "--store", domain)
        assert.deepStrictEqual(
          [here.draft_revision, here.overridden, here.title],
          [3, ["description_html", "vendor"], "A = b"]
        )
        assert.strictEqual(
          yield* said("draft", "show", id, "--store", domain),
          [
            `product ${id}: draft revision 3, published, waiting to be published`,
            '  title: "A = b"',
            '  handle: "hat"',
            `  description_html (this store's): "<p>two\\nlines</p>"`,
            `  vendor (this store's): "Tern"`,
            ...(yield* said("draft", "show", id)).split("\n").slice(3)
          ].join("\n")
        )

        const added = yield* json("store-version", "add", id, "--store", "Other.example.com")
        assert.deepStrictEqual(
          [added.draft_revision, (added.stores as ReadonlyArray<Json>).map(({ store_id }) => store_id)[0]],
          [4, otherId]
        )

        const told = (yield* json("history", id)).history as ReadonlyArray<Json>
        assert.deepStrictEqual(
          told.map(({ action, draft_revision, store_domain }) => [draft_revision, store_domain, action]),
          [
            [4, "other.example.com", "added_to_store"],
            [3, domain, "attributes"],
            [2, null, "attributes"],
            [1, null, "created"]
          ]
        )
        assert.isString(told.at(-1)?.import_id)
        const lines = (yield* said("history", id, "--limit", "3")).split("\n")
        assert.deepStrictEqual(
          lines.map((line) => line.replace(/^\S+Z /, "")),
          [
            " revision 4  cli  other.example.com: added to the store",
            ` revision 3  cli  ${domain}: description_html inherited -> "<p>two\\nlines</p>", vendor inherited -> "Tern"`,
            ' revision 2  cli  title "Hat" -> "A = b"'
          ]
        )

        assert.strictEqual(
          yield* refusal("draft", "set", id, "--revision", "1", "title=x"),
          `The entity was changed meanwhile: its draft revision is 4, not 1. See \`catalog draft show ${id}\` and repeat with --revision 4.`
        )
        assert.strictEqual(
          yield* refusal("draft", "set", id, "--revision", "4", "status=x", "title=a", "--unset", "title"),
          "title: is given more than once"
        )
        assert.match(
          yield* refusal("draft", "set", id, "--revision", "4", "status=x", "nonsense=1"),
          /^status: must be one of active, draft, archived, unlisted; nonsense: is an unknown key of a product; the allowed keys are title, /
        )
        const hours = () => refusal("draft", "set", id, "--revision", "4", "care.hours=some")
        assert.match(yield* hours(), /^care\.hours: is an unknown key of a product; the allowed keys are /)
        const create = ["definition", "create", "product", "care.hours", "number_integer", "--name", "Hours"]
        assert.strictEqual(yield* said(...create), "Defined product care.hours (number_integer).")
        assert.strictEqual(
          yield* refusal(...create),
          "KEY: is defined already, as number_integer: `catalog definition set-type` sets the type of its values, also after a create that was interrupted"
        )
        assert.match(yield* hours(), /^care\.hours: must be a whole number/)
        assert.match(
          yield* refusal("definition", "set-type", "product", "care.hours", "number"),
          /^TYPE: must be one of antenna_gain, area, /
        )
        assert.match(yield* said("definition", "list"), /^product {5}number_integer {12}care\.hours {2}"Hours"$/m)
        const { definition, retyped } = yield* json("definition", "set-type", "product", "care.hours", "date")
        assert.deepInclude(definition as Json, { namespace: "care", key: "hours", type: "date", stores: [] })
        assert.strictEqual(retyped, 0)
        assert.match(yield* hours(), /^care\.hours: must be a date such as 2026-01-31$/)
        const remove = ["definition", "delete", "product", "care.hours"]
        assert.strictEqual(
          yield* said(...remove),
          "Deleted the account's definition of product care.hours.\nValues that were written under it stay: they can be removed, but not changed."
        )
        assert.strictEqual(yield* refusal(...remove), "KEY: has no definition")
        assert.match(yield* hours(), /^care\.hours: is an unknown key of a product/)

        assert.strictEqual(
          yield* refusal("draft", "set", id, "--revision", "4"),
          "Nothing to set: give KEY=VALUE, --unset KEY or --from FILE."
        )
        for (const wrong of [nobody, "nonsense"])
          for (const command of [
            ["draft", "show"],
            ["draft", "set", "--revision", "1", "--unset", "title"],
            ["history"]
          ])
            assert.strictEqual(yield* refusal(...command, wrong), `The account has no entity ${wrong}.`)
        assert.strictEqual(
          yield* refusal("draft", "show", nobody, "--store", domain),
          `The account has no entity ${nobody} on ${domain}: \`catalog store-version add ${nobody} --store ${domain}\` adds it if it exists.`
        )
        assert.strictEqual(
          yield* refusal("store-version", "add", id, "--store", "nowhere.example"),
          "No store nowhere.example is linked: see `catalog store list`."
        )
        assert.strictEqual(
          yield* refusal("store-version", "add", id, "--store", domain),
          "--store: the product is on this store already"
        )

        const from = (path: string) => refusal("draft", "set", id, "--revision", "4", "--from", path)
        for (const [content, rule] of [
          ["{", "is not JSON"],
          ["[]", 'must hold one object, {"key": "text", "other": null}'],
          ['{"title": 1}', 'must have a text or null as the value of "title"'],
          [Buffer.from([0x22, 0xff, 0x22]), "is not valid UTF-8"]
        ] as const) {
          const path = file("wrong.json", content)
          assert.strictEqual(yield* from(path), `--from: ${path} ${rule}`)
        }
        assert.strictEqual(yield* from(join(folder, "no")), `--from: ${join(folder, "no")} cannot be read`)
        // Runs as `npm run catalog` does when it is called from that folder.
        const fromBelow = commandsWith({
          DATABASE_URL,
          INIT_CWD: folder,
          npm_package_json: join(process.cwd(), "package.json")
        })
        assert.strictEqual(
          yield* fromBelow.refusal("draft", "set", id, "--revision", "4", "--from", "wrong.json"),
          "--from: wrong.json is not valid UTF-8"
        )
        assert.match(
          yield* from(file("proto.json", '{"__proto__": "x"}')),
          /^__proto__: is an unknown key of a product; the allowed keys are /
        )

        assert.strictEqual(yield* misuse("draft", "set", id, "title=x"), "Expected to find option: '--revision'")
        assert.strictEqual(
          yield* misuse("draft", "set", id, "--revision", "4", "title"),
          'Expected KEY=VALUE, for example title="New title"; received "title"'
        )
        assert.include(yield* misuse("draft", "set", id, "--revision", "4", "title=\uFFFD"), "is not valid UTF-8")

        const { import_id: importId } = yield* json("import", "csv", export_, "--store", domain)
        assert.strictEqual(
          yield* refusal("draft", "set", id, "--revision", "4", "title=x"),
          `Nothing was written: import ${importId} is under review: accept it with \`catalog import accept ${importId}\` or discard it with \`catalog import discard ${importId}\` first`
        )
        assert.strictEqual((yield* json("draft", "show", id)).draft_revision, 4)
      })
    )
  })
})
