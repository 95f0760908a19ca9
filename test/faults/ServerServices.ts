import { SqlClient } from "@effect/sql"
import { Effect, identity, Layer, Logger, Schedule } from "effect"
import { CatalogRepo } from "../../src/catalog/CatalogRepo.ts"
import * as Database from "../../src/database/Database.ts"
import type { Deadlines } from "../../src/database/Deadlines.ts"
import { MetafieldDefinitions } from "../../src/drafts/MetafieldDefinitions.ts"
import { RepositoriesOnDatabase, Services, ServicesOnDatabase } from "../../src/Services.ts"
import { SecretBox } from "../../src/stores/SecretBox.ts"
import { Accounts, ApiKeys, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { layerStores } from "../support/LayerStores.ts"
import { stopClock } from "../support/TestClock.ts"
import { layerServerUrl, TestDatabaseUrl } from "../support/TestDatabase.ts"

/** A pool on the suite's database. */
export const layerPool = (maxConnections: number, deadlines?: Deadlines) =>
  Layer.unwrapEffect(
    Effect.map(TestDatabaseUrl, (url) => Database.layerServer({ url, maxConnections, deadlines }))
  ).pipe(Layer.orDie)

/**
 * Without logs: the tests record the results themselves, and errors of idle connections at the end of a database are
 * expected.
 */
const silent = Logger.remove(Logger.defaultLogger)

/** A fresh database of the server, with the schema. */
export const layerDatabase = (maxConnections: number) =>
  layerPool(maxConnections).pipe(Layer.provideMerge(layerServerUrl), Layer.provideMerge(silent), Layer.orDie)

/** All services on a fresh database of the server. */
export const layerServices = (maxConnections: number) =>
  Services.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.provideMerge(layerDatabase(maxConnections)))

/** The changes of the catalog, as the service makes them. */
export const layerChanges = CatalogChanges.layer.pipe(Layer.provide(RepositoriesOnDatabase))

/** The services of writers, on a pool of their own. `changes`: `layerChanges`, or with a planted fault; `catalog`: of `Drafts`. */
export const layerWriters = (
  changes: typeof layerChanges,
  maxConnections: number,
  catalog: (repo: CatalogRepo["Type"]) => CatalogRepo["Type"] = identity
) =>
  Layer.mergeAll(
    Accounts.layer,
    ApiKeys.layer,
    layerStores,
    Layer.provide(Drafts.layer, Layer.effect(CatalogRepo, Effect.map(CatalogRepo, catalog)))
  ).pipe(
    Layer.provideMerge(MetafieldDefinitions.layer),
    Layer.provideMerge(changes),
    Layer.provide(SecretBox.layer),
    Layer.provideMerge(RepositoriesOnDatabase),
    Layer.provide(layerPool(maxConnections))
  )

/** All services, with imports, on a fresh database of the server whose clock is stopped. */
export const layerStoppedClock = ServicesOnDatabase.pipe(
  Layer.provideMerge(layerDatabase(6)),
  Layer.tap((context) => Effect.orDie(Effect.provide(stopClock, context)))
)

/**
 * Runs statements that create triggers. Citus needs a setting for triggers, and sends the text of a whole message to the nodes, so each
 * statement is a message of its own.
 */
export const createTriggers = (statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`SELECT set_config('citus.enable_unsafe_triggers', 'on', true)`
    for (const statement of statements) yield* sql.unsafe(statement)
  }).pipe((run) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(run)), Effect.orDie)

/**
 * Delays every writing transaction: up to `writeMillis` between its rows and its last statement, when it holds no lock
 * of the account yet, and up to `commitMillis` between that statement and the commit.
 */
export const dwell = ({ commitMillis, writeMillis }: { readonly writeMillis: number; readonly commitMillis: number }) =>
  createTriggers([
    `CREATE FUNCTION dwell() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_sleep(random() * TG_ARGV[0]::float8 / 1000);
        RETURN NULL;
      END $$`,
    `CREATE TRIGGER dwell_after_insert AFTER INSERT ON entity FOR EACH STATEMENT EXECUTE FUNCTION dwell(${writeMillis})`,
    `CREATE TRIGGER dwell_after_update AFTER UPDATE OF attributes ON entity
      FOR EACH STATEMENT EXECUTE FUNCTION dwell(${writeMillis})`,
    `CREATE CONSTRAINT TRIGGER dwell_at_commit AFTER UPDATE ON account_state
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dwell(${commitMillis})`
  ])

/** Waits until the server has ended the transactions of killed clients. */
export const untilQuiet = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND xact_start IS NOT NULL
      AND pid <> pg_backend_pid()
  `.pipe(Effect.repeat({ until: (open) => open.length === 0, schedule: Schedule.spaced("20 millis") }))
})

/** Deadlocks are detected after this time instead of one second, on connections that are opened from now on. */
export const noticeDeadlocksSoon = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`
    DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''50ms''', current_database()); END $$`)
})

/**
 * The number of deadlocks in this database. Connections report theirs when they end, so the writers must have ended.
 */
export const deadlocks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
  `.pipe(
    Effect.repeat({
      until: (others) => others.length === 0,
      schedule: Schedule.spaced("20 millis").pipe(Schedule.upTo("10 seconds"))
    })
  )
  const [row] = yield* sql`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`
  return Number(row?.deadlocks)
})
