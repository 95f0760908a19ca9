import { SqlClient } from "@effect/sql"
import { Data, Effect, Fiber } from "effect"
import { Workload } from "./Deadlines.ts"
import { describe, isSqlError, orDie } from "./SqlErrors.ts"

/**
 * Where a cluster keeps a table. `distributed`: with the other rows of the account, on one node. `reference`: on every node.
 * `local`: on the coordinator, because its rows are looked up before the account is known, or belong to no account.
 */
export type TableKind = "distributed" | "reference" | "local"

/** Every table of the schema. A distributed table is listed after the distributed tables that its foreign keys reference. */
export const tableKinds: Readonly<Record<string, TableKind>> = {
  account: "reference",

  account_state: "distributed",
  change_note: "distributed",
  import_lock: "distributed",
  store: "distributed",
  entity: "distributed",
  store_version: "distributed",
  entity_media: "distributed",
  collection_member: "distributed",
  import_run: "distributed",
  import_item: "distributed",
  import_record: "distributed",
  import_conflict: "distributed",
  entity_history: "distributed",
  demo_shop_record: "distributed",
  demo_shop_effect: "distributed",
  demo_shop_failure: "distributed",
  demo_shop_section: "distributed",
  publication: "distributed",
  publish_attempt: "distributed",
  market: "distributed",
  market_store: "distributed",
  market_catalog: "distributed",
  metafield_definition: "distributed",
  metafield_definition_store: "distributed",
  metaobject_definition: "distributed",
  metaobject_definition_store: "distributed",
  metaobject_entry: "distributed",
  translatable_field: "distributed",
  translation: "distributed",
  mirror_item: "distributed",
  drop: "distributed",
  drop_change: "distributed",
  drop_claim: "distributed",
  drop_effect: "distributed",
  completeness_rule: "distributed",
  health_snapshot: "distributed",
  health_issue: "distributed",
  health_base: "distributed",
  health_list: "distributed",
  health_day: "distributed",
  job: "distributed",
  export_item: "distributed",
  bulk_item: "distributed",
  webhook: "distributed",
  webhook_delivery: "distributed",

  api_key: "local",
  app_user: "local",
  attempt: "local",
  catalog_migration: "local",
  connection_activity: "local",
  deleted_account: "local",
  installation: "local",
  oauth_client: "local",
  oauth_code: "local",
  oauth_grant: "local",
  oauth_request: "local",
  oauth_token: "local",
  password_link: "local",
  recovery_code: "local",
  saved_view: "local",
  second_factor: "local",
  security_mail: "local",
  session: "local",
  shopify_shop: "local",
  sign_in_device: "local",
  sign_in_step: "local",
  team_event: "local",
  watched_account: "local",
  work_hint: "local"
}

const tablesOf = (kind: TableKind) => Object.keys(tableKinds).filter((name) => tableKinds[name] === kind)

export const distributedTables: ReadonlyArray<string> = tablesOf("distributed")

/** The key of the advisory lock that a process holds while it changes the schema. */
export const schemaLock = 7_102_025

/** The tables cannot be distributed, or the attempt was rolled back. `message` says what to do. */
export class DistributionFailed extends Data.TaggedError("DistributionFailed")<{ readonly message: string }> {}

/** The distributed and reference tables of the database; none without Citus. */
const readPlaces = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The catalog exists only with the extension, and without it the second statement would fail.
  const [extension] = yield* sql`SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS present`
  if (extension?.present !== true) return []
  // Only distributed tables (h) and reference tables (t): Citus also lists local tables that refer to a reference table, as kind s.
  const rows = yield* sql<{ name: string }>`
    SELECT c.relname AS name FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
    WHERE p.partmethod = 'h' OR p.repmodel = 't'`
  return rows.map(({ name }) => name)
})

/** Whether the tables of accounts are distributed now. */
export const isDistributed: Effect.Effect<boolean, never, SqlClient.SqlClient> = Effect.map(
  orDie(readPlaces),
  (names) => names.includes("account_state")
)

/** The reads of `isDistributedAtStart` that have not ended. */
const reads = new WeakMap<SqlClient.SqlClient, Fiber.Fiber<boolean>>()

/**
 * The same for a repository that is built. Repositories that are built at the same time share one read. They read this only when they
 * are built, so all processes must be restarted after the tables were distributed.
 */
export const isDistributedAtStart: Effect.Effect<boolean, never, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    Effect.flatMap(
      Effect.suspend(() => {
        const open = reads.get(sql)
        if (open !== undefined) return Effect.succeed(open)
        // Not ended with its first reader, because others wait for it.
        return Effect.tap(
          Effect.forkDaemon(
            Effect.ensuring(
              isDistributed,
              Effect.sync(() => reads.delete(sql))
            )
          ),
          (read) => Effect.sync(() => reads.set(sql, read))
        )
      }).pipe(Effect.uninterruptible),
      Fiber.join
    )
)

/** Refuses a database that is not the coordinator of a cluster. */
const requireCluster = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const extensions = yield* sql`SELECT FROM pg_extension WHERE extname = 'citus'`
  if (extensions.length === 0)
    return yield* new DistributionFailed({
      message:
        "The database has no extension citus. Install Citus 13 on every node, run CREATE EXTENSION citus in the database on every " +
        "node, add the workers with citus_add_node, then run this command again (docs/scale.md)."
    })
  const [nodes] = yield* sql`
    SELECT count(*) FILTER (WHERE groupid = 0) AS coordinators,
           count(*) FILTER (WHERE shouldhaveshards AND isactive) AS holders
    FROM pg_dist_node`
  if (Number(nodes?.coordinators) === 0)
    return yield* new DistributionFailed({
      message: "The cluster does not know its coordinator: run SELECT citus_set_coordinator_host('HOST', PORT) on it."
    })
  if (Number(nodes?.holders) === 0)
    return yield* new DistributionFailed({
      message: "No node of the cluster may hold rows: add a worker with SELECT citus_add_node('HOST', PORT)."
    })
})

