import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import type { WatchedClient } from "../../src/database/WatchedClient.ts"
import { watchStatements } from "./SentStatements.ts"

/**
 * `rowsRead`: the number of rows of these tables that all statements of the database have read so far, with or without an index. It includes
 * what this process sends from now on until the scope closes.
 */
export const makeRowsRead = (tables: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const clients = new Set<WatchedClient>()
    yield* watchStatements((client) => clients.add(client))
    const rowsRead = Effect.gen(function* () {
      // A session reports its statistics seconds later, unless it is told to. A closed session has reported them.
      yield* Effect.promise(() =>
        Promise.allSettled([...clients].map((client) => client.query("SELECT pg_stat_force_next_flush()")))
      )
      const [counted] = yield* sql`
        SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint AS count FROM pg_stat_user_tables
        WHERE relname = ANY(${tables}::text[])`
      return Number(counted?.count)
    })
    return { rowsRead }
  })
