import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import * as Database from "../../src/database/Database.ts"
import { AccountId, StoreId } from "../../src/model/Ids.ts"
import { SecretBox, SecretKeySource } from "../../src/stores/SecretBox.ts"
import { catalog, environment } from "../support/CommandLine.ts"
import { layerServerUrl, layerServerUrlEmpty, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const page = readFileSync(join(root, "docs/operations.md"), "utf8")

/** The commands of a section, also those in a list. */
const commandsOf = (title: string): ReadonlyArray<string> => {
  const section = page.split(`\n## ${title}\n`)[1]?.split("\n## ")[0] ?? assert.fail(`no section ${title}`)
  return [...section.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, text = ""]) => text)
}

/** An empty database on the service's server. */
class RestoredUrl extends Context.Tag("test/RestoredUrl")<RestoredUrl, Redacted.Redacted>() {}

const databases = Layer.merge(
  layerServerUrl,
  Layer.map(Layer.fresh(layerServerUrlEmpty), (context) =>
    Context.make(RestoredUrl, Context.get(context, TestDatabaseUrl))
  )
)

const [oldKey, newKey] = ["ab".repeat(32), "cd".repeat(32)] as const
const token = "shpat_0123456789abcdef0123456789abcdef"

const withKey = (key: string) =>
  Layer.fresh(
    SecretBox.layer.pipe(Layer.provide(Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make(key) })))
  )

const on = (url: Redacted.Redacted) => Layer.fresh(Database.layerServer({ url, maxConnections: 1 }))

/** An account with a store whose token is encrypted with the old key. */
const anAccountOn = (url: Redacted.Redacted) =>
  Effect.gen(function* () {
    const created = yield* catalog(["account", "create", "--name", "Kept", "--json"], {
      DATABASE_URL: Redacted.value(url)
    })
    const accountId = AccountId.make(JSON.parse(created.stdout).account_id)
    const storeId = StoreId.make(crypto.randomUUID())
    const sealed = yield* Effect.provide(
      Effect.flatMap(SecretBox, (box) => box.seal(Redacted.make(token), { accountId, storeId })),
      withKey(oldKey)
    )
    yield* Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql`
        INSERT INTO store (account_id, id, domain, name, platform, primary_locale, locales, currency, credential)
        VALUES (${accountId}, ${storeId}, ${`${storeId}.myshopify.com`}, 'Shop', 'shopify', 'en', '{en}', 'EUR',
                ${Buffer.from(sealed)})`
    ).pipe(Effect.provide(on(url)))
    return { accountId, storeId }
  })

/** The token of a store, read by a process with only this key. */
const tokenOn = (
  url: Redacted.Redacted,
  key: string,
  owner: { readonly accountId: AccountId; readonly storeId: StoreId }
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ readonly credential: Uint8Array }>`
      SELECT credential FROM store WHERE account_id = ${owner.accountId} AND id = ${owner.storeId}`
    return Redacted.value(yield* (yield* SecretBox).open(row?.credential ?? new Uint8Array(), owner))
  }).pipe(Effect.provide(Layer.mergeAll(on(url), withKey(key))))

const shell = (text: string, env: Readonly<Record<string, string>>) =>
  Effect.promise(() =>
    promisify(execFile)("bash", ["-euo", "pipefail", "-c", text], { cwd: root, env: environment(env) })
  )

const hasTools = await promisify(execFile)("pg_restore", ["--version"]).then(
  () => true,
  () => false
)

describe.skipIf(!serverAnswers || !hasTools)("the commands of docs/operations.md", () => {
  layer(databases, { excludeTestServices: true, timeout: "120 seconds" })((it) => {
    it.effect("back up a database and restore it, with the tokens of its stores", () =>
      Effect.gen(function* () {
        const [url, restored] = [yield* TestDatabaseUrl, yield* RestoredUrl]
        const owner = yield* anAccountOn(url)
        const folder = mkdtempSync(join(tmpdir(), "catalog-backup-"))
        const env = {
          DATABASE_URL: Redacted.value(url),
          RESTORED: Redacted.value(restored),
          BACKUP: join(folder, "catalog.dump")
        }
        const commands = commandsOf("Back up and restore")
        assert.lengthOf(commands, 2)
        const [dump, restore] = commands as [string, string]
        const dumped = yield* shell(dump, env)
        assert.isAbove(Number(dumped.stdout), 30)
        const { stdout } = yield* shell(restore, env)
        assert.include(stdout, owner.accountId)
        assert.strictEqual(yield* tokenOn(restored, oldKey, owner), token)
        rmSync(folder, { recursive: true })
      })
    )

    it.effect("dump a database before an upgrade, and migrate it", () =>
      Effect.gen(function* () {
        const url = Redacted.value(yield* TestDatabaseUrl)
        const folder = mkdtempSync(join(tmpdir(), "catalog-upgrade-"))
        const commands = commandsOf("Upgrade and roll back")
        assert.lengthOf(commands, 1)
        const BACKUP = join(folder, "catalog.dump")
        const { stdout } = yield* shell(commands[0] ?? "", { DATABASE_URL: url, BACKUP })
        assert.strictEqual(stdout, "The schema is up to date.\n")
        assert.isAbove(statSync(BACKUP).size, 10_000)
        rmSync(folder, { recursive: true })
      })
    )

    it.effect("change the key that encrypts tokens", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabaseUrl
        const owner = yield* anAccountOn(url)
        const commands = commandsOf("Change SECRET_KEY")
        assert.lengthOf(commands, 1)
        const { stdout } = yield* shell(commands[0] ?? "", {
          DATABASE_URL: Redacted.value(url),
          OLD_KEY: oldKey,
          NEW_KEY: newKey
        })
        assert.match(stdout, /^Encrypted \d+ secrets? with SECRET_KEY; 0 secrets already used it\.\n/)
        assert.strictEqual(yield* tokenOn(url, newKey, owner), token)
        assert.isTrue((yield* Effect.exit(tokenOn(url, oldKey, owner)))._tag === "Failure")
      })
    )
  })
})
