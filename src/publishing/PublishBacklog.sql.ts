import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { allAccounts } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { BacklogRow, setBacklog } from "../telemetry/BacklogGauges.ts"
import { metrics } from "../telemetry/Metrics.ts"

/**
 * Why a pending publish waits. `running`: it does not wait, a process publishes it now. `retry`: the store's platform
 * failed, and the time of the next attempt has not come. `import`: an import locks the account. `unlinked`: its store
 * is not linked. `worker`: all workers are busy, or an earlier publish of the same entities must end first.
 */
const waits = ["running", "retry", "import", "unlinked", "worker"] as const

/** Sets the gauges of pending publishes, of all accounts. */
export const makeReadPublishBacklog = Effect.map(SqlClient.SqlClient, (sql) => {
  const read = findAll(BacklogRow)(
    () => sql`
      SELECT w.wait AS name, count(*) AS count,
             extract(epoch FROM app_now() - min(w.asked_at))::float8 AS age
      FROM (
        SELECT p.asked_at,
               CASE
                 WHEN p.lease_until > app_now() THEN 'running'
                 WHEN s.status <> 'linked' THEN 'unlinked'
                 WHEN l.run_id IS NOT NULL THEN 'import'
                 WHEN p.next_attempt_at > app_now() THEN 'retry'
                 ELSE 'worker'
               END AS wait
        FROM publication p
        JOIN store s ON s.account_id = p.account_id AND s.id = p.store_id
        JOIN import_lock l ON l.account_id = p.account_id
        WHERE p.state = 'pending'
      ) w
      GROUP BY w.wait ${sql.literal(allAccounts)}`
  )
  return Effect.map(read(), (rows) => setBacklog(rows, waits, { count: metrics.publishes, age: metrics.publishAge }))
})
