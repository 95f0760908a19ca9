import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option, Schema } from "effect"
import { findAll, findOne, findSingle } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { scanLockKey } from "../drafts/ChangeNotes.sql.ts"
import { Unavailable } from "../model/Errors.ts"
import { AccountId, StoreId } from "../model/Ids.ts"
import { HealthDimension, type HealthResult, LastScan, type ScanCause } from "./Health.ts"
import type { HealthRepo } from "./HealthRepo.ts"
import { type DayNumbers, HealthDay, keptDays } from "./HealthTrend.ts"

type Repo = Context.Tag.Service<HealthRepo>

const SnapshotKey = Schema.Struct({
  accountId: AccountId,
  dimension: HealthDimension,
  storeId: Schema.NullOr(StoreId)
})

const Run = Schema.Struct({ run: Schema.Number })

/** Draws the number of a scan. */
export const makeNextRun = (sql: SqlClient): Repo["ticket"] => {
  const nextRun = findSingle(Run)(() => sql`SELECT nextval('health_run') AS run`)
  return Effect.map(nextRun(), ({ run }) => run)
}

/** Statements that read the snapshots of the last scans, and that lock a dimension. */
export const makeHealthSnapshots = (
  sql: SqlClient
): Pick<Repo, "lastRun" | "lastScan" | "mustExist" | "snapshots" | "ticket" | "tryLock"> => {
  const existing = findOne(Schema.Struct({ id: AccountId }))(
    (accountId: AccountId) => sql`SELECT c.id FROM account c WHERE c.id = ${accountId} AND c.deleting_since IS NULL`
  )

  const tryLock = findOne(Schema.Struct({ locked: Schema.Boolean }))(
    (accountId: AccountId, dimension: HealthDimension) => sql`
      SELECT pg_try_advisory_xact_lock(${scanLockKey(sql, sql`${dimension}::text`, accountId)}) AS locked
      FROM account_state a WHERE a.account_id = ${accountId}`
  )

  const lastRun = findOne(Run)(
    ({ accountId, dimension, storeId }: typeof SnapshotKey.Type) => sql`
      SELECT run FROM health_snapshot
      WHERE account_id = ${accountId} AND dimension = ${dimension}
        AND ${storeId === null ? sql`store_id IS NULL` : sql`store_id = ${storeId}`}`
  )

  const lastScan = findOne(LastScan)(
    (accountId: AccountId) => sql`
      SELECT rfc3339(s.scanned_at) AS at, s.cause FROM health_snapshot s
      WHERE s.account_id = ${accountId}
      ORDER BY s.scanned_at DESC LIMIT 1`
  )

  const readSnapshots = findAll(Schema.Struct({ dimension: HealthDimension, text: Schema.String }))(
    (accountId: AccountId, storeId: StoreId | null) => sql`
      SELECT dimension,
             '{"dimension":"' || dimension || '","scanned":true,"result":' || result::text || ',"scanned_at":"'
               || rfc3339(scanned_at) || '","as_of_version":' || as_of_version || '}' AS text
      FROM health_snapshot
      WHERE account_id = ${accountId}
        AND CASE WHEN ${storeId}::uuid IS NOT NULL AND dimension IN ('sync', 'completeness', 'translations')
              THEN store_id = ${storeId}::uuid ELSE store_id IS NULL END`
  )

  return {
    ticket: makeNextRun(sql),
    mustExist: (accountId) =>
      Effect.flatMap(
        existing(accountId),
        Option.match({
          onNone: () => Effect.die(new Unavailable({ reason: "The account is being deleted." })),
          onSome: () => Effect.void
        })
      ),
    tryLock: (accountId, dimension) =>
      Effect.map(
        tryLock(accountId, dimension),
        Option.exists(({ locked }) => locked)
      ),
    lastRun: (accountId, dimension, storeId) =>
      Effect.map(
        lastRun({ accountId, dimension, storeId }),
        Option.match({ onNone: () => 0, onSome: ({ run }) => run })
      ),
    lastScan,
    snapshots: (accountId, storeId) =>
      Effect.map(
        readSnapshots(accountId, storeId),
        (rows) => new Map(rows.map(({ dimension, text }) => [dimension, text]))
      )
  }
}

/** Reads the numbers of past days. */
export const makeHealthDays = (sql: SqlClient): Pick<Repo, "days"> => {
  const read = findAll(HealthDay)(
    (accountId: AccountId) => sql`
      SELECT d.dimension, d.day::text AS day, d.checked, d.affected FROM health_day d
      WHERE d.account_id = ${accountId}
      ORDER BY d.day, d.dimension`
  )
  return { days: read }
}

