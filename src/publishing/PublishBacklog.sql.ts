import { SqlClient } from "@effect/sql"
import { Effect, Schema } from "effect"
import { findAll } from "../database/Rows.ts"
import { makeAnswering } from "../database/WorkHintsRepo.ts"
import { delayedCode } from "../model/PublishState.ts"
import { BacklogRow, setBacklog } from "../telemetry/BacklogGauges.ts"
import { metrics } from "../telemetry/Metrics.ts"

/**
 * Why a pending publish waits. `running`: it does not wait, a process publishes it now. `retry`: the store's platform
 * failed at the last attempt, whether or not the time of the next one has come. In an outage of the platform, all publishes of the store
 * that wait, or are tried again, count as `retry`. `import`: an import locks the account. `unlinked`: its store is not linked. `worker`:
 * all workers are busy, or an earlier publish of the same entities must end first.
 */
const waits = ["running", "retry", "import", "unlinked", "worker"] as const

const Row = Schema.Struct({ ...BacklogRow.fields, stores: Schema.Number })

/**
 * Sets the gauges of pending publishes, of all accounts whose node answers. A publish that runs, or is repeated, is as old as its first
 * attempt: the time in the queue before it is no fault of the store's platform.
 */
export const makeReadPublishBacklog = Effect.map(
  Effect.all([SqlClient.SqlClient, makeAnswering]),
  ([sql, answering]) => {
    const read = findAll(Row)(
      () => sql`
      SELECT w.wait AS name, count(*) AS count, count(DISTINCT w.store_id) AS stores,
             extract(epoch FROM app_now() - min(
               CASE WHEN w.wait IN ('running', 'retry') THEN coalesce(w.begun_at, w.asked_at) ELSE w.asked_at END
             ))::float8 AS age
      FROM (
        SELECT p.store_id, p.asked_at, a.started_at AS begun_at,
               CASE
                 WHEN p.lease_until > app_now() AND p.error ->> 'code' = ${delayedCode} THEN 'retry'
                 WHEN p.lease_until > app_now() THEN 'running'
                 WHEN s.status <> 'linked' THEN 'unlinked'
                 WHEN l.run_id IS NOT NULL THEN 'import'
                 WHEN p.next_attempt_at > app_now() OR p.error IS NOT NULL
                   OR bool_or(p.error ->> 'code' = ${delayedCode}) OVER (PARTITION BY p.account_id, p.store_id)
                   THEN 'retry'
                 ELSE 'worker'
               END AS wait
        FROM publication p
        JOIN store s ON s.account_id = p.account_id AND s.id = p.store_id
        JOIN import_lock l ON l.account_id = p.account_id
        LEFT JOIN publish_attempt a ON a.account_id = p.account_id AND a.publication_id = p.id AND a.ordinal = 1
        WHERE ${answering("p.account_id")} AND ${answering("s.account_id")} AND ${answering("l.account_id")}
          AND p.state = 'pending'
      ) w
      GROUP BY w.wait`
    )
    return Effect.map(Effect.suspend(read), (rows) => {
      setBacklog(rows, waits, { count: metrics.publishes, age: metrics.publishAge })
      const ofStores = rows.map((row) => ({ ...row, count: row.stores }))
      setBacklog(ofStores, waits, { count: metrics.publishStores })
    })
  }
)
