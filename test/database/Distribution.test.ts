import { randomUUID } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { MerchantListsRepo } from "../../src/catalog/MerchantListsRepo.ts"
import * as Database from "../../src/database/Database.ts"
import { defaultDeadlines, Workload } from "../../src/database/Deadlines.ts"
import * as Distribution from "../../src/database/Distribution.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { statementsOf } from "../../src/database/Migrations.ts"
import { allAccounts } from "../../src/database/PlannerHints.ts"
import { codeOf, isSqlError } from "../../src/database/SqlErrors.ts"
import { ExportsRepo } from "../../src/exports/ExportsRepo.ts"
import { HealthRepo } from "../../src/health/HealthRepo.ts"
import { EntityId, StoreId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  Catalog,
  CatalogChange,
  CatalogChanges,
  Publishing
} from "../../src/testing/index.ts"
import { aLoadedAccount } from "../faults/AccountLoad.ts"
import { statementsInPieces, takeRemoteCommands } from "../support/MultiTask.ts"
import { readNodes } from "../support/ReadNodes.ts"
import { query } from "../support/RunDatabases.ts"
import { statementsDuring } from "../support/SentStatements.ts"
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

  it.effect("is refused on a database without the extension, and the message says what to install", () =>
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

describe("repositories that are built at the same time", () => {
  it.live("share one read of whether the tables are distributed, which does not end with its first reader", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let reads = 0
      const counting = new Proxy(sql, {
        apply: (statement, self, args) => {
          reads++
          return Reflect.apply(statement, self, args)
        }
      })
      const read = Effect.provideService(Distribution.isDistributedAtStart, SqlClient.SqlClient, counting)
      const first = yield* Effect.fork(read)
      const others = yield* Effect.fork(
        Effect.all(
          Array.from({ length: 9 }, () => read),
          { concurrency: "unbounded" }
        )
      )
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(first)
      assert.deepStrictEqual(yield* Fiber.join(others), Array(9).fill(false))
      assert.strictEqual(reads, 1)
      assert.isFalse(yield* read)
      assert.strictEqual(reads, 2)
    }).pipe(Effect.provide(TestDatabase.anyDatabase))
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

/** The type of each table of the schema in Citus. `managed`: a local table that Citus includes in its plans. */
const kinds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ name: string; kind: string }>`
    SELECT c.relname AS name,
           CASE WHEN p.logicalrelid IS NULL THEN 'local' WHEN p.partmethod = 'h' THEN 'distributed'
                WHEN p.repmodel = 't' THEN 'reference' ELSE 'managed' END AS kind
    FROM pg_class c LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.oid
    WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`
  return rows.map(({ kind, name }) => `${name} ${kind}`).sort()
})

const expectedKinds = Object.entries(Distribution.tableKinds)
  .map(([name, kind]) => `${name} ${kind}`)
  .sort()

const fill = Effect.gen(function* () {
  const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  yield* anEntity("product", { title: "Boots" }, { on: stores }).pipe(actingAs(actor))
  yield* anEntity("collection", { title: "Shoes" }, { on: stores }).pipe(actingAs(actor))
})

const foreignKeys = (tables: ReadonlyArray<string>) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ table: string; name: string; definition: string }>`
      SELECT k.conrelid::regclass::text AS table, k.conname AS name, pg_get_constraintdef(k.oid) AS definition
      FROM pg_constraint k
      WHERE k.contype = 'f' AND k.conrelid::regclass::text = ANY(${tables}::text[])
      ORDER BY k.conname DESC`
  )

/** An earlier version of the schema, without the tables of the last migration. */
const earlier = Migrations.names.slice(0, Migrations.names.indexOf("0013_demo"))

/** Rows for the earlier version. */
const fillOld = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [account, store, entity] = [randomUUID(), randomUUID(), randomUUID()]
  yield* sql`INSERT INTO account (id, name) VALUES (${account}, 'Old')`
  yield* sql`INSERT INTO account_state (account_id, version, change_seq) VALUES (${account}, 1, 1)`
  yield* sql`INSERT INTO import_lock (account_id) VALUES (${account})`
  yield* sql`
    INSERT INTO store (account_id, id, domain, name, platform, primary_locale, locales, currency)
    VALUES (${account}, ${store}, 'old.example', 'Old', 'none', 'en', '{en}', 'EUR')`
  yield* sql`
    INSERT INTO entity (account_id, id, kind, change_seq, canonical_changed_at, store_ids)
    VALUES (${account}, ${entity}, 'product', 1, now(), ${[store]}::uuid[])`
  yield* sql`INSERT INTO store_version (account_id, entity_id, store_id) VALUES (${account}, ${entity}, ${store})`
  yield* sql`
    INSERT INTO health_snapshot (account_id, dimension, run, base, as_of_version, scanned_at, result)
    VALUES (${account}, 'sync', 1, 1, 1, now(), '{}')`
  yield* sql`
    INSERT INTO health_issue (account_id, base, section, entity_id, entity_type, title, store_id, locale, fields)
    VALUES (${account}, 1, 'never_published', ${entity}, 'product', 'Old', ${store}, '', '{title}')`
  yield* sql`
    INSERT INTO job (account_id, id, kind, title, input, actor, author)
    VALUES (${account}, ${entity}, 'scan', 'Old', '{}', '{}', '{}')`
})

