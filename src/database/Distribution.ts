import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { orDie } from "./SqlErrors.ts"

/**
 * Whether the database is a Citus cluster with distributed account tables. Repositories ask when they are built, so processes have to
 * be started again after the tables were distributed.
 */
export const isDistributed: Effect.Effect<boolean, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The catalog exists only with the extension, and without it the second statement would fail.
  const [extension] = yield* sql`SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS present`
  if (extension?.present !== true) return false
  const tables = yield* sql`SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('account_state')`
  return tables.length > 0
}).pipe(orDie)
