import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { findAll } from "../database/Rows.ts"
import { makeAnswering } from "../database/WorkHintsRepo.ts"
import { BacklogRow, setBacklog } from "../telemetry/BacklogGauges.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { WebhookState } from "./Webhook.ts"
import { stateOf } from "./WebhookRows.sql.ts"

/**
 * Why a change was not delivered yet. `worker`: all processes are busy. `receiver`: its webhook fails. `waiting`: it failed, or an
 * earlier change of its entity failed. `parked`: it failed for three days, or its webhook was stopped or is gone. Other changes of
 * stopped and gone webhooks are left out, because nothing is delivered to them.
 */
const waits = ["worker", "receiver", "waiting", "parked"] as const

/** Sets the gauges of webhooks and of changes that were not delivered, of all accounts whose node answers. */
export const makeReadWebhookBacklog = Effect.map(
  Effect.all([SqlClient.SqlClient, makeAnswering]),
  ([sql, answering]) => {
    const read = findAll(BacklogRow)(
      () => sql`
      WITH hook AS (
        SELECT w.account_id, greatest(a.feed_seq - w.position, 0) AS changes,
               ${stateOf(sql)} AS state,
               (SELECT n.at FROM change_note n
                WHERE n.account_id = w.account_id AND ${answering("n.account_id")} AND n.last_seq > w.position AND n.rows > 0
                ORDER BY n.last_seq LIMIT 1) AS oldest
        FROM webhook w JOIN account_state a ON a.account_id = w.account_id
        WHERE ${answering("w.account_id")} AND ${answering("a.account_id")}
      )
      SELECT h.state AS name, count(*) AS count, NULL::float8 AS age FROM hook h GROUP BY h.state
      UNION ALL
      SELECT CASE h.state WHEN 'active' THEN 'worker' ELSE 'receiver' END, sum(h.changes)::bigint,
             extract(epoch FROM app_now() - min(h.oldest))::float8
      FROM hook h
      WHERE h.state IN ('active', 'failing')
      GROUP BY h.state
      UNION ALL
      SELECT d.state, count(*), extract(epoch FROM app_now() - min(d.since))::float8
      FROM webhook_delivery d WHERE ${answering("d.account_id")} GROUP BY d.state`
    )
    return Effect.map(Effect.suspend(read), (rows) => {
      setBacklog(rows, WebhookState.literals, { count: metrics.webhooks })
      setBacklog(rows, waits, { count: metrics.webhookChanges, age: metrics.webhookAge })
    })
  }
)
