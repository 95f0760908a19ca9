import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { findAll } from "../database/Rows.ts"
import { makeAnswering } from "../database/WorkHintsRepo.ts"
import { BacklogRow, setBacklog } from "../telemetry/BacklogGauges.ts"
import { metrics } from "../telemetry/Metrics.ts"

/** The reason why a due start or end of a drop waits: an import locks the account, or all processes are busy. */
const waits = ["import", "worker"] as const

/** Sets the gauges of drops whose start or end is due, of all accounts whose node answers. */
export const makeReadDropBacklog = Effect.map(Effect.all([SqlClient.SqlClient, makeAnswering]), ([sql, answering]) => {
  const read = findAll(BacklogRow)(
    () => sql`
      SELECT w.wait AS name, count(*) AS count,
             extract(epoch FROM app_now() - min(w.due_at))::float8 AS age
      FROM (
        SELECT CASE WHEN l.run_id IS NOT NULL THEN 'import' ELSE 'worker' END AS wait,
               CASE d.next_step WHEN 'start' THEN d.starts_at ELSE d.ends_at END AS due_at
        FROM drop d
        JOIN import_lock l ON l.account_id = d.account_id
        WHERE ${answering("d.account_id")} AND ${answering("l.account_id")}
          AND ((d.next_step = 'start' AND d.starts_at <= app_now()) OR (d.next_step = 'end' AND d.ends_at <= app_now()))
      ) w
      GROUP BY w.wait`
  )
  return Effect.map(Effect.suspend(read), (rows) =>
    setBacklog(rows, waits, { count: metrics.dropsDue, age: metrics.dropLateness })
  )
})
