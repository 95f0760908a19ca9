import { SqlClient } from "@effect/sql"
import { Effect, Schema } from "effect"
import { findAll } from "../database/Rows.ts"
import { makeAnswering } from "../database/WorkHintsRepo.ts"
import { BacklogRow, setBacklog } from "../telemetry/BacklogGauges.ts"
import { metrics } from "../telemetry/Metrics.ts"

const phases = ["fetching", "reviewing", "applying"] as const

const Row = Schema.Struct({ ...BacklogRow.fields, stalled: Schema.Number })

/** Sets the gauges of imports that are not finished, of all accounts whose node answers. */
export const makeReadImportBacklog = Effect.map(
  Effect.all([SqlClient.SqlClient, makeAnswering]),
  ([sql, answering]) => {
    const read = findAll(Row)(
      () => sql`
      SELECT r.phase AS name, count(*) AS count,
             extract(epoch FROM app_now() - min(r.created_at))::float8 AS age,
             count(*) FILTER (
               WHERE r.phase <> 'reviewing' AND r.lease_until <= app_now()
             ) AS stalled
      FROM import_run r
      WHERE ${answering("r.account_id")} AND r.phase IN ('fetching', 'reviewing', 'applying')
      GROUP BY r.phase`
    )
    return Effect.map(Effect.suspend(read), (rows) => {
      setBacklog(rows, phases, { count: metrics.imports, age: metrics.importAge })
      metrics.importsStalled.of().add(rows.reduce((sum, { stalled }) => sum + stalled, 0))
    })
  }
)
