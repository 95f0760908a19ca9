import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { afterAll, test } from "vitest"
import { catalog, prepareDataDirectory, serveCatalog } from "../support/CommandLine.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "catalog-words-"))
afterAll(() => rmSync(folder, { recursive: true }))

const domain = "tern.example"

describe.skipIf(!serverAnswers)("names and errors on the command line", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("a failure with --json prints REST's error on stdout, with the same exit code and line on stderr", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const run = (...args: ReadonlyArray<string>) => catalog([...args, "--json"], { DATABASE_URL })
        assert.strictEqual((yield* run("account", "create", "--name", "Mine")).code, 0)
        const id = "00000000-0000-4000-8000-000000000001"
        const known = [
          [["key", "revoke", id], 1, "not_found", `The account has no key ${id}: see \`catalog key list\`.`],
          [["draft", "show", id], 1, "not_found", `The account has no entity ${id}.`],
          [["key", "list", "--account", id], 1, "not_found", /^There is no account 0+-0000-4000-8000-0+1\./],
          [
            ["draft", "show", id, "--store", "x.example"],
            1,
            "not_found",
            "No store x.example is linked: see `catalog store list`."
          ],
          [["draft", "set", id, "--revision", "1"], 1, "validation_failed", /^Nothing to set/],
          [["nonsense"], 2, "validation_failed", 'No command "nonsense". See `catalog --help`.'],
          [["key", "lst"], 2, "validation_failed", /^No command "key lst"\./],
          [["key", "create"], 2, "validation_failed", "Expected to find option: '--name'"]
        ] as const
        for (const [args, code, is, message] of known) {
          const ended = yield* run(...args)
          assert.strictEqual(ended.code, code, ended.stderr)
          const { error, ...others } = JSON.parse(ended.stdout)
          assert.deepStrictEqual(others, {})
          assert.deepStrictEqual(Object.keys(error), ["code", "message"])
          assert.strictEqual(error.code, is)
          if (typeof message === "string") assert.strictEqual(error.message, message)
          else assert.match(error.message, message)
          assert.strictEqual(ended.stderr, `${error.message}\n`)
        }
        assert.deepStrictEqual(
          JSON.parse((yield* run("key", "create", "--name", "x", "--scopes", "pim:delete")).stdout),
          {
            error: {
              code: "validation_failed",
              message: "--scopes: pim:delete cannot be granted to any key; choose from pim:read, pim:write",
              details: [
                {
                  path: "scopes",
                  message: "pim:delete cannot be granted to any key; choose from pim:read, pim:write"
                }
              ]
            }
          }
        )
        const unreachable = yield* catalog(["account", "list", "--json"], {
          DATABASE_URL: "postgres://root:hunter2@127.0.0.1:1/nowhere"
        })
        assert.strictEqual(unreachable.code, 1)
        assert.strictEqual(JSON.parse(unreachable.stdout).error.code, "unavailable")
        assert.notInclude(unreachable.stdout, "hunter2")
      })
    )

    it.effect(
      "a misspelled command is refused: the message suggests the nearest command, or lists all commands of its group",
      () =>
        Effect.gen(function* () {
          const words = {
            keys: 'No command "keys". Did you mean "key"?',
            Store: 'No command "Store". Did you mean "store"?',
            nonsense: 'No command "nonsense". See `catalog --help`.',
            "key lst": 'No command "key lst". Did you mean "key list"? Commands of key: create, list, revoke.',
            "key nonsense": 'No command "key nonsense". Commands of key: create, list, revoke.',
            "health rules rest":
              'No command "health rules rest". Did you mean "health rules reset"? Commands of health rules: set, checks, reset.'
          }
          for (const [args, told] of Object.entries(words))
            assert.deepStrictEqual(yield* catalog(args.split(" "), {}), { code: 2, stdout: "", stderr: `${told}\n` })
        })
    )

    it.effect("the refusal of a value names its option", () =>
      Effect.gen(function* () {
        const levels = "--log-level: must be one of all, trace, debug, info, warning, error, fatal, none"
        const refusals: ReadonlyArray<readonly [args: ReadonlyArray<string>, message: string]> = [
          [["--log-level", "loud", "account", "list"], levels],
          [["account", "list", "--log-level=loud"], levels],
          [["account", "list", "--log-level"], levels],
          [["--completions", "tcsh"], "--completions: must be one of sh, bash, fish, zsh"],
          [["export", "jsonl", "--kind", "shoe"], "--kind: must be one of product, variant, collection, media"],
          [["export", "jsonl", "--kind"], "--kind: must be one of product, variant, collection, media"],
          [["user", "invite", "--email", "a@b.c", "--role=boss"], "--role: must be one of view, edit, publish, admin"],
          [["user", "second-factor", "--required", "maybe"], "--required: must be one of yes, no"],
          [["draft", "set", "x", "--revision", "", "title=X"], '--revision: must be a whole number, not ""'],
          [["draft", "set", "x", "--revision", "1.5", "title=X"], '--revision: must be a whole number, not "1.5"'],
          [["history", "x", "--limit", "1e400"], '--limit: must be a whole number, 1 to 250, not "1e400"'],
          [["history", "x", "--limit=251"], '--limit: must be a whole number, 1 to 250, not "251"'],
          [["user", "log", "--limit", "0"], '--limit: must be a whole number, 1 to 250, not "0"'],
          [["health", "issues", "media", "--page=-1"], '--page: must be a whole number of at least 1, not "-1"'],
          [["health", "issues", "media", "--page-size", "0"], '--page-size: must be a whole number, 1 to 100, not "0"']
        ]
        for (const [args, message] of refusals) {
          assert.deepStrictEqual(yield* catalog(args, {}), { code: 2, stdout: "", stderr: `${message}\n` })
          const { code, stdout } = yield* catalog([...args, "--json"], {})
          assert.deepStrictEqual([code, JSON.parse(stdout)], [2, { error: { code: "validation_failed", message } }])
        }
        assert.strictEqual((yield* catalog(["--log-level", "none", "--version"], {})).code, 0)
      })
    )

    it.effect("a word after a flag is not its value", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { account_id } = yield* Effect.map(
          catalog(["account", "create", "--name", "Flags", "--json"], { DATABASE_URL }),
          ({ stdout }) => JSON.parse(stdout)
        )
        const refusal = (...args: ReadonlyArray<string>) =>
          Effect.map(catalog([...args, "--account", account_id], { DATABASE_URL }), ({ code, stderr }) => [
            code,
            stderr
          ])
        assert.deepStrictEqual(yield* refusal("draft", "show", "--json", "1"), [1, "The account has no entity 1.\n"])
        assert.deepStrictEqual(yield* refusal("publish", "--again", "on"), [1, "The account has no entity on.\n"])
        assert.deepStrictEqual(yield* refusal("import", "decide", "x", "--json", "1", "keep_draft"), [
          1,
          `The account has no import x: see \`catalog import list --account ${account_id}\`.\n`
        ])
        assert.deepStrictEqual(yield* refusal("import", "decide", "x", "--all", "1", "keep_draft"), [
          1,
          "Give the numbers of conflicts, or --all.\n"
        ])
      })
    )

    it.effect("entities can be named by handle and SKU, stores by id, and keys by name, if unique", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const account = yield* Effect.map(
          catalog(["account", "create", "--name", "Names", "--json"], { DATABASE_URL }),
          ({ stdout }) => String(JSON.parse(stdout).account_id)
        )
        const run = (...args: ReadonlyArray<string>) => catalog([...args, "--account", account], { DATABASE_URL })
        const json = (...args: ReadonlyArray<string>) =>
          Effect.map(run(...args, "--json"), ({ code, stderr, stdout }) => {
            assert.deepStrictEqual([code, stderr], [0, ""], args.join(" "))
            return JSON.parse(stdout)
          })
        const { store_id } = yield* json("store", "link", domain)
        const file = join(folder, "export.csv")
        const rows = ["hat,Hat,H-1,5.00", "cap,Cap,SAME,5.00", "bag,Bag,SAME,5.00"]
        writeFileSync(file, `Handle,Title,Variant SKU,Variant Price\n${rows.join("\n")}\n`)
        yield* json("import", "csv", file, "--store", store_id, "--accept")

        const hat = yield* json("draft", "show", "hat")
        assert.deepStrictEqual([hat.entity_type, hat.title], ["product", "Hat"])
        const variant = yield* json("draft", "show", "H-1", "--store", store_id)
        assert.strictEqual(variant.entity_type, "variant")
        const saved = yield* json("draft", "set", "hat", "--revision", "1", "--store", store_id, "title=Topper")
        assert.strictEqual(saved.entity_id, hat.entity_id)
        assert.strictEqual((yield* json("history", "hat")).entity_id, hat.entity_id)
        const starts = new Date(Date.now() + 30 * 86_400_000).toISOString()
        const dropOf = (entity: string) =>
          Effect.map(
            run("drop", "create", "--name", "Sale", "--starts", starts, "--entity", entity, "title=Sale"),
            ({ stderr }) => stderr
          )
        // The entity is found; the command fails because the store has no platform.
        assert.notInclude(yield* dropOf("hat"), "--entity")
        assert.include(yield* dropOf("nowhere"), "--entity")
        assert.match(yield* dropOf("SAME"), /^SAME matches several records/)

        const several = yield* run("draft", "show", "SAME")
        assert.deepStrictEqual([several.code, several.stdout], [1, ""])
        assert.match(
          several.stderr,
          /^SAME matches several records: variant [0-9a-f-]{36}, variant [0-9a-f-]{36}\. Use an id instead\.\n$/
        )
        assert.strictEqual((yield* run("draft", "show", "nowhere")).stderr, "The account has no entity nowhere.\n")

        const twice = yield* Effect.forEach(["Shop", "Twin", "Twin"], (name) => json("key", "create", "--name", name))
        assert.deepStrictEqual(yield* json("key", "revoke", "Shop"), { key_id: twice[0].key_id, revoked: true })
        const twins = yield* run("key", "revoke", "Twin")
        assert.strictEqual(twins.code, 1)
        assert.match(twins.stderr, /^Twin matches several records: /)
        for (const { key_id } of twice.slice(1)) assert.include(twins.stderr, key_id)
        yield* json("key", "revoke", twice[1].key_id)
        assert.strictEqual((yield* json("key", "revoke", "Twin")).key_id, twice[2].key_id)

        // Tables show whole seconds, --json the full precision.
        for (const table of [
          ["import", "list"],
          ["history", "hat"],
          ["drop", "list"]
        ])
          assert.notMatch((yield* run(...table)).stdout, /:\d\d\.\d+Z/)
        assert.match((yield* run("import", "list")).stdout, /T\d\d:\d\d:\d\dZ/)
        assert.match((yield* run("history", "hat", "--json")).stdout, /:\d\d\.\d+Z/)
        assert.strictEqual((yield* json("store", "unlink", store_id)).domain, domain)
      })
    )

    it.effect("links begin with the address of the service's last start, or the command's BASE_URL", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const link = (more: Readonly<Record<string, string>> = {}) =>
          Effect.map(
            catalog(["account", "create", "--email", `${crypto.randomUUID()}@example.com`, "--json"], {
              DATABASE_URL,
              ...more
            }),
            ({ stderr, stdout }) => {
              assert.strictEqual(stderr, "")
              return new URL(JSON.parse(stdout).set_password_url).origin
            }
          )
        const server = yield* Effect.promise(() => serveCatalog({ DATABASE_URL, BASE_URL: "https://pim.example" }))
        assert.strictEqual(yield* link(), "https://pim.example")
        assert.strictEqual(yield* link({ BASE_URL: "https://other.example" }), "https://other.example")
        yield* Effect.promise(() => server.stop())
        assert.strictEqual(yield* link(), "https://pim.example")
      })
    )
  })
})

test("links of an embedded database begin with the address of the server that holds it", async () => {
  const DATA_DIR = join(folder, "data")
  prepareDataDirectory(DATA_DIR)
  const server = await serveCatalog({ DATA_DIR, BASE_URL: "https://pim.example" })
  try {
    const account = await Effect.runPromise(catalog(["account", "list", "--json"], { DATA_DIR }))
    const [{ account_id }] = JSON.parse(account.stdout).accounts
    const invite = ["user", "invite", "--email", "ada@example.com", "--account", account_id]
    const { stderr, stdout } = await Effect.runPromise(catalog(invite, { DATA_DIR }))
    assert.strictEqual(stderr, "")
    assert.match(stdout, /\nhttps:\/\/pim\.example\/set-password\?token=pim_pl_/)
  } finally {
    await server.stop()
  }
})