describe.skipIf(!TestDatabase.isClusterThere)("distribution of a server with rows", () => {
  layer(TestDatabase.layerSeparateNodes, { excludeTestServices: true })((it) => {
    it.effect("keeps all rows, happens once, and reports what the cluster lacks", () =>
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

        assert.sameMembers([...(yield* Distribution.distribute)], [...Distribution.distributedTables, "account"])
        assert.isTrue(yield* Distribution.isDistributed)
        const jit = yield* sql`SELECT result FROM run_command_on_workers('SHOW jit')`
        assert.deepStrictEqual(jit, [{ result: "off" }, { result: "off" }])
        assert.deepStrictEqual(yield* contents, before)
        assert.deepStrictEqual(yield* kinds, expectedKinds)
        assert.deepStrictEqual(yield* Distribution.distribute, [])
        assert.deepStrictEqual(yield* Migrations.run, [])
        const nodes = yield* readNodes
        assert.lengthOf(nodes, 2)
        assert.isTrue(nodes.every(({ answers }) => answers))
        assert.lengthOf(
          nodes.flatMap(({ accounts }) => accounts),
          8
        )
        yield* sql`INSERT INTO account (id, name) SELECT gen_random_uuid(), 'Account ' || n FROM generate_series(1, 500) n`
        const { texts } = yield* statementsDuring(readNodes)
        const [reading = assert.fail("the accounts were not read")] = texts.filter((text) => text.includes("a.shardid"))
        const plan = JSON.stringify(yield* sql.unsafe(`EXPLAIN (ANALYZE, FORMAT JSON) ${reading}`))
        assert.match(plan, /Actual Rows[^0-9]+508\D/)
        assert.notMatch(plan, /Removed by Join Filter/, "each account was compared with each shard")
        // Services created from here on find the tables distributed.
        yield* fill.pipe(Effect.provide(Layer.fresh(withServices)))
      })
    )
  })

  layer(TestDatabase.layerSeparateNodes, { excludeTestServices: true })((it) => {
    it.effect("distributes tables that later migrations added, and keeps all rows", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const name = new URL(Redacted.value(yield* TestDatabase.TestDatabaseUrl)).pathname.slice(1)
        const withServices = Services.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.orDie)
        yield* Effect.promise(() => TestDatabase.joinNodes(name))
        yield* Migrations.runFrom(Migrations.directory, earlier)
        assert.notInclude([...(yield* Distribution.distribute)], "demo_shop_record")
        yield* Effect.replicateEffect(fillOld, 8)

        const later = Migrations.names.slice(earlier.length)
        assert.deepStrictEqual(yield* Migrations.run, later)
        assert.deepStrictEqual(yield* kinds, expectedKinds)
        const before = yield* contents
        assert.isAtLeast(before.flatMap(([, rows]) => rows).length, 8 * 10)
        assert.deepStrictEqual(yield* Distribution.distribute, [])

        // Simulates a version that left new tables local; Citus manages those that reference `account`.
        const added = ["bulk_item", "health_base", "health_list", "job"]
        const references = yield* foreignKeys(added)
        assert.lengthOf(references, 4)
        for (const { definition: _, name, table } of references)
          yield* sql.unsafe(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`)
        for (const table of added) yield* sql`SELECT undistribute_table(${table}::regclass)`
        for (const { definition, name, table } of references)
          yield* sql.unsafe(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`)
        assert.includeMembers(
          yield* kinds,
          added.map((table) => `${table} managed`)
        )
        assert.deepStrictEqual(yield* contents, before)
        assert.sameMembers([...(yield* Distribution.distribute)], added)
        assert.deepStrictEqual(yield* kinds, expectedKinds)
        assert.deepStrictEqual(yield* contents, before)
        assert.sameDeepMembers([...(yield* foreignKeys(added))], [...references])
        assert.deepStrictEqual(yield* Distribution.distribute, [])
        yield* Effect.replicateEffect(fill, 4).pipe(Effect.provide(withServices))
      })
    )
  })
})

