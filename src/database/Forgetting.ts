import type { SqlClient } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import type { Fragment } from "@effect/sql/Statement"
import { Effect } from "effect"

/** Rows per statement. Small statements keep earlier deletions when a later one fails. */
const maxDeleted = 1_000

/**
 * Repeats an effect that handles some rows and returns their number, until it returns 0 or was run `maxTimes` times. Returns the total.
 */
export const untilNone = <E, R>(some: Effect.Effect<number, E, R>, maxTimes = Infinity): Effect.Effect<number, E, R> =>
  Effect.map(
    Effect.iterate(
      { last: -1, total: 0, times: 0 },
      {
        while: ({ last, times }) => last !== 0 && times < maxTimes,
        body: ({ times, total }) => Effect.map(some, (last) => ({ last, total: total + last, times: times + 1 }))
      }
    ),
    ({ total }) => total
  )

/** Rows that one statement of `makeDeleteSome` deletes. A large import stages millions of rows, and a statement has a time limit. */
export const rowsAtOnce = 10_000

/**
 * Deletes at most `rowsAtOnce` rows `t` of an account that `selected` (FROM and WHERE) finds, and returns a row for each. Rows are
 * selected by ctid: a join would scan the whole table.
 */
export const makeDeleteSome = (sql: SqlClient.SqlClient) => (table: string, accountId: string, selected: Fragment) =>
  sql`
    DELETE FROM ${sql(table)} d
    WHERE d.account_id = ${accountId} AND d.ctid = ANY(ARRAY(SELECT t.ctid ${selected} LIMIT ${rowsAtOnce}))
    RETURNING d.account_id`

/**
 * Deletes rows, account by account. `accounts`: the accounts that have such rows. `some`: deletes and returns some rows
 * of an account; it is repeated until none are left. Returns the number of deleted rows.
 */
export const forgetByAccount = <E, R>(
  accounts: Effect.Effect<ReadonlyArray<{ readonly accountId: string }>, E, R>,
  some: (accountId: string) => Effect.Effect<ReadonlyArray<unknown>, E, R>
): Effect.Effect<number, E, R> =>
  Effect.flatMap(accounts, (found) =>
    Effect.reduce(found, 0, (total, { accountId }) =>
      Effect.map(untilNone(Effect.map(some(accountId), ({ length }) => length)), (deleted) => total + deleted)
    )
  )

/**
 * Deletes rows, table by table, and returns their number. `conditions`: for each table, the condition on its rows `t`.
 * Skips rows that another process has locked, so that two sweepers do not wait for each other.
 */
export const makeForget =
  (sql: SqlClient.SqlClient) =>
  (conditions: Readonly<Record<string, Fragment>>): Effect.Effect<number, SqlError> =>
    Effect.reduce(Object.entries(conditions), 0, (total, [table, condition]) =>
      sql`
        WITH deleted AS (
          DELETE FROM ${sql(table)} d
          WHERE d.ctid = ANY(ARRAY(
            SELECT t.ctid FROM ${sql(table)} t WHERE ${condition} LIMIT ${maxDeleted} FOR UPDATE OF t SKIP LOCKED
          ))
          RETURNING 1
        )
        SELECT count(*)::integer AS count FROM deleted`.pipe(
        Effect.map(([row]) => Number(row?.count ?? 0)),
        untilNone,
        Effect.map((deleted) => total + deleted)
      )
    )
