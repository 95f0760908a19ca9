import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option, Schema } from "effect"
import { planCustom, readsAll } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, StoreId } from "../model/Ids.ts"
import { HealthDimension } from "./Health.ts"
import type { HealthRepo } from "./HealthRepo.ts"

type Repo = Context.Tag.Service<HealthRepo>

const SnapshotKey = Schema.Struct({
  accountId: AccountId,
  dimension: HealthDimension,
  storeId: Schema.NullOr(StoreId)
})

const Run = Schema.Struct({ run: Schema.Number })

/** Draws the number of a scan. */
export const makeNextRun = (sql: SqlClient): Repo["ticket"] => {
  const nextRun = SqlSchema.single({
    Request: Schema.Void,
    Result: Run,
    execute: () => sql`SELECT nextval('health_run') AS run`
  })
  return Effect.map(Effect.orDie(nextRun()), ({ run }) => run)
}

/** The snapshots of the last scans, and the lock of a scan. */
export const makeHealthSnapshots = (sql: SqlClient): Pick<Repo, "lastRun" | "snapshots" | "ticket" | "tryLock"> => {
  const tryLock = SqlSchema.single({
    Request: Schema.Struct({ accountId: AccountId, dimension: HealthDimension }),
    Result: Schema.Struct({ locked: Schema.Boolean }),
    execute: ({ accountId, dimension }) => sql`
      SELECT pg_try_advisory_xact_lock(
        hashtextextended('health ' || ${dimension}::text || ' ' || ${accountId}::text, 0)
      ) AS locked
      FROM account_state a WHERE a.account_id = ${accountId}`
  })

  const lastRun = SqlSchema.findOne({
    Request: SnapshotKey,
    Result: Run,
    execute: ({ accountId, dimension, storeId }) => sql`
      SELECT run FROM health_snapshot
      WHERE account_id = ${accountId} AND dimension = ${dimension}
        AND ${storeId === null ? sql`store_id IS NULL` : sql`store_id = ${storeId}`}`
  })

  const readSnapshots = SqlSchema.findAll({
    Request: Schema.Struct({ accountId: AccountId, storeId: Schema.NullOr(StoreId) }),
    Result: Schema.Struct({ dimension: HealthDimension, text: Schema.String }),
    execute: ({ accountId, storeId }) => sql`
      SELECT dimension,
             '{"dimension":"' || dimension || '","scanned":true,"result":' || result::text || ',"scanned_at":"'
               || rfc3339(scanned_at) || '","as_of_version":' || as_of_version || '}' AS text
      FROM health_snapshot
      WHERE account_id = ${accountId}
        AND CASE WHEN ${storeId}::uuid IS NOT NULL AND dimension IN ('sync', 'completeness', 'translations')
              THEN store_id = ${storeId}::uuid ELSE store_id IS NULL END`
  })

  return {
    ticket: makeNextRun(sql),
    tryLock: (accountId, dimension) =>
      Effect.map(Effect.orDie(tryLock({ accountId, dimension })), ({ locked }) => locked),
    lastRun: (accountId, dimension, storeId) =>
      Effect.map(
        orDie(lastRun({ accountId, dimension, storeId })),
        Option.match({ onNone: () => 0, onSome: ({ run }) => run })
      ),
    snapshots: (accountId, storeId) =>
      Effect.map(
        orDie(readSnapshots({ accountId, storeId })),
        (rows) => new Map(rows.map(({ dimension, text }) => [dimension, text]))
      )
  }
}

/** The snapshots that a scan writes. `storeId` null: all snapshots of the dimension. */
export interface NewSnapshots {
  readonly accountId: AccountId
  readonly dimension: HealthDimension
  readonly storeId: StoreId | null
  readonly run: number
  readonly asOfVersion: number
  /** `result` is JSON text. */
  readonly results: ReadonlyArray<{ readonly storeId: StoreId | null; readonly result: string }>
}

/** Replaces the snapshots of a dimension, all of them or those of one store. */
export const makeReplaceSnapshots = (sql: SqlClient) => {
  /** Returns the runs that wrote the snapshots. */
  const removeSnapshots = SqlSchema.findAll({
    Request: SnapshotKey,
    Result: Run,
    execute: ({ accountId, dimension, storeId }) => sql`
      DELETE FROM health_snapshot
      WHERE account_id = ${accountId} AND dimension = ${dimension}
        AND ${storeId === null ? sql`true` : sql`store_id = ${storeId}`}
      RETURNING run`
  })

  const removeRows = makeRemoveRows(sql)

  return ({ accountId, asOfVersion, dimension, results, run, storeId }: NewSnapshots) =>
    Effect.gen(function* () {
      const replaced = yield* removeSnapshots({ accountId, dimension, storeId })
      yield* sql`
        INSERT INTO health_snapshot (account_id, dimension, store_id, run, as_of_version, scanned_at, result)
        SELECT own.account_id, ${dimension}, r."storeId", ${run}::bigint, ${asOfVersion}::bigint,
               -- A subquery runs once: all snapshots of a scan have the same time.
               (SELECT app_now()), r.result::json
        FROM account_state own
        CROSS JOIN jsonb_to_recordset(${JSON.stringify(results)}::jsonb) AS r ("storeId" uuid, result text)
        WHERE own.account_id = ${accountId}`
      yield* removeRows(accountId, replaced)
    })
}

/** Deletes the snapshots that include a store. */
export const makeForgetStore = (sql: SqlClient): Repo["forgetStore"] => {
  const lockAll = (accountId: AccountId) => sql`
    SELECT pg_advisory_xact_lock(hashtextextended('health ' || d.name || ' ' || ${accountId}::text, 0))
    FROM account_state a CROSS JOIN unnest(${HealthDimension.literals}::text[]) AS d (name)
    WHERE a.account_id = ${accountId}`

  const forget = SqlSchema.findAll({
    Request: Schema.Struct({ accountId: AccountId, storeId: StoreId }),
    Result: Schema.Struct({ run: Schema.Number, dimension: HealthDimension, storeId: Schema.NullOr(StoreId) }),
    execute: ({ accountId, storeId }) => sql`
      DELETE FROM health_snapshot
      WHERE account_id = ${accountId} AND (store_id = ${storeId} OR store_id IS NULL)
      RETURNING run, dimension, store_id AS "storeId"`
  })
  const removeRows = makeRemoveRows(sql)

  return (accountId, storeId) =>
    Effect.gen(function* () {
      yield* lockAll(accountId)
      const removed = yield* forget({ accountId, storeId })
      yield* removeRows(accountId, removed)
      return removed.flatMap(({ dimension, storeId }) => (storeId === null ? [dimension] : []))
    }).pipe(orDie)
}

/** Deletes the rows of these runs, except of runs that still have a snapshot. */
const makeRemoveRows = (sql: SqlClient) => (accountId: AccountId, runs: ReadonlyArray<{ readonly run: number }>) =>
  runs.length === 0
    ? Effect.void
    : sql`
        DELETE FROM health_issue i
        USING unnest(${[...new Set(runs.map(({ run }) => run))]}::bigint[]) AS old (run)
        WHERE i.account_id = ${accountId} AND i.run = old.run
          AND NOT EXISTS (
            SELECT FROM health_snapshot s WHERE s.account_id = ${accountId} AND s.run = old.run
          ) ${sql.literal(`${planCustom} ${readsAll}`)}`
