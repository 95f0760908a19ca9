import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Redacted } from "effect"
import * as Database from "../../src/database/Database.ts"
import { schemaLock } from "../../src/database/Distribution.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import * as TestDatabase from "../support/TestDatabase.ts"

/** The migrations of earlier versions, which the present ones replace. */
const replaced = readFileSync(new URL("ReplacedMigrations.txt", import.meta.url), "utf8")
  .trim()
  .split("\n")

const records = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql<{ id: number; name: string }>`SELECT migration_id AS id, name FROM catalog_migration ORDER BY migration_id`
)

/** Runs them in a fiber of its own: a transaction of the caller would include its statements. */
const runOn = (url: Redacted.Redacted) =>
  Effect.runPromise(Effect.provide(Migrations.run, Database.layerServer({ url })))

/** Records these migrations instead of the present ones. The schema is the same. */
const recordInstead = (names: ReadonlyArray<string>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.zipRight(
      sql`DELETE FROM catalog_migration`,
      sql`INSERT INTO catalog_migration ${sql.insert(
        names.map((name) => ({ migration_id: Number(name.slice(0, 4)), name: name.slice(5) }))
      )}`
    )
  )

describe("Migrations", () => {
  it("lists the files of the folder, in the order of their numbers", () => {
    assert.deepStrictEqual(
      Migrations.names.map((name) => `${name}.sql`),
      readdirSync(Migrations.directory).sort()
    )
    const numbers = Migrations.names.map((name) => Number(name.slice(0, 4)))
    assert.deepStrictEqual(
      numbers,
      [...new Set(numbers)].sort((one, other) => one - other)
    )
  })

  it("never reuses the name of a replaced migration", () =>
    assert.deepStrictEqual(
      Migrations.names.filter((name) => replaced.includes(name)),
      []
    ))

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

      it.live("adopts a database that ran all replaced migrations, with its data", () =>
        Effect.gen(function* () {
          const first = Migrations.names.slice(0, 13)
          const later = Migrations.names.slice(13)
          yield* Migrations.runFrom(Migrations.directory, first)
          const sql = yield* SqlClient.SqlClient
          const installation = yield* sql`SELECT cursor_key FROM installation`
          yield* recordInstead(replaced)
          assert.match(
            (yield* Effect.flip(Migrations.current)).message,
            /^The database schema is older than this version/
          )
          assert.deepStrictEqual(yield* Migrations.run, later)
          assert.deepStrictEqual(
            (yield* records).map(({ id, name }) => `${String(id).padStart(4, "0")}_${name}`),
            Migrations.names
          )
          yield* Migrations.current
          assert.deepStrictEqual(yield* Migrations.run, [])
          assert.deepStrictEqual(yield* sql`SELECT cursor_key FROM installation`, installation)
        }).pipe(Effect.provide(engine.empty))
      )

      for (const [what, before, count] of [
        ["some of the replaced migrations", replaced.slice(0, 17), 17],
        ["migrations that those replaced", ["0001_time_and_installation", "0003_stores"], 0],
        ["migrations that were replaced still before", ["0001_time", "0002_installation"], 0]
      ] as const)
        it.live(`refuses a database that ran ${what}, and changes nothing`, () =>
          Effect.gen(function* () {
            yield* Migrations.run
            yield* recordInstead(before)
            const existing = yield* records
            assert.strictEqual(
              (yield* Effect.flip(Migrations.run)).message,
              `An earlier version made this database, and applied only ${count} of the 24 migrations that this version replaces. This version cannot run the others. ` +
                "First start the last version with the file migrations/0024_import_decisions.sql on this database, then this one " +
                '(CHANGELOG.md: "Thirteen migrations replace 24").'
            )
            assert.deepStrictEqual(yield* records, existing)
          }).pipe(Effect.provide(engine.empty))
        )

      it.live("runs none on a database whose migrations a newer version has replaced", () =>
        Effect.gen(function* () {
          yield* Migrations.run
          yield* recordInstead(["0001_all_of_tomorrow", "0002_stores"])
          const existing = yield* records
          yield* Effect.void.pipe(Effect.provide(Migrations.layer))
          assert.deepStrictEqual(yield* records, existing)
          assert.strictEqual(
            (yield* Effect.flip(Migrations.current)).message,
            "The database schema is newer than this version of the service (0001_all_of_tomorrow, 0002_stores): run the version that created it."
          )
        }).pipe(Effect.provide(engine.empty))
      )

      it.scopedLive("names the failed file, and rolls back the whole attempt", () =>
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

  describe.skipIf(!TestDatabase.serverAnswers)("three processes that start together", () => {
    it.live("only one runs them, and the schema is current for all", () =>
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

    it.live("a start with a current schema only reads, so it waits for no process that changes the schema", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabase.TestDatabaseUrl
        const start = Effect.promise(() => runOn(url))
        assert.deepStrictEqual(yield* start, Migrations.names)
        const sql = yield* SqlClient.SqlClient
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT pg_advisory_xact_lock(${schemaLock})`
            assert.deepStrictEqual(yield* start, [])
          })
        )
      }).pipe(Effect.provide(TestDatabase.layerServerEmpty))
    )
  })
})
