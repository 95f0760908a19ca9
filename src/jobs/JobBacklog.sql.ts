import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { findAll } from "../database/Rows.ts"
import { makeAnswering } from "../database/WorkHintsRepo.ts"
import { BacklogRow, setBacklog } from "../telemetry/BacklogGauges.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { automaticKinds, ownedKinds } from "./Job.ts"

/**
 * Why an open job waits. `running`: it does not wait, because a process works on it. `paused`: somebody paused it. `later`: it
 * waits for the time of its next attempt, for example because an import locks the account, or for the night. `worker`: it waits
 * for a free process.
 */
const waits = ["running", "paused", "later", "worker"] as const

/** Sets the gauges of open jobs, of all accounts whose node answers. */
export const makeReadJobBacklog = Effect.map(Effect.all([SqlClient.SqlClient, makeAnswering]), ([sql, answering]) => {
  const read = findAll(BacklogRow)(
    () => sql`
      SELECT w.wait AS name, count(*) AS count,
             -- Null: only scans wait. Nobody waits for them, and a night's scans may take hours.
             extract(epoch FROM app_now() - min(w.due_at) FILTER (WHERE w.kind <> ALL(${automaticKinds}::text[])))::float8 AS age
      FROM (
        SELECT j.due_at, j.kind,
               CASE
                 WHEN j.state = 'paused' THEN 'paused'
                 -- Workers do not claim these, and the gauge catalog_imports_stalled counts those that nobody works on.
                 WHEN j.kind = ANY(${ownedKinds}::text[]) AND j.state = 'queued' THEN 'later'
                 WHEN j.kind = ANY(${ownedKinds}::text[]) THEN 'running'
                 WHEN j.due_at <= app_now() THEN 'worker'
                 WHEN j.state = 'running' THEN 'running'
                 ELSE 'later'
               END AS wait
        FROM job j
        WHERE ${answering("j.account_id")} AND j.state IN ('queued', 'running', 'paused')
      ) w
      GROUP BY w.wait`
  )
  return Effect.map(Effect.suspend(read), (rows) => {
    setBacklog(rows, waits, { count: metrics.jobs })
    metrics.jobLateness.of().add(rows.find(({ name }) => name === "worker")?.age ?? 0)
  })
})
