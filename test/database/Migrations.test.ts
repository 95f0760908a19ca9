import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Database from "../../src/database/Database.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import * as TestDatabase from "../support/TestDatabase.ts"

describe("Migrations", () => {
  it("lists the files of the folder, numbered without a gap", () => {
    assert.deepStrictEqual(
      Migrations.names.map((name) => `${name}.sql`),
      readdirSync(Migrations.directory).sort()
    )
    assert.deepStrictEqual(
      Migrations.names.map((name) => Number(name.slice(0, 4))),
      Migrations.names.map((_, index) => index + 1)
    )
  })

  for (const engine of TestDatabase.engines) {
    describe.skipIf(engine.absent)(engine.name, () => {
      it.live("runs each migration once", () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* Migrations.pending, Migrations.names)
          assert.match(
            (yield* Effect.flip(Migrations.current)).message,
            /^The database schema is older than this version/
          )
          assert.deepStrictEqual(yield* Migrations.run, Migrations.names)
          assert.deepStrictEqual(yield* Migrations.pending, [])
          yield* Migrations.current
          assert.deepStrictEqual(yield* Migrations.run, [])
          const sql = yield* SqlClient.SqlClient
          assert.lengthOf(yield* sql`SELECT FROM installation`, 1)
        }).pipe(Effect.provide(engine.empty))
      )

      it.scopedLive("names the file that fails, and rolls back the attempt", () =>
        Effect.gen(function* () {
          const folder = yield* Effect.acquireRelease(
            Effect.sync(() => mkdtempSync(join(tmpdir(), "catalog-migrations-"))),
            (path) => Effect.sync(() => rmSync(path, { recursive: true }))
          )
          writeFileSync(join(folder, "0001_good.sql"), "CREATE TABLE good (id int);\nCREATE TABLE better (id int);\n")
          writeFileSync(join(folder, "0002_bad.sql"), "CREATE TABLE bad (id int);\nCREATE TABLE good (id int);\n")
          const bad = yield* Effect.flip(Migrations.runFrom(`${folder}/`, ["0001_good", "0002_bad"]))
          assert.strictEqual(bad._tag, "MigrationFailed")
          assert.strictEqual(bad.message, 'Migration 0002_bad.sql failed: relation "good" already exists (42P07)')
          const sql = yield* SqlClient.SqlClient
          const tables = sql`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`
          assert.deepStrictEqual(yield* tables, [])
          assert.deepStrictEqual(yield* Migrations.runFrom(`${folder}/`, ["0001_good"]), ["0001_good"])
          assert.deepStrictEqual(
            (yield* tables).map((row) => row.tablename),
            ["better", "catalog_migration", "good"]
          )
          const absent = yield* Effect.flip(Migrations.runFrom(`${folder}/`, ["0001_good", "0002_absent"]))
          assert.match(absent.message, /^Migration 0002_absent\.sql failed: .*NotFound/)
        }).pipe(Effect.provide(engine.empty))
      )
    })
  }

  for (const engine of TestDatabase.engines)
    it.live.skipIf(engine.absent)(`repair the creation times of imported entities on ${engine.name}`, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const before = Migrations.names.slice(0, Migrations.names.indexOf("0032_import_actors"))
        yield* Migrations.runFrom(Migrations.directory, before)
        const account = "00000000-0000-4000-8000-00000000000a"
        const other = "00000000-0000-4000-8000-00000000000b"
        yield* sql.withTransaction(
          sql.unsafe(`
            INSERT INTO account (id, name, version) VALUES ('${account}', 'A', 7), ('${other}', 'B', 7);
            INSERT INTO store (account_id, id, domain, name, platform, primary_locale, locales, currency)
            VALUES ('${account}', '${account}', 'a.example', 'A', 'none', 'en', '{en}', 'EUR');
            INSERT INTO entity (account_id, id, kind, change_seq, canonical_changed_at, created_at, stamped_by)
            SELECT a, id::uuid, 'product', seq, changed::timestamptz, created::timestamptz, pg_current_xact_id()
            FROM (VALUES
              ('${account}'::uuid, '00000000-0000-4000-8000-000000000001', 1, '2026-01-02', '2026-01-03'),
              ('${account}', '00000000-0000-4000-8000-000000000002', 2, '2026-01-02', '2026-01-01'),
              ('${other}', '00000000-0000-4000-8000-000000000003', 1, '2026-01-02', '2026-01-02')
            ) e (a, id, seq, changed, created);
            INSERT INTO store_version (account_id, entity_id, store_id, published_at)
            VALUES ('${account}', '00000000-0000-4000-8000-000000000001', '${account}', '2026-01-01T23:00:00Z');`)
        )
        assert.include(yield* Migrations.run, "0032_import_actors")
        const rows = yield* sql`SELECT rfc3339(created_at) AS at FROM entity ORDER BY id`
        assert.deepStrictEqual(
          rows.map(({ at }) => String(at).slice(0, 13)),
          ["2026-01-01T23", "2026-01-01T00", "2026-01-02T00"]
        )
        const versions = yield* sql`SELECT version::integer AS version FROM account ORDER BY id`
        assert.deepStrictEqual(
          versions.map(({ version }) => version),
          [8, 7]
        )
      }).pipe(Effect.provide(engine.empty))
    )

  describe.skipIf(!TestDatabase.serverAnswers)("two processes that start together", () => {
    it.live("one runs the migrations, and both are current afterwards", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabase.TestDatabaseUrl
        const boot = Effect.gen(function* () {
          const ran = yield* Migrations.run
          return { ran, current: yield* Effect.isSuccess(Migrations.current) }
        }).pipe(Effect.provide(Database.layerServer({ url })))
        const boots = yield* Effect.all([boot, boot, boot], { concurrency: "unbounded" })
        assert.deepStrictEqual(
          boots.flatMap(({ ran }) => ran),
          Migrations.names
        )
        assert.deepStrictEqual(
          boots.map(({ current }) => current),
          [true, true, true]
        )
      }).pipe(Effect.provide(TestDatabase.layerServerUrlEmpty))
    )
  })
})