/** The tables of the schema. Refuses one that this version does not know. */
const requireKnownTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ name: string }>`
    SELECT relname AS name FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY relname`
  const unknown = rows.map(({ name }) => name).filter((name) => tableKinds[name] === undefined)
  if (unknown.length > 0)
    return yield* new DistributionFailed({
      message: `The database has tables that this version does not know: ${unknown.join(", ")}. Move them to another schema.`
    })
  return rows.map(({ name }) => name)
})

/** Creates the functions of the schema on every node. Functions of extensions, and of later migrations, exist there already. */
const distributeFunctions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The guards of drafts and the announcements of events are triggers, which Citus does not allow. No others exist.
  const triggers = yield* sql<{ name: string; table: string }>`
    SELECT t.tgname AS name, t.tgrelid::regclass::text AS table FROM pg_trigger t
    WHERE NOT t.tgisinternal AND t.tgrelid::regclass::text = ANY(${distributedTables}::text[])`
  for (const { name, table } of triggers) yield* sql`DROP TRIGGER ${sql(name)} ON ${sql(table)}`
  yield* sql.unsafe("CREATE OR REPLACE FUNCTION tx_stamp() RETURNS xid8 LANGUAGE sql IMMUTABLE AS 'SELECT NULL::xid8'")
  const functions = yield* sql<{ signature: string }>`
    SELECT p.oid::regprocedure::text AS signature FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace AND p.prorettype <> 'trigger'::regtype
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    ORDER BY p.oid`
  for (const { signature } of functions) yield* sql`SELECT create_distributed_function(${signature}::regprocedure)`
})

/**
 * The missing tables become distributed in the order of the list. Their references to `account` are dropped before and those of
 * distributed tables are put back after: with them, making `account` a reference table would convert all other tables first. The
 * references of local tables to `account` are not restored, because Citus plans every statement on a table with one.
 */
const distributeTables = (missing: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const references = yield* sql<{ table: string; name: string; definition: string }>`
      SELECT c.relname AS table, k.conname AS name, pg_get_constraintdef(k.oid) AS definition
      FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
      WHERE k.contype = 'f' AND k.confrelid = 'account'::regclass AND k.conparentid = 0
        AND c.relname = ANY(${[...missing, ...tablesOf("local")]}::text[])`
    for (const { name, table } of references) yield* sql`ALTER TABLE ${sql(table)} DROP CONSTRAINT ${sql(name)}`
    const quote = (table: string) => `"${table}"`
    const areMissing = (kind: TableKind) => tablesOf(kind).filter((table) => missing.includes(table))
    for (const table of areMissing("reference")) yield* sql`SELECT create_reference_table(${quote(table)}::regclass)`
    for (const table of areMissing("distributed"))
      yield* sql`
        SELECT create_distributed_table(
          ${quote(table)}::regclass, 'account_id',
          colocate_with := ${table === "account_state" ? "none" : "account_state"}::text
        )`
    for (const { definition, name, table } of references)
      if (tableKinds[table] === "distributed")
        yield* sql`ALTER TABLE ${sql(table)} ADD CONSTRAINT ${sql(name)} ${sql.literal(definition)}`
  })

/** Distributes the tables that are still local, with the rows that they have, and returns their names. */
export const distributeMissing = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const existing = yield* requireKnownTables
  const places = yield* readPlaces
  const missing = existing.filter((name) => tableKinds[name] !== "local" && !places.includes(name))
  if (missing.length === 0) return []
  // One connection per node: a transaction that changes the schema cannot use several.
  yield* sql.unsafe("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
  if (!places.includes("account_state")) yield* distributeFunctions
  yield* distributeTables(missing)
  return missing
})

/**
 * Turns off JIT compilation in the sessions that the coordinator opens to the nodes: they do not have the settings of the service's own
 * sessions, and compiling a step of a scan there took 5 s. Citus sets it on all nodes, also on those that are added later.
 */
const turnOffJit = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [database] = yield* sql<{ name: string }>`SELECT current_database() AS name`
  yield* sql`ALTER ROLE CURRENT_USER IN DATABASE ${sql(String(database?.name))} SET jit = off`
})

/**
 * Distributes the tables of accounts, with their rows, over the nodes of a Citus cluster in one transaction, and returns their
 * names. Writers wait until it ends. Tables that are distributed already stay as they are. The schema must be up to date.
 */
export const distribute: Effect.Effect<ReadonlyArray<string>, DistributionFailed, SqlClient.SqlClient> = Effect.gen(
  function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`SET LOCAL statement_timeout = 0`
    yield* sql`SET LOCAL lock_timeout = 0`
    yield* sql`SELECT pg_advisory_xact_lock(${schemaLock})`
    yield* requireCluster
    yield* turnOffJit
    return yield* distributeMissing
  }
).pipe(
  (program) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(program)),
  Effect.provideService(Workload, "migration"),
  Effect.mapError((error) =>
    isSqlError(error)
      ? new DistributionFailed({ message: `The tables cannot be distributed: ${describe(error)}` })
      : error
  )
)
