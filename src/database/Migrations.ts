import { FileSystem } from "@effect/platform"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Migrator, SqlClient } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import { Context, Data, Effect, Exit, Layer, Option, Record } from "effect"
import { Unavailable } from "../model/Errors.ts"
import { packageRoot } from "../PackageRoot.ts"
import { withinReadiness } from "./Database.ts"
import { Workload } from "./Deadlines.ts"
import { distributeMissing, isDistributed, schemaLock } from "./Distribution.ts"
import { describe, isSqlError } from "./SqlErrors.ts"

/**
 * Matches comments, strings, quoted names and function bodies, in which a semicolon does not end a statement; or any
 * other character.
 */
const statement = /(?:--[^\n]*|\$(\w*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'|"[^"]*"|[^;])+/g

/** Splits a script into statements. Strings that escape a quote with a backslash are not supported. */
export const statementsOf = (script: string): ReadonlyArray<string> =>
  (script.match(statement) ?? []).filter((text) => text.replaceAll(/--[^\n]*/g, "").trim() !== "")

/** The migrations in order. Add new ones at the end. Never change the statements of an existing file. */
export const names: ReadonlyArray<string> = [
  "0001_accounts",
  "0002_jobs",
  "0003_stores",
  "0004_catalog",
  "0005_drafts",
  "0006_imports",
  "0007_publishing",
  "0008_storedata",
  "0009_drops",
  "0010_health",
  "0011_connections",
  "0012_data_out",
  "0013_demo",
  "0014_may_be_live",
  "0015_deletions",
  "0016_deleted_entities",
  "0017_deleted_in_drops",
  "0018_failed_parts_of_drops",
  "0019_outages_of_stores",
  "0020_authors_of_keys",
  "0021_delayed_publishes",
  "0022_counted_codes_and_mails",
  "0023_permissions_and_channels",
  "0024_outcomes_without_channels",
  "0025_security_mails",
  "0026_publishes_that_fail_alone",
  "0027_jobs_that_wait_for_platforms",
  "0028_states_before_publishes",
  "0029_records_of_staff",
  "0030_joined_pictures",
  "0031_free_member_positions",
  "0032_rich_values"
]

const nameOf = (id: number, name: string) => `${String(id).padStart(4, "0")}_${name}`

/** The migrations of earlier versions. Together they created the same schema as the first thirteen of `names`. */
const replacedNames: ReadonlyArray<string> = `
  runtime access jobs stores catalog drafts imports publishing storedata drops health feed webhooks connections events
  demo exports store_tests scan_progress publish_jobs failed_drop_effects list_items failed_publishes import_decisions`
  .trim()
  .split(/\s+/)
  .map((name, index) => nameOf(index + 1, name))

/** The migrations that replace them. Those that are added to `names` later are not among them. */
const replacements = names.slice(0, 13)

/** The first migrations of still earlier versions, which those of `replacedNames` replaced. */
const earliestNames = ["0001_time", "0001_time_and_installation"]

const isEarlier = (existing: ReadonlyArray<string>) => earliestNames.some((name) => existing.includes(name))

export const directory = `${packageRoot}/migrations/`

/** The schema could not be updated, and the attempt was rolled back. `message` names the file. */
export class MigrationFailed extends Data.TaggedError("MigrationFailed")<{ readonly message: string }> {}

const table = "catalog_migration"

const reasonOf = (error: { readonly message: string }) => (isSqlError(error) ? describe(error) : error.message)

/**
 * Runs one file. If the tables are distributed, it then distributes the new ones. Failures are defects, because the
 * Migrator passes only those on unchanged.
 */
const runFile = (folder: string, name: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const files = yield* FileSystem.FileSystem
    const script = yield* files.readFileString(`${folder}${name}.sql`)
    // A cluster forwards statements to its workers, and refuses several statements in one query.
    const isCluster = (yield* sql`SELECT FROM pg_extension WHERE extname = 'citus'`).length > 0
    yield* Effect.forEach(isCluster ? statementsOf(script) : [script], (text) => sql.unsafe(text), { discard: true })
    if (yield* isDistributed) yield* distributeMissing
  }).pipe(
    Effect.provide(NodeFileSystem.layer),
    Effect.orDieWith((error) => new MigrationFailed({ message: `Migration ${name}.sql failed: ${reasonOf(error)}` }))
  )

/** The migrations that were already run on the database. */
const recorded = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`
    SELECT to_char(migration_id, 'FM0000') || '_' || name AS name FROM ${sql(table)} ORDER BY migration_id`
  return rows.map(({ name }) => String(name))
})

/**
 * A database that ran all replaced migrations already has the schema, so only its records change. A database that ran
 * only some of them, or earlier ones, is refused, because the files of the others no longer exist.
 */
const adopt = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const existing = yield* recorded
  const found = replacedNames.filter((name) => existing.includes(name)).length
  if (found === 0 && !isEarlier(existing)) return
  if (found < replacedNames.length)
    return yield* new MigrationFailed({
      message:
        `An earlier version made this database, and applied only ${found} of the ${replacedNames.length} migrations that this version replaces. ` +
        `This version cannot run the others. First start the last version with the file migrations/${replacedNames.at(-1)}.sql ` +
        `on this database, then this one (CHANGELOG.md: "Thirteen migrations replace 24").`
    })
  yield* sql`DELETE FROM ${sql(table)} WHERE migration_id <= ${replacedNames.length}`
  yield* sql`INSERT INTO ${sql(table)} ${sql.insert(
    replacements.map((name, index) => ({ migration_id: index + 1, name: name.slice(5) }))
  )}`
})

