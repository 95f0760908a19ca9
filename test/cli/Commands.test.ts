import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { afterAll, beforeAll, it as test } from "vitest"
import { catalog, catalogProcess, serveCatalog } from "../support/CommandLine.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe.skipIf(!serverAnswers)("commands on a server", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("accounts and keys, for people and for programs", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const run = (...args: ReadonlyArray<string>) => catalog(args, { DATABASE_URL })
        const json = (...args: ReadonlyArray<string>) =>
          Effect.map(run(...args, "--json"), ({ code, stderr, stdout }) => {
            assert.deepStrictEqual([code, stderr], [0, ""])
            assert.strictEqual(stdout.trimEnd().split("\n").length, 1)
            return JSON.parse(stdout) as Record<string, unknown>
          })

        assert.include((yield* run("migrate")).stdout, "Applied 0001_time")
        assert.deepStrictEqual(yield* json("migrate"), { applied: [] })
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
          "scopes: pim:delete cannot be granted to any key; choose from pim:read, pim:write\n"
        )
        assert.match(
          (yield* run("key", "create", "--name", "x", "--expires", "tomorrow")).stderr,
          /^--expires: must be an RFC 3339 date-time with an offset/
        )

        assert.notInclude((yield* run("key", "list")).stdout, String(key.key))
        assert.deepStrictEqual(yield* json("key", "revoke", String(key.key_id)), { key_id: key.key_id, revoked: true })
        const [listed] = (yield* json("key", "list")).keys as ReadonlyArray<Record<string, unknown>>
        assert.deepInclude(listed, { key_id: key.key_id, state: "revoked", last_four: key.last_four })
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
        const wrong = yield* run("key", "list", "--account", "nobody")
        assert.match(wrong.stderr, /^There is no account nobody\. Accounts: .+\n$/)
      })
    )

    it.effect("wrong usage ends with 2 and shows the usage", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        for (const args of [["nonsense"], ["key", "create"], ["account", "create", "--nmae", "x"]])
          assert.strictEqual((yield* catalog(args, { DATABASE_URL })).code, 2, args.join(" "))
        const help = yield* catalog(["--help"], {})
        assert.strictEqual(help.code, 0)
        assert.include(help.stdout, "catalog")
      })
    )
  })

  test("a server that does not answer is named, without its password", async () => {
    const ended = await catalogProcess(["migrate"], { DATABASE_URL: "postgres://root:hunter2@127.0.0.1:1/nowhere" })
    assert.strictEqual(ended.code, 1)
    assert.strictEqual(ended.stdout, "")
    assert.match(ended.stderr, /127\.0\.0\.1:1/)
    assert.notInclude(ended.stderr, "hunter2")
    assert.strictEqual(ended.stderr.trimEnd().split("\n").length, 1)
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

  test("starts with a demo whose key is shown once, and stops when told to", async () => {
    const get = (path: string) =>
      fetch(`${first.baseUrl}${path}`, { headers: { authorization: `Bearer ${first.key}` } })
    assert.deepStrictEqual(await (await get("/api/v1/ping")).json(), { status: "ok", account_id_present: true })
    const page = (await (await get("/api/v1/products?limit=3")).json()) as { data: ReadonlyArray<unknown> }
    assert.strictEqual(page.data.length, 3)
    assert.strictEqual((await fetch(`${first.baseUrl}/readyz`)).status, 200)

    const refused = await catalogProcess(["key", "list"], { DATA_DIR })
    assert.strictEqual(refused.code, 1)
    assert.match(refused.stderr, new RegExp(`\\b${first.pid}\\b`))
    assert.strictEqual(refused.stderr.trimEnd().split("\n").length, 1)

    assert.strictEqual(await first.stop(), 0)
    assert.notInclude(first.output.stderr, String(first.key))

    const second = await serveCatalog({ DATA_DIR })
    assert.isUndefined(second.key)
    assert.include(second.output.stdout, "key create")
    const again = await fetch(`${second.baseUrl}/api/v1/ping`, { headers: { authorization: `Bearer ${first.key}` } })
    assert.strictEqual(again.status, 200)

    const taken = await catalogProcess(["serve"], { DATA_DIR: `${DATA_DIR}-2`, PORT: new URL(second.baseUrl).port })
    rmSync(`${DATA_DIR}-2`, { recursive: true, force: true })
    assert.strictEqual(taken.code, 1)
    assert.match(taken.stderr, new RegExp(`^PORT: .*${new URL(second.baseUrl).port}`, "m"))
    assert.strictEqual(await second.stop("SIGINT"), 0)
  })
})
