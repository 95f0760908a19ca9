import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** How many rows of these tables all statements of the database have read until now, by an index or without. */
export const rowsRead = (tables: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // A session tells what it did once it was idle for a second.
    yield* Effect.sleep("1500 millis")
    yield* sql`SELECT pg_stat_force_next_flush()`
    const [counted] = yield* sql`
      SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint AS count FROM pg_stat_user_tables
      WHERE relname = ANY(${tables}::text[])`
    return Number(counted?.count)
  })
