import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option, Schema } from "effect"
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

/** Statements that read the snapshots of the last scans, and that lock a dimension. */
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
  /** The base that contains the rows. */
  readonly base: number
  readonly asOfVersion: number
  /** `result` is JSON text. */
  readonly results: ReadonlyArray<{ readonly storeId: StoreId | null; readonly result: string }>
}

/** Replaces the snapshots of a dimension, all of them or those of one store. */
export const makeReplaceSnapshots =
  (sql: SqlClient) =>
  ({ accountId, asOfVersion, base, dimension, results, run, storeId }: NewSnapshots) =>
    Effect.gen(function* () {
      yield* sql`
        DELETE FROM health_snapshot
        WHERE account_id = ${accountId} AND dimension = ${dimension}
          AND ${storeId === null ? sql`true` : sql`store_id = ${storeId}`}`
      yield* sql`
        INSERT INTO health_snapshot (account_id, dimension, store_id, run, base, as_of_version, scanned_at, result)
        SELECT a.account_id, ${dimension}, r."storeId", ${run}::bigint, ${base}::bigint, ${asOfVersion}::bigint,
               -- A subquery runs once: all snapshots of a scan have the same time.
               (SELECT app_now()), r.result::json
        FROM account_state a
        CROSS JOIN jsonb_to_recordset(${JSON.stringify(results)}::jsonb) AS r ("storeId" uuid, result text)
        WHERE a.account_id = ${accountId}`
    })

/** After either of these, every scan of the account is a full one. */
export const makeForgetting = (sql: SqlClient): Pick<Repo, "forgetBases" | "forgetStore"> => {
  const lockAll = (accountId: AccountId) => sql`
    SELECT pg_advisory_xact_lock(hashtextextended('health ' || d.name || ' ' || ${accountId}::text, 0))
    FROM account_state a CROSS JOIN unnest(${HealthDimension.literals}::text[]) AS d (name)
    WHERE a.account_id = ${accountId}`

  const forget = SqlSchema.findAll({
    Request: Schema.Struct({ accountId: AccountId, storeId: StoreId }),
    Result: Schema.Struct({ dimension: HealthDimension, storeId: Schema.NullOr(StoreId) }),
    execute: ({ accountId, storeId }) => sql`
      DELETE FROM health_snapshot
      WHERE account_id = ${accountId} AND (store_id = ${storeId} OR store_id IS NULL)
      RETURNING dimension, store_id AS "storeId"`
  })

  const forgetBases = (accountId: AccountId) =>
    Effect.gen(function* () {
      yield* lockAll(accountId)
      yield* sql`UPDATE health_base SET fingerprint = '' WHERE account_id = ${accountId} AND fingerprint <> ''`
    })

  return {
    forgetBases: (accountId) => orDie(forgetBases(accountId)),
    forgetStore: (accountId, storeId) =>
      forgetBases(accountId).pipe(
        Effect.zipRight(forget({ accountId, storeId })),
        Effect.map((removed) => removed.flatMap(({ dimension, storeId }) => (storeId === null ? [dimension] : []))),
        orDie
      )
  }
}
