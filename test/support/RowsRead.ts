import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * The number of rows of these tables that all statements of the database have read so far, with or without an index.
 */
export const rowsRead = (tables: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // A session reports its statistics after it has been idle for a second.
    yield* Effect.sleep("1500 millis")
    yield* sql`SELECT pg_stat_force_next_flush()`
    const [counted] = yield* sql`
      SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint AS count FROM pg_stat_user_tables
      WHERE relname = ANY(${tables}::text[])`
    return Number(counted?.count)
  })