/** Statements that may run in pieces, by a part of their text. */
const mayRunInPieces: ReadonlyArray<string> = [
  // Searches in all accounts. No request makes them; `settle` does here, as a command does.
  allAccounts
]

/** Reads, writes and publishes a product, and creates others. */
const requests = Effect.gen(function* () {
  const { actor, entityId, storeId } = yield* aLoadedAccount("Requests")
  return yield* Effect.gen(function* () {
    const { apply } = yield* CatalogChanges
    const ids = yield* Effect.replicateEffect(mintId(EntityId), 3)
    yield* apply(
      ids.map((id) => CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "B" } }))
    )
    yield* apply([CatalogChange.SetAttributes({ entityId, values: { title: "A" } })])
    const { find, request, settle } = yield* Publishing
    const answer = yield* request(entityId, StoreId.make(storeId), undefined, true)
    assert("publicationId" in answer)
    yield* settle([answer.publicationId], () => Effect.void)
    assert.deepStrictEqual(
      (yield* find([answer.publicationId])).map(({ state }) => state),
      ["published"]
    )
    const { list } = yield* Catalog
    const pages = yield* Effect.forEach(
      [
        { limit: 2 },
        { limit: 2, search: "A" },
        { limit: 2, store_id: StoreId.make(storeId) },
        { limit: 2, include: ["attributes", "stores", "relationships"] as const }
      ],
      (page) => list("product", page)
    )
    for (const { text } of pages) assert.include(text, '"data":[{')
  }).pipe(actingAs(actor))
})

/** Services whose sessions report what `settings` say. They are built anew, so their sessions have the settings. */
const reportingWith = (settings: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const url = yield* TestDatabase.TestDatabaseUrl
    const name = new URL(Redacted.value(url)).pathname.slice(1)
    for (const setting of settings)
      yield* Effect.promise(() => query(Redacted.value(url), `ALTER DATABASE ${name} SET ${setting}`))
    const services = Services.pipe(
      Layer.provideMerge(RepositoriesOnDatabase),
      Layer.provideMerge(Database.layerServer({ url })),
      Layer.orDie,
      Layer.fresh
    )
    return { name, services }
  })

/** The recorded commands to nodes: how many transactions began and were prepared, and on which connections. */
const transactionsOf = (database: string) => {
  const commands = takeRemoteCommands(database)
  const count = (start: string) => commands.filter(({ command }) => command.startsWith(start)).length
  return {
    begun: count("BEGIN"),
    prepared: count("PREPARE TRANSACTION"),
    committed: count("COMMIT") - count("COMMIT PREPARED"),
    connections: new Set(commands.map(({ connection }) => connection)).size
  }
}

