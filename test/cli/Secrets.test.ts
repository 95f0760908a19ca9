import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { afterAll, beforeAll, test } from "vitest"
import * as Database from "../../src/database/Database.ts"
import { AccountId, StoreId } from "../../src/model/Ids.ts"
import { SecretBox, SecretKeySource } from "../../src/stores/SecretBox.ts"
import { catalog, prepareDataDirectory, serveCatalog } from "../support/CommandLine.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const [old, next] = ["ab".repeat(32), "cd".repeat(32)] as const

/**
 * A Shopify store whose token is encrypted with the old key, as if the store had been linked before the new key was
 * set.
 */
const aStore = (accountId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const owner = { accountId: AccountId.make(accountId), storeId: StoreId.make(crypto.randomUUID()) }
    const sealed = yield* (yield* SecretBox).seal(Redacted.make("shpat_token"), owner)
    yield* sql`
      INSERT INTO store (account_id, id, domain, name, platform, primary_locale, locales, currency, credential)
      VALUES (${accountId}, ${owner.storeId}, 'tern.myshopify.com', 'Tern', 'shopify', 'en', '{en}', 'EUR',
              ${Buffer.from(sealed)})`
  }).pipe(
    Effect.provide(
      Layer.provide(SecretBox.layer, Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make(old) }))
    )
  )

describe.skipIf(!serverAnswers)("secret rotate", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.scoped("encrypts the tokens with the new key, and reports those that it cannot decrypt, as a server does", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabaseUrl
        const DATABASE_URL = Redacted.value(url)
        const run = (settings: Readonly<Record<string, string>>, ...more: ReadonlyArray<string>) =>
          catalog(["secret", "rotate", ...more], { DATABASE_URL, ...settings })
        const created = yield* catalog(["account", "create", "--name", "Mine", "--json"], { DATABASE_URL })
        const { account_id: accountId } = JSON.parse(created.stdout)
        yield* aStore(accountId).pipe(Effect.provide(Database.layerServer({ url, maxConnections: 1 })))

        assert.deepStrictEqual(yield* run({}), {
          code: 1,
          stdout: "",
          stderr:
            "SECRET_KEY: is not set: set it to the new key, and SECRET_KEY_PREVIOUS to the key that encrypted the saved secrets\n"
        })
        const unreadable = `Encrypted 0 secrets with SECRET_KEY; 0 secrets already used it. Neither SECRET_KEY nor SECRET_KEY_PREVIOUS decrypts the secret of the store tern.myshopify.com (account ${accountId}): link the store again with its token, rotate the secret of the webhook, reset the second factor of the user, or set SECRET_KEY_PREVIOUS to the key that encrypted it and repeat.`
        assert.deepStrictEqual(yield* run({ SECRET_KEY: next }), { code: 1, stdout: "", stderr: `${unreadable}\n` })
        const keys = { SECRET_KEY: next, SECRET_KEY_PREVIOUS: old }
        assert.deepStrictEqual(yield* run(keys), {
          code: 0,
          stdout:
            "Encrypted 1 secret with SECRET_KEY; 0 secrets already used it.\nSECRET_KEY_PREVIOUS can be removed from every process.\n",
          stderr: ""
        })
        const again = yield* run({ SECRET_KEY: next }, "--json")
        assert.deepStrictEqual(JSON.parse(again.stdout), { rotated: 0, current: 1, unreadable: [] })
        const back = yield* run({ SECRET_KEY: old })
        assert.strictEqual(back.code, 1)

        const server = yield* Effect.acquireRelease(
          Effect.promise(() => serveCatalog({ DATABASE_URL, SECRET_KEY: old })),
          ({ stop }) => Effect.promise(() => stop("SIGKILL"))
        )
        const logged = /WARN .*Of 1 saved secrets that were tested, 1 cannot be decrypted\. .* the same SECRET_KEY/
        yield* Effect.repeat(
          Effect.sync(() => server.output.stderr),
          { until: (stderr) => logged.test(stderr), schedule: Schedule.spaced("50 millis") }
        )
      })
    )
  })
})

describe("secret rotate while a server holds the embedded database", () => {
  const DATA_DIR = join(mkdtempSync(join(tmpdir(), "catalog-secrets-")), "data")
  let server: Awaited<ReturnType<typeof serveCatalog>>

  beforeAll(async () => {
    prepareDataDirectory(DATA_DIR)
    server = await serveCatalog({ DATA_DIR, SECRET_KEY: next, SECRET_KEY_PREVIOUS: old })
  })
  afterAll(async () => {
    await server.stop("SIGKILL")
    rmSync(DATA_DIR, { recursive: true, force: true })
  })

  const rotate = (settings: Readonly<Record<string, string>>, ...more: ReadonlyArray<string>) =>
    Effect.runPromise(catalog(["secret", "rotate", ...more], { DATA_DIR, ...settings }))

  test("is refused with another key than the server's", async () => {
    const message = `SECRET_KEY: is not the key of the process ${server.pid}, which holds the database and encrypts secrets with its own key: restart that process with this SECRET_KEY, and with the key before it as SECRET_KEY_PREVIOUS, then repeat`
    assert.deepStrictEqual(await rotate({ SECRET_KEY: old }), { code: 1, stdout: "", stderr: `${message}\n` })
    const { code, stdout } = await rotate({ SECRET_KEY: old }, "--json")
    assert.deepStrictEqual([code, JSON.parse(stdout)], [1, { error: { code: "validation_failed", message } }])
  })

  test("says that the server encrypts with its key", async () => {
    // The same key in another form.
    for (const settings of [{}, { SECRET_KEY: Buffer.from(next, "hex").toString("base64") }]) {
      const { code, stderr, stdout } = await rotate(settings)
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(stdout, /^Encrypted 0 secrets with SECRET_KEY of the process \d+, which holds the database; \d+ /)
      assert.include(stdout, ` of the process ${server.pid}, `)
      assert.strictEqual(JSON.parse((await rotate(settings, "--json")).stdout).server_pid, server.pid)
    }
  })
})
