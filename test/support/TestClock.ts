import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { isDistributed } from "../../src/database/Distribution.ts"

/**
 * An SQL expression for the current time, made from the time of `replaceClock` and the seconds of the last
 * `moveClock`.
 */
type Time = (start: string, moved: string) => string

/**
 * Replaces the clock of the schema. The seconds are in a table, so that processes can move the clock at once. On a
 * cluster they are part of the function, because a function that runs on a worker cannot read a table.
 */
export const replaceClock = (time: Time) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe("CREATE TABLE test_clock (start timestamptz NOT NULL, moved bigint NOT NULL)")
    yield* sql.unsafe("INSERT INTO test_clock VALUES (date_trunc('second', clock_timestamp()), 0)")
    if (yield* isDistributed) yield* moveClock(time, 0)
    else yield* define(`SELECT ${time("start", "moved")} FROM public.test_clock`)
  })

export const moveClock = (time: Time, moved: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql`UPDATE test_clock SET moved = ${moved} RETURNING start::text`
    if (yield* isDistributed) yield* define(`SELECT ${time(`timestamptz '${row?.start}'`, String(moved))}`)
  })

const define = (body: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe(`CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE AS $$ ${body} $$`)
  )

const stopped: Time = (start, moved) => `${start} + ${moved} * interval '1 second'`

/** Stops the clock until the test moves it, so that the machine's load does not change intervals. */
export const stopClock = replaceClock(stopped)

export const setClock = (secondsAfterStart: number) => moveClock(stopped, secondsAfterStart)
