import { FileSystem } from "@effect/platform"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Migrator, SqlClient } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import { Data, Effect, Layer, Option, Record } from "effect"
import { Unavailable } from "../model/Errors.ts"
import { packageRoot } from "../PackageRoot.ts"
import { withinReadiness } from "./Database.ts"
import { Workload } from "./Deadlines.ts"
import { describe, isSqlError } from "./SqlErrors.ts"

/** All migrations, in their order. New ones are only appended. */
export const names: ReadonlyArray<string> = [
  "0001_time",
  "0002_installation",
  "0003_accounts",
  "0004_stores",
  "0005_entities",
  "0006_store_versions",
  "0007_relationships",
  "0008_stamp_guards",
  "0009_imports",
  "0010_list_rows",
  "0011_unlinked_stores",
  "0012_import_progress",
  "0013_entity_history",
  "0014_demo_shops",
  "0015_publishing",
  "0016_markets",
  "0017_definitions",
  "0018_translations",
  "0019_mirror_items",
  "0020_store_credentials",
  "0021_drops",
  "0022_refreshes",
  "0023_data_health",
  "0024_users",
  "0025_connections",
  "0026_connection_ends",
  "0027_drops_in_history",
  "0028_sign_in_devices",
  "0029_lost_attempts",
  "0030_key_rules",
  "0031_defined_values",
  "0032_import_actors",
  "0033_service_address"
]

export const directory = `${packageRoot}/migrations/`

/** The schema could not be updated, and the attempt was rolled back. `message` names the file. */
export class MigrationFailed extends Data.TaggedError("MigrationFailed")<{ readonly message: string }> {}

const table = "catalog_migration"

/** Any number that no other advisory lock uses. */
const lockKey = 7_102_025

const reasonOf = (error: { readonly message: string }) => (isSqlError(error) ? describe(error) : error.message)

/** Fails with a defect, which the Migrator passes on unchanged. */
const runFile = (folder: string, name: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const files = yield* FileSystem.FileSystem
    yield* sql.unsafe(yield* files.readFileString(`${folder}${name}.sql`))
  }).pipe(
    Effect.provide(NodeFileSystem.layer),
    Effect.orDieWith((error) => new MigrationFailed({ message: `Migration ${name}.sql failed: ${reasonOf(error)}` }))
  )

/** As `run`, for the files `<name>.sql` of a folder. `folder` ends with a slash. */
export const runFrom = (
  folder: string,
  names: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, MigrationFailed, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // A migration has no deadline, nor has the wait for another process that runs it.
    yield* sql`SET LOCAL statement_timeout = 0`
    yield* sql`SET LOCAL lock_timeout = 0`
    yield* sql`SELECT pg_advisory_xact_lock(${lockKey})`
    // The Migrator's table. It would check for the table by a statement that fails, which aborts the transaction.
    yield* sql`
      CREATE TABLE IF NOT EXISTS ${sql(table)} (
        migration_id integer PRIMARY KEY,
        created_at   timestamptz NOT NULL DEFAULT now(),
        name         text NOT NULL
      )
    `
    const ran = yield* Migrator.make({})({
      loader: Migrator.fromRecord(Record.fromIterableWith(names, (name) => [name, runFile(folder, name)])),
      table
    })
    return ran.map(([id, name]) => `${String(id).padStart(4, "0")}_${name}`)
  }).pipe(
    (migrations) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(migrations)),
    Effect.provideService(Workload, "migration"),
    // A failed commit is a defect too.
    Effect.catchSomeDefect((defect) =>
      defect instanceof MigrationFailed || isSqlError(defect) ? Option.some(Effect.fail(defect)) : Option.none()
    ),
    Effect.mapError((error) =>
      error instanceof MigrationFailed
        ? error
        : new MigrationFailed({ message: `The database schema cannot be brought up to date: ${reasonOf(error)}` })
    )
  )

/**
 * Runs the missing migrations in one transaction and returns their names. Of processes that start together, the first runs them,
 * and the others wait and find nothing to do.
 */
export const run: Effect.Effect<ReadonlyArray<string>, MigrationFailed, SqlClient.SqlClient> = runFrom(directory, names)

/** The migrations in the database. Waits for a process that is running them. */
const applied = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables =
    yield* sql`SELECT FROM pg_catalog.pg_tables WHERE tablename = ${table} AND schemaname = current_schema()`
  if (tables.length === 0) return []
  const rows = yield* sql`
    SELECT to_char(migration_id, 'FM0000') || '_' || name AS name FROM ${sql(table)} ORDER BY migration_id`
  return rows.map(({ name }) => String(name))
})

/** The migrations that are missing in the database. */
export const pending: Effect.Effect<ReadonlyArray<string>, SqlError, SqlClient.SqlClient> = Effect.map(
  applied,
  (existing) => names.filter((name) => !existing.includes(name))
)

/** Why the schema is not the one that this code expects. Undefined: it is. */
const misfitOf = (existing: ReadonlyArray<string>): string | undefined => {
  const missing = names.filter((name) => !existing.includes(name))
  const newer = existing.filter((name) => !names.includes(name))
  if (newer.length > 0)
    return `The database schema is newer than this version of the service (${newer.join(", ")}): run the version that created it.`
  return missing.length > 0
    ? `The database schema is older than this version of the service: it lacks ${missing.join(", ")}.`
    : undefined
}

/** Unavailable: the schema is older or newer than this code, or the database does not answer within 2 s. */
export const current: Effect.Effect<void, Unavailable, SqlClient.SqlClient> = Effect.flatMap(
  withinReadiness(applied),
  (existing) => {
    const reason = misfitOf(existing)
    return reason === undefined ? Effect.void : Effect.fail(new Unavailable({ reason }))
  }
)

/** Updates the schema when the layer is built. Warns if the schema is newer than this code. */
export const layer: Layer.Layer<never, MigrationFailed, SqlClient.SqlClient> = Layer.effectDiscard(
  Effect.zipRight(
    run,
    Effect.catchAll(current, ({ message }) => Effect.logWarning(message))
  )
)
