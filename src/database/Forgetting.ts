import type { SqlClient } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import type { Fragment } from "@effect/sql/Statement"
import { Effect } from "effect"

/** In statements that do not run long: however much is over, each keeps what it has deleted. */
const deletedAtOnce = 1_000

/** Repeats what deals with a part of the rows, and says how many those were, until there is none. How many in all. */
export const untilNone = <E, R>(some: Effect.Effect<number, E, R>): Effect.Effect<number, E, R> =>
  Effect.map(
    Effect.iterate(
      { last: -1, total: 0 },
      {
        while: ({ last }) => last !== 0,
        body: ({ total }) => Effect.map(some, (last) => ({ last, total: total + last }))
      }
    ),
    ({ total }) => total
  )

/**
 * Deletes the rows of some tables that are over, `t` in what says which, one table after the other; how many. What another
 * process has locked is left to it, so that two that sweep at the same moment do not wait for each other.
 */
export const makeForget =
  (sql: SqlClient.SqlClient) =>
  (over: Readonly<Record<string, Fragment>>): Effect.Effect<number, SqlError> =>
    Effect.reduce(Object.entries(over), 0, (total, [table, isOver]) =>
      sql`
        WITH gone AS (
          DELETE FROM ${sql(table)} d
          WHERE d.ctid = ANY(ARRAY(
            SELECT t.ctid FROM ${sql(table)} t WHERE ${isOver} LIMIT ${deletedAtOnce} FOR UPDATE OF t SKIP LOCKED
          ))
          RETURNING 1
        )
        SELECT count(*)::integer AS count FROM gone`.pipe(
        Effect.map(([row]) => Number(row?.count ?? 0)),
        untilNone,
        Effect.map((deleted) => total + deleted)
      )
    )
