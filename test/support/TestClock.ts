import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { isDistributed } from "../../src/database/Distribution.ts"

/**
 * Replaces the clock of the schema. `time`: an SQL expression over the row of a new table `test_clock`, which has these columns and
 * values at first. On a cluster every node has the row.
 */
export const replaceClock = (columns: string, values: string, time: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe(`CREATE TABLE test_clock (${columns})`)
    yield* sql.unsafe(`INSERT INTO test_clock VALUES (${values})`)
    if (yield* isDistributed) yield* sql`SELECT create_reference_table('test_clock')`
    yield* sql.unsafe(
      `CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT ${time} FROM public.test_clock $$`
    )
  })

/** Time stands still until the test moves it: what the machine's load decides is no part of any distance. */
export const stopClock = replaceClock(
  "start timestamptz, seconds integer",
  "date_trunc('second', clock_timestamp()), 0",
  "start + seconds * interval '1 second'"
)

export const setClock = (secondsAfterStart: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE test_clock SET seconds = ${secondsAfterStart}`)