/** The snapshots that a scan writes. `storeId` null: all snapshots of the dimension. */
interface NewSnapshots {
  readonly accountId: AccountId
  readonly dimension: HealthDimension
  readonly storeId: StoreId | null
  readonly run: number
  readonly cause: ScanCause
  /** The base that contains the rows. */
  readonly base: number
  readonly asOfVersion: number
  readonly results: ReadonlyArray<{ readonly storeId: StoreId | null; readonly result: HealthResult }>
}

/** Saves the numbers of today, and deletes those that are no longer kept. */
const makeKeepDay = (sql: SqlClient) => (accountId: AccountId, dimension: HealthDimension, numbers: DayNumbers) =>
  Effect.zipRight(
    sql`
      INSERT INTO health_day (account_id, dimension, day, checked, affected)
      SELECT a.account_id, ${dimension}, (SELECT (app_now() AT TIME ZONE 'UTC')::date),
             ${numbers.checked}::integer, ${numbers.affected}::integer
      FROM account_state a WHERE a.account_id = ${accountId}
      ON CONFLICT (account_id, dimension, day) DO UPDATE
      SET checked = excluded.checked, affected = excluded.affected`,
    sql`
      DELETE FROM health_day d
      WHERE d.account_id = ${accountId} AND d.dimension = ${dimension}
        AND d.day < (app_now() AT TIME ZONE 'UTC')::date - ${sql.literal(String(keptDays))}`
  )

/** Replaces the snapshots of a dimension, all of them or those of one store. */
export const makeReplaceSnapshots = (sql: SqlClient) => {
  const keepDay = makeKeepDay(sql)
  return ({ accountId, asOfVersion, base, cause, dimension, results, run, storeId }: NewSnapshots) =>
    Effect.gen(function* () {
      // As text, because its keys keep their order.
      const texts = results.map(({ result, storeId }) => ({ storeId, result: JSON.stringify(result) }))
      yield* sql`
        DELETE FROM health_snapshot
        WHERE account_id = ${accountId} AND dimension = ${dimension}
          AND ${storeId === null ? sql`true` : sql`store_id = ${storeId}`}`
      yield* sql`
        INSERT INTO health_snapshot (account_id, dimension, store_id, run, base, as_of_version, cause, scanned_at, result)
        SELECT a.account_id, ${dimension}, r."storeId", ${run}::bigint, ${base}::bigint, ${asOfVersion}::bigint,
               ${cause},
               -- A subquery runs once: all snapshots of a scan have the same time.
               (SELECT app_now()), r.result::json
        FROM account_state a
        CROSS JOIN jsonb_to_recordset(${JSON.stringify(texts)}::jsonb) AS r ("storeId" uuid, result text)
        WHERE a.account_id = ${accountId}`
      const ofAccount = results.find((each) => each.storeId === null)
      if (ofAccount !== undefined) yield* keepDay(accountId, dimension, ofAccount.result)
    })
}

/** Statements that discard scan results. After each of them, the next scans of the account are full scans. */
export const makeForgetting = (sql: SqlClient): Pick<Repo, "forgetBases" | "forgetStore"> => {
  const lockAll = (accountId: AccountId) => sql`
    SELECT pg_advisory_xact_lock(${scanLockKey(sql, sql.literal("d.name"), accountId)})
    FROM account_state a CROSS JOIN unnest(${HealthDimension.literals}::text[]) AS d (name)
    WHERE a.account_id = ${accountId}`

  const forget = findAll(Schema.Struct({ dimension: HealthDimension, storeId: Schema.NullOr(StoreId) }))(
    (accountId: AccountId, storeId: StoreId) => sql`
      DELETE FROM health_snapshot
      WHERE account_id = ${accountId} AND (store_id = ${storeId} OR store_id IS NULL)
      RETURNING dimension, store_id AS "storeId"`
  )

  const forgetBases = (accountId: AccountId) =>
    Effect.gen(function* () {
      yield* lockAll(accountId)
      yield* sql`UPDATE health_base SET fingerprint = '' WHERE account_id = ${accountId} AND fingerprint <> ''`
    })

  return {
    forgetBases: (accountId) => orDie(forgetBases(accountId)),
    forgetStore: (accountId, storeId) =>
      forgetBases(accountId).pipe(
        Effect.zipRight(forget(accountId, storeId)),
        Effect.map((removed) => removed.flatMap(({ dimension, storeId }) => (storeId === null ? [dimension] : []))),
        orDie
      )
  }
}
