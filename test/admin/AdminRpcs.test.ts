import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Stream } from "effect"
import { AdminClient } from "../../src/admin/AdminClient.ts"
import * as AdminInProcess from "../../src/admin/AdminInProcess.ts"
import * as AdminServer from "../../src/admin/AdminServer.ts"
import { Refusal } from "../../src/admin/Refusal.ts"
import * as EmbeddedLock from "../../src/database/EmbeddedLock.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { NotFound, ValidationFailed } from "../../src/model/Errors.ts"
import { AdminServices } from "./AdminServices.ts"

const overSocket = Layer.unwrapScoped(
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "catalog-admin-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true }))
    )
    yield* EmbeddedLock.acquire(directory)
    return AdminClient.layerSocket(join(directory, "admin.sock")).pipe(Layer.provide(AdminServer.layer(directory)))
  })
).pipe(Layer.provideMerge(AdminServices), Layer.provide(NodeFileSystem.layer))

const clients = {
  "in process": AdminInProcess.layer.pipe(Layer.provideMerge(AdminServices)),
  "over a socket": overSocket
}

const refusal = <A, E, R>(command: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(command), (error) => {
    assert.instanceOf(error, Refusal)
    return error instanceof Refusal ? error.message : ""
  })

for (const [name, client] of Object.entries(clients))
  describe(`the operator's commands ${name}`, () => {
    const none = Option.none<string>()
    const key = { name: "Shop", scopes: ["pim:read"], expiresAt: null }

    // The tests run in order, on the same data.
    layer(client, { excludeTestServices: true })((it) => {
      it.effect("identify the process and the migrations of its database, also those of a newer version", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const admin = yield* AdminClient
          assert.deepStrictEqual(yield* admin.hello(), { pid: process.pid, migrations: Migrations.names })
          yield* sql`INSERT INTO catalog_migration (migration_id, name) VALUES (9000, 'of_tomorrow')`
          assert.deepStrictEqual(yield* admin.hello(), {
            pid: process.pid,
            migrations: [...Migrations.names, "9000_of_tomorrow"]
          })
        })
      )

      it.effect("need an account", () =>
        Effect.gen(function* () {
          const admin = yield* AdminClient
          const expected = "There is no account yet: create one with `catalog account create`."
          assert.strictEqual(yield* refusal(admin.listKeys({ account: none })), expected)
          assert.strictEqual(yield* refusal(admin.createKey({ account: none, ...key })), expected)
          assert.strictEqual(yield* refusal(admin.revokeKey({ account: none, key: "x" })), expected)
          assert.strictEqual(
            yield* refusal(admin.listKeys({ account: Option.some("nobody") })),
            "There is no account nobody. Accounts: none."
          )
          const blank = yield* Effect.flip(admin.createAccount({ name: " " }))
          assert.instanceOf(blank, ValidationFailed)
          assert.strictEqual(blank.message, "name: must have 1 to 200 characters")
        })
      )

      it.effect("create, list and revoke keys of the only account", () =>
        Effect.gen(function* () {
          const admin = yield* AdminClient
          const account = yield* admin.createAccount({ name: "Café 手机" })
          assert.strictEqual(account.name, "Café 手机")
          const minted = yield* admin.createKey({ account: none, ...key })
          assert.match(Redacted.value(minted.token), /^pk_live_[A-Za-z0-9]{38}$/)
          assert.notInclude(JSON.stringify(minted), Redacted.value(minted.token))
          assert.deepInclude(minted, { name: "Shop", scopes: ["pim:read"] })

          const refused = yield* Effect.flip(admin.createKey({ account: none, ...key, scopes: ["pim:delete"] }))
          assert.instanceOf(refused, ValidationFailed)
          assert.strictEqual(
            refused.message,
            "scopes: pim:delete cannot be granted to any key; choose from pim:read, pim:write"
          )

          const [listed] = yield* admin.listKeys({ account: none })
          assert.deepInclude(listed, { id: minted.id, lastFour: minted.lastFour, revokedAt: null, expiresAt: null })
          assert.deepStrictEqual(yield* admin.revokeKey({ account: none, key: minted.id.toUpperCase() }), {
            id: minted.id
          })
          const [revoked] = yield* admin.listKeys({ account: none })
          assert.isString(revoked?.revokedAt)
          for (const unknown of ["nonsense", account.id])
            assert.instanceOf(yield* Effect.flip(admin.revokeKey({ account: none, key: unknown })), NotFound)
        })
      )

      it.effect("require --account if there are several accounts", () =>
        Effect.gen(function* () {
          const admin = yield* AdminClient
          const demo = yield* admin.createDemo()
          assert.match(Redacted.value(demo.key.token), /^pk_live_/)
          const accounts = yield* admin.listAccounts()
          assert.deepStrictEqual(
            accounts.map((account) => account.name),
            ["Café 手机", demo.account.name]
          )
          const list = accounts.map((account) => `${account.id} (${account.name})`).join(", ")
          assert.strictEqual(
            yield* refusal(admin.listKeys({ account: none })),
            `There are several accounts: name one with --account. Accounts: ${list}.`
          )
          assert.strictEqual(
            yield* refusal(admin.listKeys({ account: Option.some("nobody") })),
            `There is no account nobody. Accounts: ${list}.`
          )
          const named = yield* admin.listKeys({ account: Option.some(demo.account.id.toUpperCase()) })
          assert.deepStrictEqual(
            named.map(({ id }) => id),
            [demo.key.id]
          )
        })
      )

      it.effect("show an entity with the values that its store has", () =>
        Effect.gen(function* () {
          const admin = yield* AdminClient
          const demo = (yield* admin.listAccounts())[1] ?? assert.fail("no demo account")
          const account = Option.some(demo.id)
          const china = (yield* admin.listStores({ account })).find(({ domain }) => domain.includes("china"))
          const store = china?.domain ?? assert.fail("no store")
          yield* Stream.runDrain(admin.scanHealth({ account, dimension: "divergence", store: none }))
          const { data } = yield* admin.listHealthIssues({
            account,
            section: "divergence",
            page: 1,
            pageSize: 100,
            store: Option.some(store),
            locale: none
          })
          const entity = data.find((issue) => issue.entity_type === "product")?.entity_id ?? assert.fail("no product")
          const shown = yield* admin.showPlatform({ account, store: store.toUpperCase(), entity: entity.toUpperCase() })
          assert.deepStrictEqual([shown.entityId, shown.store.domain], [entity, store])
          assert.deepInclude(shown.record, { kind: "product", entityId: entity, parentId: null, members: [] })
          const title = shown.record?.attributes.title?.value ?? ""
          assert.notStrictEqual(title, "")
          yield* admin.editPlatform({ account, store, entity, key: "title", value: `${title} 手机😀` })
          const edited = yield* admin.showPlatform({ account, store, entity })
          assert.strictEqual(edited.record?.attributes.title?.value, `${title} 手机😀`)

          yield* admin.linkStore({ account, domain: "empty.demo.example", platform: "demo" })
          const empty = yield* admin.showPlatform({ account, store: "empty.demo.example", entity })
          assert.isNull(empty.record)
          for (const unknown of ["nonsense", demo.id])
            assert.instanceOf(yield* Effect.flip(admin.showPlatform({ account, store, entity: unknown })), NotFound)
          assert.strictEqual(
            yield* refusal(admin.showPlatform({ account, store: "nowhere.example", entity })),
            "No store nowhere.example is linked: see `catalog store list`."
          )
          yield* admin.linkStore({ account, domain: "files.example" })
          assert.strictEqual(
            yield* refusal(admin.showPlatform({ account, store: "files.example", entity })),
            "files.example has no platform: its data comes only from imported files, so it cannot be read."
          )
        })
      )

      it.effect("transfer large answers unchanged", () =>
        Effect.gen(function* () {
          const admin = yield* AdminClient
          const names = Array.from({ length: 400 }, (_, index) => `${index} ${"手机😀".repeat(45)}`)
          yield* Effect.forEach(names, (name) => admin.createAccount({ name }), { concurrency: 20 })
          const listed = yield* admin.listAccounts()
          assert.sameMembers(
            listed.slice(2).map((account) => account.name),
            names
          )
        })
      )
    })
  })
