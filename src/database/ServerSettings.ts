import { SqlClient } from "@effect/sql"
import { Effect, Schema } from "effect"
import { asBackground } from "./Deadlines.ts"
import { findAll } from "./Rows.ts"

/** What a server is asked before it is used. */
export const serverQuestion = `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS version,
  current_setting('server_encoding') AS encoding,
  current_database() AS name, current_setting('TimeZone') AS timezone, current_setting('statement_timeout') AS timeout,
  current_setting('citus.shard_count', true) IS NOT NULL AS "hasCitus"`

const Server = Schema.Struct({
  number: Schema.Int,
  version: Schema.String,
  encoding: Schema.String,
  name: Schema.String,
  timezone: Schema.String,
  timeout: Schema.String,
  hasCitus: Schema.Boolean
})

/** The rows of the answer: one. */
export const ServerAnswer = Schema.NonEmptyArray(Server)

/** Why the database cannot hold a catalog; undefined: it can. */
export const unsuitability = ({ encoding, name, number, version }: typeof Server.Type): string | undefined => {
  if (number < 150_000) return `The database server is PostgreSQL ${version}; this service needs 15 or newer.`
  return encoding === "UTF8"
    ? undefined
    : `The database ${name} has the encoding ${encoding}; this service needs UTF8. Create another database, with ENCODING 'UTF8' TEMPLATE template0, and name it in DATABASE_URL.`
}

/** The settings that the database lacks and that sessions cannot set for themselves; undefined: none. */
export const missingSettings = ({ name, timeout, timezone }: typeof Server.Type): string | undefined => {
  const missing = [
    ...(timezone === "UTC" ? [] : ["timezone = 'UTC'"]),
    ...(timeout === "0" ? ["statement_timeout = '30s'"] : [])
  ]
  return missing.length === 0
    ? undefined
    : `behind a pooler in transaction mode, a session cannot change its settings, so the database must have them. Run there: ${missing
        .map((setting) => `ALTER DATABASE "${name}" SET ${setting};`)
        .join(" ")} Then make the pooler open new connections (RECONNECT).`
}

const Setting = Schema.Struct({ name: Schema.String, value: Schema.String })

/** What happens if one of these settings of the server is `off` (https://www.postgresql.org/docs/current/runtime-config.html). */
const consequences: Readonly<Record<string, string>> = {
  autovacuum: "the tables grow and statements become slower with each change",
  fsync: "a crash of its machine can destroy the catalog",
  full_page_writes: "a crash of its machine can destroy the catalog",
  synchronous_commit: "a crash of the server can lose changes that were answered as saved",
  track_counts: "autovacuum finds nothing to do, so the tables grow and statements become slower with each change"
}

/** A warning about each setting of the server that harms the catalog. */
export const settingWarnings = (settings: ReadonlyArray<typeof Setting.Type>): ReadonlyArray<string> =>
  settings.flatMap(({ name, value }) =>
    value === "off" && name in consequences
      ? [`The database server has ${name} = off: ${consequences[name]}. Set it to on.`]
      : []
  )

/** Logs a warning about each setting of the PostgreSQL server that harms the catalog. On a cluster only the coordinator is asked. */
export const checkServerSettings: Effect.Effect<void, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const readSettings = findAll(Setting)(
    (names: ReadonlyArray<string>) => sql`
      SELECT s.name, s.setting AS value FROM pg_settings s WHERE s.name = ANY(${names}) ORDER BY s.name COLLATE "C"`
  )
  const settings = yield* readSettings(Object.keys(consequences))
  yield* Effect.forEach(settingWarnings(settings), (warning) => Effect.logWarning(warning), { discard: true })
}).pipe(
  asBackground,
  Effect.catchAllCause((cause) => Effect.logDebug("The settings of the database server could not be read", cause))
)
