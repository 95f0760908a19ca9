import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { RepositoriesOnDatabase, Services } from "../../src/App.ts"
import * as Distribution from "../../src/database/Distribution.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { statementsOf } from "../../src/database/SqlScript.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import * as TestDatabase from "../support/TestDatabase.ts"

const tablesOfSchema = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ name: string }>`
    SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname`
)

describe("distribution", () => {
  it.effect("names every table of the schema, and no other", () =>
    Effect.gen(function* () {
      const names = (yield* tablesOfSchema).map(({ name }) => name)
      assert.deepStrictEqual(names, Object.keys(Distribution.tableKinds).sort())
    }).pipe(Effect.provide(TestDatabase.layerEmbedded))
  )

  it.effect("of a database without the extension is refused, and says what to install", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(Distribution.distribute)
      assert.strictEqual(
        message,
        "The database has no extension citus. Install Citus 13 on every node, run CREATE EXTENSION citus in the database on " +
          "every node, add the workers with citus_add_node, then run this command again (docs/scale.md)."
      )
      assert.isFalse(yield* Distribution.isDistributed)
    }).pipe(Effect.provide(TestDatabase.layerEmbedded))
  )
})

it("a script is split into its statements", () => {
  const statements = [
    "SELECT ';' AS a",
    '-- one; two\nSELECT "a;b"',
    "SELECT $$ ; $$, $x$ $$;$$ $x$",
    "SELECT 'it''s;'"
  ]
  assert.deepStrictEqual(
    statementsOf(`${statements.join(";")};\n-- the end;\n`).map((text) => text.trim()),
    statements
  )
})

/** All rows of the schema, by table. */
const contents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* Effect.forEach(Object.keys(Distribution.tableKinds), (table) =>
    Effect.map(sql`SELECT to_jsonb(t)::text AS row FROM ${sql(table)} t`, (rows) => [
      table,
      rows.map(({ row }) => String(row)).sort()
    ])
  )
})

const fill = Effect.gen(function* () {
  const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  yield* anEntity("product", { title: "Boots" }, { on: stores }).pipe(actingAs(actor))
  yield* anEntity("collection", { title: "Shoes" }, { on: stores }).pipe(actingAs(actor))
})

describe.skipIf(!TestDatabase.isClusterThere)("distribution of a server with rows", () => {
  layer(TestDatabase.layerSeparateNodes, { excludeTestServices: true })((it) => {
    it.effect("keeps all rows, happens once, and says what the cluster lacks", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const name = new URL(Redacted.value(yield* TestDatabase.TestDatabaseUrl)).pathname.slice(1)
        const withServices = Services.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.orDie)
        yield* Migrations.run
        yield* Effect.replicateEffect(fill, 8).pipe(Effect.provide(withServices))
        const before = yield* contents
        assert.isAtLeast(before.flatMap(([, rows]) => rows).length, 8 * 10)

        assert.include((yield* Effect.flip(Distribution.distribute)).message, "CREATE EXTENSION citus")
        yield* sql.unsafe("CREATE EXTENSION citus")
        assert.include((yield* Effect.flip(Distribution.distribute)).message, "citus_set_coordinator_host")
        yield* sql.unsafe("DROP EXTENSION citus")

        yield* Effect.promise(() => TestDatabase.joinNodes(name))
        yield* sql.unsafe("CREATE TABLE stray (id integer)")
        assert.include((yield* Effect.flip(Distribution.distribute)).message, "does not know: stray")
        yield* sql.unsafe("DROP TABLE stray")

        assert.isTrue(yield* Distribution.distribute)
        assert.isTrue(yield* Distribution.isDistributed)
        assert.deepStrictEqual(yield* contents, before)
        const rows = yield* sql<{ name: string }>`
          SELECT c.relname AS name FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
          WHERE p.partmethod = 'h' ORDER BY 1`
        assert.deepStrictEqual(
          rows.map(({ name }) => name),
          [...Distribution.distributedTables].sort()
        )
        assert.isFalse(yield* Distribution.distribute)
        assert.deepStrictEqual(yield* Migrations.run, [])
        // Services that are built now find the tables distributed.
        yield* fill.pipe(Effect.provide(Layer.fresh(withServices)))
      })
    )
  })
})