describe.skipIf(!TestDatabase.isClusterThere)("statements of requests on a cluster", () => {
  const cluster = TestDatabase.engines.find(({ name }) => name === "citus")?.layer ?? TestDatabase.layerEmbedded
  layer(cluster as typeof TestDatabase.layerServer, { excludeTestServices: true })((it) => {
    it.effect("run in one piece, except those that are named", () =>
      Effect.gen(function* () {
        const { name, services } = yield* reportingWith(["client_min_messages = debug1"])
        yield* Effect.gen(function* () {
          yield* requests
          assert.deepStrictEqual(
            statementsInPieces(name).filter((text) => !mayRunInPieces.some((part) => text.includes(part))),
            []
          )
          const sql = yield* SqlClient.SqlClient
          // Planted fault: an INSERT in a WITH.
          const planted = sql`
            WITH n AS (INSERT INTO import_lock (account_id) VALUES (${randomUUID()}) RETURNING account_id) SELECT FROM n`
          yield* Effect.exit(planted)
          assert.include(statementsInPieces(name).join(), "INSERT INTO import_lock")
        }).pipe(Effect.provide(services))
      })
    )

    it.effect("a write of one account is one transaction on one node, and is not prepared", () =>
      Effect.gen(function* () {
        const { name, services } = yield* reportingWith([
          "client_min_messages = notice",
          "citus.log_remote_commands = on"
        ])
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const accounts = yield* Effect.replicateEffect(
            Effect.gen(function* () {
              const { actor, stores } = yield* anAccount({ domains: [`${randomUUID()}.example`] })
              const entityId = yield* anEntity("product", { title: "A" }, { on: stores }).pipe(actingAs(actor))
              return { actor, entityId }
            }),
            6
          )
          const { apply } = yield* CatalogChanges
          for (const { actor, entityId } of accounts) {
            takeRemoteCommands(name)
            yield* apply([CatalogChange.SetAttributes({ entityId, values: { title: "B" } })]).pipe(actingAs(actor))
            assert.deepStrictEqual(transactionsOf(name), { begun: 1, prepared: 0, committed: 1, connections: 1 })
          }
          // Planted fault: one transaction writes accounts of both nodes.
          yield* sql`UPDATE account_state SET version = version + 1 WHERE account_id = ${accounts[0]?.actor.accountId ?? ""}`.pipe(
            Effect.zipRight(sql`UPDATE account_state SET version = version + 1 ${sql.literal(allAccounts)}`),
            sql.withTransaction
          )
          const planted = transactionsOf(name)
          assert.isAtLeast(planted.prepared, 2)
          assert.isAtLeast(planted.connections, 2)
        }).pipe(Effect.provide(services))
      })
    )

    it.effect("the nodes get the settings of a transaction, and of the scans and lists that run in it", () =>
      Effect.gen(function* () {
        const { services } = yield* reportingWith([])
        yield* Effect.gen(function* () {
          const { accountId } = yield* anAccount({ domains: ["a.example"] })
          const sql = yield* SqlClient.SqlClient
          const { scan } = yield* HealthRepo
          const { count } = yield* MerchantListsRepo
          const names = "port,work_mem,jit,enable_seqscan,enable_hashjoin,enable_mergejoin,statement_timeout"
          const settings = sql<{ readonly value: string }>`
            SELECT current_setting(n) AS value
            FROM account_state s CROSS JOIN unnest(string_to_array(${names}, ',')) AS n
            WHERE s.account_id = ${accountId}`.pipe(Effect.map((rows) => rows.map(({ value }) => value)))
          const during = (program: Effect.Effect<unknown>) => sql.withTransaction(Effect.zipRight(program, settings))
          const usual = yield* during(Effect.void)
          const [coordinator] = yield* sql`SELECT current_setting('port') AS port`
          const [port, workMemory, ...others] = usual
          assert.notStrictEqual(port, coordinator?.port)
          assert.notInclude(["32MB", "64MB"], workMemory)
          const ofScan = yield* during(scan(accountId, "completeness", null))
          assert.deepStrictEqual(ofScan, [port, "64MB", "off", "off", "off", "off", "10min"])
          assert.deepStrictEqual(yield* during(count(accountId, "product", { needles: [] })), [port, "32MB", ...others])
          assert.deepStrictEqual(yield* during(Effect.void), usual, "a later transaction")
        }).pipe(Effect.provide(services))
      })
    )

    it.effect("the nodes get the isolation level of an export", () =>
      Effect.gen(function* () {
        const { services } = yield* reportingWith([])
        yield* Effect.gen(function* () {
          const { accountId } = yield* anAccount()
          const sql = yield* SqlClient.SqlClient
          const { inSnapshot } = yield* ExportsRepo
          const level = sql`
            SELECT current_setting('transaction_isolation') AS level FROM account_state WHERE account_id = ${accountId}`
          assert.deepStrictEqual(
            yield* Effect.provideService(
              inSnapshot(() => level),
              Workload,
              "export"
            ),
            [{ level: "repeatable read" }]
          )
        }).pipe(Effect.provide(services))
      })
    )

    it.effect("a wait for a lock at a node ends as such, before the time of the statement", () =>
      Effect.gen(function* () {
        const { services } = yield* reportingWith([])
        yield* Effect.gen(function* () {
          const { accountId } = yield* anAccount({ domains: ["a.example"] })
          const url = yield* TestDatabase.TestDatabaseUrl
          const lock = Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`SELECT FROM account_state WHERE account_id = ${accountId} FOR UPDATE`
          )
          const [held, ended] = yield* Effect.all([Effect.makeLatch(), Effect.makeLatch()])
          const inTransaction = (program: Effect.Effect<unknown, unknown, SqlClient.SqlClient>) =>
            Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(program))
          yield* Effect.fork(inTransaction(Effect.all([lock, held.open, ended.await])))
          yield* held.await
          const impatient = Database.layerServer({
            url,
            deadlines: { ...defaultDeadlines, lock: 300, write: 15_000, background: 6_000 }
          })
          for (const workload of ["write", "background"] as const) {
            const error = yield* Effect.flip(inTransaction(lock)).pipe(
              Effect.provideService(Workload, workload),
              Effect.provide(Layer.fresh(impatient))
            )
            assert(isSqlError(error))
            assert.strictEqual(codeOf(error), "55P03", workload)
          }
          yield* ended.open
        }).pipe(Effect.provide(services))
      })
    )
  })
})