/** Like `run`, for the files `<name>.sql` of a folder. The folder's name must end with a slash. */
export const runFrom = (
  folder: string,
  names: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, MigrationFailed, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // A migration has no timeout. Neither has the wait for another process that runs migrations.
    yield* sql`SET LOCAL statement_timeout = 0`
    yield* sql`SET LOCAL lock_timeout = 0`
    yield* sql`SELECT pg_advisory_xact_lock(${schemaLock})`
    // Creates the table of the Migrator. The Migrator would look for it by a statement that fails, which aborts the
    // transaction.
    yield* sql`
      CREATE TABLE IF NOT EXISTS ${sql(table)} (
        migration_id integer PRIMARY KEY,
        created_at   timestamptz NOT NULL DEFAULT now(),
        name         text NOT NULL
      )
    `
    yield* adopt
    const ran = yield* Migrator.make({})({
      loader: Migrator.fromRecord(Record.fromIterableWith(names, (name) => [name, runFile(folder, name)])),
      table
    })
    return ran.map(([id, name]) => nameOf(id, name))
  }).pipe(
    (migrations) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(migrations)),
    Effect.provideService(Workload, "migration"),
    // A commit that fails is a defect of the library; it is a failure here.
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
 * The migrations that were already run on the database; none before the first run. Waits for a process that is running
 * them.
 */
export const applied = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables =
    yield* sql`SELECT FROM pg_catalog.pg_tables WHERE tablename = ${table} AND schemaname = current_schema()`
  return tables.length === 0 ? [] : yield* recorded
})

// The transaction of the migrations reports the reason of a failure.
const readable = Effect.orElseSucceed(applied, (): ReadonlyArray<string> => [])

const runMissing = (existing: ReadonlyArray<string>) =>
  names.every((name) => existing.includes(name)) ? Effect.succeed([]) : runFrom(directory, names)

/**
 * Runs the missing migrations in one transaction and returns their names. If several processes start together, the
 * first one runs them; the others wait, and then find none missing. If none is missing, it only reads.
 */
export const run: Effect.Effect<ReadonlyArray<string>, MigrationFailed, SqlClient.SqlClient> = Effect.flatMap(
  readable,
  runMissing
)

/** The migrations that are missing in the database. */
export const pending: Effect.Effect<ReadonlyArray<string>, SqlError, SqlClient.SqlClient> = Effect.map(
  applied,
  (existing) => names.filter((name) => !existing.includes(name))
)

/** Why the schema of these migrations is newer than this code; undefined: it is not. */
export const newerThanCode = (existing: ReadonlyArray<string>): string | undefined => {
  if (isEarlier(existing)) return undefined
  const newer = existing.filter((name) => !names.includes(name) && !replacedNames.includes(name))
  return newer.length > 0
    ? `The database schema is newer than this version of the service (${newer.join(", ")}): run the version that created it.`
    : undefined
}

/** Why the schema is newer than this code; undefined: it is not, or it cannot be read now. */
export const newer: Effect.Effect<string | undefined, never, SqlClient.SqlClient> = Effect.map(
  Effect.exit(applied),
  Exit.match({ onFailure: () => undefined, onSuccess: newerThanCode })
)

/** The difference between the schema and the one that this code expects; undefined: none. */
const misfitOf = (existing: ReadonlyArray<string>): string | undefined => {
  const missing = names.filter((name) => !existing.includes(name))
  const older = `The database schema is older than this version of the service: it lacks ${missing.join(", ")}.`
  return newerThanCode(existing) ?? (missing.length > 0 ? older : undefined)
}

/** Unavailable: the schema is older or newer than this code, or the database does not answer within 2 s. */
export const current: Effect.Effect<void, Unavailable, SqlClient.SqlClient> = Effect.flatMap(
  withinReadiness(applied),
  (existing) => {
    const reason = misfitOf(existing)
    return reason === undefined ? Effect.void : Effect.fail(new Unavailable({ reason }))
  }
)

/** The schema was changed by a newer version of the service. */
export class SchemaTooNew extends Data.TaggedError("SchemaTooNew")<{ readonly message: string }> {}

/**
 * The reaction of a process to a schema that is newer than its code. A server warns: it starts, so that its supervisor does not restart
 * it again and again, but does not become ready. A command refuses, because it may write values that the newer version does not expect.
 */
export class NewerSchema extends Context.Reference<NewerSchema>()("catalog/NewerSchema", {
  defaultValue: (): "warn" | "refuse" => "warn"
}) {}

/** Updates the schema when the layer is built. */
export const layer: Layer.Layer<never, MigrationFailed | SchemaTooNew, SqlClient.SqlClient> = Layer.effectDiscard(
  Effect.gen(function* () {
    const existing = yield* readable
    const message = newerThanCode(existing)
    if (message !== undefined && (yield* NewerSchema) === "refuse") return yield* new SchemaTooNew({ message })
    // A newer version may have replaced migrations of this one, so those that are missing must not be run.
    if (message === undefined) yield* runMissing(existing)
    yield* Effect.catchAll(current, ({ message }) => Effect.logWarning(message))
  })
)
