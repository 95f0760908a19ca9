import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { afterAll, beforeAll, it as test } from "vitest"
import * as Database from "../../src/database/Database.ts"
import { catalog, catalogProcess, onTerminalOf, prepareDataDirectory, serveCatalog } from "../support/CommandLine.ts"
import { layerServerUrlEmpty, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe.skipIf(!serverAnswers)("commands on a server", () => {
  layer(layerServerUrlEmpty, { excludeTestServices: true })((it) => {
    it.effect("accounts and keys, as text and as JSON", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const run = (...args: ReadonlyArray<string>) => catalog(args, { DATABASE_URL, BASE_URL: "https://pim.example" })
        const json = (...args: ReadonlyArray<string>) =>
          Effect.map(run(...args, "--json"), ({ code, stderr, stdout }) => {
            assert.deepStrictEqual([code, stderr], [0, ""])
            assert.strictEqual(stdout.trimEnd().split("\n").length, 1)
            return JSON.parse(stdout) as Record<string, unknown>
          })

        assert.include((yield* run("migrate")).stdout, "Applied 0001_accounts")
        assert.deepStrictEqual(yield* json("migrate"), { applied: [] })
        const distributed = yield* run("migrate", "--distribute")
        assert.deepStrictEqual([distributed.code, distributed.stdout], [1, ""])
        assert.match(distributed.stderr, /^The database has no extension citus\. Install Citus 13 on every node, .+\n$/)
        assert.deepStrictEqual(yield* run("key", "create", "--name", "x"), {
          code: 1,
          stdout: "",
          stderr: "There is no account yet: create one with `catalog account create`.\n"
        })

        const account = yield* json("account", "create", "--name", "Café 手机")
        assert.deepStrictEqual(Object.keys(account), ["account_id", "name"])
        assert.match(String(account.account_id), uuid)
        assert.strictEqual(account.name, "Café 手机")

        const key = yield* json("key", "create", "--name", "Shop", "--scopes", "pim:read,pim:write")
        assert.deepStrictEqual(Object.keys(key), ["key_id", "key", "name", "scopes", "last_four"])
        assert.match(String(key.key), /^pk_live_[A-Za-z0-9]{38}$/)
        assert.deepStrictEqual([key.scopes, key.last_four], [["pim:read", "pim:write"], String(key.key).slice(-4)])

        assert.strictEqual(
          (yield* run("key", "create", "--name", "x", "--scopes", "pim:delete")).stderr,
          "--scopes: pim:delete cannot be granted to any key; choose from pim:read, pim:write\n"
        )
        assert.match(
          (yield* run("key", "create", "--name", "x", "--expires", "tomorrow")).stderr,
          /^--expires: must be an RFC 3339 date-time with an offset/
        )
        assert.deepStrictEqual(yield* run("key", "create", "--name", "x", "--expires", "2020-01-01T00:00:00Z"), {
          code: 1,
          stdout: "",
          stderr: "--expires: must not be in the past\n"
        })

        assert.notInclude((yield* run("key", "list")).stdout, String(key.key))
        assert.deepStrictEqual(yield* json("key", "revoke", String(key.key_id)), { key_id: key.key_id, revoked: true })
        const [listed] = (yield* json("key", "list")).keys as ReadonlyArray<Record<string, unknown>>
        const operator = { kind: "cli", id: null, name: null }
        assert.deepInclude(listed, { key_id: key.key_id, state: "revoked", last_four: key.last_four })
        assert.deepInclude(listed, { created_by: operator, revoked_by: operator })
        assert.strictEqual(
          (yield* run("key", "revoke", "nonsense")).stderr,
          "The account has no key nonsense: see `catalog key list`.\n"
        )

        const demo = yield* json("demo")
        assert.match(String(demo.key), /^pk_live_/)
        const several = yield* run("key", "list")
        assert.strictEqual(several.code, 1)
        assert.match(several.stderr, /^There are several accounts: name one with --account\. Accounts: .+\n$/)
        assert.strictEqual((yield* run("key", "list", "--account", String(account.account_id))).code, 0)
        // Suggested commands repeat the --account that was given.
        const named = ["--account", String(account.account_id)]
        const hints: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
          [["key", "revoke", "nonsense"], `see \`catalog key list ${named.join(" ")}\`.\n`],
          [["user", "list"], `\`catalog user invite --email E ${named.join(" ")}\`.\n`],
          [["import", "list"], `or \`catalog import refresh --store DOMAIN ${named.join(" ")}\`.\n`],
          [["import", "accept", "nonsense"], `see \`catalog import list ${named.join(" ")}\`.\n`],
          [["drop", "list"], `\`catalog drop create ${named.join(" ")}\`.\n`],
          [["drop", "show", "nonsense"], `see \`catalog drop list ${named.join(" ")}\`.\n`],
          [["health"], `Next: catalog health scan ${named.join(" ")}\n`],
          [["store", "list"], `\`catalog store link DOMAIN ${named.join(" ")}\`.\n`],
          [["store", "link", "x.example"], `Next: catalog import csv FILE --store x.example ${named.join(" ")}\n`],
          [
            ["store", "unlink", "x.example"],
            `\`catalog store link x.example ${named.join(" ")}\` restores all versions.\n`
          ]
        ]
        for (const [words, hint] of hints) {
          const { stderr, stdout } = yield* run(...words, ...named)
          assert.isTrue((stdout + stderr).endsWith(hint), `${words.join(" ")}: ${stdout}${stderr}`)
        }
        const wrong = yield* run("key", "list", "--account", "nobody")
        assert.match(wrong.stderr, /^There is no account nobody\. Accounts: .+\n$/)
      })
    )

    it.effect("users and their password links", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const settings = { DATABASE_URL, BASE_URL: "https://pim.example" }
        const run = (...args: ReadonlyArray<string>) => catalog(args, settings)
        const json = (...args: ReadonlyArray<string>) =>
          Effect.map(run(...args, "--json"), ({ code, stderr, stdout }) => {
            assert.deepStrictEqual([code, stderr], [0, ""])
            return JSON.parse(stdout) as Record<string, unknown>
          })
        const link = /^https:\/\/pim\.example\/set-password\?token=pim_pl_[A-Za-z0-9_-]{43}$/

        const made = yield* json("account", "create", "--email", "Ada@Example.com")
        assert.deepStrictEqual(Object.keys(made), ["account_id", "name", "set_password_url"])
        assert.strictEqual(made.name, "Ada@Example.com")
        assert.match(String(made.set_password_url), link)
        const account = ["--account", String(made.account_id)]

        assert.deepStrictEqual(yield* run("account", "create"), {
          code: 1,
          stdout: "",
          stderr: "--name: give a name, an e-mail, or both\n"
        })
        assert.strictEqual(
          (yield* run("user", "invite", "--email", "ada", ...account)).stderr,
          "--email: must be an e-mail address, such as ada@example.com\n"
        )

        const again = yield* json("user", "invite", "--email", "ada@example.com", ...account)
        assert.strictEqual(again.email, "ada@example.com")
        assert.match(String(again.set_password_url), link)
        assert.notStrictEqual(again.set_password_url, made.set_password_url)
        assert.match((yield* run("user", "invite", "--email", "grace@example.com", ...account)).stdout, /set-password/)
        const states = Effect.map(json("user", "list", ...account), ({ users }) =>
          (users as ReadonlyArray<Record<string, unknown>>).map(({ email, role, state }) => [email, role, state])
        )
        assert.deepStrictEqual(yield* states, [
          ["ada@example.com", "admin", "invited"],
          ["grace@example.com", "view", "invited"]
        ])
        const withRole = (...words: ReadonlyArray<string>) => run("user", ...words, ...account)
        assert.deepStrictEqual(yield* withRole("role", "--email", "ada@example.com", "--role", "edit"), {
          code: 1,
          stdout: "",
          stderr: "--email: is the last administrator of the account; make somebody else administrator first\n"
        })
        assert.strictEqual(
          (yield* withRole("disable", "--email", "ada@example.com")).stderr,
          "--email: is the last administrator of the account; make somebody else administrator first\n"
        )
        assert.strictEqual(
          (yield* withRole("role", "--email", "Grace@Example.com", "--role", "publish")).stdout,
          "grace@example.com has the role publish. Connections that this user allowed can do no more than this role.\n"
        )
        assert.strictEqual(
          (yield* withRole("role", "--email", "nobody@example.com", "--role", "view")).stderr,
          "--email: the account has no user nobody@example.com\n"
        )
        yield* json("user", "invite", "--email", "grace@example.com", "--role", "edit", ...account)
        assert.match((yield* withRole("list")).stdout, / {2}edit {5}invited {3}grace@example\.com/)
        for (const words of [[], ["--required", "no"]])
          assert.deepStrictEqual(yield* json("user", "second-factor", ...words, ...account), {
            second_factor_required: false
          })
        assert.deepStrictEqual(yield* withRole("second-factor", "--required", "yes"), {
          code: 1,
          stdout: "",
          stderr:
            "SECRET_KEY: is not set, so the tokens of stores and the secrets of webhooks and of second factors cannot be saved: set it to 32 bytes in base64 (`openssl rand -base64 32`), the same for every process on this database\n"
        })
        assert.deepStrictEqual(
          yield* catalog(["user", "second-factor", "--required", "yes", ...account], {
            ...settings,
            SECRET_KEY: "c".repeat(64)
          }),
          {
            code: 0,
            stdout: "All users need a second factor. A user without one sets it up at the next sign-in.\n",
            stderr: ""
          }
        )
        assert.deepStrictEqual(yield* json("user", "disable", "--email", "grace@example.com", ...account), {
          email: "grace@example.com",
          disabled: true
        })
        assert.deepStrictEqual((yield* states)[1], ["grace@example.com", "edit", "disabled"])
        assert.strictEqual(
          (yield* run("user", "disable", "--email", "nobody@example.com", ...account)).stderr,
          "--email: the account has no user nobody@example.com\n"
        )
        assert.strictEqual(
          (yield* run("user", "invite", "--email", "grace@example.com", ...account)).stderr,
          "--email: belongs to a disabled user\n"
        )
        assert.deepStrictEqual(yield* json("user", "enable", "--email", " GRACE@example.com", ...account), {
          email: "grace@example.com",
          disabled: false
        })
        assert.deepStrictEqual((yield* states)[1], ["grace@example.com", "edit", "invited"])
        assert.match(
          (yield* withRole("log", "--limit", "4")).stdout,
          /^[\d-]+T[\d:]+Z {2}cli {2}enabled "grace@example\.com"\n\S+ {2}cli {2}disabled "grace@example\.com"\n\S+ {2}cli {2}made the second factor required for all users\n\S+ {2}cli {2}made a password link for "grace@example\.com"\n$/
        )
        const { changes } = yield* json("user", "log", ...account)
        assert.deepStrictEqual(
          (changes as ReadonlyArray<Record<string, unknown>>).map(({ action, email, role }) => [action, email, role]),
          [
            ["enabled", "grace@example.com", null],
            ["disabled", "grace@example.com", null],
            ["second_factor_required", null, null],
            ["link_made", "grace@example.com", null],
            ["role_changed", "grace@example.com", "edit"],
            ["role_changed", "grace@example.com", "publish"],
            ["invited", "grace@example.com", "view"],
            ["link_made", "ada@example.com", null],
            ["invited", "ada@example.com", "admin"]
          ]
        )
        const demo = yield* json("demo")
        assert.match(String(demo.email), /^demo-[0-9a-f]{8}@catalog\.example$/)
        assert.match(String(demo.set_password_url), link)

        // Without BASE_URL, a note beside the output says where the link leads, because the service may have another
        // address.
        const told =
          "BASE_URL is not set and no service has started on this database yet, so the link begins with http://127.0.0.1:4080. If the service has another address, set BASE_URL for this command.\n"
        for (const words of [
          ["account", "create", "--email", "grace@example.org"],
          ["user", "invite", "--email", "ada@example.com", ...account],
          ["demo"]
        ]) {
          const { code, stderr, stdout } = yield* catalog([...words, "--json"], { DATABASE_URL })
          assert.deepStrictEqual([code, stderr], [0, told], words.join(" "))
          assert.match(
            String(JSON.parse(stdout).set_password_url),
            /^http:\/\/127\.0\.0\.1:4080\/set-password\?token=pim_pl_/
          )
        }
        assert.strictEqual((yield* catalog(["account", "create", "--name", "No user"], { DATABASE_URL })).stderr, "")
      })
    )

    it.effect("`user reset-second-factor` switches the second factor of the only administrator off", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const run = (...args: ReadonlyArray<string>) => catalog(args, { DATABASE_URL, BASE_URL: "https://pim.example" })
        const email = "alone@example.com"
        const created = yield* run("account", "create", "--name", "Alone", "--email", email, "--json")
        const account = ["--account", String(JSON.parse(created.stdout).account_id)]
        const client = new pg.Client({ connectionString: DATABASE_URL })
        yield* Effect.promise(() => client.connect())
        yield* Effect.promise(() =>
          client.query(
            `INSERT INTO second_factor (account_id, user_id, secret, confirmed_at)
             SELECT account_id, id, '\\x01', app_now() FROM app_user WHERE email = $1`,
            [email]
          )
        )
        yield* Effect.promise(() => client.end())
        const reset = (of: string, ...more: ReadonlyArray<string>) =>
          run("user", "reset-second-factor", "--email", of, ...account, ...more)
        assert.deepStrictEqual(yield* reset("Alone@Example.com"), {
          code: 0,
          stdout: `The second factor of ${email} is off. The user signs in with the password alone, and can set up a new one.\n`,
          stderr: ""
        })
        assert.strictEqual((yield* reset(email)).stdout, `${email} has no second factor.\n`)
        assert.deepStrictEqual(JSON.parse((yield* reset(email, "--json")).stdout), { email, reset: false })
        assert.strictEqual(
          (yield* reset("nobody@example.com")).stderr,
          "--email: the account has no user nobody@example.com\n"
        )
        const { stdout } = yield* run("user", "log", ...account)
        assert.match(stdout, /^\S+ {2}cli {2}reset the second factor of "alone@example\.com"\n\S+ {2}cli {2}invited /)
      })
    )

    it.effect("`user free` frees an e-mail address of any account, and names its account", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const run = (...args: ReadonlyArray<string>) => catalog(args, { DATABASE_URL, BASE_URL: "https://pim.example" })
        const json = (...args: ReadonlyArray<string>) =>
          Effect.map(run(...args, "--json"), ({ stdout }) => JSON.parse(stdout) as Record<string, unknown>)
        const email = "holder@example.com"
        const { account_id: id } = yield* json("account", "create", "--name", "Theirs", "--email", email)
        const account = String(id)

        const unknown = `--email: no user signs in with ${email}`
        assert.deepStrictEqual(yield* run("user", "free", "--email", email), {
          code: 1,
          stdout: "",
          stderr: `${unknown}\n`
        })
        assert.deepStrictEqual(yield* json("user", "free", "--email", email), {
          error: { code: "not_found", message: unknown }
        })

        const client = new pg.Client({ connectionString: DATABASE_URL })
        yield* Effect.promise(() => client.connect())
        const setPassword = (email: string) =>
          Effect.promise(() => client.query("UPDATE app_user SET password = 'digest' WHERE email = $1", [email]))
        yield* setPassword(email)
        const last = `${email} is the last administrator of the account Theirs (${account}). First make somebody else administrator: \`catalog user invite --email E --role admin --account ${account}\`; they must set a password. Or delete the account: \`catalog account delete ${account}\`.`
        assert.deepStrictEqual(yield* run("user", "free", "--email", email), {
          code: 1,
          stdout: "",
          stderr: `${last}\n`
        })
        assert.deepStrictEqual(yield* json("user", "free", "--email", email), {
          error: { code: "validation_failed", message: last }
        })

        yield* run("user", "invite", "--email", "other@example.com", "--role", "admin", "--account", account)
        yield* setPassword("other@example.com")
        assert.deepStrictEqual(yield* run("user", "free", "--email", "Holder@example.com"), {
          code: 0,
          stdout: [
            `${email} is free: nobody signs in with it any more.`,
            `Its user in the account Theirs (${account}) is signed out and disabled, without password and second factor. Connections that this user allowed have ended.`,
            `Next: invite its owner with \`catalog user invite --email ${email} --account ACCOUNT_ID\`. The address belongs to the account whose invitation is accepted first.`,
            ""
          ].join("\n"),
          stderr: ""
        })
        assert.match(
          (yield* run("user", "log", "--limit", "1", "--account", account)).stdout,
          /^\S+ {2}cli {2}freed the e-mail address of "holder@example\.com"\n$/
        )
        yield* setPassword(email)
        assert.deepStrictEqual(yield* json("user", "free", "--email", email), {
          email,
          account_id: account,
          account_name: "Theirs",
          freed: true
        })
        yield* Effect.promise(() => client.end())
        const ours = yield* json("account", "create", "--name", "Ours")
        const invite = ["user", "invite", "--email", email, "--account", String(ours.account_id)]
        assert.match((yield* run(...invite)).stdout, /^Link for holder@example\.com to set a password/)
      })
    )

    it.effect("commands that open the database refuse a schema that is newer than this version", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabaseUrl
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`INSERT INTO catalog_migration (migration_id, name) VALUES (9000, 'of_tomorrow')`
          const message =
            "The database schema is newer than this version of the service (9000_of_tomorrow): run the version that created it."
          for (const command of [["migrate"], ["account", "create", "--name", "Old"], ["account", "list"]])
            assert.deepStrictEqual(yield* catalog([...command, "--json"], { DATABASE_URL: Redacted.value(url) }), {
              code: 1,
              stdout: `${JSON.stringify({ error: { code: "validation_failed", message } })}\n`,
              stderr: `${message}\n`
            })
          assert.strictEqual((yield* catalog(["status"], { DATABASE_URL: Redacted.value(url) })).code, 0)
          yield* sql`DELETE FROM catalog_migration WHERE migration_id = 9000`
        }).pipe(Effect.provide(Database.layerServer({ url, maxConnections: 1 })))
      })
    )

    it.effect("wrong usage exits with 2 and prints the usage", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
          [["nonsense"], 'No command "nonsense". See `catalog --help`.'],
          [["key", "create"], "Expected to find option: '--name'"],
          [["key", "create", "--nmae", "x"], "The flag '--nmae' is not recognized. Did you mean '--name'?"]
        ]
        for (const [args, complaint] of wrong)
          assert.deepStrictEqual(yield* catalog(args, { DATABASE_URL }), {
            code: 2,
            stdout: "",
            stderr: `${complaint}\n`
          })
      })
    )
  })

  test("status and migrate --distribute create no embedded database", async () => {
    const folder = mkdtempSync(join(tmpdir(), "catalog-none-"))
    const env = { DATA_DIR: join(folder, "data") }
    const asked = (...args: ReadonlyArray<string>) => catalogProcess(args, env)
    try {
      const answer = "The embedded database has no nodes: DATABASE_URL is not set.\n"
      assert.deepStrictEqual(await asked("status"), { code: 0, stdout: answer, stderr: "" })
      assert.deepStrictEqual(await asked("status", "--json"), { code: 0, stdout: '{"nodes":[]}\n', stderr: "" })
      const message = "Only a Citus cluster can be distributed: set DATABASE_URL."
      assert.deepStrictEqual(await asked("migrate", "--distribute", "--json"), {
        code: 1,
        stdout: `${JSON.stringify({ error: { code: "validation_failed", message } })}\n`,
        stderr: `${message}\n`
      })
      assert.deepStrictEqual(readdirSync(folder), [])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test("the error names an unreachable server without its password", async () => {
    const ended = await catalogProcess(["migrate"], {
      DATABASE_URL: "postgres://root:hunter2@127.0.0.1:1/nowhere",
      START_TIMEOUT_S: "0"
    })
    assert.strictEqual(ended.code, 1)
    assert.strictEqual(ended.stdout, "")
    assert.match(ended.stderr, /127\.0\.0\.1:1/)
    assert.notInclude(ended.stderr, "hunter2")
    assert.strictEqual(ended.stderr.trimEnd().split("\n").length, 1)
  })
})

describe("help", () => {
  const groups = [[], ["account"], ["user"], ["key"], ["store"], ["platform"], ["import"], ["draft"], ["store-version"]]
  const colour = "\u001b["

  test("is printed on stdout when requested, and on stderr when a command is missing", async () => {
    for (const group of groups) {
      const asked = await Effect.runPromise(catalog([...group, "--help"], {}))
      assert.deepStrictEqual([asked.code, asked.stderr], [0, ""])
      assert.include(asked.stdout, `\n  ${["catalog", ...group, "COMMAND"].join(" ")}\n`)
      assert.match(asked.stdout, /\S\n$/)
      assert.notInclude(asked.stdout, colour)
      assert.deepStrictEqual(await Effect.runPromise(catalog(group, {})), {
        code: 2,
        stdout: "",
        stderr: asked.stdout
      })
    }
  })

  test("lists every command once, one level at a time, in lines of at most 80 characters", async () => {
    const page = async (...path: ReadonlyArray<string>) => {
      const { code, stdout } = await Effect.runPromise(catalog([...path, "--help"], {}))
      assert.strictEqual(code, 0)
      for (const line of stdout.split("\n")) assert.isAtMost(line.length, 80, `${path.join(" ")}: ${line}`)
      return stdout
    }
    const namesIn = (text: string) => [...text.matchAll(/^ {2}([a-z][a-z-]*) {2,}\S/gm)].map(([, name = ""]) => name)
    const below = (text: string) => namesIn(text.slice(text.indexOf("\nCommands\n")))
    const root = await page()
    const completions = await Effect.runPromise(catalog(["--completions", "fish"], {}))
    const all = [...completions.stdout.matchAll(/"__fish_use_subcommand" .*-a "([a-z-]+)"/g)].map(
      ([, name = ""]) => name
    )
    assert.includeMembers(all, ["serve", "export", "history"])
    assert.sameMembers(namesIn(root), all)
    assert.include(root, "\nStores\n  store     Linked stores.\n  platform  The commerce platforms behind stores.\n")
    assert.strictEqual(await Effect.runPromise(Effect.map(catalog(["-h"], {}), ({ stdout }) => stdout)), root)

    assert.deepStrictEqual(below(await page("draft")), ["set", "show"])
    assert.deepStrictEqual(below(await page("health")), ["scan", "issues", "rules"])
    assert.deepStrictEqual(below(await page("health", "rules")), ["set", "checks", "reset"])
    for (const group of namesIn(root)) {
      const text = await page(group)
      if (text.includes("\nCommands\n"))
        for (const name of below(text)) assert.notInclude(await page(group, name), "--wizard")
    }
    assert.strictEqual(
      await page("publish"),
      `Publish the draft of an entity, or of all, to its stores, and wait for the
outcome.

Usage
  catalog publish [--all] [--store DOMAIN] [--again] [--cancel]
    [--account ACCOUNT_ID] [--json] [<ENTITY>]

Arguments
  <ENTITY>  Id of a product, variant, collection or media file, or its handle or
            SKU if that is unique.

Options
  --all                 Publish all drafts that are not published yet, as a job
                        for each store.
  --store DOMAIN        Domain or id of a store. Default: all stores of the
                        entity.
  --again               Publish even if nothing changed since the store last
                        accepted it.
  --cancel              Cancel the publishes of the entity, or of all with
                        --all, that wait and cannot have reached a store.
  --account ACCOUNT_ID  Id of the account. Needed only if there are several.
  --json                Print only one JSON object on stdout.
`
    )
    assert.include(await page("draft", "set"), " --revision REVISION [--store DOMAIN] [--unset KEY]...\n")
  })

  test("has colours only on a terminal without NO_COLOR", async () => {
    const piped = await catalogProcess(["--help"], {})
    assert.strictEqual(piped.code, 0)
    assert.notInclude(piped.stdout, colour)
    const onTerminal = async (env: Readonly<Record<string, string>>) =>
      (await onTerminalOf(["--help"], env)).replaceAll("\r\n", "\n")
    assert.include(await onTerminal({}), `${colour}0;1m`)
    assert.include(await onTerminal({ NO_COLOR: "" }), `${colour}0;1m`)
    assert.strictEqual(await onTerminal({ NO_COLOR: "1" }), piped.stdout)
  })
})

describe("serving the embedded database", () => {
  const DATA_DIR = join(mkdtempSync(join(tmpdir(), "catalog-")), "data")
  let first: Awaited<ReturnType<typeof serveCatalog>>

  beforeAll(async () => {
    first = await serveCatalog({ DATA_DIR })
  })
  afterAll(async () => {
    await first.stop("SIGKILL")
    rmSync(DATA_DIR, { recursive: true, force: true })
  })

  test("creates a demo, shows its key once, and stops on a signal", async () => {
    const get = (path: string) =>
      fetch(`${first.baseUrl}${path}`, { headers: { authorization: `Bearer ${first.key}` } })
    assert.deepStrictEqual(await (await get("/api/v1/ping")).json(), { status: "ok", account_id_present: true })
    const page = (await (await get("/api/v1/products?limit=3")).json()) as { data: ReadonlyArray<unknown> }
    assert.strictEqual(page.data.length, 3)
    assert.strictEqual((await fetch(`${first.baseUrl}/readyz`)).status, 200)

    const [, email, link = ""] = /^Sign in as: +(\S+)\nSet its password: +(\S+) /m.exec(first.secrets) ?? []
    assert.match(String(email), /^demo-[0-9a-f]{8}@catalog\.example$/)
    assert.isTrue(link.startsWith(`${first.baseUrl}/set-password?token=pim_pl_`), link)
    const setPassword = await (await fetch(link)).text()
    assert.include(setPassword, `value="${email}"`)

    const token = new URL(link).searchParams.get("token") ?? ""
    const form = new URLSearchParams({ token, password: "tern over tarn 1" })
    assert.isTrue((await fetch(`${first.baseUrl}/set-password`, { method: "POST", body: form })).ok)
    assert.deepStrictEqual(
      await Effect.runPromise(
        catalog(["account", "create", "--name", "Another", "--email", String(email)], { DATA_DIR })
      ),
      {
        code: 1,
        stdout: "",
        stderr: "--email: belongs to a user of another account; choose another e-mail address\n"
      }
    )
    // The refused command did not create an account.
    const accounts = await Effect.runPromise(catalog(["account", "list", "--json"], { DATA_DIR }))
    assert.lengthOf((JSON.parse(accounts.stdout) as { readonly accounts: ReadonlyArray<unknown> }).accounts, 1)

    const refused = await catalogProcess(["serve"], { DATA_DIR })
    assert.deepStrictEqual(refused, {
      code: 1,
      stdout: "",
      stderr: `The database in ${DATA_DIR} is in use by process ${first.pid}: stop that process, or choose another DATA_DIR.\n`
    })
    // A directory in use is reported before the program is loaded, so no other setting is checked.
    assert.deepStrictEqual(await catalogProcess(["serve"], { DATA_DIR, PORT: "seventy" }), refused)

    assert.strictEqual(await first.stop(), 0)
    // Output that is not a terminal is usually collected in logs.
    const secrets = `${DATA_DIR}/first-start.txt`
    assert.include(first.output.stdout, `Password link and key:   in ${secrets} (only this user may read it`)
    assert.strictEqual(statSync(secrets).mode & 0o777, 0o600)
    for (const output of [first.output.stdout, first.output.stderr])
      for (const secret of [String(first.key), String(new URL(link).searchParams.get("token"))])
        assert.notInclude(output, secret)

    const second = await serveCatalog({ DATA_DIR, npm_lifecycle_event: "start" })
    assert.isUndefined(second.key)
    const waysIn = (output: string) =>
      output
        .split("\n")
        .slice(4)
        .filter((line) => line !== "")
    assert.deepStrictEqual(waysIn(second.output.stdout), [
      "Users:                   npm run catalog -- user list",
      "New password:            npm run catalog -- user invite --email EMAIL",
      "API keys:                npm run catalog -- key create --name NAME --scopes pim:read,pim:write"
    ])
    const again = await fetch(`${second.baseUrl}/api/v1/ping`, { headers: { authorization: `Bearer ${first.key}` } })
    assert.strictEqual(again.status, 200)

    const taken = await catalogProcess(["serve"], { DATA_DIR: `${DATA_DIR}-2`, PORT: new URL(second.baseUrl).port })
    assert.isFalse(existsSync(`${DATA_DIR}-2`), "no directory is created if the port is in use")
    assert.strictEqual(taken.code, 1)
    assert.match(taken.stderr, new RegExp(`^PORT: .*${new URL(second.baseUrl).port}`, "m"))
    assert.strictEqual(
      (await Effect.runPromise(catalog(["account", "create", "--name", "Mine"], { DATA_DIR }))).code,
      0
    )
    assert.strictEqual(await second.stop("SIGINT"), 0)

    const third = await serveCatalog({ DATA_DIR })
    assert.deepStrictEqual(waysIn(third.output.stdout), [
      "Users:                   node dist/main.js user list --account ID",
      "New password:            node dist/main.js user invite --email EMAIL --account ID",
      "Account ids:             node dist/main.js account list",
      "API keys:                node dist/main.js key create --name NAME --scopes pim:read,pim:write --account ID"
    ])
    assert.strictEqual(await third.stop(), 0)
  })
})

const onlyClusters = {
  code: 1,
  stdout: "",
  stderr: "Only a Citus cluster can be distributed: set DATABASE_URL.\n"
}

describe("commands while a server holds the embedded database", () => {
  const DATA_DIR = join(mkdtempSync(join(tmpdir(), "catalog-")), "data")
  let server: Awaited<ReturnType<typeof serveCatalog>>

  const run = (...args: ReadonlyArray<string>) => Effect.runPromise(catalog(args, { DATA_DIR }))
  const json = async (...args: ReadonlyArray<string>) => {
    const { code, stderr, stdout } = await run(...args, "--json")
    assert.deepStrictEqual([code, stderr], [0, ""])
    return JSON.parse(stdout) as Record<string, unknown>
  }
  const ping = async (key: unknown) =>
    (await fetch(`${server.baseUrl}/api/v1/ping`, { headers: { authorization: `Bearer ${key}` } })).status
  const read = async (path: string) => {
    const answer = await fetch(`${server.baseUrl}${path}`, { headers: { authorization: `Bearer ${server.key}` } })
    return (await answer.json()) as Record<string, unknown> & { readonly data: ReadonlyArray<Record<string, unknown>> }
  }

  beforeAll(async () => {
    prepareDataDirectory(DATA_DIR)
    server = await serveCatalog({ DATA_DIR })
  })
  afterAll(async () => {
    await server.stop("SIGKILL")
    rmSync(DATA_DIR, { recursive: true, force: true })
  })

  test("create a key that works at once, and revoke it for the next request", async () => {
    // In a process of its own once: what a shell sees.
    const ended = await catalogProcess(["key", "create", "--name", "Shop", "--json"], { DATA_DIR })
    assert.deepStrictEqual([ended.code, ended.stderr], [0, ""])
    const key = JSON.parse(ended.stdout)
    assert.deepStrictEqual(Object.keys(key), ["key_id", "key", "name", "scopes", "last_four"])
    assert.strictEqual(await ping(key.key), 200)

    const { keys } = (await json("key", "list")) as { keys: ReadonlyArray<Record<string, unknown>> }
    assert.deepInclude(
      keys.find(({ key_id }) => key_id === key.key_id),
      { name: "Shop", state: "active" }
    )
    assert.deepStrictEqual(await json("key", "revoke", key.key_id), { key_id: key.key_id, revoked: true })
    assert.strictEqual(await ping(key.key), 401)
    assert.deepStrictEqual(await run("key", "revoke", "nonsense"), {
      code: 1,
      stdout: "",
      stderr: "The account has no key nonsense: see `catalog key list`.\n"
    })
  })

  test("write drafts of the demo that the server's next response shows", async () => {
    const { data: stores } = await read("/api/v1/stores")
    const isOn = (product: Record<string, unknown>, store: Record<string, unknown>) =>
      (product.store_ids as ReadonlyArray<unknown>).includes(store.id)
    const { data: products } = await read("/api/v1/products?limit=250")
    const product = products.find((product) => stores.some((store) => !isOn(product, store)))
    assert.isDefined(product)
    const { draft_revision: revision, id } = product
    const written = await json("draft", "set", String(id), "--revision", String(revision), "title=手机 😀")
    assert.strictEqual(written.draft_revision, Number(revision) + 1)
    const detail = await read(`/api/v1/products/${id}`)
    assert.deepStrictEqual([detail.title, detail.draft_revision], ["手机 😀", Number(revision) + 1])

    assert.deepStrictEqual(await run("draft", "set", String(id), "--revision", String(revision), "title=x"), {
      code: 1,
      stdout: "",
      stderr: `The entity was changed meanwhile: its draft revision is ${Number(revision) + 1}, not ${revision}. See \`catalog draft show ${id}\` and repeat with --revision ${Number(revision) + 1}.\n`
    })
    const { history } = (await json("history", String(id))) as { history: ReadonlyArray<Record<string, unknown>> }
    assert.deepInclude(history[0], { draft_revision: Number(revision) + 1, action: "attributes", store_id: null })
    assert.strictEqual(history.at(-1)?.action, "created")

    const store = stores.find((store) => !isOn(product, store))
    const added = await json("store-version", "add", String(id), "--store", String(store?.domain))
    assert.strictEqual(added.draft_revision, Number(revision) + 2)
  })

  test("create accounts and demos, and report refusals", async () => {
    const account = await json("account", "create", "--name", "Café 手机")
    const demo = await json("demo")
    assert.strictEqual(await ping(demo.key), 200)
    assert.include((await run("account", "list")).stdout, String(account.account_id))
    assert.match((await run("key", "list")).stderr, /^There are several accounts: name one with --account\. .+\n$/)
    const key = await json("key", "create", "--account", String(account.account_id), "--name", "Second")
    assert.strictEqual(await ping(key.key), 200)
    assert.deepStrictEqual(await run("account", "create", "--name", " "), {
      code: 1,
      stdout: "",
      stderr: "--name: must have 1 to 200 characters\n"
    })
  })

  test("migrate finds the server's migrations", async () => {
    assert.deepStrictEqual(await json("migrate"), { applied: [] })
    assert.deepStrictEqual(await run("migrate", "--distribute"), onlyClusters)
  })

  test("status says that an embedded database has no nodes", async () => {
    assert.deepStrictEqual(await json("status"), { nodes: [] })
    assert.strictEqual((await run("status")).stdout, "The embedded database has no nodes: DATABASE_URL is not set.\n")
  })

  test("open the database themselves after the server was killed; its socket does not block the next server", async () => {
    const account = await firstAccount()
    await server.stop("SIGKILL")
    assert.isTrue(existsSync(join(DATA_DIR, "admin.sock")))
    assert.deepStrictEqual(await run("migrate", "--distribute"), onlyClusters)
    const key = await json("key", "create", "--account", account, "--name", "Between")
    server = await serveCatalog({ DATA_DIR })
    assert.strictEqual(await ping(key.key), 200)
    assert.strictEqual((await run("account", "list")).code, 0)
    assert.strictEqual(await server.stop(), 0)
    assert.deepStrictEqual(readdirSync(DATA_DIR), ["first-start.txt", "pgdata"])
  })

  const firstAccount = async () => {
    const { accounts } = (await json("account", "list")) as { accounts: ReadonlyArray<{ account_id: string }> }
    return String(accounts[0]?.account_id)
  }
})

test("a process that holds the database but does not accept commands is named by its pid", async () => {
  const DATA_DIR = mkdtempSync(join(tmpdir(), "catalog-"))
  writeFileSync(join(DATA_DIR, "catalog.lock"), JSON.stringify({ pid: process.pid, startToken: null, token: "a" }))
  const { stdout, ...ended } = await Effect.runPromise(catalog(["key", "list", "--json"], { DATA_DIR }))
  rmSync(DATA_DIR, { recursive: true })
  const message = `The database in ${DATA_DIR} is in use by process ${process.pid}: stop that process, or choose another DATA_DIR.`
  assert.deepStrictEqual(ended, { code: 1, stderr: `${message}\n` })
  assert.deepStrictEqual(JSON.parse(stdout), { error: { code: "unavailable", message } })
})
